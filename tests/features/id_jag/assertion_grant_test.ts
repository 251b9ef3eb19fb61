/** `POST /token` with an identity assertion (ID-JAG). */
import assert from "node:assert/strict";
import { recordLog } from "../../kit/log.ts";
import type { LogOptions } from "../../../src/core/log/log.ts";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import type { ScopeDefinitions } from "../../../src/authoring/scope.ts";
import { tool } from "../../../src/authoring/tool.ts";
import { randomId } from "../../../src/core/crypto/crypto.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../../src/core/oauth/client.ts";
import { FaultyKv } from "../../kit/faulty_kv.ts";
import {
  type AssertionProvider,
  type Claims,
  startAssertionProvider,
} from "../../kit/assertion_provider.ts";
import { BASE_URL } from "../../kit/server.ts";
import { callWith, Client } from "../../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const tools = [
  tool({ name: "whoami", run: (_, { caller }) => JSON.stringify(caller) }),
  tool({ name: "mail", scopes: ["mail:read"], run: () => "mail" }),
  tool({ name: "send", scopes: ["mail:send"], run: () => "sent" }),
];

const SECRET = "a-secret-of-many-letters";
const DOCUMENT_URL = "https://desk.example.com/client.json";
const { privateKey, publicKey } = await generateKeyPair("ES256");
const forged = (await generateKeyPair("ES256")).privateKey;

const CLIENTS = [
  {
    client_id: "desk",
    client_name: "Desk",
    grant_types: [JWT_BEARER_GRANT_TYPE],
    client_secret_env: "OAUTH_CLIENT_SECRET_DESK",
  },
  {
    client_id: "intranet",
    redirect_uris: ["https://intranet.example.com/cb"],
    client_secret_env: "OAUTH_CLIENT_SECRET_DESK",
  },
];

const DOCUMENT = {
  client_id: DOCUMENT_URL,
  client_name: "Desk with a document",
  redirect_uris: ["https://desk.example.com/cb"],
  grant_types: ["authorization_code", JWT_BEARER_GRANT_TYPE],
  token_endpoint_auth_method: "none",
  token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
  jwks: { keys: [await exportJWK(publicKey)] },
};

function start(
  { issuer }: AssertionProvider,
  { kv, log, environment, scopes, tools: others = tools }: {
    log?: LogOptions;
    kv?: Deno.Kv;
    tools?: typeof tools;
    environment?: Record<string, string>;
    scopes?: ScopeDefinitions;
  } = {},
): Promise<OAuthServer> {
  return startOAuthServer({
    scopes,
    tools: others,
    kv,
    log,
    fetchDocument: () =>
      Promise.resolve({
        document: DOCUMENT,
        expiresAt: Math.floor(Date.now() / 1000) + 60,
      }),
    environment: {
      OAUTH_ASSERTION_ISSUERS: issuer,
      OAUTH_CLIENTS: JSON.stringify(CLIENTS),
      OAUTH_CLIENT_SECRET_DESK: SECRET,
      ...environment,
    },
  });
}

async function ask(
  server: OAuthServer,
  assertion: string,
  parameters: Record<string, string> = {},
) {
  const response = await server.form("/token", {
    grant_type: JWT_BEARER_GRANT_TYPE,
    assertion,
    client_id: "desk",
    client_secret: SECRET,
    ...parameters,
  });
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body: await response.json(),
  };
}

/** Prints an answer's error. */
const refusal = ({ status, body }: Awaited<ReturnType<typeof ask>>) =>
  `${status} ${body.error}`;

Deno.test("POST /token gives the person of an assertion to its client, without a page and a refresh token", async () => {
  using _time = new FakeTime();
  await using idp = await startAssertionProvider();
  await using server = await start(idp);
  const { status, body } = await ask(server, await idp.assertion(BASE_URL));
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(Object.keys(body).sort(), [
    "access_token",
    "expires_in",
    "scope",
    "token_type",
  ]);
  assert.deepEqual([body.expires_in, body.scope], [
    3600,
    "mail:read mail:send",
  ]);
  const { text } = await callWith(server, body.access_token);
  const { subject, clientId, door, identity } = JSON.parse(text);
  const id = `${idp.issuer}#ada`;
  assert.deepEqual([subject, clientId, door], [id, "desk", "oauth"]);
  // A rule with a bare subject means a person of the sign-in provider.
  assert.equal(identity.subject, id);
  assert.equal(
    (await callWith(server, body.access_token, "mail")).text,
    "mail",
  );
});

