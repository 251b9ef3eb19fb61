/**
 * The gate in front of `/mcp`: it identifies the caller. A door is one way to be
 * known, a strategy of `AUTH_STRATEGY`; the gate is all doors that are open.
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

/** A gate; each door is one too. */
export interface Gate {
  /**
   * Identifies the sender of these headers.
   *
   * @throws {ChallengeError} 401 when the credentials are missing or dead
   */
  authenticate(headers: Headers): Authenticated | Promise<Authenticated>;
  /**
   * Finds a caller who was admitted before, as they are known now, without a
   * request; undefined if they would no longer be admitted.
   */
  restore(caller: Caller): MaybePromise<Authenticated | undefined>;
  /**
   * True if the way in which a caller became known, and their provider or
   * issuer, are configured here. During a roll-out they may be configured in
   * another process only.
   */
  isConfigured(caller: Caller): MaybePromise<boolean>;
  /**
   * Prints the `WWW-Authenticate` value for a refusal (RFC 6750 §3). A `sid` is
   * passed on in the address of the metadata.
   */
  challenge(refusal: ChallengeError, sid?: string): string;
}

const AUTHENTICATED: Authenticated = Object.freeze({ caller: ANONYMOUS });

/** `AUTH_STRATEGY=none`: everyone is the same anonymous caller. */
export const openGate: Gate = {
  authenticate: () => AUTHENTICATED,
  restore: ({ binding }) =>
    binding === ANONYMOUS.binding ? AUTHENTICATED : undefined,
  isConfigured: ({ door }) => door === undefined,
  challenge: () => "Bearer",
};

/** Makes a gate that is loaded with the first request to pass it. */
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
    // Only a request that has loaded the gate is challenged.
    challenge: (refusal, sid) => gate!.challenge(refusal, sid),
  };
}

/**
 * Makes the gate of `AUTH_ANONYMOUS`, so that people can try a server: it
 * admits a request without credentials, as a stranger without a scope. A
 * request with credentials is admitted only if they are good: a dead token is
 * refused, because otherwise its client would never get another.
 */
export function anonymousGate(
  gate: Gate,
  { keyHeader, ceiling }: {
    /** The header of API keys, if there are any. */
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

/** Reads the token of an `Authorization` header; undefined if there is none. */
export function parseBearer(authorization: string | null): string | undefined {
  return authorization === null ? undefined : BEARER.exec(authorization)?.[1];
}

/**
 * Reads the bearer token of a request.
 *
 * @throws {ChallengeError} 401 without one
 */
export function presentedBearer(headers: Headers): string {
  const token = parseBearer(headers.get("authorization"));
  if (token === undefined) throw new ChallengeError("Sign in first");
  return token;
}

/**
 * Prints a challenge.
 *
 * @param parameters parameters of the strategy, such as `resource_metadata`;
 * undefined ones are left out
 * @param scopes the scopes of every sign-in, which a 401 names besides its own
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

/** Replaces characters that no value of a challenge may have (RFC 6750 §3). */
function quotable(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x5B\x5D-\x7E]/g, "?");
}
