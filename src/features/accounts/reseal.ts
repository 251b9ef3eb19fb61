/**
 * The change of the key that seals: everyone's keys are sealed anew.
 *
 * @module
 */
import type { Sealed, Sealing } from "../../core/crypto/sealing.ts";
import { accountVault } from "./account_vault.ts";
import type { Database, Found } from "../../core/kv/database.ts";
import { queuedTokens, revocationQueue } from "./revocation_queue.ts";

/**
 * Seals anew all keys, and all tokens in the queue of revocations, that an old
 * key has sealed.
 *
 * @returns `sealed`: the number of all; `resealed`: of those sealed anew;
 * `left`: of those that no key of the ring opens, or that were changed
 * meanwhile
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
  // The queue comes after the accounts: tokens move from accounts to the queue,
  // and never back.
  const queue = revocationQueue(database);
  const { left } = counts;
  await resealSome(queue.read(Infinity), queued.reseal);
  counts.left = left;
  // The queue is read a second time: the first read misses an entry that is
  // moved to an earlier time meanwhile.
  for await (const some of queue.read(Infinity)) {
    counts.left += some.filter(({ value }) => value.keyId !== sealing.keyId)
      .length;
  }
  return counts;
}
