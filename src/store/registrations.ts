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
import { clientKey } from "./keys.ts";
import {
  alive,
  commit,
  expireIn,
  type Expiring,
  find,
  MAX_LISTED,
  reach,
} from "./kv.ts";
import { now } from "../clock.ts";

/** A use is written down only when the last one written is a day old. */
const SLIDE_SECONDS = 24 * 60 * 60;

type ClientRecord = Client & Expiring;

/** Registered clients in Deno KV. */
export interface RegistrationStore {
  save(client: Client): Promise<void>;
  find(clientId: string): Promise<Client | undefined>;
  /** The registered clients, newest first; no more than 1,000 are read. */
  list(): Promise<Client[]>;
  /** Keeps a client that was used for another 90 days. */
  keep(clientId: string): Promise<void>;
}

/** Registered clients in a database. */
export function registrationStore(kv: Deno.Kv): RegistrationStore {
  function write(
    operation: Deno.AtomicOperation,
    client: Client,
    ttlSeconds: number,
  ): Deno.AtomicOperation {
    const record = { ...client, expiresAt: now() + ttlSeconds };
    return operation.set(clientKey(client.clientId), record, expireIn(record));
  }

  return {
    async save(client) {
      await commit(
        kv,
        (operation) => write(operation, client, UNUSED_CLIENT_TTL_SECONDS),
      );
    },

    async find(clientId) {
      return (await find<ClientRecord>(kv, clientKey(clientId)))?.value;
    },

    async list() {
      const clients = await reach(async () => {
        const clients: Client[] = [];
        const all = kv.list<ClientRecord>({ prefix: clientKey() }, {
          limit: MAX_LISTED,
        });
        for await (const entry of all) {
          const found = alive(entry);
          if (found) clients.push(found.value);
        }
        return clients;
      });
      return clients.sort((a, b) => b.issuedAt - a.issuedAt);
    },

    async keep(clientId) {
      const key = clientKey(clientId);
      const found = await find<ClientRecord>(kv, key);
      if (!found) return;
      const { value, versionstamp } = found;
      const left = value.expiresAt - now();
      if (left > CLIENT_IDLE_TTL_SECONDS - SLIDE_SECONDS) return;
      // Whoever wins a race here has written the same.
      await commit(kv, (operation) =>
        write(
          operation.check({ key, versionstamp }),
          value,
          CLIENT_IDLE_TTL_SECONDS,
        ));
    },
  };
}
