/**
 * Grants whose people were erased. A call that was admitted before may still
 * begin a session or a task: the commit of each checks that its grant has no
 * mark.
 *
 * @module
 */
import type { Database, Expiring } from "../kv/database.ts";
import { erasedKey } from "../kv/keys.ts";
import { absent, type Transaction } from "../kv/transaction.ts";

/** The lifetime of a mark: a call admitted before may still write. */
export const ERASED_SECONDS = 24 * 60 * 60;

/** A record that may name the grant it is used under. */
type OfGrant = { grantId?: string };

/** Marks at most a thousand grants in one commit. */
export async function markErased(
  database: Database,
  grantIds: readonly string[],
): Promise<void> {
  const record: Expiring = { expiresAt: database.now() + ERASED_SECONDS };
  await database.commit((transaction) => {
    for (const id of grantIds) transaction.set(erasedKey(id), record);
  });
}

/** Makes a commit fail if the person of a grant was erased. */
export function unlessErased(
  transaction: Transaction,
  { grantId }: OfGrant,
): Transaction {
  if (grantId === undefined) return transaction;
  return transaction.check(absent(erasedKey(grantId)));
}

/** True if a grant is marked: then a failed commit is not tried again. */
export async function isErased(
  database: Database,
  { grantId }: OfGrant,
): Promise<boolean> {
  if (grantId === undefined) return false;
  return await database.find(erasedKey(grantId)) !== undefined;
}
