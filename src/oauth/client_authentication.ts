/**
 * How a client shows at the token endpoint who it is.
 *
 * @see RFC 6749 §2.3, RFC 7523 §2.2, OpenID Connect Core §9
 * @module
 */
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { fingerprint, isSameSecret } from "../crypto.ts";
import { OAuthError } from "../errors.ts";
import type { Client } from "./client.ts";
import { ASSERTION_MAX_TTL_SECONDS } from "./lifetimes.ts";
import type { Parameters } from "./parameters.ts";

/** What a request presents, not yet checked. */
export type ClientCredentials =
  | { method: "none"; clientId: string }
  | { method: "secret"; clientId: string; secret: string }
  | { method: "assertion"; clientId: string; assertion: string };

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Asymmetric only: a shared secret would make it `client_secret_jwt`. */
export const ASSERTION_ALGORITHMS = [
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
];

function refuse(cause?: unknown): never {
  throw new OAuthError("invalid_client", "Client authentication failed", {
    cause,
  });
}

/**
 * Reads what a request presents, by whichever one method.
 *
 * @throws {OAuthError} `invalid_client` without any or when unreadable,
 * `invalid_request` with two
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
    throw new OAuthError(
      "invalid_request",
      "More than one way of client authentication",
    );
  }
  if (basic) return basic;
  if (assertion !== undefined) {
    if (parameters.get("client_assertion_type") !== ASSERTION_TYPE) {
      throw new OAuthError(
        "invalid_request",
        `client_assertion_type must be ${ASSERTION_TYPE}`,
      );
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

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
function parseBasic(
  authorization: string | null,
): ClientCredentials | undefined {
  const match = /^Basic +([\w+/=-]+)$/i.exec(authorization ?? "");
  if (!match) return undefined;
  try {
    const [id, ...rest] = atob(match[1]).split(":").map((half) =>
      decodeURIComponent(half.replaceAll("+", " "))
    );
    // An empty password is how some clients write that they have none.
    const secret = rest.join(":");
    return secret === ""
      ? { method: "none", clientId: id }
      : { method: "secret", clientId: id, secret };
  } catch (cause) {
    refuse(cause);
  }
}

/** The `sub` of an assertion that is verified later. */
function claimedSubject(assertion: string): string {
  try {
    const [, payload] = assertion.split(".");
    const { sub } = JSON.parse(
      atob(payload.replaceAll("-", "+").replaceAll("_", "/")),
    );
    if (typeof sub === "string") return sub;
  } catch (cause) {
    refuse(cause);
  }
  refuse();
}

/**
 * Checks a secret, or that none is needed.
 *
 * @throws {OAuthError} `invalid_client`
 */
export function checkClientSecret(
  client: Client,
  credentials: ClientCredentials,
): void {
  const { token_endpoint_auth_method: method } = client.metadata;
  switch (credentials.method) {
    case "none":
      if (method !== "none") refuse();
      return;
    case "secret":
      // Basic or in the body: libraries choose for themselves.
      if (
        client.secretFingerprint === undefined ||
        !isSameSecret(
          fingerprint(credentials.secret),
          client.secretFingerprint,
        )
      ) refuse();
      return;
    default:
      refuse();
  }
}

/**
 * Verifies a client's assertion (`private_key_jwt`). The caller must let each
 * returned `jti` through only once.
 *
 * @param audiences what the assertion may name as its audience
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
  if (client.metadata.token_endpoint_auth_method !== "private_key_jwt") {
    refuse();
  }
  try {
    const { payload } = await jwtVerify(assertion, createLocalJWKSet(keys), {
      issuer: client.clientId,
      subject: client.clientId,
      audience: audiences,
      algorithms: ASSERTION_ALGORITHMS,
      requiredClaims: ["exp", "jti"],
      clockTolerance: 10,
      currentDate: new Date(now * 1000),
    });
    const { jti, exp } = payload as { jti: string; exp: number };
    if (typeof jti !== "string" || exp > now + ASSERTION_MAX_TTL_SECONDS) {
      refuse();
    }
    return { jti, expiresAt: exp + 10 };
  } catch (cause) {
    if (cause instanceof OAuthError) throw cause;
    refuse(cause);
  }
}
