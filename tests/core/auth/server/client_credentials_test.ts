import assert from "node:assert/strict";
import { exportJWK, generateKeyPair } from "jose";
import { statusOf } from "../../../kit/answer.ts";
import { clientAssertion } from "../../../kit/client_assertion.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { BASE_URL } from "../../../kit/server.ts";
import { callWith, Client } from "../../../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../../../kit/sign_in.ts";
import { until } from "../../../kit/wait.ts";
import { FakeTime } from "../../../kit/fake_time.ts";

const whoami = tool({
  name: "whoami",
  run: (_, { caller }) => JSON.stringify(caller),
});
const mail = tool({ name: "mail", scopes: ["mail:read"], run: () => "mail" });
const send = tool({ name: "send", scopes: ["mail:send"], run: () => "sent" });
const tools = [whoami, mail, send];

const SECRET = "a-secret-of-many-letters";
const { privateKey, publicKey } = await generateKeyPair("EdDSA");

const CLIENTS = [
  {
    client_id: "ci",
    client_name: "Nightly build",
    grant_types: ["client_credentials"],
    client_secret_env: "OAUTH_CLIENT_SECRET_CI",
    scope: "mail:read",
  },
  {
    client_id: "signs",
    grant_types: ["client_credentials"],
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [await exportJWK(publicKey)] },
  },
  {
    client_id: "intranet",
    client_name: "Intranet",
    redirect_uris: ["https://intranet.example.com/cb"],
    client_secret_env: "OAUTH_CLIENT_SECRET_CI",
  },
];

function start(
  { clients = CLIENTS, ...options }: {
    clients?: unknown[];
    kv?: Deno.Kv;
    environment?: Record<string, string>;
  } = {},
): Promise<OAuthServer> {
  return startOAuthServer({
    tools,
    ...options,
    environment: {
      OAUTH_CLIENTS: JSON.stringify(clients),
      OAUTH_CLIENT_SECRET_CI: SECRET,
      ...options.environment,
    },
  });
}

async function ask(
  server: OAuthServer,
  parameters: Record<string, string> = {},
  credentials: Record<string, string> = {
    client_id: "ci",
    client_secret: SECRET,
  },
) {
  const response = await server.form("/token", {
    grant_type: "client_credentials",
    ...credentials,
    ...parameters,
  });
  return { status: response.status, body: await response.json() };
}

Deno.test("POST /token gives a machine an access token of its own, and no refresh token", async () => {
  using _time = new FakeTime();
  await using server = await start();
  const { status, body } = await ask(server);
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body).sort(), [
    "access_token",
    "expires_in",
    "scope",
    "token_type",
  ]);
  assert.equal(body.expires_in, 3600);
  assert.equal(body.scope, "mail:read");
  const { text } = await callWith(server, body.access_token);
  const { subject, clientId, door } = JSON.parse(text);
  assert.deepEqual({ subject, clientId, door }, {
    subject: "client:ci",
    clientId: "ci",
    door: "oauth",
  });
  assert.equal(
    (await callWith(server, body.access_token, "mail")).text,
    "mail",
  );
  assert.equal((await callWith(server, body.access_token, "send")).status, 403);
});

Deno.test("POST /token takes Basic and a signature of a machine, each once", async () => {
  await using server = await start();
  assert.equal(
    await statusOf(server.form("/token", {
      grant_type: "client_credentials",
      resource: `${BASE_URL}/mcp`,
    }, { authorization: `Basic ${btoa(`ci:${SECRET}`)}` })),
    200,
  );
  const assertion = await clientAssertion("signs", privateKey);
  const signed = await ask(server, {}, assertion);
  assert.equal(signed.status, 200);
  assert.equal(signed.body.scope, "");
  assert.equal((await callWith(server, signed.body.access_token)).status, 200);
  const again = await ask(server, {}, assertion);
  assert.deepEqual([again.status, again.body.error], [401, "invalid_client"]);
});

for (
  const [what, parameters, credentials, status, error] of [
    [
      "a wrong secret",
      {},
      { client_id: "ci", client_secret: "x" },
      401,
      "invalid_client",
    ],
    ["no secret", {}, { client_id: "ci" }, 401, "invalid_client"],
    [
      "another's secret for one that signs",
      {},
      { client_id: "signs", client_secret: SECRET },
      401,
      "invalid_client",
    ],
    [
      "an app of the operator's",
      {},
      { client_id: "intranet", client_secret: SECRET },
      400,
      "unauthorized_client",
    ],
    [
      "a scope beyond its own",
      { scope: "mail:read mail:send" },
      undefined,
      400,
      "invalid_scope",
    ],
    [
      "another resource",
      { resource: "https://other.example.com/mcp" },
      undefined,
      400,
      "invalid_target",
    ],
  ] as const
) {
  Deno.test(`POST /token refuses client_credentials with ${what}`, async () => {
    await using server = await start();
    const answer = await ask(server, parameters, credentials);
    assert.deepEqual([answer.status, answer.body.error], [status, error]);
  });
}

