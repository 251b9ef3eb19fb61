/**
 * The gate in front of `/mcp`: it identifies the caller. A door is one way to
 * identify callers, a value of `AUTH_STRATEGY`; the gate consists of all
 * configured doors.
 *
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

/** A gate; each door is a gate, too. */
export interface Gate {
  /**
   * Identifies the caller by the headers of a request.
   *
   * @throws {ChallengeError} 401 if the credentials are missing or no longer
   * valid
   */
  authenticate(headers: Headers): Authenticated | Promise<Authenticated>;
  /**
   * Returns a caller who was admitted before, with their present scopes, for
   * work without a request. Returns undefined if they would no longer be
   * admitted.
   */
  restore(caller: Caller): MaybePromise<Authenticated | undefined>;
  /**
   * True if this process has the settings for a caller: their door, and their
   * provider or issuer. During a roll-out only another process may have them.
   */
  isConfigured(caller: Caller): MaybePromise<boolean>;
  /**
   * Formats the `WWW-Authenticate` header for a refusal (RFC 6750 §3). A `sid`
   * is passed on in the URL of the metadata.
   */
  challenge(refusal: ChallengeError, sid?: string): string;
}

const AUTHENTICATED: Authenticated = Object.freeze({ caller: ANONYMOUS });

/** The gate of `AUTH_STRATEGY=none`: everyone is the same anonymous caller. */
export const openGate: Gate = {
  authenticate: () => AUTHENTICATED,
  restore: ({ binding }) =>
    binding === ANONYMOUS.binding ? AUTHENTICATED : undefined,
  isConfigured: ({ door }) => door === undefined,
  challenge: () => "Bearer",
};

/** Makes a gate that is loaded by the first request that needs it. */
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
    // A challenge follows `authenticate()`, which has loaded the gate.
    challenge: (refusal, sid) => gate!.challenge(refusal, sid),
  };
}

/**
 * Makes the gate of `AUTH_ANONYMOUS`, for people who try a server: a request
 * without credentials is admitted as a stranger without scopes. Invalid
 * credentials are still refused with 401, because otherwise the client would
 * never get new ones.
 */
export function anonymousGate(
  gate: Gate,
  { keyHeader, ceiling }: {
    /** The header of API keys, if the server accepts any. */
    keyHeader?: string;
    /** The ceiling of strangers; all scopes by default. */
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
 * Returns the bearer token of an `Authorization` header; undefined if it has
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
 *
 * @param parameters further parameters, such as `resource_metadata`; undefined
 * ones are left out
 * @param scopes the scopes of every sign-in, which a 401 names besides those of
 * the refusal
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
 * Replaces characters that a parameter of a challenge may not have (RFC 6750
 * §3).
 */
function quotable(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x5B\x5D-\x7E]/g, "?");
}
