/**
 * Every conversation with the provider: measured for telemetry, and its result
 * remembered as the provider's reachability.
 *
 * @module
 */
import { outsideTrace, telemetry } from "../telemetry/current.ts";
import type { Identity } from "../caller.ts";
import { misbehaved, type Provider, UpstreamError } from "./provider.ts";

/** The least time between two checks, which strangers may cause. */
const CHECK_MILLISECONDS = 60_000;

/**
 * The reachability; `unknown` before the first request, `misbehaved` after a
 * check that found no provider that people could sign in with.
 */
type Reachability = "ok" | "unavailable" | "misbehaved" | "unknown";

/** A provider, and its state after its last request. */
export interface WatchedProvider {
  provider: Provider;
  /** Returns the state, and checks it in the background unless it is ok. */
  reachability(): Reachability;
}

export function watchProvider(
  watched: Provider,
  { key, vouched = (identity) => identity, isOfAnother, mayBeOf, onFault }: {
    /** The provider's name, if there are several. */
    key?: string;
    /** Marks the addresses that the provider cannot vouch for as unverified. */
    vouched?<T extends Identity>(identity: T): T;
    /** True if another provider sends this `iss` with its answers. */
    isOfAnother?(issuer: string): boolean;
    /** True if an account that a client proposes may be one of this provider. */
    mayBeOf?(loginHint: string): boolean;
    /** Called with the reason when checks begin to fail. */
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
      // Addresses are often built from settings alone: that proves nothing.
      if (verb !== "authorization_url") reachability = "ok";
      return result;
    } catch (error) {
      // Any other refusal is an answer too.
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
    // Most providers check `iss` without a request, which proves nothing.
    checkIssuer: watched.checkIssuer?.bind(watched),
    async redeem(response) {
      // Mix-up (RFC 9700 §4.4): a code of another provider is refused by its
      // `iss`, because this provider may have no `iss` to compare that with.
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