Deno.test("POST /token gives no machine's token to a client that registered itself", async () => {
  await using server = await start();
  const client = await Client.register(server, {
    token_endpoint_auth_method: "client_secret_post",
    grant_types: ["authorization_code", "client_credentials"],
  });
  const { status, body } = await client.token({
    grant_type: "client_credentials",
  });
  assert.deepEqual([status, body.error], [400, "unauthorized_client"]);
});

Deno.test("a machine's token is good at another process, and ends with its hour", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");

  await using server = await start({ kv });
  await using other = await start({ kv });
  const { body } = await ask(server);
  assert.equal((await callWith(other, body.access_token)).status, 200);
  time.tick(3600);
  assert.equal((await callWith(other, body.access_token)).status, 401);
});

Deno.test("a machine's token ends where the operator no longer lists the machine", async () => {
  using kv = await Deno.openKv(":memory:");

  await using server = await start({ kv });
  const { body } = await ask(server);
  await using without = await start({ kv, clients: CLIENTS.slice(1) });
  assert.equal((await callWith(without, body.access_token)).status, 401);
  await using demoted = await start({
    kv,
    clients: [{ ...CLIENTS[2], client_id: "ci" }],
  });
  assert.equal((await callWith(demoted, body.access_token)).status, 401);
});

Deno.test("the list of people who may sign in says nothing about machines", async () => {
  await using server = await start({
    environment: { OAUTH_ALLOWED_USERS: "jo@example.com" },
  });
  const { body } = await ask(server);
  assert.equal((await callWith(server, body.access_token)).status, 200);
});

Deno.test("an operator sees when each client was last used, also after its tokens have ended", async () => {
  using time = new FakeTime();
  await using server = await start({
    environment: { OAUTH_ADMINS: "jo@example.com" },
  });
  const registered = await Client.register(server, { client_name: "Theirs" });
  await registered.connect();
  await ask(server);
  await until(async () =>
    (await Array.fromAsync(server.kv.list({ prefix: ["client-use"] })))
      .length === 1
  );
  time.tick(2 * 3600);
  const browser = server.browser();
  const account = await browser.open(`${BASE_URL}/account/people`);
  const people = await browser.press(account, "", "");
  const clients = await browser.open(`${BASE_URL}/account/clients`);
  const rows = (people.text + clients.text).split("<tr").map((row) =>
    row.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ")
  );
  const rowOf = (name: string) => rows.findLast((row) => row.includes(name))!;
  assert.match(rowOf("Nightly build"), /client_credentials 2 hours ago/);
  assert.match(rowOf("Intranet"), /Not in 90 days/);
  assert.match(rowOf("Theirs"), /2 hours ago 2 hours ago/);
});

Deno.test("a person signs in to a client that the operator set up", async () => {
  await using server = await start();
  const client = new Client(
    server,
    "intranet",
    "https://intranet.example.com/cb",
    SECRET,
  );
  const page = await server.browser().open(client.authorizationUrl());
  assert.match(page.text, /Set up by the operator/);
  assert.doesNotMatch(page.text, /calling itself/);
  assert.equal((await client.connect()).token_type, "Bearer");
});

Deno.test("POST /token gives one machine 300 tokens at once, and five a second, and spends no assertion that it refuses", async () => {
  using time = new FakeTime();
  await using server = await start();
  for (let n = 0; n < 300; n++) {
    assert.equal((await ask(server)).status, 200);
  }
  const { status, body } = await ask(server);
  assert.equal(status, 429, JSON.stringify(body));
  const sign = () => clientAssertion("signs", privateKey);
  const signed = async (assertion: Record<string, string>) =>
    (await ask(server, {}, assertion)).status;
  for (let n = 0; n < 300; n++) assert.equal(await signed(await sign()), 200);
  const refused = await sign();
  assert.equal(await signed(refused), 429);
  time.tick(1);
  assert.equal(await signed(refused), 200);
  assert.equal((await ask(server)).status, 200);
});
