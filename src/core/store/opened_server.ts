/**
 * The parts of a server that features use, and stores that a feature makes once
 * for each server.
 * @module
 */
import type { AccountService } from "../../authoring/account.ts";
import type { Sealing } from "../crypto/sealing.ts";
import type { Database } from "../kv/database.ts";
import type { Log } from "../log/log.ts";
import type { Config } from "../settings/config.ts";

/** The parts of a server that features use. */
export interface OpenedServer {
  config: Config;
  log: Log;
  database: Database;
  /** The author's own encryption, in place of `SECRETS_KEYS`. */
  sealing?: Sealing;
  /** True if people's keys and tokens can be encrypted. */
  seals: boolean;
  /** The services at which tools need accounts, without duplicates. */
  services: readonly AccountService[];
}

/**
 * Makes a function that calls `make` once for each server, so that each process
 * has one cache of a store.
 */
export function makeOncePerServer<T>(
  make: (server: OpenedServer) => T,
): (server: OpenedServer) => T {
  const all = new WeakMap<OpenedServer, { made: T }>();
  return (server) => {
    let found = all.get(server);
    if (!found) all.set(server, found = { made: make(server) });
    return found.made;
  };
}
