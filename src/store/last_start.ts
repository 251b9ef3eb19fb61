/**
 * The address that people knew the server by when it last started: connections
 * are good at the address that they were made at alone.
 *
 * @module
 */
import type { Database } from "./database.ts";
import { grantStore } from "./grants.ts";
import { lastStartKey } from "./keys.ts";

interface StartRecord {
  baseUrl: string;
}

/** Connections that were made at another address. */
export interface Elsewhere {
  /** That address, or one of them. */
  baseUrl: string;
  /** Their number; no more than 1,000 are counted. */
  connections: number;
}

/**
 * Notes where the server starts. Where the last start was at another address,
 * or no one noted it, it gives what is left of that; the next start then knows.
 */
export async function noteStart(
  database: Database,
  baseUrl: string,
): Promise<Elsewhere | undefined> {
  const key = lastStartKey();
  const entry = await database.get<StartRecord>(key);
  if (entry.value?.baseUrl === baseUrl) return undefined;
  const grants = await grantStore(database).list();
  const others = grants.filter(({ issuer }) => issuer !== baseUrl);
  const isNoted = await database.commit((transaction) =>
    transaction.check(entry).setForever(key, { baseUrl })
  );
  // Otherwise another process has started meanwhile, and tells it.
  if (!isNoted || others.length === 0) return undefined;
  return { baseUrl: others[0].issuer, connections: others.length };
}
