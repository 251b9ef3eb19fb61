/**
 * The `BASE_URL` of the last start: a grant is valid only at the base URL where
 * it was made.
 *
 * @module
 */
import type { Grant } from "../oauth/grant.ts";
import type { Database } from "../kv/database.ts";
import { grantKey, lastStartKey } from "../kv/keys.ts";

interface StartRecord {
  baseUrl: string;
}

/**
 * The maximum number of grants that are read to find those of another base URL.
 */
const MAX_GRANTS = 1000;

export async function findLastStart(
  database: Database,
): Promise<string | undefined> {
  return (await database.find<StartRecord>(lastStartKey()))?.value.baseUrl;
}

/**
 * Stores the base URL of this start. If it is new, looks for active grants of
 * other base URLs among the first {@linkcode MAX_GRANTS}. Returns one of those
 * URLs and the number of these grants; undefined if there are none.
 */
export async function noteBaseUrl(
  database: Database,
  baseUrl: string,
): Promise<{ baseUrl: string; connections: number } | undefined> {
  const key = lastStartKey();
  const entry = await database.get<StartRecord>(key);
  if (entry.value?.baseUrl === baseUrl) return undefined;
  const found = await database.list<Grant>(grantKey(), { limit: MAX_GRANTS });
  const others = found.map(({ value }) => value).filter(({ status, issuer }) =>
    status === "active" && issuer !== baseUrl
  );
  const isNoted = await database.commit((transaction) =>
    transaction.check(entry).setForever(key, { baseUrl })
  );
  // If not stored, another process has started meanwhile, and reports the
  // grants.
  if (!isNoted || others.length === 0) return undefined;
  return { baseUrl: others[0].issuer, connections: others.length };
}