Deno.test("POST /token does not match a rule about another issuer's person", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp, {
    environment: {
      OAUTH_PROVIDER: "oidc",
      OAUTH_ISSUER: idp.issuer,
      OAUTH_CLIENT_ID: "app",
      OAUTH_CLIENT_SECRET: "hush",
      OAUTH_ASSERTION_ISSUERS: `${idp.issuer},https://id.example.com`,
      OAUTH_ALLOWED_USERS: "42,https://id.example.com#42",
    },
  });
  const answerTo = async (sub: string) =>
    refusal(await ask(server, await idp.assertion(BASE_URL, { sub })));
  assert.equal(await answerTo("42"), "200 undefined");
  assert.equal(
    await answerTo("https://id.example.com#42"),
    "400 invalid_grant",
  );
});

Deno.test("the log tells whom an assertion signed in, under the reference of its request", async () => {
  await using idp = await startAssertionProvider();
  const { log, events } = recordLog();
  await using server = await start(idp, { log });
  await ask(server, await idp.assertion(BASE_URL));
  assert.deepEqual(events.map(({ message }) => message), [
    "Signed in by an assertion",
    "Request",
  ]);
  const [signedIn, request] = events.map(({ properties }) => properties);
  assert.equal(signedIn.subject, `${idp.issuer}#ada`);
  for (const name of ["reference", "clientId", "grantId"]) {
    assert(signedIn[name] !== undefined, name);
    assert.equal(signedIn[name], request[name]);
  }
});

Deno.test("POST /token takes an assertion once, at any process", async () => {
  await using idp = await startAssertionProvider();
  using kv = await Deno.openKv(":memory:");

  await using server = await start(idp, { kv });
  await using other = await start(idp, { kv });
  const assertion = await idp.assertion(BASE_URL);
  const answers = await Promise.all(
    [server, other, server, other].map((at) => ask(at, assertion)),
  );
  assert.deepEqual(answers.map(refusal).sort(), [
    "200 undefined",
    ...Array(3).fill("400 invalid_grant"),
  ]);
  const won = answers.find(({ status }) => status === 200)!;
  assert.equal((await callWith(other, won.body.access_token)).status, 200);
});

for (const kind of ["refuses", "forgets", "repeats"] as const) {
  Deno.test(`POST /token spends no assertion on a database that ${kind}`, async () => {
    await using idp = await startAssertionProvider();
    using memory = await Deno.openKv(":memory:");

    for (let at = 1, hasFailed = true; hasFailed; at++) {
      const faulty = new FaultyKv(memory, { kind, at });
      await using server = await start(idp, { kv: faulty.kv });
      const assertion = await idp.assertion(BASE_URL);
      let answer = await ask(server, assertion);
      if (answer.status === 503) answer = await ask(server, assertion);
      assert.equal(answer.status, 200, `operation ${at}`);
      hasFailed = faulty.hasFailed;
    }
  });
}

Deno.test("POST /token takes 300 assertions of one client at once, and spends none that it refuses", async () => {
  using time = new FakeTime();
  await using idp = await startAssertionProvider();
  await using server = await start(idp);
  for (let n = 0; n < 300; n++) {
    assert.equal(
      (await ask(server, await idp.assertion(BASE_URL))).status,
      200,
    );
  }
  const refused = await idp.assertion(BASE_URL);
  assert.equal((await ask(server, refused)).status, 429);
  time.tick(1);
  assert.equal((await ask(server, refused)).status, 200);
});

Deno.test("POST /token spends no assertion on a refusal", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp);
  const assertion = await idp.assertion(BASE_URL);
  const other = await ask(server, assertion, { scope: "nonsense" });
  assert.equal(refusal(other), "400 invalid_scope");
  assert.equal((await ask(server, assertion)).status, 200);
});

