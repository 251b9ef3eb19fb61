/** The log of requests outside /mcp, and the data that must not be in it. */
import assert from "node:assert/strict";
import { DocumentError } from "../../../src/core/auth/clients/fetch_bounds.ts";
import { UpstreamError } from "../../../src/core/provider/provider.ts";
import { shortClientId } from "../../../src/core/oauth/client.ts";
import { parseCredential } from "../../../src/core/oauth/credential.ts";
import type { LogEvent } from "../../../src/core/log/log.ts";
import { recordLog } from "../../kit/log.ts";
import { BASE_URL, startServer } from "../../kit/server.ts";
import { Client } from "../../kit/client.ts";
import { FakeProvider } from "../../kit/fake_provider.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { switchableKv } from "../../kit/switchable_kv.ts";
import { FakeTime } from "../../kit/fake_time.ts";

/** Collects the log while `act` runs. */
async function eventsOf(
  act: (server: OAuthServer) => Promise<unknown>,
  options: Parameters<typeof startOAuthServer>[0] = {},
): Promise<LogEvent[]> {
  const { log, events } = recordLog();
  await using server = await startOAuthServer({ log, ...options });
  await act(server);
  return events;
}

/** Filters the request lines for comparison. */
function requests(events: LogEvent[]) {
  return events.filter(({ message }) => message === "Request")
    .map(({ properties }) => properties);
}

/** A text that ends a line, looks like a field, and is longer than any name. */
const WORDS = 'FORGED\r\n","level":"ERROR","x":"'.repeat(30);

/** The parameters that a stranger can write, by method and path. */
const WRITABLE = {
  "GET /authorize": ["client_id", "redirect_uri", "scope", "state", "prompt"],
  "POST /authorize": ["request", "decision"],
  "GET /oauth/provider-callback": ["code", "state", "error", "iss"],
  "POST /token": ["grant_type", "client_id", "code", "refresh_token", "scope"],
  "POST /revoke": ["client_id", "token"],
};

Deno.test("a stranger's words are in no line, wherever they write them", async () => {
  const events = await eventsOf(async (server) => {
    for (const [step, fields] of Object.entries(WRITABLE)) {
      const [method, path] = step.split(" ");
      for (const field of fields) {
        const words = new URLSearchParams({ client_id: "x", [field]: WORDS });
        await (method === "GET"
          ? server.fetch(`${path}?${words}`)
          : server.fetch(path, { method, body: words }));
      }
    }
    for (const field of ["client_name", "redirect_uris", "scope", "logo_uri"]) {
      const redirect_uris = ["http://127.0.0.1/callback"];
      await server.fetch("/register", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ redirect_uris, [field]: WORDS }),
      });
    }
    await server.fetch("/token", { method: "FORGED".repeat(1000) });
    await server.fetch(`/${encodeURIComponent(WORDS)}`, { method: "POST" });
  });
  assert(requests(events).length > 20);
  assert(!JSON.stringify(events).includes("FORGED"));
});

