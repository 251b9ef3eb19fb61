import assert from "node:assert/strict";
import {
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  type JWTPayload,
  SignJWT,
} from "jose";
import { registerClient } from "../../../src/core/oauth/client.ts";
import {
  checkClientSecret,
  isUnknownKey,
  parseClientCredentials,
  verifyClientAssertion,
} from "../../../src/core/auth/clients/client_directory.ts";
import { ASSERTION_MAX_TTL_SECONDS } from "../../../src/core/oauth/lifetimes.ts";
import { Parameters } from "../../../src/core/oauth/parameters.ts";

const TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

function parse(
  parameters: Record<string, string>,
  authorization: string | null = null,
) {
  return parseClientCredentials(
    authorization,
    new Parameters(Object.entries(parameters)),
  );
}

function basic(id: string, secret: string) {
  return `Basic ${btoa(`${id}:${secret}`)}`;
}

Deno.test("parseClientCredentials() reads each method", () => {
  assert.deepEqual(parse({ client_id: "a" }), {
    method: "none",
    clientId: "a",
  });
  assert.deepEqual(parse({ client_id: "a", client_secret: "s" }), {
    method: "secret",
    clientId: "a",
    secret: "s",
  });
  assert.deepEqual(parse({}, basic("a%3Ab", "s+%2B%25")), {
    method: "secret",
    clientId: "a:b",
    secret: "s +%",
  });
  assert.deepEqual(parse({ client_id: "a" }, basic("a", "s")), {
    method: "secret",
    clientId: "a",
    secret: "s",
  });
  assert.deepEqual(parse({}, basic("a", "")), {
    method: "none",
    clientId: "a",
  });
  assert.deepEqual(
    parse({
      client_assertion_type: TYPE,
      client_assertion: "j",
      client_id: "a",
    }),
    { method: "assertion", clientId: "a", assertion: "j" },
  );
});

for (
  const authorization of [
    "Basic",
    "Basic ",
    "basic ***",
    "Basic YTpz extra",
    "Basic ä",
    `Basic ${btoa("a")}`,
    `Basic ${btoa(":s")}`,
    basic("a", "%E0%A4"),
  ]
) {
  Deno.test(`parseClientCredentials() takes ${authorization} for a failed attempt, not for a public client`, () => {
    assert.throws(() => parse({ client_id: "a" }, authorization), {
      code: "invalid_client",
    });
  });
}

Deno.test("parseClientCredentials() leaves other schemes to others", () => {
  assert.equal(parse({ client_id: "a" }, "Bearer Basic").method, "none");
});

const REDIRECTS = { redirect_uris: ["https://app.example.com/cb"] };

const NOW = 1_700_000_000;
const AUDIENCE = "https://tools.example.com";
const { privateKey, publicKey } = await generateKeyPair("ES256");
const KEYS = {
  keys: [{ ...await exportJWK(publicKey), kid: "1", alg: "ES256" }],
} as JSONWebKeySet;
const { client } = registerClient({
  ...REDIRECTS,
  token_endpoint_auth_method: "private_key_jwt",
  jwks: KEYS,
}, 0);
const CLAIMS = {
  iss: client.clientId,
  sub: client.clientId,
  aud: AUDIENCE,
  jti: "once",
  exp: NOW + 60,
};

async function verify(
  changes: JWTPayload = {},
  { signer = privateKey, typ }: { signer?: CryptoKey; typ?: string } = {},
) {
  const assertion = await new SignJWT({ ...CLAIMS, ...changes })
    .setProtectedHeader({ alg: "ES256", kid: "1", typ }).sign(signer);
  return await verifyClientAssertion(client, assertion, {
    keys: KEYS,
    audiences: [AUDIENCE, `${AUDIENCE}/token`],
    now: NOW,
  });
}

Deno.test("verifyClientAssertion() takes an assertion for us and gives its jti", async () => {
  assert.deepEqual(await verify(), { jti: "once", expiresAt: NOW + 120 });
  await verify({ aud: `${AUDIENCE}/token` });
  await verify({ aud: [AUDIENCE] });
  for (const typ of ["JWT", "client-authentication+jwt"]) {
    await verify({}, { typ });
  }
});

