/** What the log says of requests outside /mcp, and what it keeps to itself. */
import assert from "node:assert/strict";
import { DocumentError } from "../../src/client_documents/document_error.ts";
import { UpstreamError } from "../../src/upstream/provider.ts";
import { shortClientId } from "../../src/oauth/client_id.ts";
import { configureLog, type LogEvent } from "../../src/log.ts";
import {
  BASE_URL,
  Client,
  FakeProvider,
  type OAuthServer,
  startOAuthServer,
} from "../flow/kit.ts";
import { switchableKv } from "../flow/switchable_kv.ts";
import { FakeTime } from "../store/fake_time.ts";

/** What is logged while `act` runs. */
async function eventsOf(
  act: (server: OAuthServer) => Promise<unknown>,
  options: Parameters<typeof startOAuthServer>[0] = {},
): Promise<LogEvent[]> {
  const events: LogEvent[] = [];
  await using server = await startOAuthServer(options);
  configureLog({ level: "info", take: (event) => events.push(event) });
  try {
    await act(server);
  } finally {
    configureLog({ level: "off" });
  }
  return events;
}

/** The request lines, as far as tests compare them. */
function requests(events: LogEvent[]) {
  return events.filter(({ message }) => message === "Request")
    .map(({ properties }) => properties);
}

Deno.test("a sign-in is one line a step, by the client's id and without a secret", async () => {
  const secrets: string[] = [];
  let clientId = "";
  const events = await eventsOf(async (server) => {
    const client = await Client.register(server);
    clientId = shortClientId(client.clientId);
    const code = await client.signIn();
    const { body } = await client.redeem(code);
    await client.refresh(body.refresh_token);
    await client.refresh("junk-token");
    secrets.push(code, body.access_token, body.refresh_token, client.state);
    secrets.push(client.verifier, "junk-token");
  });
  assert.deepEqual(
    requests(events).map(({ method, status, outcome, clientId }) => [
      method,
      status,
      outcome,
      clientId,
    ]),
    [
      ["POST /register", 201, "ok", undefined],
      ["GET /authorize", 200, "ok", clientId],
      ["POST /authorize", 303, "ok", clientId],
      ["GET /oauth/provider-callback", 302, "ok", clientId],
      ["POST /token", 200, "ok", clientId],
      ["POST /token", 200, "ok", clientId],
      ["POST /token", 400, "refused", clientId],
    ],
  );
  const text = JSON.stringify(events);
  for (const secret of secrets) assert(!text.includes(secret), secret);
});

Deno.test("a refusal says why, from where, and under which reference", async () => {
  const events = await eventsOf(async (server) => {
    await server.app.fetch(
      new Request(`${BASE_URL}/register`, { method: "POST", body: "{}" }),
      { remoteAddr: { hostname: "::ffff:192.0.2.7" } },
    );
    await server.fetch("/authorize?client_id=no one");
    await server.fetch("/nothing/secret-path");
  });
  const [register, authorize, ...others] = requests(events);
  assert.deepEqual(others, []);
  assert.equal(register.address, "192.0.2.7");
  assert.equal(register.outcome, "refused");
  assert.match(
    String(register.refusal),
    /^invalid_redirect_uri|^invalid_client/,
  );
  assert.match(String(authorize.refusal), /^invalid_client/);
  assert.notEqual(register.reference, authorize.reference);
});

Deno.test("a database that fails is told once a second with its cause, and each answer has a reference", async () => {
  using time = new FakeTime();
  using database = await switchableKv();
  const { kv, state } = database;
  const references: string[] = [];
  const events = await eventsOf(async (server) => {
    state.isUp = false;
    for (let n = 0; n < 10; n++) {
      if (n === 5) time.tick(1);
      const response = await server.fetch("/authorize?client_id=someone");
      assert.equal(response.status, 503);
      references.push((await response.json()).reference);
    }
    state.isUp = true;
  }, { kv });
  const failures = events.filter(({ message }) => message === "Not available");
  assert.deepEqual(
    failures.map(({ properties }) => properties.reference),
    [references[0], references[5]],
  );
  assert.equal(failures[1].properties.repeated, 4);
  const { cause } = failures[0].properties.error as Error;
  assert.match(String(cause), /no database/);
  assert.deepEqual(
    requests(events).map(({ reference }) => reference),
    references,
  );
});

Deno.test("a provider that fails is told with its cause, and the page has the reference", async () => {
  const provider = new FakeProvider();
  provider.redeem = () =>
    Promise.reject(new UpstreamError("unavailable", "no route to provider"));
  let page = "";
  const events = await eventsOf(async (server) => {
    const client = await Client.register(server);
    const browser = server.browser();
    const consent = await browser.open(client.authorizationUrl());
    page = (await browser.press(consent, "decision", "approve")).text;
  }, { provider });
  const { properties } = events.find(({ message }) =>
    message === "Not available"
  )!;
  assert.match(String((properties.error as Error).cause), /no route/);
  assert(page.includes(String(properties.reference)));
});

Deno.test("a client's document that cannot be fetched is told with its cause, which no answer has", async () => {
  const cause = new Error("no route to app.example.com");
  let answer = "";
  const events = await eventsOf(async (server) => {
    const client = new Client(server, "https://app.example.com/client.json");
    const path = client.authorizationUrl().slice(BASE_URL.length);
    answer = await (await server.fetch(path)).text();
  }, { fetchDocument: () => Promise.reject(new DocumentError({ cause })) });
  const { properties } = events.find(({ message }) =>
    message === "Not available"
  )!;
  const failure = (properties.error as Error).cause as Error;
  assert.equal(failure.cause, cause);
  assert(answer.includes(String(properties.reference)));
  assert(!answer.includes("no route"));
});
