/** Clients with a false identity. */
import assert from "node:assert/strict";
import { generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import * as jose from "jose";
import { DocumentError } from "../../src/core/auth/clients/fetch_bounds.ts";
import { fetchDocument } from "../../src/core/auth/clients/fetch_document.ts";
import type { Json } from "../kit/message.ts";
import {
  attacks,
  each,
  oauthRefusal,
  startTarget,
  type Target,
} from "../kit/target.ts";
import { BASE_URL } from "../kit/server.ts";
import { Client, REDIRECT_URI } from "../kit/client.ts";

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const { privateKey, publicKey } = await generateKeyPair("ES256");
const stranger = await generateKeyPair("ES256");
const jwk = { ...await jose.exportJWK(publicKey), kid: "one", alg: "ES256" };

/** Registers a client that signs assertions. */
function signer(target: Target, metadata: Json = {}): Promise<Client> {
  return target.register({
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [jwk] },
    ...metadata,
  });
}

interface Claims {
  iss?: string;
  sub?: unknown;
  aud?: string;
  jti?: unknown;
  exp?: number;
  nbf?: number;
}

function assertion(
  { clientId }: Client,
  claims: Claims = {},
  { key = privateKey, ...header }: Json = {},
): Promise<string> {
  const all = {
    iss: clientId,
    sub: clientId,
    aud: BASE_URL,
    jti: crypto.randomUUID(),
    exp: Math.floor(Date.now() / 1000) + 60,
    ...claims,
  };
  const present = Object.entries(all).filter(([, it]) => it !== undefined);
  return new SignJWT(Object.fromEntries(present) as jose.JWTPayload)
    .setProtectedHeader({ alg: "ES256", kid: "one", ...header })
    .sign(key);
}

/**
 * Gives the answer of /token to an assertion; `invalid_grant` means that
 * authentication succeeded.
 */
async function tried(
  target: Target,
  client: Client,
  client_assertion: string,
  changes: Record<string, string> = {},
): Promise<string> {
  return oauthRefusal(
    await target.form("/token", {
      grant_type: "refresh_token",
      refresh_token: "x",
      client_id: client.clientId,
      client_assertion_type: ASSERTION_TYPE,
      client_assertion,
      ...changes,
    }),
  );
}

function forged(
  make: (client: Client) => string | Promise<string>,
  refusal = "401 invalid_client",
) {
  return async (target: Target) => {
    const client = await signer(target);
    assert.equal(await tried(target, client, await make(client)), refusal);
  };
}

const now = () => Math.floor(Date.now() / 1000);

attacks("an assertion is held to its client, key, audience and time", {
  "and a right one passes": forged(
    (client) => assertion(client),
    "400 invalid_grant",
  ),
  "alg none": forged((client) =>
    new UnsecuredJWT({ iss: client.clientId, sub: client.clientId, jti: "x" })
      .setAudience(BASE_URL).setExpirationTime("1m").encode()
  ),
  "HS256 with the public key for a secret": forged((client) =>
    assertion(client, {}, {
      alg: "HS256",
      key: new TextEncoder().encode(JSON.stringify(jwk)),
    })
  ),
  "someone else's key": forged((client) =>
    assertion(client, {}, { key: stranger.privateKey })
  ),
  "a key that it brings along": forged(async (client) =>
    assertion(client, {}, {
      key: stranger.privateKey,
      jwk: await jose.exportJWK(stranger.publicKey),
    })
  ),
  "an address of keys that it brings along": forged((client) =>
    assertion(client, {}, {
      key: stranger.privateKey,
      jku: "https://evil.example/keys",
    })
  ),
  "a kid that is a path": forged((client) =>
    assertion(client, {}, { key: stranger.privateKey, kid: "../../dev/null" })
  ),
  "another subject": forged((client) => assertion(client, { sub: "other" })),
  "another issuer": forged((client) => assertion(client, { iss: "other" })),
  "another server's audience": forged((client) =>
    assertion(client, { aud: "https://evil.example" })
  ),
  "no audience": forged((client) => assertion(client, { aud: undefined })),
  "no id": forged((client) => assertion(client, { jti: undefined })),
  "an id that is no text": forged((client) => assertion(client, { jti: 7 })),
  "no end": forged((client) => assertion(client, { exp: undefined })),
  "an end that has passed": forged((client) =>
    assertion(client, { exp: now() - 600 })
  ),
  "an end in years": forged((client) =>
    assertion(client, { exp: now() + 1e8 })
  ),
  "a beginning to come": forged((client) =>
    assertion(client, { nbf: now() + 600 })
  ),
  "another kind of token": forged((client) =>
    assertion(client, {}, { typ: "at+jwt" })
  ),
  "critical headers no one knows": forged((client) => {
    const header = btoa(JSON.stringify({ alg: "ES256", crit: ["x"], x: 1 }));
    return `${header}.${btoa(JSON.stringify({ sub: client.clientId }))}.AAAA`;
  }),
  "no JWT": forged(() => "a.b.c"),
  "a type that is another": async (target) => {
    const client = await signer(target);
    const wrong = await tried(target, client, await assertion(client), {
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:x",
    });
    assert.equal(wrong, "400 invalid_request");
  },
  "one that was used before": async (target) => {
    const client = await signer(target);
    const once = await assertion(client);
    assert.equal(await tried(target, client, once), "400 invalid_grant");
    assert.equal(await tried(target, client, once), "401 invalid_client");
  },
  "from a client of another method": async (target) => {
    const client = await target.register();
    const answer = await tried(target, client, await assertion(client));
    assert.equal(answer, "401 invalid_client");
  },
  "for a client_id that is not its subject": async (target) => {
    const [one, other] = [await signer(target), await signer(target)];
    const answer = await tried(target, other, await assertion(one));
    assert.equal(answer, "401 invalid_client");
  },
  "or none where one is needed": async (target) => {
    const { clientId } = await signer(target);
    const { body } = await new Client(target, clientId).refresh("x");
    assert.equal(body.error, "invalid_client");
  },
  "besides a secret": async (target) => {
    const client = await signer(target);
    const answer = await tried(target, client, await assertion(client), {
      client_secret: "x",
    });
    assert.equal(answer, "400 invalid_request");
  },
});

