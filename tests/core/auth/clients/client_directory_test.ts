import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import {
  type ClientDirectory,
  clientDirectory,
} from "../../../../src/core/auth/clients/client_directory.ts";
import {
  DocumentError,
  NoDocument,
} from "../../../../src/core/auth/clients/fetch_bounds.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { OAuthError, StorageError } from "../../../../src/core/errors.ts";
import type { Client } from "../../../../src/core/oauth/client.ts";
import { Parameters } from "../../../../src/core/oauth/parameters.ts";
import { newClient } from "../../../kit/records.ts";

const BASE_URL = "https://tools.example.com";
const DOCUMENT = "https://app.example.com/client.json";
const KEYS = "https://app.example.com/keys.json";

type Parts = globalThis.Parameters<typeof clientDirectory>[0];

async function keyPair(kid: string): Promise<{ key: CryptoKey; jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  return { key: privateKey, jwk: { ...await exportJWK(publicKey), kid } };
}

/** Makes a client that brought its own keys. */
async function signer(): Promise<{ client: Client; key: CryptoKey }> {
  const { key, jwk } = await keyPair("1");
  const client = newClient({
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [jwk] },
  });
  return { client, key };
}

/** Makes a directory of one client, with a list of the requested documents. */
function start(
  client: Client,
  answer: (asked: string) => unknown = () => ({ keys: [] }),
) {
  const asked: string[] = [];
  const ask = (what: string) => {
    asked.push(what);
    // deno-lint-ignore require-await
    return (async () => answer(what))();
  };
  const clients = clientDirectory({
    baseUrl: BASE_URL,
    configured: [client],
    documents: {
      find: (url: string, { stale = false } = {}) =>
        ask(`find ${url}${stale ? " stale" : ""}`),
      renew: (url: string) => ask(`renew ${url}`),
      keep: (url: string) => ask(`keep ${url}`),
    } as unknown as Parts["documents"],
    assertions: {
      use: () =>
        Promise.resolve({ giveBack: () => void asked.push("gave back") }),
    } as unknown as Parts["assertions"],
    secrets: {} as Parts["secrets"],
    clock: systemClock,
    metadataDocuments: { enabled: true, allowedDomains: [] },
  });
  return { clients, asked };
}

async function assertion(
  { clientId }: Client,
  key: CryptoKey,
  { kid = "1", audience = BASE_URL } = {},
): Promise<Parameters> {
  const signed = await new SignJWT({ jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: "ES256", kid })
    .setIssuer(clientId).setSubject(clientId)
    .setAudience(audience).setExpirationTime("1m").sign(key);
  return new Parameters(
    new URLSearchParams({
      client_id: clientId,
      client_assertion_type:
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: signed,
    }),
  );
}

const isInvalid = { name: "OAuthError", code: "invalid_client" };

/** The client that a request authenticates. */
function authenticate(
  clients: ClientDirectory,
  parameters: Parameters,
): Promise<Client> {
  const headers = new Headers();
  const give = (client: Client) => Promise.resolve(client);
  return clients.authenticate({ headers, parameters }, give);
}

Deno.test("authenticate() gives an assertion back whose request ends with 503, and with nothing else", async () => {
  const { client, key } = await signer();
  const { clients, asked } = start(client);
  const parameters = await assertion(client, key);
  const headers = new Headers();
  for (
    const error of [new StorageError(), new OAuthError("invalid_grant", "no")]
  ) {
    const failing = clients.authenticate(
      { headers, parameters },
      () => Promise.reject(error),
    );
    await assert.rejects(failing, (thrown) => thrown === error);
    assert.deepEqual(
      asked.splice(0),
      error instanceof StorageError ? ["gave back"] : [],
    );
  }
});

Deno.test("authenticate() takes an assertion for this server, its token endpoint or its revocation", async () => {
  const { client, key } = await signer();
  const { clients } = start(client);
  for (const path of ["", "/token", "/revoke"]) {
    const audience = BASE_URL + path;
    const parameters = await assertion(client, key, { audience });
    assert.equal(await authenticate(clients, parameters), client);
  }
  for (const audience of [`${BASE_URL}/mcp`, "https://other.example.com"]) {
    const parameters = await assertion(client, key, { audience });
    await assert.rejects(authenticate(clients, parameters), isInvalid);
  }
});

Deno.test("authenticate() asks no one for the keys of a client that brought its own", async () => {
  const { client, key } = await signer();
  const { clients, asked } = start(client);
  const parameters = await assertion(client, key, { kid: "2" });
  await assert.rejects(authenticate(clients, parameters), isInvalid);
  assert.deepEqual(asked, []);
});

Deno.test("authenticate() fetches a client's keys anew for one that it does not know, and for nothing else", async () => {
  const first = await keyPair("1");
  const second = await keyPair("2");
  const client = newClient({
    token_endpoint_auth_method: "private_key_jwt",
    jwks_uri: KEYS,
  });
  const { clients, asked } = start(client, (what) => ({
    keys: what.startsWith("renew") ? [first.jwk, second.jwk] : [first.jwk],
  }));
  const authenticated = async (key: CryptoKey, kid: string) =>
    await authenticate(clients, await assertion(client, key, { kid }));
  assert.equal(await authenticated(first.key, "1"), client);
  assert.deepEqual(asked.splice(0), [`find ${KEYS} stale`]);
  await assert.rejects(authenticated(second.key, "1"), isInvalid);
  assert.deepEqual(asked.splice(0), [`find ${KEYS} stale`]);
  assert.equal(await authenticated(second.key, "2"), client);
  assert.deepEqual(asked, [`find ${KEYS} stale`, `renew ${KEYS}`]);
});

for (
  const [what, error, code] of [
    [
      "is none",
      new DocumentError({ cause: new NoDocument() }),
      "invalid_client",
    ],
    [
      "cannot be read now",
      new DocumentError({ cause: new Error("500") }),
      "temporarily_unavailable",
    ],
    ["is a mistake of ours", new Error("x"), "temporarily_unavailable"],
  ] as const
) {
  Deno.test(`find() says ${code} of a document that ${what}`, async () => {
    const { clients } = start(newClient(), () => {
      throw error;
    });
    await assert.rejects(clients.find(DOCUMENT), (refusal) => {
      assert(refusal instanceof OAuthError);
      assert.deepEqual([refusal.code, refusal.cause], [code, error]);
      return true;
    });
  });
}

Deno.test("find() blames no document for a database that does not answer", async () => {
  const error = new StorageError();
  const { clients } = start(newClient(), () => {
    throw error;
  });
  await assert.rejects(clients.find(DOCUMENT), (refusal) => refusal === error);
});

Deno.test("keepDocuments() keeps what a client published, its document and its keys", async () => {
  const plain = newClient();
  const { clients, asked } = start(plain);
  await clients.keepDocuments(plain);
  assert.deepEqual(asked, []);
  const withKeys = newClient({
    token_endpoint_auth_method: "private_key_jwt",
    jwks_uri: KEYS,
  });
  const document = { clientId: DOCUMENT, domain: "app.example.com" };
  await clients.keepDocuments({ ...withKeys, ...document });
  assert.deepEqual(asked, [`keep ${DOCUMENT}`, `keep ${KEYS}`]);
});
