/**
 * Client authentication, at the token and the revocation endpoint.
 *
 * @see RFC 6749 §2.3, RFC 7523 §2.2, OpenID Connect Core §9
 * @module
 */
import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet } from "jose";
import { fingerprint, isSameSecret } from "../crypto/crypto.ts";
import { OAuthError } from "../errors.ts";
import { acceptedAuthMethods, type Client } from "./client.ts";
import {
  ASSERTION_MAX_TTL_SECONDS,
  CLOCK_TOLERANCE_SECONDS,
} from "./lifetimes.ts";
import { invalidRequest, type Parameters } from "./parameters.ts";
import { verifySignedJwt } from "./signed_jwt.ts";

/** The client credentials in a request, before they are checked. */
type ClientCredentials =
  | { method: "none"; clientId: string }
  | { method: "secret"; clientId: string; secret: string }
  | { method: "assertion"; clientId: string; assertion: string };

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** The accepted `typ`s of a client assertion. RFC 7523 requires none. */
const ASSERTION_TYPES = [undefined, "jwt", "client-authentication+jwt"];

function refuse(cause?: unknown): never {
  throw new OAuthError("invalid_client", "Client authentication failed", {
    cause,
  });
}

/**
 * Reads the client credentials of a request.
 *
 * @throws {OAuthError} `invalid_client` if they are missing or unreadable;
 * `invalid_request` if the request uses two methods
 */
export function parseClientCredentials(
  authorization: string | null,
  parameters: Parameters,
): ClientCredentials {
  const basic = parseBasic(authorization);
  const clientId = parameters.get("client_id");
  const secret = parameters.get("client_secret");
  const assertion = parameters.get("client_assertion");
  const methods = [basic, secret, assertion].filter((it) => it !== undefined);
  if (methods.length > 1 || basic && clientId && clientId !== basic.clientId) {
    throw invalidRequest(
      "A request must use one way of client authentication, and one client_id",
    );
  }
  if (basic) return basic;
  if (assertion !== undefined) {
    if (parameters.get("client_assertion_type") !== ASSERTION_TYPE) {
      throw invalidRequest(`client_assertion_type must be ${ASSERTION_TYPE}`);
    }
    return {
      method: "assertion",
      clientId: clientId ?? claimedSubject(assertion),
      assertion,
    };
  }
  if (clientId === undefined) refuse();
  return secret === undefined
    ? { method: "none", clientId }
    : { method: "secret", clientId, secret };
}

/**
 * Reads Basic credentials. Both halves are form-encoded (RFC 6749 §2.3.1). An
 * unreadable header is an error; it is not treated as absent.
 */
function parseBasic(
  authorization: string | null,
): ClientCredentials | undefined {
  const [scheme, encoded = "", ...more] = (authorization ?? "").trim()
    .split(/ +/);
  if (scheme.toLowerCase() !== "basic") return undefined;
  try {
    const [id, ...rest] = atob(encoded).split(":").map((half) =>
      decodeURIComponent(half.replaceAll("+", " "))
    );
    if (id === "" || rest.length === 0 || more.length > 0) refuse();
    // Clients without a secret may send an empty password.
    const secret = rest.join(":");
    return secret === ""
      ? { method: "none", clientId: id }
      : { method: "secret", clientId: id, secret };
  } catch (cause) {
    if (cause instanceof OAuthError) throw cause;
    refuse(cause);
  }
}

/** Reads the `sub` of a client assertion before the assertion is verified. */
function claimedSubject(assertion: string): string {
  try {
    const { sub } = decodeJwt(assertion);
    if (typeof sub === "string") return sub;
  } catch (cause) {
    refuse(cause);
  }
  refuse();
}

/**
 * Checks the client secret. If the client has none, checks that it may use the
 * method `none`.
 */
export function checkClientSecret(
  client: Client,
  credentials: ClientCredentials,
): void {
  switch (credentials.method) {
    case "none":
      if (!acceptedAuthMethods(client.metadata).includes("none")) refuse();
      return;
    case "secret":
      // The secret may be in the header or the body, whatever method the
      // client registered: libraries choose by themselves.
      if (
        client.secretFingerprint === undefined ||
        !isSameSecret(fingerprint(credentials.secret), client.secretFingerprint)
      ) refuse();
      return;
    default:
      refuse();
  }
}

/**
 * Refuses a client that is not registered for `private_key_jwt`, before its
 * keys are fetched.
 */
export function checkUsesPrivateKeyJwt({ metadata }: Client): void {
  if (!acceptedAuthMethods(metadata).includes("private_key_jwt")) refuse();
}

/** True if an assertion was refused because no key has its `kid`. */
export function isUnknownKey(error: unknown): boolean {
  return error instanceof OAuthError &&
    error.cause instanceof errors.JWKSNoMatchingKey;
}

/**
 * Verifies a client assertion (`private_key_jwt`). The caller must refuse a
 * `jti` that was used before.
 *
 * @throws {OAuthError} `invalid_client`
 */
export async function verifyClientAssertion(
  client: Client,
  assertion: string,
  { keys, audiences, now }: {
    keys: JSONWebKeySet;
    audiences: string[];
    now: number;
  },
): Promise<{ jti: string; expiresAt: number }> {
  checkUsesPrivateKeyJwt(client);
  try {
    const { payload, protectedHeader } = await verifySignedJwt(
      assertion,
      createLocalJWKSet(keys),
      {
        issuer: client.clientId,
        subject: client.clientId,
        audience: audiences,
        requiredClaims: ["exp", "jti"],
        now,
      },
    );
    const { jti, exp = Infinity, aud } = payload;
    // If an assertion had a second audience, that audience could use it here
    // (RFC 7523 §3).
    const isGood = [aud].flat().length === 1 && typeof jti === "string" &&
      exp <= now + ASSERTION_MAX_TTL_SECONDS &&
      ASSERTION_TYPES.includes(protectedHeader.typ?.toLowerCase());
    if (!isGood) refuse();
    return { jti, expiresAt: exp + CLOCK_TOLERANCE_SECONDS };
  } catch (cause) {
    if (cause instanceof OAuthError) throw cause;
    refuse(cause);
  }
}