function basic(id: string, secret: string): string {
  return `Basic ${btoa(`${encodeURIComponent(id)}:${secret}`)}`;
}

/**
 * Gives the answer of /token to an `Authorization` header of this confidential
 * client.
 */
function authorized(
  header: (client: Client) => string,
  refusal = "401 invalid_client",
  changes: Record<string, string> = {},
) {
  return async (target: Target) => {
    const client = await target.register({
      token_endpoint_auth_method: "client_secret_basic",
    });
    const answer = await target.form("/token", {
      grant_type: "refresh_token",
      refresh_token: "x",
      ...changes,
    }, { authorization: header(client) });
    assert.equal(oauthRefusal(answer), refusal);
  };
}

attacks("a secret is held to its client", {
  "and the right one passes": authorized(
    ({ clientId, clientSecret }) => basic(clientId, clientSecret!),
    "400 invalid_grant",
  ),
  "a wrong one": authorized(({ clientId }) => basic(clientId, "wrong")),
  "an empty one": authorized(({ clientId }) => basic(clientId, "")),
  "a public client's way in": authorized(
    () => "Basic !",
    "401 invalid_client",
    { client_id: "x" },
  ),
  "two names": authorized(
    ({ clientId, clientSecret }) => basic(clientId, clientSecret!),
    "400 invalid_request",
    { client_id: "other" },
  ),
  "header and body": authorized(
    ({ clientId, clientSecret }) => basic(clientId, clientSecret!),
    "400 invalid_request",
    { client_secret: "x" },
  ),
  "none at all": async (target) => {
    const { clientId } = await target.register({
      token_endpoint_auth_method: "client_secret_post",
    });
    const { body } = await new Client(target, clientId).refresh("x");
    assert.equal(body.error, "invalid_client");
  },
  "one for a client that has none": async (target) => {
    const { clientId } = await target.register();
    const client = new Client(target, clientId, REDIRECT_URI, "guess");
    const { body } = await client.refresh("x");
    assert.equal(body.error, "invalid_client");
  },
});

attacks("a registration cannot carry what harms", {
  ...each([
    '{"client_name":"a\\u0000b"}',
    '{"client_name":"a\\nb"}',
    '{"client_name":"\\u001b[31mred"}',
    '{"client_name":{"toString":"x"}}',
    '{"client_uri":"https://x\\n"}',
    '{"token_endpoint_auth_method":"tls_client_auth"}',
    '{"token_endpoint_auth_method":"private_key_jwt"}',
    '{"grant_types":["password"]}',
    '{"grant_types":["client_credentials"]}',
    '{"response_types":["token"]}',
    '{"jwks":{"keys":[]},"jwks_uri":"https://app.example.com/keys"}',
    '{"jwks_uri":"http://app.example.com/keys"}',
    '{"jwks_uri":"https://127.0.0.1/keys"}',
    '{"jwks_uri":"https://[::1]/keys"}',
    '{"jwks_uri":"https://169.254.169.254/latest/meta-data"}',
    '{"jwks_uri":"https://app.example.com:8443/keys"}',
    '{"jwks_uri":"https://user@app.example.com/keys"}',
    '{"jwks_uri":"file:///etc/passwd"}',
  ], async (target, member) => {
    const body = { redirect_uris: [REDIRECT_URI], ...JSON.parse(member) };
    const answer = await target.json("/register", body);
    assert.equal(oauthRefusal(answer), "400 invalid_client_metadata");
  }),
  "a name of its own choice": async (target) => {
    const answer = await target.json("/register", {
      redirect_uris: [REDIRECT_URI],
      client_id: "chosen",
      client_secret: "chosen",
      domain: "bank.example",
      secretFingerprint: "x",
    });
    const client = JSON.parse(answer.text);
    assert.notEqual(client.client_id, "chosen");
    assert.equal(client.client_secret, undefined);
    assert.equal(client.domain, undefined);
  },
  "an ID that was changed, or made elsewhere": async (target) => {
    await using elsewhere = await startTarget();
    const { clientId } = await target.register();
    const middle = Math.floor(clientId.length / 2);
    const other = clientId[middle] === "A" ? "B" : "A";
    for (
      const client_id of [
        clientId.slice(0, middle) + other + clientId.slice(middle + 1),
        clientId.slice(0, -1),
        `${"a".repeat(22)}${clientId.slice(22)}`,
        (await elsewhere.register()).clientId,
      ]
    ) {
      const answer = await authorize(target, client_id);
      assert.equal(oauthRefusal(answer), "400 invalid_client");
    }
  },
  "a prototype": async (target) => {
    const answer = await target.json(
      "/register",
      `{"redirect_uris":["${REDIRECT_URI}"],"__proto__":{"domain":"bank.example"},"constructor":{"x":1}}`,
    );
    assert.equal(answer.status, 201);
    assert.doesNotMatch(answer.text, /bank|constructor/);
  },
});

