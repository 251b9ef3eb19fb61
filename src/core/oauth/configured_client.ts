/**
 * The clients of `OAUTH_CLIENTS`: machines, and apps that cannot register
 * themselves. The setting has the members of RFC 7591, but no secrets: only the
 * hash of a secret, or the name of the variable with the secret.
 *
 * @module
 */
import { base64url, fingerprint, fromHex } from "../crypto/crypto.ts";
import { OAuthError } from "../errors.ts";
import {
  type Client,
  MACHINE_GRANT_TYPE,
  needsAuthentication,
  parseClientMetadata,
} from "./client.ts";
import { parseScope } from "./scope.ts";

/** Matches a client ID: VSCHAR (RFC 6749 appendix A.1), but not a URL. */
const CLIENT_ID = /^(?!https?:)[\x21-\x7E]{1,200}$/;

const HASH = /^[0-9a-f]{64}$/i;

/** The minimum length of a secret; a shorter one could be guessed. */
const MIN_SECRET_CHARACTERS = 16;

/**
 * Parses `OAUTH_CLIENTS`.
 *
 * @param text a JSON array of RFC 7591 client metadata, each with a
 * `client_id`. A client with a secret also has `client_secret_sha256` (64
 * hexadecimal digits) or `client_secret_env` (the name of a variable)
 * @param secretOf returns the value of a variable
 * @throws {Error} whose message names the mistake, without a secret
 */
export function parseConfiguredClients(
  text: string,
  secretOf: (variable: string) => string | undefined,
): Client[] {
  const clients = parseArray(text).map((entry, index) =>
    parseClient(entry, index + 1, secretOf)
  );
  const ids = clients.map(({ clientId }) => clientId);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice === undefined) return clients;
  throw new Error(`client ${twice}: its client_id is used twice`);
}

function parseArray(text: string): unknown[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The message of `JSON.parse` would quote the setting, which may have
    // secrets.
    throw new Error("it is not JSON");
  }
  if (Array.isArray(parsed)) return parsed;
  throw new Error("it is not a JSON array");
}

function parseClient(
  entry: unknown,
  number: number,
  secretOf: (variable: string) => string | undefined,
): Client {
  const { client_id: clientId, ...rest } = Object(entry);
  if (typeof clientId !== "string" || !CLIENT_ID.test(clientId)) {
    throw new Error(
      `client ${number}: client_id must be 1 to 200 visible ASCII ` +
        "characters, and no URL",
    );
  }
  const refuse = (what: string): never => {
    throw new Error(`client ${clientId}: ${what}`);
  };
  if ("client_secret" in rest) {
    refuse("use client_secret_sha256 or client_secret_env for its secret");
  }
  const secretFingerprint = readSecret(rest, secretOf, refuse);
  try {
    const metadata = parseClientMetadata({
      token_endpoint_auth_method: secretFingerprint && "client_secret_basic",
      ...rest,
    }, { machines: true });
    parseScope(metadata.scope);
    const method = metadata.token_endpoint_auth_method;
    if (method.startsWith("client_secret_") !== Boolean(secretFingerprint)) {
      refuse(`${method} ${secretFingerprint ? "has no" : "needs a"} secret`);
    }
    const proving = metadata.grant_types.find(needsAuthentication);
    if (proving !== undefined && method === "none") {
      refuse(`${proving} needs a secret or private_key_jwt`);
    }
    return {
      clientId,
      metadata,
      ...secretFingerprint && { secretFingerprint },
      issuedAt: 0,
      isConfigured: true,
    };
  } catch (error) {
    if (error instanceof OAuthError) refuse(error.description);
    throw error;
  }
}

/**
 * Returns the fingerprint of a client's secret, from its hash or its variable.
 */
function readSecret(
  { client_secret_sha256: hash, client_secret_env: variable }: Record<
    string,
    unknown
  >,
  secretOf: (variable: string) => string | undefined,
  refuse: (what: string) => never,
): string | undefined {
  if (hash !== undefined && variable !== undefined) {
    refuse("use either client_secret_sha256 or client_secret_env");
  }
  if (hash !== undefined) {
    if (typeof hash !== "string" || !HASH.test(hash)) {
      refuse("client_secret_sha256 must be 64 hexadecimal digits");
    }
    return base64url(fromHex(hash as string));
  }
  if (variable === undefined) return undefined;
  const secret = secretOf(String(variable))?.trim() ?? "";
  if (secret.length < MIN_SECRET_CHARACTERS) {
    refuse(
      `the variable that client_secret_env names must hold at least ` +
        `${MIN_SECRET_CHARACTERS} characters`,
    );
  }
  return fingerprint(secret);
}

/**
 * True for a machine: a client that may get tokens for itself (RFC 6749 §4.4).
 */
export function isMachine({ isConfigured, metadata }: Client): boolean {
  return isConfigured === true &&
    metadata.grant_types.includes(MACHINE_GRANT_TYPE);
}