const BAD_CLAIMS: [string, JWTPayload][] = [
  ["for another server too", { aud: [AUDIENCE, "https://other.example"] }],
  ["for two names of ours", { aud: [AUDIENCE, `${AUDIENCE}/token`] }],
  ["that has expired", { exp: NOW - 61 }],
];

for (const [what, changes] of BAD_CLAIMS) {
  Deno.test(`verifyClientAssertion() refuses one ${what}`, async () => {
    await assert.rejects(verify(changes), { code: "invalid_client" });
  });
}

Deno.test("verifyClientAssertion() refuses a client that registered another method", async () => {
  // The keys and the signature are right: only the method differs.
  for (const method of ["none", "client_secret_basic", "client_secret_post"]) {
    const other: typeof client = {
      ...client,
      metadata: {
        ...client.metadata,
        token_endpoint_auth_method: method as "none",
      },
    };
    const assertion = await new SignJWT(CLAIMS)
      .setProtectedHeader({ alg: "ES256", kid: "1" }).sign(privateKey);
    await assert.rejects(
      verifyClientAssertion(other, assertion, {
        keys: KEYS,
        audiences: [AUDIENCE],
        now: NOW,
      }),
      { code: "invalid_client" },
    );
  }
});

Deno.test("a client may authenticate by any method that its metadata names", async () => {
  const { client: both } = registerClient({
    ...REDIRECTS,
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_methods_supported: [
      "none",
      "private_key_jwt",
      "client_secret_post",
      "tls_client_auth",
    ],
    jwks: KEYS,
  }, 0);
  const { clientId } = both;
  checkClientSecret(both, { method: "none", clientId });
  assert.throws(
    () => checkClientSecret(both, { method: "secret", clientId, secret: "s" }),
    { code: "invalid_client" },
  );
  const assertion = await new SignJWT({
    ...CLAIMS,
    iss: clientId,
    sub: clientId,
  }).setProtectedHeader({ alg: "ES256", kid: "1" }).sign(privateKey);
  await verifyClientAssertion(both, assertion, {
    keys: KEYS,
    audiences: [AUDIENCE],
    now: NOW,
  });
});

Deno.test("parseClientCredentials() finds the client in an assertion, or refuses", () => {
  const named = (payload: unknown) =>
    parse({
      client_assertion_type: TYPE,
      client_assertion: `x.${btoa(JSON.stringify(payload))}.x`,
    });
  assert.equal(named({ sub: "a" }).clientId, "a");
  for (const payload of [{}, { sub: 7 }, { sub: { a: 1 } }, null]) {
    assert.throws(() => named(payload), { code: "invalid_client" });
  }
  for (const client_assertion of ["x", "x.%.x", "x.bm90SlNPTg.x"]) {
    assert.throws(
      () => parse({ client_assertion_type: TYPE, client_assertion }),
      { code: "invalid_client" },
    );
  }
});

Deno.test("verifyClientAssertion() takes an hour, and no second more", async () => {
  await verify({ exp: NOW + ASSERTION_MAX_TTL_SECONDS });
  await assert.rejects(verify({ exp: NOW + ASSERTION_MAX_TTL_SECONDS + 1 }), {
    code: "invalid_client",
  });
});

Deno.test("isUnknownKey() tells a key that is missing from any other fault", async () => {
  const refusalOf = (kid: string, keys: JSONWebKeySet["keys"]) =>
    new SignJWT(CLAIMS).setProtectedHeader({ alg: "ES256", kid })
      .sign(privateKey)
      .then((assertion) =>
        verifyClientAssertion(client, assertion, {
          keys: { keys },
          audiences: ["https://other.example.com"],
          now: NOW,
        })
      ).catch((error) => error);
  assert(isUnknownKey(await refusalOf("2", KEYS.keys)));
  assert(!isUnknownKey(await refusalOf("1", KEYS.keys)));
  const { cause } = await refusalOf("2", []) as Error;
  assert(!isUnknownKey(cause));
  assert(!isUnknownKey(undefined));
});
