/**
 * The times at which clients of `OAUTH_CLIENTS` were last used. They are stored
 * for longer than the grants of machines, which are gone after an hour.
 * @module
 */
import { GRANT_TTL_SECONDS } from "../oauth/lifetimes.ts";
import type { Database, Expiring } from "../kv/database.ts";
import { clientUseKey } from "../kv/keys.ts";

/** The time for which the last use of a client is stored. */
export const CLIENT_USE_SECONDS = GRANT_TTL_SECONDS;

/** The precision of the times. */
const COARSE_SECONDS = 60;

interface ClientUse extends Expiring {
  /** Epoch seconds. */
  usedAt: number;
}

export function clientUseStore(database: Database) {
  return {
    /** Records a client's use in the background, at most once a minute. */
    touch(clientId: string): void {
      database.background(async () => {
        const key = clientUseKey(clientId);
        const usedAt = database.now();
        const found = await database.find<ClientUse>(key);
        if (found && usedAt - found.value.usedAt < COARSE_SECONDS) return;
        await database.commit((transaction) =>
          transaction.set(key, {
            usedAt,
            expiresAt: usedAt + CLIENT_USE_SECONDS,
          })
        );
      });
    },

    /** Finds the time of a client's last use; undefined if none is stored. */
    async find(clientId: string): Promise<number | undefined> {
      return (await database.find<ClientUse>(clientUseKey(clientId)))?.value
        .usedAt;
    },
  };
}
