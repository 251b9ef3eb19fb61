import assert from "node:assert/strict";
import { generateKeyPair, type JWTPayload, SignJWT } from "jose";
import type { Environment } from "../../../../src/core/settings/setting.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import type { LogOptions } from "../../../../src/core/log/log.ts";
import { switchableKv } from "../../../kit/switchable_kv.ts";
import { recordLog } from "../../../kit/log.ts";
import { keyServer } from "../../../kit/key_server.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import type { HeadersOf } from "../../../kit/message.ts";
import { BASE_URL, startServer } from "../../../kit/server.ts";
import { Client } from "../../../kit/client.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";

const whoami = tool({
  name: "whoami",
  run: (_, { caller }) => JSON.stringify(caller),
});
const mail = tool({ name: "mail", scopes: ["mail:read"], run: () => "mail" });
const tools = [whoami, mail];

function start(environment: Environment, log?: LogOptions) {
  return startServer({ tools, env: environment, log });
}

type Server = Awaited<ReturnType<typeof startServer>>;

async function call(server: Server, headers: HeadersOf, name = "whoami") {
  const response = await server.call("tools/call", { name }, { headers });
  const body = await response.json();
  return {
    status: response.status,
    challenge: response.headers.get("www-authenticate"),
    caller: body.result && JSON.parse(body.result.content[0].text),
  };
}

Deno.test("the door of bearer tokens lets in every token that is listed, and no one else", async () => {
  await using server = await start({
    AUTH_STRATEGY: "bearer",
    BEARER_TOKEN: "the-new-secret-token,the-old-secret-token",
  });
  for (const token of ["the-new-secret-token", "the-old-secret-token"]) {
    const { status, caller } = await call(server, {
      authorization: `Bearer ${token}`,
    });
    assert.equal(status, 200);
    assert.deepEqual(caller, {
      subject: "operator",
      door: "bearer",
      scopes: "all",
      binding: "operator",
    });
  }
  assert.deepEqual(await call(server, {}), {
    status: 401,
    challenge: "Bearer",
    caller: undefined,
  });
  for (
    const token of [
      "the-new-secret-token,the-old-secret-token",
      "the-new-secret-toke",
      "the-new-secret-token1",
    ]
  ) {
    const { status, challenge } = await call(server, {
      authorization: `Bearer ${token}`,
    });
    assert.equal(status, 401);
    assert.match(challenge!, /error="invalid_token"/);
  }
});

Deno.test("the door of API keys reads the header that it was told", async () => {
  await using server = await start({
    AUTH_STRATEGY: "api_key",
    API_KEY: "the-first-api-key,the-second-api-key",
    API_KEY_HEADER: "X-Tool-Key",
  });
  assert.equal(
    (await call(server, { "x-tool-key": "the-first-api-key" })).status,
    200,
  );
  assert.equal(
    (await call(server, { "x-tool-key": "the-second-api-key" })).status,
    200,
  );
  for (
    const headers of [{}, { "x-tool-key": "k" }, {
      "x-api-key": "the-first-api-key",
    }]
  ) {
    assert.deepEqual(await call(server, headers as HeadersOf), {
      status: 401,
      challenge: 'ApiKey header="x-tool-key"',
      caller: undefined,
    });
  }
});

const ISSUER = "https://login.example.com";
const CLAIMS = {
  iss: ISSUER,
  aud: "tools",
  sub: "42",
  client_id: "app",
  scope: "mail:read other",
  exp: Math.floor(Date.now() / 1000) + 600,
};

function startJwt(url: string, log?: LogOptions) {
  return start({
    AUTH_STRATEGY: "jwt",
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: "tools",
    JWT_JWKS_URL: url,
  }, log);
}

Deno.test("jwtDoor() lets in a token that was made for this server", async () => {
  await using keys = await keyServer();
  await using server = await startJwt(keys.url);
  const authorization = `Bearer ${await keys.sign(CLAIMS)}`;
  const { status, caller } = await call(server, { authorization });
  assert.equal(status, 200);
  assert.equal(caller.subject, "42");
  assert.equal(caller.clientId, "app");
  assert.deepEqual(caller.scopes, ["mail:read", "other"]);
  const narrow = await keys.sign({ ...CLAIMS, scope: "other" });
  assert.equal(
    (await call(server, { authorization: `Bearer ${narrow}` }, "mail")).status,
    403,
  );
});

