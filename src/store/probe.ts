/**
 * A check that the database answers.
 *
 * @module
 */
import type { Database } from "./database.ts";
import { probeKey } from "./keys.ts";

/**
 * Reads a key that is never written. @throws
 * {import("../errors.ts").StorageError}
 */
export async function probe(database: Database): Promise<void> {
  await database.get(probeKey());
}
