import assert from "node:assert/strict";
import { fingerprint } from "../../../src/core/crypto/crypto.ts";
import {
  isMachine,
  parseConfiguredClients,
} from "../../../src/core/oauth/configured_client.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../../src/core/oauth/client.ts";

const SECRET = "a-secret-of-many-letters";
/** `printf %s a-secret-of-many-letters | sha256sum` */
const HASH = "ba3dc37397055c3d014ed8878add63177e2bf2d7ccf6fbb5d76304f341883fe0";
const KEY = { kty: "OKP", crv: "Ed25519", x: "AQ" };

function parse(clients: unknown) {
  return parseConfiguredClients(
    typeof clients === "string" ? clients : JSON.stringify(clients),
    (variable) => variable === "THE_SECRET" ? SECRET : undefined,
  );
}

const MACHINE = {
  client_id: "ci",
  grant_types: ["client_credentials"],
  client_secret_env: "THE_SECRET",
};
const APP = { client_id: "app", redirect_uris: ["https://app.example.com/cb"] };

Deno.test("parseConfiguredClients() keeps no secret, wherever it is", () => {
  const [byVariable, byHash] = parse([MACHINE, {
    ...MACHINE,
    client_id: "by-hash",
    client_secret_env: undefined,
    client_secret_sha256: HASH,
  }]);
  assert.equal(byVariable.secretFingerprint, fingerprint(SECRET));
  assert.equal(byHash.secretFingerprint, fingerprint(SECRET));
  assert.equal(
    byVariable.metadata.token_endpoint_auth_method,
    "client_secret_basic",
  );
  assert(!JSON.stringify([byVariable, byHash]).includes(SECRET));
  assert(isMachine(byVariable));
  assert.deepEqual(byVariable.metadata.redirect_uris, []);
});

Deno.test("parseConfiguredClients() takes an app without a secret, which is no machine", () => {
  const [app] = parse([APP]);
  assert.equal(app.metadata.token_endpoint_auth_method, "none");
  assert.equal(app.secretFingerprint, undefined);
  assert.equal(app.isConfigured, true);
  assert(!isMachine(app));
});

Deno.test("parseConfiguredClients() takes a machine that signs", () => {
  const [machine] = parse([{
    client_id: "signs",
    grant_types: ["client_credentials"],
    ...SIGNED,
  }]);
  assert(isMachine(machine));
});

Deno.test("isMachine() is for clients of the operator alone", () => {
  const [machine] = parse([MACHINE]);
  assert(!isMachine({ ...machine, isConfigured: undefined }));
});

const BY_HASH = (client_secret_sha256: unknown) => ({
  client_secret_env: undefined,
  client_secret_sha256,
});
const SIGNED = {
  token_endpoint_auth_method: "private_key_jwt",
  jwks: { keys: [KEY] },
};

/** Lists that are refused, and the changes of an app and of a machine. */
const REFUSED: [string, unknown, RegExp][] = [
  ["no JSON", "[{", /not JSON/],
  ["no array", {}, /not a JSON array/],
  ["an entry that is null", [null], /client 1: client_id/],
  ["an entry that is a text", ["ci"], /client 1: client_id/],
  ["no client_id", [APP, { ...APP, client_id: undefined }], /client 2/],
  ["one client_id twice", [APP, APP], /twice/],
];

for (
  const [what, changes, message] of [
    ["a client_id with a space", { client_id: "a b" }, /client_id/],
    ["a client_id of a document", { client_id: "https://a.co/c" }, /no URL/],
    ["a client_id that is too long", { client_id: "x".repeat(201) }, /200/],
    ["a secret in the open", { client_secret: SECRET }, /client_secret_env/],
    [
      "an organization's client that anyone could be",
      { grant_types: [JWT_BEARER_GRANT_TYPE] },
      /needs a secret/,
    ],
    [
      "a method that needs a secret",
      { token_endpoint_auth_method: "client_secret_post" },
      /needs a secret/,
    ],
    ["an app without address", { redirect_uris: undefined }, /redirect_uris/],
    ["an address that runs", { redirect_uris: ["javascript:x"] }, /client app/],
    ["a private key", { jwks: { keys: [{ ...KEY, d: "AQ" }] } }, /jwks/],
    ["another grant type", { grant_types: ["implicit"] }, /grant_types/],
  ] as const
) REFUSED.push([what, [{ ...APP, ...changes }], message]);

for (
  const [what, changes, message] of [
    ["two secrets", { client_secret_sha256: HASH }, /either client_secret_s/],
    ["a hash that is none", BY_HASH("ab"), /64 hexadecimal/],
    ["a hash with more before it", BY_HASH(`00${HASH}`), /64 hexadecimal/],
    ["a hash with more behind it", BY_HASH(`${HASH}00`), /64 hexadecimal/],
    ["a list of one hash", BY_HASH([HASH]), /64 hexadecimal/],
    ["a variable that is unset", { client_secret_env: "OTHER" }, /at least 16/],
    ["a machine that anyone could be", BY_HASH(undefined), /needs a secret/],
    ["a secret that is never used", SIGNED, /has no secret/],
    ["a scope no one can ask for", { scope: 'a:"b"' }, /client ci: scope/],
  ] as const
) REFUSED.push([what, [{ ...MACHINE, ...changes }], message]);

for (const [what, clients, message] of REFUSED) {
  Deno.test(`parseConfiguredClients() refuses ${what}`, () => {
    assert.throws(() => parse(clients), message);
    assert.throws(
      () => parse(clients),
      (error: Error) => !error.message.includes(SECRET),
    );
  });
}

Deno.test("parseConfiguredClients() takes a secret of 16 characters, and none of 15", () => {
  const withSecret = (secret: string) =>
    parseConfiguredClients(JSON.stringify([MACHINE]), () => secret);
  const secret = "0123456789abcdef";
  const [client] = withSecret(` ${secret}\n`);
  assert.equal(client.secretFingerprint, fingerprint(secret));
  assert.throws(() => withSecret(` ${secret.slice(1)}\n`), /at least 16/);
});
