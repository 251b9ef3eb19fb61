/**
 * Whether the database answers.
 *
 * @module
 */
import type { Database } from "./database.ts";
import { probeKey } from "./keys.ts";

/** Reads what is not there. @throws {import("../errors.ts").StorageError} */
export async function probe(database: Database): Promise<void> {
  await database.get(probeKey());
}
