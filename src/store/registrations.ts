/**
 * Registrations from before client IDs carried theirs. None is added; one that
 * is used stays for ever, as its client was promised.
 *
 * @module
 */
import type { Client } from "../auth/rules/client.ts";
import type { Database, Expiring } from "./database.ts";
import { clientKey } from "./keys.ts";

export type RegistrationStore = ReturnType<typeof registrationStore>;

type ClientRecord = Client & Partial<Expiring>;

/** Opens the registered clients of a database. */
export function registrationStore(database: Database) {
  return {
    /** Finds a client that still exists; from now on it stays. */
    async find(clientId: string): Promise<Client | undefined> {
      const found = await database.find<ClientRecord>(clientKey(clientId));
      if (!found) return undefined;
      const { expiresAt, ...client } = found.value;
      if (expiresAt !== undefined) {
        // If this fails, the next use does it.
        await database.commit((transaction) =>
          transaction.check(found).setForever(found.key, client)
        ).catch(() => {});
      }
      return client;
    },
  };
}
