/**
 * Records of grants whose person was erased. A call that was admitted before
 * may still begin a session or a task, so the commits of both check that there
 * is no such record.
 * @module
 */
import {
  absent,
  type Database,
  type Expiring,
  type Transaction,
} from "../kv/database.ts";
import { erasedKey } from "../kv/keys.ts";

/**
 * The time for which an erasure stays marked, in seconds: as long as a call that
 * was admitted before it may still write.
 */
export const ERASED_SECONDS = 24 * 60 * 60;

/** A record that may name the grant that it belongs to. */
type OfGrant = { grantId?: string };

/** Records that grants are erased, in one commit of at most a thousand. */
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

/**
 * True if a grant is recorded as erased, so that a failed commit must not be
 * sent again.
 */
export async function isErased(
  database: Database,
  { grantId }: OfGrant,
): Promise<boolean> {
  if (grantId === undefined) return false;
  return await database.find(erasedKey(grantId)) !== undefined;
}
