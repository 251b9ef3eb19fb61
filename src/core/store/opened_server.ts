/**
 * A server as its features see it, and stores that each feature makes once for
 * it.
 *
 * @module
 */
import type { AccountService } from "../../authoring/account.ts";
import type { Sealing } from "../crypto/sealing.ts";
import type { Database } from "../kv/database.ts";
import type { Log } from "../log/log.ts";
import type { Config } from "../settings/config.ts";

/** A server as its features see it. */
export interface OpenedServer {
  config: Config;
  log: Log;
  database: Database;
  /** The author's own sealing, in place of `SECRETS_KEYS`. */
  sealing?: Sealing;
  /**
   * True if there are keys, or the author's sealing, for people's keys and
   * tokens.
   */
  seals: boolean;
  /** The services at which tools need accounts, without duplicates. */
  services: readonly AccountService[];
}

/**
 * Makes a function that returns one value for each server: a store has one
 * cache in a process.
 */
export function ofServer<T>(
  make: (server: OpenedServer) => T,
): (server: OpenedServer) => T {
  const all = new WeakMap<OpenedServer, { made: T }>();
  return (server) => {
    let found = all.get(server);
    if (!found) all.set(server, found = { made: make(server) });
    return found.made;
  };
}