/** A few that each rule of its own refuses; the rules have tests of theirs. */
const REFUSED: [what: string, claims: Claims][] = [
  ["for another server", { aud: "https://other.example.com" }],
  ["for /mcp in place of its authorization server", { aud: `${BASE_URL}/mcp` }],
  ["for no client", { client_id: undefined }],
  ["that has expired", { exp: Math.floor(Date.now() / 1000) - 120 }],
  ["that never expires", { exp: undefined }],
  ["that begins later", { nbf: Math.floor(Date.now() / 1000) + 600 }],
  ["of an issuer that is not trusted", { iss: "https://id.example.com" }],
  ["of no issuer", { iss: undefined }],
];

for (const [what, claims] of REFUSED) {
  Deno.test(`POST /token refuses an assertion ${what}`, async () => {
    await using idp = await startAssertionProvider();
    await using server = await start(idp);
    const answer = await ask(server, await idp.assertion(BASE_URL, claims));
    assert.equal(refusal(answer), "400 invalid_grant");
  });
}

Deno.test("POST /token refuses what its issuer did not sign as an assertion", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp);
  const claims = {
    iss: idp.issuer,
    aud: BASE_URL,
    sub: "ada",
    client_id: "desk",
    jti: "1",
    iat: Math.floor(Date.now() / 1000),
    exp: Math.floor(Date.now() / 1000) + 60,
  };
  const bad: Record<string, string> = {
    "another key": await idp.assertion(BASE_URL, {}, {}, forged),
    "an unknown key": await idp.assertion(BASE_URL, {}, { kid: "9" }, forged),
    "an id_token": await idp.assertion(BASE_URL, {}, { typ: "JWT" }),
    "an access token": await idp.assertion(BASE_URL, {}, { typ: "at+jwt" }),
    "no type": await idp.assertion(BASE_URL, {}, { typ: undefined }),
    "no signature": new UnsecuredJWT(claims).encode(),
    "a shared secret": await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", typ: "oauth-id-jag+jwt" })
      .sign(new TextEncoder().encode("s".repeat(32))),
    "nonsense": "nonsense",
  };
  for (const [what, assertion] of Object.entries(bad)) {
    assert.equal(
      refusal(await ask(server, assertion)),
      "400 invalid_grant",
      what,
    );
  }
});

for (
  const [what, parameters, error] of [
    ["a wrong secret", { client_secret: "wrong" }, "401 invalid_client"],
    ["no secret", { client_secret: "" }, "401 invalid_client"],
    ["a client that is not set up for it", {
      client_id: "intranet",
    }, "400 unauthorized_client"],
    ["another resource", {
      resource: "https://other.example.com/mcp",
    }, "400 invalid_target"],
    ["no assertion", { assertion: "" }, "400 invalid_request"],
  ] as const
) {
  Deno.test(`POST /token refuses an assertion with ${what}`, async () => {
    await using idp = await startAssertionProvider();
    await using server = await start(idp);
    const assertion = await idp.assertion(BASE_URL);
    assert.equal(refusal(await ask(server, assertion, parameters)), error);
  });
}

Deno.test("POST /token takes assertions of a client with a document only with its signature", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp);
  const assertion = await idp.assertion(BASE_URL, { client_id: DOCUMENT_URL });
  const client = { client_id: DOCUMENT_URL, client_secret: "" };
  assert.equal(
    refusal(await ask(server, assertion, client)),
    "400 unauthorized_client",
  );
  const signed = await ask(server, assertion, {
    ...client,
    client_assertion_type:
      "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: await new SignJWT({ jti: randomId() })
      .setProtectedHeader({ alg: "ES256" }).setIssuer(DOCUMENT_URL)
      .setSubject(DOCUMENT_URL).setAudience(BASE_URL).setExpirationTime("5m")
      .sign(privateKey),
  });
  assert.equal(signed.status, 200, JSON.stringify(signed.body));
});

Deno.test("POST /token takes no assertion for a client that registered itself", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp);
  const client = await Client.register(server, {
    token_endpoint_auth_method: "client_secret_post",
    grant_types: ["authorization_code", JWT_BEARER_GRANT_TYPE],
  });
  const { status, body } = await client.token({
    grant_type: JWT_BEARER_GRANT_TYPE,
    assertion: await idp.assertion(BASE_URL, { client_id: client.clientId }),
  });
  assert.deepEqual([status, body.error], [400, "unauthorized_client"]);
});