const BAD_TOKENS: [string, JWTPayload][] = [
  ["of another issuer", { iss: "https://evil.example.com" }],
  ["for another audience", { aud: "other" }],
  ["that has expired", { exp: 1 }],
  ["of an empty subject", { sub: "" }],
  ["whose subject is a number", { sub: 42 as unknown as string }],
  ["whose subject is a list", { sub: ["42"] as unknown as string }],
  ["whose expiry is a text", { exp: "soon" as unknown as number }],
  [
    "that expired more than a minute ago",
    { exp: Math.floor(Date.now() / 1000) - 62 },
  ],
  ["that is not good yet", { nbf: CLAIMS.exp }],
];

for (const [what, changes] of BAD_TOKENS) {
  Deno.test(`jwtDoor() refuses a token ${what}`, async () => {
    await using keys = await keyServer();
    await using server = await startJwt(keys.url);
    const token = await keys.sign({ ...CLAIMS, ...changes });
    const { status, challenge } = await call(server, {
      authorization: `Bearer ${token}`,
    });
    assert.equal(status, 401);
    assert.match(challenge!, /error="invalid_token"/);
    assert.match(challenge!, /resource_metadata="/);
  });
}

for (
  const [what, claims, expected] of [
    ["scope as a text", { scope: " a  b " }, ["a", "b"]],
    ["scope as a list", { scope: ["a", 1, "b"] }, ["a", "b"]],
    ["scp as a text", { scope: undefined, scp: "a b" }, ["a", "b"]],
    ["scp where scope is null", { scope: null, scp: ["a"] }, ["a"]],
    ["scp as a list", { scope: undefined, scp: ["a", "b"] }, ["a", "b"]],
    ["scope before scp", { scope: "a", scp: "b" }, ["a"]],
    ["no scope for none", { scope: undefined }, []],
    ["a scope of another type for none", { scope: 7 }, []],
  ] as const
) {
  Deno.test(`jwtDoor() reads ${what}`, async () => {
    await using keys = await keyServer();
    await using server = await startJwt(keys.url);
    const token = await keys.sign({ ...CLAIMS, ...claims });
    const { caller } = await call(server, { authorization: `Bearer ${token}` });
    assert.deepEqual(caller.scopes, expected);
  });
}

Deno.test("jwtDoor() takes what is typed as an access token, or not typed", async () => {
  await using keys = await keyServer();
  await using server = await startJwt(keys.url);
  for (
    const [typ, status] of [
      [undefined, 200],
      ["JWT", 200],
      ["at+jwt", 200],
      ["application/at+JWT", 200],
      ["logout+jwt", 401],
      ["client-authentication+jwt", 401],
    ] as const
  ) {
    const token = await keys.sign(CLAIMS, undefined, { typ });
    const answer = await call(server, { authorization: `Bearer ${token}` });
    assert.equal(answer.status, status, typ);
  }
});

Deno.test("jwtDoor() bears with a clock that is a minute off", async () => {
  await using keys = await keyServer();
  await using server = await startJwt(keys.url);
  const now = Math.floor(Date.now() / 1000);
  for (const claims of [{ exp: now - 50 }, { nbf: now + 50 }]) {
    const token = await keys.sign({ ...CLAIMS, ...claims });
    const { status } = await call(server, { authorization: `Bearer ${token}` });
    assert.equal(status, 200);
  }
});

Deno.test("jwtDoor() refuses a token that expired since it was last verified", async () => {
  await using keys = await keyServer();
  await using server = await startJwt(keys.url);
  using time = new FakeTime();
  const start = Math.floor(Date.now() / 1000);
  const token = await keys.sign({ ...CLAIMS, exp: start });
  const authorization = `Bearer ${token}`;
  // Both calls fall into the second for which a token is cached.
  time.tick(start + 59.6 - Date.now() / 1000);
  assert.equal((await call(server, { authorization })).status, 200);
  time.tick(0.5);
  assert.equal((await call(server, { authorization })).status, 401);
});

Deno.test("jwtDoor() takes the same person with another client for the same", async () => {
  await using keys = await keyServer();
  await using server = await startJwt(keys.url);
  const bindingOf = async (claims: JWTPayload) => {
    const token = await keys.sign({ ...CLAIMS, ...claims });
    const { caller } = await call(server, { authorization: `Bearer ${token}` });
    return caller.binding;
  };
  const own = await bindingOf({});
  assert.equal(await bindingOf({ client_id: "other" }), own);
  assert.notEqual(await bindingOf({ sub: "43" }), own);
});

Deno.test("jwtDoor() answers 401 for a key that the issuer does not have", async () => {
  await using keys = await keyServer();
  await using server = await startJwt(keys.url);
  const token = await keys.sign(CLAIMS, undefined, { kid: "2" });
  const { status } = await call(server, { authorization: `Bearer ${token}` });
  assert.equal(status, 401);
});

Deno.test("jwtDoor() reads the keys again for one that the issuer has begun to use", async () => {
  using time = new FakeTime();
  await using keys = await keyServer();
  await using server = await startJwt(keys.url);
  const statusOf = async (token: string) =>
    (await call(server, { authorization: `Bearer ${token}` })).status;
  assert.equal(await statusOf(await keys.sign(CLAIMS)), 200);
  const key = await keys.publish("2");
  // A stranger cannot make this server ask more than twice a minute.
  time.tick(31);
  const token = await keys.sign(CLAIMS, key, { kid: "2" });
  assert.equal(await statusOf(token), 200);
});

Deno.test("jwtDoor() refuses other keys, other algorithms and other texts", async () => {
  await using keys = await keyServer();
  await using server = await startJwt(keys.url);
  const stranger = await generateKeyPair("ES256");
  const none = `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify(CLAIMS))}.`
    .replaceAll("=", "");
  const symmetric = await new SignJWT(CLAIMS)
    .setProtectedHeader({ alg: "HS256", kid: "1" })
    .sign(new TextEncoder().encode("x".repeat(32)));
  for (
    const token of [
      await keys.sign(CLAIMS, stranger.privateKey),
      none,
      symmetric,
      "text",
    ]
  ) {
    const { status } = await call(server, { authorization: `Bearer ${token}` });
    assert.equal(status, 401);
  }
  assert.equal((await call(server, {})).status, 401);
});

Deno.test("jwtDoor() answers 503 while the keys cannot be read, and not 401, and the log says why", async () => {
  await using keys = await keyServer();
  const { log, events } = recordLog("warning");
  await using server = await startJwt(keys.url, log);
  const authorization = `Bearer ${await keys.sign(CLAIMS)}`;
  keys.state.isUp = false;
  assert.equal((await call(server, { authorization })).status, 503);
  keys.state.isUp = true;
  assert.equal((await call(server, { authorization })).status, 200);
  const [{ message, properties }, ...others] = events;
  assert.deepEqual([message, others], ["Not available", []]);
  const { cause } = properties.error as Error;
  assert.match((cause as Error).message, /^127\.0\.0\.1:\d+ answered 5\d\d$/);
});

Deno.test("oauthDoor() names no error to who presents nothing, and all scopes", async () => {
  await using server = await startOAuthServer({ tools });
  const { challenge } = await call(server, {});
  assert.equal(
    challenge,
    `Bearer resource_metadata="${BASE_URL}/.well-known/` +
      `oauth-protected-resource/mcp", authorization_uri="${BASE_URL}/` +
      `.well-known/oauth-authorization-server", scope="mail:read"`,
  );
});

Deno.test("oauthDoor() answers 503 while the database does not, and not 401", async () => {
  using database = await switchableKv();
  await using server = await startOAuthServer({ kv: database.kv, tools });
  const client = await Client.register(server);
  const { access_token, refresh_token } = await client.connect();
  database.state.isUp = false;
  const authorization = `Bearer ${access_token}`;
  const response = await server.call("tools/call", { name: "whoami" }, {
    headers: { authorization },
  });
  assert.equal(response.status, 503);
  assert(response.headers.get("retry-after"));
  assert.equal(response.headers.get("www-authenticate"), null);
  await response.body?.cancel();
  const refused = await client.refresh(refresh_token);
  assert.equal(refused.status, 503);
  assert.equal(refused.body.error, "temporarily_unavailable");
  database.state.isUp = true;
  assert.equal((await client.refresh(refresh_token)).status, 200);
  assert.equal((await call(server, { authorization })).status, 200);
});
