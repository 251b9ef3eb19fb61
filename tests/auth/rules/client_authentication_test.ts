import assert from "node:assert/strict";
import {
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  type JWTPayload,
  SignJWT,
} from "jose";
import { SIGNATURE_ALGORITHMS } from "../../../src/auth/rules/signed_jwt.ts";
import { registerClient } from "../../../src/auth/rules/client.ts";
import {
  checkClientSecret,
  isUnknownKey,
  parseClientCredentials,
  verifyClientAssertion,
} from "../../../src/auth/rules/client_authentication.ts";
import { ASSERTION_MAX_TTL_SECONDS } from "../../../src/auth/rules/lifetimes.ts";
import { Parameters } from "../../../src/auth/rules/parameters.ts";

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

Deno.test("parseClientCredentials() finds an assertion's client in its subject", () => {
  const assertion = `x.${btoa(JSON.stringify({ sub: "a" }))}.x`;
  assert.equal(
    parse({ client_assertion_type: TYPE, client_assertion: assertion })
      .clientId,
    "a",
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

const UNREADABLE: [string, Record<string, string>, string | null, string][] = [
  ["nothing", {}, null, "invalid_client"],
  ["a broken percent sign", {}, basic("a%", "s"), "invalid_client"],
  ["two methods", { client_secret: "s" }, basic("a", "s"), "invalid_request"],
  ["two clients", { client_id: "b" }, basic("a", "s"), "invalid_request"],
  [
    "a secret and an assertion",
    {
      client_id: "a",
      client_secret: "s",
      client_assertion: "j",
    },
    null,
    "invalid_request",
  ],
  [
    "an assertion of another type",
    {
      client_assertion_type: "saml",
      client_assertion: "j",
    },
    null,
    "invalid_request",
  ],
  [
    "an assertion of no one",
    {
      client_assertion_type: TYPE,
      client_assertion: "j",
    },
    null,
    "invalid_client",
  ],
];

for (const [what, parameters, authorization, code] of UNREADABLE) {
  Deno.test(`parseClientCredentials() refuses ${what}`, () => {
    assert.throws(() => parse(parameters, authorization), { code });
  });
}

const REDIRECTS = { redirect_uris: ["https://app.example.com/cb"] };

Deno.test("checkClientSecret() takes the secret, by header or in the body", () => {
  const { client, clientSecret: secret } = registerClient({
    ...REDIRECTS,
    token_endpoint_auth_method: "client_secret_post",
  }, 0);
  const { clientId } = client;
  checkClientSecret(client, { method: "secret", clientId, secret: secret! });
  for (
    const credentials of [
      { method: "secret", clientId, secret: "wrong" },
      { method: "none", clientId },
      { method: "assertion", clientId, assertion: "j" },
    ] as const
  ) {
    assert.throws(() => checkClientSecret(client, credentials), {
      code: "invalid_client",
      status: 401,
    });
  }
});

Deno.test("checkClientSecret() takes no secret from a public client", () => {
  const { client } = registerClient(REDIRECTS, 0);
  const { clientId } = client;
  checkClientSecret(client, { method: "none", clientId });
  assert.throws(
    () =>
      checkClientSecret(client, { method: "secret", clientId, secret: "x" }),
    { code: "invalid_client" },
  );
});

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

Deno.test("verifyClientAssertion() refuses a JWT that says it is of another kind", async () => {
  for (const typ of ["at+jwt", "oauth-id-jag+jwt", "dpop+jwt"]) {
    await assert.rejects(verify({}, { typ }), { code: "invalid_client" });
  }
});

const BAD_CLAIMS: [string, JWTPayload][] = [
  ["of another issuer", { iss: "other" }],
  ["of another client", { sub: "other" }],
  ["for another server", { aud: "https://other.example.com" }],
  ["for another server too", { aud: [AUDIENCE, "https://other.example"] }],
  ["for two names of ours", { aud: [AUDIENCE, `${AUDIENCE}/token`] }],
  ["that has expired", { exp: NOW - 61 }],
  ["that never expires", { exp: undefined }],
  ["that is good for a day", { exp: NOW + 86400 }],
  ["without jti", { jti: undefined }],
  ["whose jti is no text", { jti: 1 as unknown as string }],
];

for (const [what, changes] of BAD_CLAIMS) {
  Deno.test(`verifyClientAssertion() refuses one ${what}`, async () => {
    await assert.rejects(verify(changes), { code: "invalid_client" });
  });
}

Deno.test("verifyClientAssertion() refuses another key's signature", async () => {
  const other = await generateKeyPair("ES256");
  await assert.rejects(verify({}, { signer: other.privateKey }), {
    code: "invalid_client",
  });
});

Deno.test("verifyClientAssertion() refuses a shared secret's signature", async () => {
  const assertion = await new SignJWT(CLAIMS)
    .setProtectedHeader({ alg: "HS256", kid: "1" })
    .sign(new TextEncoder().encode("x".repeat(32)));
  await assert.rejects(
    verifyClientAssertion(client, assertion, {
      keys: KEYS,
      audiences: [AUDIENCE],
      now: NOW,
    }),
    { code: "invalid_client" },
  );
});

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

Deno.test("parseClientCredentials() takes one way at a time", () => {
  assert.throws(
    () =>
      parse({
        client_id: "a",
        client_secret: "s",
        client_assertion_type: TYPE,
        client_assertion: "x",
      }),
    { code: "invalid_request" },
  );
});

Deno.test("SIGNATURE_ALGORITHMS has every asymmetric one, and no other", () => {
  const families = ["ES", "PS", "RS"];
  const sizes = ["256", "384", "512"];
  const all = families.flatMap((family) => sizes.map((size) => family + size));
  assert.deepEqual(
    [...SIGNATURE_ALGORITHMS].sort(),
    [...all, "EdDSA", "Ed25519"].sort(),
  );
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
