/**
 * A key that a service has accepted, on its way through the page on which its
 * person confirms the account: the key is in the form, sealed for the person's
 * session, and nothing is stored meanwhile.
 *
 * @module
 */
import type { DescribedAccount } from "./pasted_key.ts";
import { seal, unseal } from "../../core/crypto/seal.ts";
import { deriveKey } from "../../core/oauth/data_key.ts";

/** The time for which the account may be confirmed, in seconds. */
export const CHECKED_SECONDS = 600;

export interface CheckedKey extends DescribedAccount {
  key: string;
  /** The scopes that the service said it granted. */
  given?: readonly string[];
  /**
   * The ID of the confirmation page, for tokens: if its form is sent twice, the
   * tokens are stored once.
   */
  confirmation?: string;
  /** The end of the time to confirm, once the page was shown. */
  expiresAt?: number;
  /**
   * The key of the queue entry that revokes the tokens if they are not kept.
   */
  revocation?: Deno.KvKey;
}

/** Opens the checked keys of a session, for one person and one service. */
export function checkedKeys(sessionId: string, context: string) {
  const sealingKey = deriveKey(sessionId, "checked key");
  return {
    seal(checked: CheckedKey, now: number): Promise<string> {
      const expiresAt = now + CHECKED_SECONDS;
      // A page that is shown again keeps its time limit.
      const text = JSON.stringify({ expiresAt, ...checked });
      return seal(sealingKey, text, context);
    },

    /**
     * Opens a checked key; undefined if it is another session's, or too old.
     */
    async open(
      sealed: string | undefined,
      now: number,
    ): Promise<CheckedKey | undefined> {
      if (sealed === undefined) return undefined;
      const checked: CheckedKey & { expiresAt: number } | undefined =
        await unseal(sealingKey, sealed, context)
          .then(JSON.parse, () => undefined);
      return checked && checked.expiresAt > now ? checked : undefined;
    },
  };
}
