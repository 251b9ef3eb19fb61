/**
 * The gate in front of `/mcp`, which authenticates callers. Each value of
 * `AUTH_STRATEGY` is an authentication method with a gate of its own; several
 * can be combined.
 * @see RFC 6750 §2.1 and §3, RFC 9728 §5.1
 * @module
 */
import type { MaybePromise } from "../../../authoring/service.ts";
import {
  ANONYMOUS,
  type Authenticated,
  type Caller,
  isStranger,
  STRANGER,
} from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";
import { unionOfScopes } from "../../oauth/scope.ts";

/** Authenticates callers, by one method or several. */
export interface Gate {
  /**
   * Authenticates the caller by the headers of a request.
   *
   * @throws {ChallengeError} 401 if the credentials are missing or no longer
   * valid
   */
  authenticate(headers: Headers): Authenticated | Promise<Authenticated>;
  /**
   * Authenticates an earlier caller again for background work, with their
   * present scopes. Undefined if they are no longer allowed.
   */
  restore(caller: Caller): MaybePromise<Authenticated | undefined>;
  /**
   * True if this process has the settings for a caller: the authentication
   * method, and the provider or issuer. While a deployment rolls out, only some
   * processes may have them.
   */
  isConfigured(caller: Caller): MaybePromise<boolean>;
  /**
   * Formats `WWW-Authenticate` for a refusal (RFC 6750 §3). The URL of the
   * metadata in it gets the request's `sid`.
   */
  challenge(refusal: ChallengeError, sid?: string): string;
}

const AUTHENTICATED: Authenticated = Object.freeze({ caller: ANONYMOUS });

/** The gate for `AUTH_STRATEGY=none`: everyone is the same anonymous caller. */
export const openGate: Gate = {
  authenticate: () => AUTHENTICATED,
  restore: ({ binding }) =>
    binding === ANONYMOUS.binding ? AUTHENTICATED : undefined,
  isConfigured: ({ door }) => door === undefined,
  challenge: () => "Bearer",
};

/** Makes a gate that is loaded at the first request. */
export function lateGate(load: () => Promise<Gate>): Gate {
  let gate: Gate | undefined;
  async function loaded(): Promise<Gate> {
    const loaded = await load();
    return gate ??= loaded;
  }
  return {
    authenticate: (headers) =>
      gate
        ? gate.authenticate(headers)
        : loaded().then((gate) => gate.authenticate(headers)),
    restore: async (caller) => await (await loaded()).restore(caller),
    isConfigured: async (caller) => await (await loaded()).isConfigured(caller),
    // A challenge always follows `authenticate()`, which has loaded the
    // gate.
    challenge: (refusal, sid) => gate!.challenge(refusal, sid),
  };
}

/**
 * Makes the gate for `AUTH_ANONYMOUS`, which lets people try a server. A
 * request without credentials is accepted without scopes. Invalid credentials
 * still get a 401; otherwise their client would never request new ones.
 */
export function anonymousGate(
  gate: Gate,
  { keyHeader, ceiling }: {
    /** The name of the API key header, if the server accepts API keys. */
    keyHeader?: string;
    /**
     * The scopes that an anonymous caller could get by signing in; all by
     * default.
     */
    ceiling?: readonly string[];
  } = {},
): Gate {
  const stranger: Authenticated = Object.freeze({
    caller: Object.freeze({ ...STRANGER, ...ceiling && { ceiling } }),
  });
  return {
    ...gate,
    authenticate: (headers) =>
      headers.has("authorization") ||
        keyHeader !== undefined && headers.has(keyHeader)
        ? gate.authenticate(headers)
        : stranger,
    restore: (caller) => isStranger(caller) ? stranger : gate.restore(caller),
  };
}

const BEARER = /^Bearer +(\S+) *$/i;

/**
 * Returns the bearer token in an `Authorization` header; undefined if it has
 * none.
 */
export function parseBearer(authorization: string | null): string | undefined {
  return authorization === null ? undefined : BEARER.exec(authorization)?.[1];
}

/**
 * Returns the bearer token of a request.
 *
 * @throws {ChallengeError} 401 without one
 */
export function presentedBearer(headers: Headers): string {
  const token = parseBearer(headers.get("authorization"));
  if (token === undefined) throw new ChallengeError("Sign in first");
  return token;
}

/**
 * Formats a Bearer challenge.
 * @param parameters further parameters, such as `resource_metadata`; undefined
 * ones are left out
 * @param scopes the scopes that every sign-in requests; a 401 names them, too
 */
export function printChallenge(
  refusal: ChallengeError,
  parameters: Readonly<Record<string, string | undefined>> = {},
  scopes: readonly string[] = [],
): string {
  const needed = refusal.status === 401
    ? unionOfScopes(refusal.scopes, scopes)
    : refusal.scopes;
  const all = {
    error: refusal.error,
    error_description: refusal.error && refusal.description,
    ...parameters,
    scope: needed.length > 0 ? needed.join(" ") : undefined,
  };
  const printed = Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${quotable(value!)}"`);
  return printed.length > 0 ? `Bearer ${printed.join(", ")}` : "Bearer";
}

/**
 * Replaces characters that are not allowed in a challenge's parameter (RFC 6750
 * §3).
 */
function quotable(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x5B\x5D-\x7E]/g, "?");
}