for (
  const [what, claims, parameters, scope] of [
    ["all of it", {}, {}, "mail:read mail:send"],
    ["what the assertion names", { scope: "mail:read" }, {}, "mail:read"],
    ["what the client asks for", {}, { scope: "mail:send" }, "mail:send"],
    [
      "what both name",
      { scope: "mail:read other" },
      { scope: "mail:read mail:send offline_access" },
      "mail:read",
    ],
  ] as [string, Claims, Record<string, string>, string][]
) {
  Deno.test(`POST /token grants by an assertion ${what}`, async () => {
    await using idp = await startAssertionProvider();
    await using server = await start(idp);
    const assertion = await idp.assertion(BASE_URL, claims);
    const { body } = await ask(server, assertion, parameters);
    assert.equal(body.scope, scope);
  });
}

for (
  const [what, claims, parameters] of [
    ["none of what the assertion names", { scope: "mail:read" }, {
      scope: "mail:send",
    }],
    ["an assertion for nothing", { scope: "" }, {}],
    ["an assertion for scopes of another server", { scope: "other" }, {}],
  ] as [string, Claims, Record<string, string>][]
) {
  Deno.test(`POST /token refuses by invalid_scope ${what}`, async () => {
    await using idp = await startAssertionProvider();
    await using server = await start(idp);
    const assertion = await idp.assertion(BASE_URL, claims);
    const answer = await ask(server, assertion, parameters);
    assert.equal(refusal(answer), "400 invalid_scope");
  });
}

Deno.test("POST /token grants by an assertion what it names, though sign-ins do not ask for it", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp, {
    scopes: { "mail:send": { description: "Send mail", stepUp: true } },
  });
  for (
    const [claims, scope] of [
      [{}, "mail:read"],
      [{ scope: "mail:send" }, "mail:send"],
    ] as [Claims, string][]
  ) {
    const { body } = await ask(server, await idp.assertion(BASE_URL, claims));
    assert.equal(body.scope, scope);
  }
});

Deno.test("OAUTH_GROUPS_CLAIM names the groups in assertions too", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp, {
    environment: {
      OAUTH_GROUPS_CLAIM: "departments",
      OAUTH_PERMISSIONS: "group:staff=mail:read",
    },
  });
  const assertion = await idp.assertion(BASE_URL, { departments: ["staff"] });
  assert.equal((await ask(server, assertion)).body.scope, "mail:read");
});

Deno.test("POST /token grants by an assertion where no tool needs a scope", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp, { tools: tools.slice(0, 1) });
  const answer = await ask(server, await idp.assertion(BASE_URL));
  assert.equal(answer.status, 200);
  assert.equal((await callWith(server, answer.body.access_token)).status, 200);
});

Deno.test("the rules of who may be granted what hold for assertions, by the groups they name", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp, {
    environment: {
      OAUTH_PERMISSIONS: "group:staff=mail:read; role:boss=*; 7=*",
    },
  });
  const scopeFor = async (claims: Claims) => {
    const answer = await ask(server, await idp.assertion(BASE_URL, claims));
    return answer.body.scope ?? refusal(answer);
  };
  assert.equal(await scopeFor({ groups: ["staff"] }), "mail:read");
  assert.equal(await scopeFor({ roles: ["boss"] }), "mail:read mail:send");
  // The rule for `7` means a person of the sign-in provider.
  assert.equal(await scopeFor({ sub: "7" }), "400 invalid_scope");
  const { body } = await ask(
    server,
    await idp.assertion(BASE_URL, { groups: ["staff"] }),
  );
  assert.match((await callWith(server, body.access_token)).text, /"staff"/);
  const hidden = await callWith(server, body.access_token, "send");
  assert.deepEqual([hidden.status, hidden.text], [200, undefined]);
});

Deno.test("an address counts only where the assertion says that it was verified", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp, {
    environment: { OAUTH_ALLOWED_USERS: "@example.com" },
  });
  const statusFor = async (claims: Claims) =>
    (await ask(server, await idp.assertion(BASE_URL, claims))).status;
  const email = "ada@example.com";
  assert.equal(await statusFor({ email, email_verified: true }), 200);
  assert.equal(await statusFor({ email }), 400);
  assert.equal(await statusFor({}), 400);
});

