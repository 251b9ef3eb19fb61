/**
 * Wraps a provider to record each request in telemetry, to know if the provider
 * is reachable, and to check `iss` among several providers.
 *
 * @module
 */
import { outsideTrace, telemetry } from "../telemetry/current.ts";
import type { Identity } from "../caller.ts";
import { misbehaved, type Provider, UpstreamError } from "./provider.ts";

/** The minimum time between two checks, because anyone can cause them. */
const CHECK_MILLISECONDS = 60_000;

/**
 * `unknown` before the first request; `misbehaved` after a check has shown that
 * people cannot sign in there.
 */
type Reachability = "ok" | "unavailable" | "misbehaved" | "unknown";

/** A provider, and its last known reachability. */
export interface WatchedProvider {
  provider: Provider;
  /**
   * Returns the last known reachability. Unless that is `ok`, also starts a
   * check.
   */
  reachability(): Reachability;
}

export function watchProvider(
  watched: Provider,
  { key, vouched = (identity) => identity, isOfAnother, mayBeOf, onFault }: {
    /**
     * The provider's name in `OAUTH_PROVIDER`; undefined for the only provider.
     */
    key?: string;
    /**
     * Marks addresses as unverified that another provider is responsible for.
     */
    vouched?<T extends Identity>(identity: T): T;
    /** True if an `iss` belongs to another provider. */
    isOfAnother?(issuer: string): boolean;
    /** True if the account that a client suggests may be at this provider. */
    mayBeOf?(loginHint: string): boolean;
    /** Called with the error when checks start to fail. */
    onFault?(error: unknown): void;
  } = {},
): WatchedProvider {
  let reachability: Reachability = "unknown";
  let checkedMilliseconds = -Infinity;
  let isReported = false;

  async function check(): Promise<void> {
    const time = performance.now();
    if (time - checkedMilliseconds < CHECK_MILLISECONDS) return;
    checkedMilliseconds = time;
    try {
      await observed("check_answers", key, () => watched.checkAnswers!());
      reachability = "ok";
      isReported = false;
    } catch (error) {
      const kind = kindOf(error);
      reachability = kind === "misbehaved" ? kind : "unavailable";
      if (!isReported) onFault?.(error);
      isReported = true;
    }
  }

  async function noted<T>(
    verb: string,
    converse: () => Promise<T>,
  ): Promise<T> {
    try {
      const result = await observed(verb, key, converse);
      // Many providers make this URL without a request, so it proves
      // nothing.
      if (verb !== "authorization_url") reachability = "ok";
      return result;
    } catch (error) {
      // Any other error is a response, so the provider is reachable.
      const kind = kindOf(error);
      reachability = kind === "unavailable" ? kind : "ok";
      throw error;
    }
  }

  const provider: Provider = {
    name: watched.name,
    issuer: watched.issuer,
    get apiUrl() {
      return watched.apiUrl;
    },
    tellsTime: watched.tellsTime,
    revokesOne: watched.revokesOne,
    authorizationUrl({ loginHint, ...request }) {
      const isTheirs = loginHint !== undefined &&
        mayBeOf?.(loginHint) !== false;
      const own = isTheirs ? { ...request, loginHint } : request;
      return noted("authorization_url", () => watched.authorizationUrl(own));
    },
    // Not recorded: most providers check `iss` without a request.
    checkIssuer: watched.checkIssuer?.bind(watched),
    async redeem(response) {
      // Against mix-up attacks (RFC 9700 §4.4): another provider's `iss` is
      // refused here, because this provider may have no `iss` to compare it
      // with.
      const { issuer } = response;
      if (issuer !== undefined && isOfAnother?.(issuer)) {
        throw misbehaved("The provider's answer is that of another one");
      }
      const given = await noted("redeem", () => watched.redeem(response));
      return { ...given, identity: vouched(given.identity) };
    },
    refresh: (token) => noted("refresh", () => watched.refresh(token)),
    exchange: watched.exchange &&
      ((...of) => noted("exchange", () => watched.exchange!(...of))),
    identify: watched.identify && (async (tokens) => {
      const identity = await noted("identify", () => watched.identify!(tokens));
      return identity && vouched(identity);
    }),
    isAlive: watched.isAlive &&
      ((token) => noted("is_alive", () => watched.isAlive!(token))),
    revoke: watched.revoke &&
      ((tokens) => noted("revoke", () => watched.revoke!(tokens))),
  };
  return {
    provider,
    reachability() {
      if (reachability !== "ok" && watched.checkAnswers) outsideTrace(check);
      return reachability;
    },
  };
}

function observed<T>(
  verb: string,
  provider: string | undefined,
  converse: () => Promise<T>,
): Promise<T> {
  return telemetry
    ? telemetry.providerCall({ verb, provider }, converse, kindOf)
    : converse();
}

function kindOf(error: unknown): string {
  return error instanceof UpstreamError ? error.kind : "_OTHER";
}
