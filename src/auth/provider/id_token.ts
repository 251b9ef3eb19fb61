/**
 * The `id_token`, by which the provider vouches for the person who signed in.
 *
 * @see OpenID Connect Core §3.1.3.7
 * @module
 */
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from "jose";
import { CLOCK_TOLERANCE_SECONDS } from "../rules/lifetimes.ts";
import { UpstreamError } from "./upstream_error.ts";
import type { UpstreamFetch } from "./upstream_fetch.ts";

/** The requirements for an `id_token`. */
export interface IdTokenOptions {
  keys: JWTVerifyGetKey;
  /** Without `none` and HMAC; if empty, every token is refused. */
  algorithms: readonly string[];
  clientId: string;
  /** Undefined for a refresh, which was requested without one. */
  nonce?: string;
  /** True if `iss` is the provider's; gets the other claims too, for `tid`. */
  isIssuer: (issuer: string, claims: JWTPayload) => boolean;
}

/**
 * Verifies that an `id_token` is signed by the provider, for us, for this
 * sign-in, and still valid, and gives its claims.
 *
 * @throws {UpstreamError} `misbehaved`, or `unavailable` when the keys cannot
 * be read
 */
export async function verifyIdToken(
  idToken: string,
  { keys, algorithms, clientId, nonce, isIssuer }: IdTokenOptions,
): Promise<JWTPayload & { sub: string }> {
  const { payload } = await jwtVerify(idToken, keys, {
    algorithms: [...algorithms],
    audience: clientId,
    requiredClaims: ["iss", "sub", "exp", "iat"],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  }).catch((cause) => {
    if (cause instanceof UpstreamError) throw cause;
    throw refused(cause instanceof errors.JOSEError ? cause.code : "no JWT", {
      cause,
    });
  });
  const { iss = "", sub, aud, azp } = payload;
  if (!isIssuer(iss, payload)) throw refused("iss");
  if (typeof sub !== "string" || sub === "") throw refused("sub");
  if (nonce !== undefined && payload.nonce !== nonce) throw refused("nonce");
  const authorized = azp ??
    (Array.isArray(aud) && aud.length > 1 ? "" : clientId);
  if (authorized !== clientId) throw refused("azp");
  return { ...payload, sub };
}

function refused(what: string, options?: ErrorOptions): UpstreamError {
  return new UpstreamError(
    "misbehaved",
    `The provider's id_token is refused: ${what}`,
    options,
  );
}

/** Makes the key set for the current address; jose caches the keys. */
export function keySets(
  fetchUpstream: UpstreamFetch,
): (uri: string) => JWTVerifyGetKey {
  let known: { uri: string; keys: JWTVerifyGetKey } | undefined;
  return function keysOf(uri) {
    if (known?.uri !== uri) {
      known = {
        uri,
        keys: createRemoteJWKSet(new URL(uri), {
          [customFetch]: fetchUpstream,
        }),
      };
    }
    return known.keys;
  };
}