Deno.test("a person is the same by an assertion and by a sign-in at the same issuer", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp, {
    environment: {
      OAUTH_PROVIDER: "oidc",
      OAUTH_ISSUER: idp.issuer,
      OAUTH_ALLOWED_USERS: "42",
    },
  });
  // The test provider takes the place of the one in the settings.
  const tokens = await (await Client.register(server)).connect();
  const { body } = await ask(
    server,
    await idp.assertion(BASE_URL, { sub: "42" }),
  );
  const bindings = await Promise.all(
    [tokens, body].map(async ({ access_token }) =>
      JSON.parse((await callWith(server, access_token)).text).binding
    ),
  );
  assert.equal(bindings[0], bindings[1]);
});

Deno.test("an issuer that serves several organizations speaks for the one that is named", async () => {
  await using idp = await startAssertionProvider();
  await using server = await start(idp, {
    environment: { OAUTH_ASSERTION_ISSUERS: `${idp.issuer}#acme` },
  });
  const answer = async (tenant?: string) =>
    await ask(server, await idp.assertion(BASE_URL, { tenant }));
  const { body } = await answer("acme");
  const { subject } = JSON.parse(
    (await callWith(server, body.access_token)).text,
  );
  assert.equal(subject, `${idp.issuer}?acme#ada`);
  assert.equal(refusal(await answer("other")), "400 invalid_grant");
  assert.equal(refusal(await answer()), "400 invalid_grant");
});

for (
  const [what, missing] of [
    ["the issuer does not answer", "isUp"],
    ["the issuer's keys are missing", "hasKeys"],
  ] as const
) {
  Deno.test(`POST /token says 503 while ${what}, and takes the assertion later`, async () => {
    await using idp = await startAssertionProvider();
    await using server = await start(idp);
    const assertion = await idp.assertion(BASE_URL);
    idp[missing] = false;
    const { status, retryAfter, body } = await ask(server, assertion);
    assert.deepEqual([status, body.error], [503, "temporarily_unavailable"]);
    assert.notEqual(retryAfter, null);
    idp[missing] = true;
    assert.equal((await ask(server, assertion)).status, 200);
  });
}

Deno.test("POST /token finds the key that an issuer signs with since a while", async () => {
  using time = new FakeTime();
  await using idp = await startAssertionProvider();
  await using server = await start(idp);
  assert.equal((await ask(server, await idp.assertion(BASE_URL))).status, 200);
  await idp.rotate();
  // The keys are not fetched more often, even if strangers name other keys.
  time.tick(31);
  assert.equal((await ask(server, await idp.assertion(BASE_URL))).status, 200);
});

Deno.test("a token by an assertion ends with its hour, and with the trust in its issuer", async () => {
  using time = new FakeTime();
  await using idp = await startAssertionProvider();
  using kv = await Deno.openKv(":memory:");

  await using server = await start(idp, { kv });
  const { body } = await ask(server, await idp.assertion(BASE_URL));
  await using without = await start(idp, {
    kv,
    environment: { OAUTH_ASSERTION_ISSUERS: "https://id.example.com" },
  });
  assert.equal((await callWith(without, body.access_token)).status, 401);
  time.tick(3599);
  assert.equal((await callWith(server, body.access_token)).status, 200);
  time.tick(1);
  assert.equal((await callWith(server, body.access_token)).status, 401);
});

Deno.test("POST /token knows no assertions where no issuer is trusted, and the metadata names them where one is", async () => {
  await using idp = await startAssertionProvider();
  const announced = async (server: Awaited<ReturnType<typeof start>>) => {
    const path = "/.well-known/oauth-authorization-server";
    const metadata = await (await server.fetch(path)).json();
    return [
      metadata.grant_types_supported.includes(JWT_BEARER_GRANT_TYPE),
      metadata.authorization_grant_profiles_supported,
    ];
  };
  await using trusting = await start(idp);
  const profile = "urn:ietf:params:oauth:grant-profile:id-jag";
  assert.deepEqual(await announced(trusting), [true, [profile]]);
  await using server = await start(idp, {
    environment: { OAUTH_ASSERTION_ISSUERS: "" },
  });
  const answer = await ask(server, await idp.assertion(BASE_URL));
  assert.equal(refusal(answer), "400 unsupported_grant_type");
  assert.deepEqual(await announced(server), [false, undefined]);
});
