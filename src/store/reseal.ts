/**
 * The change of the key that seals: everyone's keys are sealed anew.
 *
 * @module
 */
import type { AccountVault } from "./account_vault.ts";

/**
 * Seals all keys anew that were sealed with an old one.
 *
 * @returns the number of those done, and of those left: no key of the ring opens
 * them, or someone changed them meanwhile
 */
export async function resealAll(
  vault: AccountVault,
): Promise<{ sealed: number; resealed: number; left: number }> {
  const counts = { sealed: 0, resealed: 0, left: 0 };
  for await (const some of vault.all()) {
    for (const found of some) {
      counts.sealed++;
      const before = found.value.keyId;
      if (!await vault.reseal(found)) counts.left++;
      else if (before !== vault.keyId) counts.resealed++;
    }
  }
  return counts;
}
