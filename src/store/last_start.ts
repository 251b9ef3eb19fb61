/**
 * The address that people knew the server by when it last started: connections
 * are good at the address that they were made at alone.
 *
 * @module
 */
import type { Grant } from "../auth/rules/grant.ts";
import type { Database } from "./database.ts";
import { grantsRange, lastStartKey } from "./keys.ts";

interface StartRecord {
  baseUrl: string;
}

/** Of an old database so many grants are looked at. */
const MOST_GRANTS = 1000;

/** Connections that were made at another address. */
export interface Elsewhere {
  /** That address, or one of them. */
  baseUrl: string;
  /** Their number among the first {@linkcode MOST_GRANTS} grants. */
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
  const { found } = await database.listSome<Grant>(grantsRange(), MOST_GRANTS);
  const others = found.map(({ value }) => value).filter(({ status, issuer }) =>
    status === "active" && issuer !== baseUrl
  );
  const isNoted = await database.commit((transaction) =>
    transaction.check(entry).setForever(key, { baseUrl })
  );
  // Otherwise another process has started meanwhile, and tells it.
  if (!isNoted || others.length === 0) return undefined;
  return { baseUrl: others[0].issuer, connections: others.length };
}