/** Resolves names as an attacker's name server would. */
function reaching(addresses: readonly string[]) {
  const connected: string[] = [];
  const start = () =>
    startTarget({
      fetchDocument: (url) =>
        fetchDocument(url, {
          resolve: () => Promise.resolve(addresses),
          connect: (address) => {
            connected.push(address);
            return { host: "127.0.0.1", port: 1 };
          },
        }),
    });
  return { connected, start };
}

async function authorize(target: Target, client_id: string) {
  const query = new URLSearchParams({
    client_id,
    response_type: "code",
    redirect_uri: REDIRECT_URI,
  });
  return await target.ask(`/authorize?${query}`);
}

const literal = reaching(["93.184.215.14"]);
attacks(
  "a metadata document is fetched from no address but a plain https one",
  each([
    "https://169.254.169.254/latest/meta-data",
    "https://app.example.com:8443/client.json",
    "https://user:pass@app.example.com/client.json",
    `https://app.example.com/${"a".repeat(1024)}`,
  ], async (target, url) => {
    const answer = await authorize(target, url);
    assert.equal(oauthRefusal(answer), "400 invalid_client");
    assert.deepEqual(literal.connected, []);
  }),
  literal.start,
);

{
  const { connected, start } = reaching(["93.184.215.14", "169.254.169.254"]);
  attacks("a name that means an address inside too is not connected to", {
    "for metadata": async (target) => {
      const url = "https://app.example.com/client.json";
      const answer = await authorize(target, url);
      assert.equal(oauthRefusal(answer), "503 temporarily_unavailable");
      assert.doesNotMatch(answer.text, /public|address|refused/);
      assert.deepEqual(connected, []);
    },
    "for keys": async (target) => {
      const client = await target.register({
        token_endpoint_auth_method: "private_key_jwt",
        jwks_uri: "https://app.example.com/keys",
      });
      const answer = await tried(target, client, await assertion(client));
      assert.equal(answer, "503 temporarily_unavailable");
      assert.deepEqual(connected, []);
    },
  }, start);
}

const DOCUMENT_URL = "https://app.example.com/client.json";

/** Starts a server that gets this document from every address. */
function documented(document: Json) {
  return () =>
    startTarget({
      fetchDocument: () => {
        if (document === undefined) {
          throw new DocumentError({ cause: new Error("secret reason") });
        }
        const expiresAt = now() + 60;
        return Promise.resolve({ document, expiresAt });
      },
    });
}

const GOOD = {
  client_id: DOCUMENT_URL,
  client_name: "App",
  redirect_uris: [REDIRECT_URI],
};

for (
  const [what, document, refusal] of [
    [
      "is another's",
      { ...GOOD, client_id: "https://bank.example/c.json" },
      "400 invalid_client",
    ],
    [
      "has no name",
      { ...GOOD, client_name: "" },
      "400 invalid_client_metadata",
    ],
    [
      "has a secret",
      { ...GOOD, client_secret: "x" },
      "400 invalid_client_metadata",
    ],
    [
      "relies on a secret",
      { ...GOOD, token_endpoint_auth_method: "client_secret_post" },
      "400 invalid_client_metadata",
    ],
    [
      "redirects to a script",
      { ...GOOD, redirect_uris: ["javascript:x"] },
      "400 invalid_redirect_uri",
    ],
    ["is a list", [GOOD], "400 invalid_client"],
    ["is null", null, "400 invalid_client"],
    ["cannot be had", undefined, "503 temporarily_unavailable"],
  ] as const
) {
  attacks(`a metadata document that ${what} makes no client`, {
    "and no one learns why": async (target) => {
      const answer = await authorize(target, DOCUMENT_URL);
      assert.equal(oauthRefusal(answer), refusal);
      assert.doesNotMatch(answer.text, /secret reason/);
    },
  }, documented(document));
}
