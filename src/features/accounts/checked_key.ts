/**
 * A key that a service has accepted, on its way through the page on which its
 * person confirms the account: the key is in the form, sealed for the person's
 * session, and nothing is stored meanwhile.
 *
 * @module
 */
import type { DescribedAccount } from "./pasted_key.ts";
import { carried } from "../account_page/carried.ts";

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
  const keys = carried<CheckedKey>(sessionId, "checked key", context);
  return {
    /** Seals a checked key. A page that is shown again keeps its time limit. */
    seal: (checked: CheckedKey, now: number): Promise<string> =>
      keys.seal({ expiresAt: now + CHECKED_SECONDS, ...checked }),

    /**
     * Opens a checked key; undefined if it is another session's, or too old.
     */
    async open(
      sealed: string | undefined,
      now: number,
    ): Promise<CheckedKey | undefined> {
      const checked = await keys.open(sealed);
      return checked && checked.expiresAt! > now ? checked : undefined;
    },
  };
}
