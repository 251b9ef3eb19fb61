/**
 * A key or token that a service accepted, until its person confirms the
 * account. It is stored only in the confirmation form, encrypted for the
 * browser's session.
 *
 * @module
 */
import type { DescribedAccount } from "./pasted_key.ts";
import { sessionSeals } from "../account_page/session_seals.ts";

/** The seconds within which the person may confirm the account. */
export const CHECKED_SECONDS = 600;

export interface CheckedKey extends DescribedAccount {
  key: string;
  /** The granted scopes, if the service reported them. */
  given?: readonly string[];
  /** The scopes that were requested in addition to the author's. */
  wider?: readonly string[];
  /**
   * For tokens: the ID of the confirmation page. If its form is sent twice, the
   * tokens are stored once.
   */
  confirmation?: string;
  /**
   * The time until which the person may confirm; set when the page is shown.
   */
  expiresAt?: number;
  /** The host at which the person signed in, if the service chose it. */
  signedInAt?: string;
  /** The queue entry that revokes the tokens if they are not confirmed. */
  revocation?: Deno.KvKey;
}

/**
 * Makes the functions that encrypt and decrypt the keys of one session, for one
 * person and service.
 */
export function checkedKeys(sessionId: string, context: string) {
  const keys = sessionSeals<CheckedKey>(sessionId, "checked key", context);
  return {
    /** Encrypts a key. A page that is shown again keeps its time limit. */
    seal: (checked: CheckedKey, now: number): Promise<string> =>
      keys.seal({ expiresAt: now + CHECKED_SECONDS, ...checked }),

    /** Decrypts a key. Undefined if it is too old or another session's. */
    async open(
      sealed: string | undefined,
      now: number,
    ): Promise<CheckedKey | undefined> {
      const checked = await keys.open(sealed);
      return checked && checked.expiresAt! > now ? checked : undefined;
    },
  };
}
