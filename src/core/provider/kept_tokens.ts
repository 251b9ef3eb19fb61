/**
 * Access tokens in the memory of a process, each asked for once by all calls that
 * need it at a time.
 *
 * @module
 */
import { now, systemClock } from "../clock.ts";
import { secondsOfUse } from "../oauth/lifetimes.ts";
import { LatestMap } from "../latest_map.ts";
import { UpstreamError, type UpstreamTokens } from "./provider.ts";

/** The longest time for which a token is kept, whatever its end. */
const MAX_KEPT_SECONDS = 3600;

/** The time for which a token without an end is kept. */
const ENDLESS_KEPT_SECONDS = 300;

/**
 * The time for which a refusal is kept, and in which a token that its service
 * refuses is replaced once: neither would be another answer the next time.
 */
const PAUSE_MILLISECONDS = 60_000;

interface Kept {
  tokens: Promise<UpstreamTokens>;
  /** The time of their request, if they replaced a refused token. */
  replacedMilliseconds: number;
}

export class KeptTokens {
  readonly #kept = new LatestMap<Kept>();

  /** Gives the tokens with a key, or those that `ask` gets. */
  get(
    key: string,
    ask: () => Promise<UpstreamTokens>,
  ): Promise<UpstreamTokens> {
    return (this.#kept.get(key) ?? this.#ask(key, ask)).tokens;
  }

  /**
   * Gives tokens in place of an access token that its service has refused.
   * Undefined if that was replaced within the last minute.
   */
  async replace(
    key: string,
    ask: () => Promise<UpstreamTokens>,
    refused: string,
  ): Promise<UpstreamTokens | undefined> {
    const kept = this.#kept.get(key);
    if (kept) {
      const tokens = await kept.tokens;
      if (tokens.accessToken !== refused) return tokens;
      const freshSince = performance.now() - PAUSE_MILLISECONDS;
      if (kept.replacedMilliseconds > freshSince) return undefined;
      // Another call may have replaced it meanwhile.
      if (this.#kept.get(key) !== kept) return await this.get(key, ask);
    }
    const tokens = await this.#ask(key, ask, performance.now()).tokens;
    return tokens.accessToken === refused ? undefined : tokens;
  }

  #ask(
    key: string,
    ask: () => Promise<UpstreamTokens>,
    replacedMilliseconds = -Infinity,
  ): Kept {
    const kept: Kept = { tokens: ask(), replacedMilliseconds };
    const keepFor = (milliseconds: number) => {
      if (this.#kept.get(key) === kept) this.#kept.set(key, kept, milliseconds);
    };
    kept.tokens.then(
      (tokens) => keepFor(lifetimeOf(tokens)),
      (error) => keepFor(isFinal(error) ? PAUSE_MILLISECONDS : 0),
    );
    this.#kept.set(key, kept);
    return kept;
  }
}

/** The time for which tokens are given, in milliseconds. */
function lifetimeOf({ expiresAt }: UpstreamTokens): number {
  const seconds = expiresAt === undefined
    ? ENDLESS_KEPT_SECONDS
    : Math.min(expiresAt - now(systemClock), MAX_KEPT_SECONDS);
  return 1000 * secondsOfUse(seconds);
}

/** True if asking again would change nothing. */
function isFinal(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind !== "unavailable";
}
