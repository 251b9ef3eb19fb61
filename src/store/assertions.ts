/**
 * Used client assertions: each `jti` is accepted once.
 *
 * @see RFC 7523 §3
 * @module
 */
import type { Database } from "./database.ts";
import { assertionKey } from "./keys.ts";
import { type Use, useOnce, using, usingAgain } from "./once.ts";
import type { Write } from "./transaction.ts";

export type AssertionStore = ReturnType<typeof assertionStore>;

/** An assertion, and the time until which it could be used again. */
interface UsedAssertion {
  jti: string;
  expiresAt: number;
}

/** Opens the used client assertions of a database. */
export function assertionStore(database: Database) {
  return {
    /**
     * Marks an assertion as used in another commit, which fails if it was used
     * before.
     */
    using: (by: string, { jti, expiresAt }: UsedAssertion): Write =>
      using(assertionKey(by, jti), { expiresAt }),

    /**
     * Marks one as used again, if the request that used it was answered with
     * 503; undefined otherwise.
     */
    usingAgain: (
      by: string,
      { jti, expiresAt }: UsedAssertion,
    ): Promise<Write | undefined> =>
      usingAgain(database, assertionKey(by, jti), { expiresAt }),

    /** Marks an assertion as used; undefined if the client has used it before. */
    use: (
      clientId: string,
      { jti, expiresAt }: UsedAssertion,
    ): Promise<Use | undefined> =>
      useOnce(database, assertionKey(clientId, jti), { expiresAt }),
  };
}
