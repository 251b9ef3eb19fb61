/**
 * Used client assertions: each `jti` is accepted once.
 *
 * @see RFC 7523 §3
 * @module
 */
import type { Database } from "./database.ts";
import { assertionKey } from "./keys.ts";
import type { Write } from "./transaction.ts";

export type AssertionStore = ReturnType<typeof assertionStore>;

/** An assertion, and the time until which it could be used again. */
interface UsedAssertion {
  jti: string;
  expiresAt: number;
}

/** Opens the used client assertions of a database. */
export function assertionStore(database: Database) {
  /**
   * Marks an assertion as used in another commit, which fails if it was used
   * before.
   */
  function using(by: string, { jti, expiresAt }: UsedAssertion): Write {
    const key = assertionKey(by, jti);
    // A `jti` is refused until its record is collected, even after it has
    // expired: a client makes a new one for every assertion.
    return (transaction) =>
      transaction.check({ key, versionstamp: null }).set(key, { expiresAt });
  }

  return {
    using,

    /** Marks an assertion as used; false if the client has used it before. */
    async use(clientId: string, once: UsedAssertion): Promise<boolean> {
      const won = await database.commit(using(clientId, once));
      return won !== undefined;
    },
  };
}
