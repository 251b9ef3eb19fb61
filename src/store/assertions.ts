/**
 * Client assertions that were used: each `jti` counts once.
 *
 * @see RFC 7523 §3
 * @module
 */
import type { Database } from "./database.ts";
import { assertionKey } from "./keys.ts";
import type { Write } from "./transaction.ts";

export type AssertionStore = ReturnType<typeof assertionStore>;

/** An assertion, until when it could be used again. */
interface UsedAssertion {
  jti: string;
  expiresAt: number;
}

/** Used client assertions in a database. */
export function assertionStore(database: Database) {
  /**
   * Marks an assertion as used in a commit of someone else's, which fails when
   * it was used before.
   */
  function using(by: string, { jti, expiresAt }: UsedAssertion): Write {
    const key = assertionKey(by, jti);
    // One that has expired is refused too, until it is collected: a client
    // makes up a new jti for every assertion.
    return (transaction) =>
      transaction.check({ key, versionstamp: null }).set(key, { expiresAt });
  }

  return {
    using,

    /** Marks an assertion as used; false when the client has used it before. */
    async use(clientId: string, once: UsedAssertion): Promise<boolean> {
      const won = await database.commit(using(clientId, once));
      return won !== undefined;
    },
  };
}
