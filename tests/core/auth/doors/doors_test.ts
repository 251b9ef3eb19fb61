import assert from "node:assert/strict";
import { ChallengeError } from "../../../../src/core/errors.ts";
import { gateOfDoors } from "../../../../src/core/auth/doors/doors.ts";
import type { Gate } from "../../../../src/core/auth/doors/gate.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import type { Environment } from "../../../../src/core/settings/setting.ts";
import { BASE_URL, startServer, type TestServer } from "../../../kit/server.ts";
import { Client } from "../../../kit/client.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";
import type { HeadersOf } from "../../../kit/message.ts";
import { keyServer } from "../../../kit/key_server.ts";

const whoami = tool({
  name: "whoami",
  run: (_, { caller }) => JSON.stringify(caller),
});
const mail = tool({ name: "mail", scopes: ["mail:read"], run: () => "mail" });
const tools = [whoami, mail];

const ISSUER = "https://login.example.com";
const TOKEN = "the-only-secret-token";
const KEY = "the-only-secret-key";
const STATIC = { BEARER_TOKEN: TOKEN, API_KEY: KEY };

function jwtSettings(url: string): Environment {
  return { JWT_ISSUER: ISSUER, JWT_AUDIENCE: "tools", JWT_JWKS_URL: url };
}

const CLAIMS = {
  iss: ISSUER,
  aud: "tools",
  sub: "42",
  scope: "mail:read",
  exp: Math.floor(Date.now() / 1000) + 600,
};