Deno.test("a sign-in is one line a step, by the client's id and its grant, without a secret", async () => {
  const secrets: string[] = [];
  let clientId = "";
  let grantId: string | undefined;
  const events = await eventsOf(async (server) => {
    const client = await Client.register(server);
    clientId = shortClientId(client.clientId);
    const code = await client.signIn();
    const { body } = await client.redeem(code);
    grantId = parseCredential(body.access_token)?.grantId;
    await client.refresh(body.refresh_token);
    await client.refresh("junk-token");
    secrets.push(code, body.access_token, body.refresh_token, client.state);
    secrets.push(client.verifier, "junk-token");
  });
  assert.deepEqual(
    requests(events).map((
      { method, status, outcome, clientId, grantId, refusal },
    ) => [method, status, outcome, clientId, grantId, refusal]),
    [
      ["POST /register", 201, "ok", clientId, undefined, undefined],
      ["GET /authorize", 200, "ok", clientId, undefined, undefined],
      ["POST /authorize", 303, "ok", clientId, undefined, undefined],
      [
        "GET /oauth/provider-callback",
        302,
        "ok",
        clientId,
        undefined,
        undefined,
      ],
      ["POST /token", 200, "ok", clientId, grantId, undefined],
      ["POST /token", 200, "ok", clientId, grantId, undefined],
      [
        "POST /token",
        400,
        "refused",
        clientId,
        undefined,
        "invalid_grant: The refresh token is unknown, expired or revoked",
      ],
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

Deno.test("what a request did is told with the person and the grant, under its reference", async () => {
  const events = await eventsOf(async (server) => {
    const client = await Client.register(server);
    const { refresh_token } = await client.connect();
    await server.form("/revoke", { token: refresh_token });
    await client.connect();
    const visitor = await AccountVisitor.signIn(server);
    await visitor.press("/account/pause");
    await visitor.makeToken();
    await visitor.press("/account/end");
    const browser = server.browser();
    const consent = await browser.open(client.authorizationUrl());
    await browser.press(consent, "decision", "deny");
    server.provider.redeem = () =>
      Promise.reject(new UpstreamError("denied", "not this one"));
    await assert.rejects(client.connect());
    await AccountVisitor.signIn(server);
    await server.app.close();
  });
  const methods = new Map(
    requests(events).map(({ reference, method }) => [reference, method]),
  );
  const told = events.filter(({ message }) => message !== "Request")
    .map(({ message, properties: { reference, subject, grantId } }) => [
      message,
      methods.get(reference),
      subject,
      grantId !== undefined,
    ]);
  const jo = "github:42";
  assert.deepEqual(told, [
    ["Client registered", "POST /register", undefined, false],
    ["Signed in", "GET /oauth/provider-callback", jo, true],
    ["Grant revoked", "POST /revoke", undefined, true],
    ["Signed in", "GET /oauth/provider-callback", jo, true],
    [
      "Signed in to the account page",
      "GET /oauth/provider-callback",
      jo,
      false,
    ],
    ["Connection paused on the account page", "POST /account/pause", jo, true],
    [
      "Signed in to the account page",
      "GET /oauth/provider-callback",
      jo,
      false,
    ],
    ["Access token made on the account page", "POST /account/tokens", jo, true],
    ["Connection ended on the account page", "POST /account/end", jo, true],
    ["Consent denied", "POST /authorize", undefined, false],
    ["Sign-in failed", "GET /oauth/provider-callback", undefined, false],
    [
      "Sign-in to the account page failed",
      "GET /oauth/provider-callback",
      undefined,
      false,
    ],
  ]);
});

const CLIENT_ID = `${"a".repeat(22)}.b`;

Deno.test("a database that fails is told once a second with its cause, and each answer has a reference", async () => {
  using time = new FakeTime();
  using database = await switchableKv();
  const { kv, state } = database;
  const references: string[] = [];
  const events = await eventsOf(async (server) => {
    state.isUp = false;
    for (let n = 0; n < 10; n++) {
      if (n === 5) time.tick(1);
      // An ID that may be a client's, so that the database is asked.
      const response = await server.fetch(`/authorize?client_id=${CLIENT_ID}`);
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

Deno.test("what answers 5xx is told once, whichever page it is", async () => {
  for (const [kind, status] of [["unavailable", 503], ["misbehaved", 502]]) {
    const provider = new FakeProvider();
    provider.redeem = () =>
      Promise.reject(new UpstreamError(kind as "unavailable", `${kind} now`));
    const events = await eventsOf(async (server) => {
      const { page } = await AccountVisitor.signIn(server);
      assert.equal(page.status, status);
    }, { provider });
    const told = events.filter(({ message }) => message !== "Request");
    assert.deepEqual(told.map(({ message }) => message), ["Not available"]);
    const { cause } = told[0].properties.error as Error;
    assert.match(String(cause), new RegExp(`${kind} now`));
  }
  const provider = new FakeProvider();
  provider.authorizationUrl = () =>
    Promise.reject(new UpstreamError("unavailable", "not reached"));
  const events = await eventsOf(async (server) => {
    const client = await Client.register(server);
    const browser = server.browser();
    const consent = await browser.open(client.authorizationUrl());
    const { status } = await browser.press(consent, "decision", "approve");
    assert.equal(status, 503);
  }, { provider });
  const warnings = events.filter(({ level }) => level !== "info");
  assert.deepEqual(warnings.map(({ message }) => message), ["Not available"]);
});

Deno.test("an author's route that answers an error is not told as ok", async () => {
  const { log, events } = recordLog("debug");
  await using server = await startServer({
    log,
    routes(app) {
      for (const status of [200, 404, 422, 500] as const) {
        app.get(`/hook/${status}`, (c) => c.text("", status));
      }
    },
  });
  for (const status of [200, 404, 422, 500]) {
    await server.fetch(`/hook/${status}`);
  }
  assert.deepEqual(
    requests(events).map(({ status, outcome }) => [status, outcome]),
    [[200, "ok"], [404, "refused"], [422, "refused"], [500, "internal_error"]],
  );
});

Deno.test("where no one signs in, the log tells once why, and which setting is wanted", async () => {
  using _time = new FakeTime();
  const { log, events } = recordLog();
  await using server = await startServer({ log });
  for (const path of ["/token", "/register", "/token"]) {
    const response = await server.fetch(path, { method: "POST" });
    assert.equal(response.status, 501);
    const text = await response.text();
    assert.doesNotMatch(text, /AUTH_STRATEGY/);
  }
  const [{ properties }, ...others] = events.filter(({ message }) =>
    message !== "Request"
  );
  assert.deepEqual(others, []);
  const { cause } = properties.error as Error;
  assert.match(String(cause), /^AUTH_STRATEGY is none\..*OAUTH_PROVIDER/);
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

Deno.test("who signed in, and what people changed, is told at every level", async () => {
  const { log, events } = recordLog("error");
  await using server = await startOAuthServer({ log });
  const client = await Client.register(server);
  const { refresh_token } = await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/pause");
  const form = { token: refresh_token, client_id: client.clientId };
  await (await server.form("/revoke", form)).body?.cancel();
  assert.deepEqual(events.map(({ message, audit }) => [message, audit]), [
    ["Signed in", true],
    ["Signed in to the account page", true],
    ["Connection paused on the account page", true],
    ["Grant revoked", true],
  ]);
});
