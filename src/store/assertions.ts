/**
 * Client assertions that were used: each `jti` counts once.
 *
 * @see RFC 7523 §3
 * @module
 */
import type { Database } from "./database.ts";
import { assertionKey } from "./keys.ts";

export type AssertionStore = ReturnType<typeof assertionStore>;

/** Used client assertions in a database. */
export function assertionStore(database: Database) {
  return {
    /** Marks an assertion as used; false when the client has used it before. */
    async use(
      clientId: string,
      { jti, expiresAt }: { jti: string; expiresAt: number },
    ): Promise<boolean> {
      const key = assertionKey(clientId, jti);
      // One that has expired is refused too, until it is collected: a client
      // makes up a new jti for every assertion.
      return await database.commit((transaction) =>
        transaction.check({ key, versionstamp: null }).set(key, { expiresAt })
      ) !== undefined;
    },
  };
}