async function call(server: TestServer, headers: HeadersOf) {
  const response = await server.call("tools/call", { name: "whoami" }, {
    headers,
  });
  const body = await response.json();
  return {
    status: response.status,
    challenge: response.headers.get("www-authenticate"),
    ...body.result && JSON.parse(body.result.content[0].text),
  };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

Deno.test("gateOfDoors() calls no one by one door as someone by another", async () => {
  await using keys = await keyServer();
  await using server = await startOAuthServer({
    tools,
    environment: { AUTH_STRATEGY: "oauth,jwt", ...jwtSettings(keys.url) },
  });
  const { access_token } = await (await Client.register(server)).connect();
  const { subject } = await call(server, bearer(access_token));
  const jwt = await keys.sign({ ...CLAIMS, sub: subject });
  const other = await call(server, bearer(jwt));
  assert.equal(other.subject, `https://login.example.com#${subject}`);
});

Deno.test("gateOfDoors() lets each credential in by the door it belongs to", async () => {
  await using keys = await keyServer();
  await using server = await startOAuthServer({
    tools,
    environment: {
      AUTH_STRATEGY: "oauth,jwt,bearer,api_key",
      ...jwtSettings(keys.url),
      ...STATIC,
    },
  });
  // Before any part of the sign-in was loaded.
  assert.equal((await call(server, bearer(TOKEN))).door, "bearer");
  assert.equal((await call(server, { "x-api-key": KEY })).door, "api_key");
  const jwt = await keys.sign(CLAIMS);
  assert.equal((await call(server, bearer(jwt))).door, "jwt");
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  assert.equal((await call(server, bearer(access_token))).door, "oauth");
  // The bearer token decides, whatever else a request holds.
  assert.deepEqual(
    (await call(server, { ...bearer("wrong"), "x-api-key": KEY })).status,
    401,
  );
});

Deno.test("gateOfDoors() challenges with Bearer first, and the metadata names every server", async () => {
  await using keys = await keyServer();
  await using server = await startOAuthServer({
    tools,
    environment: {
      AUTH_STRATEGY: "api_key,bearer,jwt,oauth",
      ...jwtSettings(keys.url),
      ...STATIC,
    },
  });
  const metadata = `${BASE_URL}/.well-known/oauth-protected-resource/mcp`;
  const { status, challenge } = await call(server, {});
  assert.equal(status, 401);
  assert.equal(
    challenge,
    `Bearer resource_metadata="${metadata}", authorization_uri="${BASE_URL}/` +
      `.well-known/oauth-authorization-server", scope="mail:read", ` +
      `ApiKey header="x-api-key"`,
  );
  const response = await server.fetch(
    "/.well-known/oauth-protected-resource/mcp",
  );
  const { authorization_servers } = await response.json();
  assert.deepEqual(authorization_servers, [BASE_URL, ISSUER]);
});

for (
  const [what, strategy, token] of [
    ["our own", "jwt,oauth", "tsa_unknown"],
    ["a text", "jwt,oauth", TOKEN],
    ["a wrong static", "oauth,jwt,bearer", `${TOKEN}1`],
    ["an unreadable JWT", "oauth,jwt,bearer", "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"],
  ] as const
) {
  Deno.test(`gateOfDoors() refuses ${what} token that no door knows, under ${strategy}`, async () => {
    await using keys = await keyServer();
    await using server = await startOAuthServer({
      tools,
      environment: {
        AUTH_STRATEGY: strategy,
        ...jwtSettings(keys.url),
        ...STATIC,
      },
    });
    const { status, challenge } = await call(server, bearer(token));
    assert.equal(status, 401);
    assert.match(challenge!, /^Bearer error="invalid_token"/);
    assert.match(challenge!, /resource_metadata="/);
  });
}

Deno.test("gateOfDoors() of comparisons alone names both", async () => {
  await using server = await startServer({
    tools,
    env: { AUTH_STRATEGY: "bearer,api_key", ...STATIC },
  });
  assert.equal((await call(server, bearer(TOKEN))).door, "bearer");
  assert.equal((await call(server, { "x-api-key": KEY })).door, "api_key");
  assert.equal((await call(server, bearer(KEY))).status, 401);
  assert.equal((await call(server, { "x-api-key": TOKEN })).status, 401);
  assert.equal(
    (await call(server, {})).challenge,
    'Bearer, ApiKey header="x-api-key"',
  );
});

Deno.test("jwtDoor() takes the tokens of each listed issuer, by that issuer's own keys", async () => {
  await using first = await keyServer();
  await using second = await keyServer();
  const other = "https://login.example.org";
  await using server = await startServer({
    tools,
    env: {
      AUTH_STRATEGY: "jwt",
      JWT_ISSUER: `${ISSUER},${other}`,
      JWT_AUDIENCE: "tools,https://tools.example.com/mcp",
      JWT_JWKS_URL: `${first.url},${second.url}`,
    },
  });
  const statusOf = async (token: string) =>
    (await call(server, bearer(token))).status;
  assert.equal(await statusOf(await first.sign(CLAIMS)), 200);
  const theirs = { ...CLAIMS, iss: other };
  assert.equal(await statusOf(await second.sign(theirs)), 200);
  const audience = { ...theirs, aud: "https://tools.example.com/mcp" };
  assert.equal(await statusOf(await second.sign(audience)), 200);
  // One issuer cannot issue tokens for the other.
  assert.equal(await statusOf(await first.sign(theirs)), 401);
  assert.equal(await statusOf(await second.sign(CLAIMS)), 401);
  const nobodys = { ...CLAIMS, iss: undefined };
  assert.equal(await statusOf(await first.sign(nobodys)), 401);
});

Deno.test("jwtDoor() holds tokens to the leeway, the typ and the claim of the settings", async () => {
  await using keys = await keyServer();
  await using server = await startServer({
    tools: [
      tool({
        name: "whoami",
        run: (_, { caller }) => JSON.stringify({ door: caller.scopes }),
      }),
    ],
    env: {
      AUTH_STRATEGY: "jwt",
      ...jwtSettings(keys.url),
      JWT_LEEWAY: "0",
      JWT_TYPE: "at+jwt",
      JWT_SCOPE_CLAIM: "realm_access.roles",
    },
  });
  const answer = async (claims: object, typ: string | undefined) => {
    const token = await keys.sign({ ...CLAIMS, ...claims }, undefined, { typ });
    const { status, door: scopes } = await call(server, bearer(token));
    return { status, scopes };
  };
  assert.deepEqual(
    await answer({ realm_access: { roles: ["mail:read"] } }, "at+jwt"),
    { status: 200, scopes: ["mail:read"] },
  );
  assert.deepEqual(await answer({}, "application/AT+jwt"), {
    status: 200,
    scopes: [],
  });
  assert.equal((await answer({}, "JWT")).status, 401);
  assert.equal((await answer({}, undefined)).status, 401);
  const past = Math.floor(Date.now() / 1000) - 1;
  assert.equal((await answer({ exp: past }, "at+jwt")).status, 401);
});

/** Makes a gate that reports its name. */
function named(name: string): Gate {
  return {
    authenticate: () => ({
      caller: { subject: name, scopes: [], binding: name },
    }),
    restore: () => ({ caller: { subject: name, scopes: [], binding: name } }),
    isConfigured: () => true,
    challenge: () => name,
  };
}

const REFUSAL = new ChallengeError("Sign in first");

Deno.test("gateOfDoors() is the gate of the only door there is", () => {
  for (const door of ["oauth", "jwt", "bearer"] as const) {
    const gate = named(door);
    assert.equal(gateOfDoors({ [door]: gate }), gate);
  }
});

for (const door of ["oauth", "jwt", "bearer"] as const) {
  Deno.test(`gateOfDoors() challenges for ${door} before a key`, () => {
    const apiKey = { ...named("key"), header: "x-key" };
    const gate = gateOfDoors({ [door]: named(door), apiKey });
    assert.equal(gate.challenge(REFUSAL), `${door}, key`);
  });
}

Deno.test("gateOfDoors() asks no door when nothing is presented", () => {
  const jwt = named("jwt");
  const bearer = named("bearer");
  const apiKey = { ...named("key"), header: "x-key" };
  const isAsked = (error: unknown) =>
    error instanceof ChallengeError && error.error === undefined;
  for (
    const gate of [gateOfDoors({ jwt, bearer }), gateOfDoors({ jwt, apiKey })]
  ) {
    assert.throws(() => gate.authenticate(new Headers()), isAsked);
  }
});
