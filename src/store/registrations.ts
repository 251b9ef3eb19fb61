/**
 * Clients that registered themselves. One that leads to nothing is gone after
 * a day, any other 90 days after its last use; the database collects both.
 *
 * @module
 */
import type { Client } from "../oauth/client.ts";
import {
  CLIENT_IDLE_TTL_SECONDS,
  UNUSED_CLIENT_TTL_SECONDS,
} from "../oauth/lifetimes.ts";
import { type Database, type Expiring, MAX_LISTED } from "./database.ts";
import { clientKey } from "./keys.ts";

/** A use is written down only when the last one written is a day old. */
const SLIDE_SECONDS = 24 * 60 * 60;

type ClientRecord = Client & Expiring;

export type RegistrationStore = ReturnType<typeof registrationStore>;

/** Registered clients in a database. */
export function registrationStore(database: Database) {
  function record(client: Client, ttlSeconds: number): ClientRecord {
    return { ...client, expiresAt: database.now() + ttlSeconds };
  }

  return {
    async save(client: Client): Promise<void> {
      await database.commit((transaction) =>
        transaction.set(
          clientKey(client.clientId),
          record(client, UNUSED_CLIENT_TTL_SECONDS),
        )
      );
    },

    async find(clientId: string): Promise<Client | undefined> {
      return (await database.find<ClientRecord>(clientKey(clientId)))?.value;
    },

    /** The registered clients, newest first; no more than 1,000 are read. */
    async list(): Promise<Client[]> {
      const limit = MAX_LISTED;
      const found = await database.list<ClientRecord>(clientKey(), { limit });
      return found.map(({ value }) => value)
        .sort((a, b) => b.issuedAt - a.issuedAt);
    },

    /** Keeps a client that was used for another 90 days. */
    async keep(clientId: string): Promise<void> {
      const found = await database.find<ClientRecord>(clientKey(clientId));
      if (!found) return;
      const left = found.value.expiresAt - database.now();
      if (left > CLIENT_IDLE_TTL_SECONDS - SLIDE_SECONDS) return;
      // Whoever wins a race here has written the same.
      await database.commit((transaction) =>
        transaction.check(found)
          .set(found.key, record(found.value, CLIENT_IDLE_TTL_SECONDS))
      );
    },
  };
}
