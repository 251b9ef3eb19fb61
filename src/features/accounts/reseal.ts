/**
 * Key rotation: encrypts all stored keys and tokens with the new key.
 *
 * @module
 */
import type { Sealed, Sealing } from "../../core/crypto/sealing.ts";
import { accountVault } from "./account_vault.ts";
import type { Database, Found } from "../../core/kv/database.ts";
import { queuedTokens, revocationQueue } from "./revocation_queue.ts";

/**
 * Encrypts all keys, and all tokens in the revocation queue, with the new key.
 *
 * @returns `sealed`: the number of records; `resealed`: those that had an old
 * key; `left`: those that no key decrypts or that changed meanwhile
 */
export async function resealAll(
  database: Database,
  sealing: Sealing,
): Promise<{ sealed: number; resealed: number; left: number }> {
  const counts = { sealed: 0, resealed: 0, left: 0 };
  async function resealSome<T extends Sealed>(
    records: AsyncIterable<Found<T>[]>,
    reseal: (found: Found<T>) => Promise<boolean>,
  ): Promise<void> {
    for await (const some of records) {
      for (const found of some) {
        counts.sealed++;
        if (!await reseal(found)) counts.left++;
        else if (found.value.keyId !== sealing.keyId) counts.resealed++;
      }
    }
  }
  const vault = accountVault(database, { sealing });
  await resealSome(vault.all(), vault.reseal);
  const queued = queuedTokens(database, sealing);
  // The queue comes after the accounts, because tokens move only from an
  // account to the queue.
  const queue = revocationQueue(database);
  const { left } = counts;
  await resealSome(queue.read(Infinity), queued.reseal);
  counts.left = left;
  // Read again, because the first read misses an entry that moves to an earlier
  // time meanwhile.
  for await (const some of queue.read(Infinity)) {
    counts.left += some.filter(({ value }) => value.keyId !== sealing.keyId)
      .length;
  }
  return counts;
}
