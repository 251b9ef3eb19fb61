/**
 * The contract for sealing people's keys and tokens.
 *
 * @module
 */
/** A sealed text, and the key that opens it. */
export interface Sealed {
  /** At most 48,000 characters, from a text of at most 17,000. */
  sealed: string;
  /** Names the key, for {@linkcode Sealing.unseal}: at most 256 characters. */
  keyId: string;
}

/**
 * Seals the keys and tokens of people's accounts. A service for keys (KMS) may
 * stand behind it. Its methods have ten seconds to answer. If they cannot
 * answer now, they throw: the tool call then fails with a message that says so,
 * and nothing is lost.
 */
export interface Sealing {
  /**
   * The ID of the key that seals now. Text of another key is sealed anew when
   * it is used.
   */
  readonly keyId: string;
  /**
   * Seals a text so that no one without the key can read or change it. The text
   * names its own record.
   */
  seal(text: string): Promise<Sealed>;
  /**
   * Opens a text of any key in use, at most once a second for an account and
   * process. Undefined if no key opens it any more: its person is asked to
   * connect the account again.
   */
  unseal(sealed: Sealed): Promise<string | undefined>;
}
