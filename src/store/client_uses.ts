/**
 * The times at which clients of the operator were last used: a machine's grants
 * are gone after an hour, and its operator wants to know for longer.
 *
 * @module
 */
import { GRANT_TTL_SECONDS } from "../auth/rules/lifetimes.ts";
import type { Database, Expiring } from "./database.ts";
import { clientUseKey } from "./keys.ts";

/** The precision of the times, in seconds. */
const COARSE_SECONDS = 60;

interface ClientUse extends Expiring {
  /** Epoch seconds. */
  usedAt: number;
}

export type ClientUseStore = ReturnType<typeof clientUseStore>;

/** Opens the last uses in a database. */
export function clientUseStore(database: Database) {
  return {
    /**
     * Records in the background that a client is used now, at most once a
     * minute.
     */
    touch(clientId: string): void {
      database.background(async () => {
        const key = clientUseKey(clientId);
        const usedAt = database.now();
        const found = await database.find<ClientUse>(key);
        if (found && usedAt - found.value.usedAt < COARSE_SECONDS) return;
        await database.commit((transaction) =>
          transaction.set(key, {
            usedAt,
            expiresAt: usedAt + GRANT_TTL_SECONDS,
          })
        );
      });
    },

    /**
     * Finds the time at which a client was last used; undefined: longer ago
     * than it is kept.
     */
    async find(clientId: string): Promise<number | undefined> {
      return (await database.find<ClientUse>(clientUseKey(clientId)))?.value
        .usedAt;
    },
  };
}
