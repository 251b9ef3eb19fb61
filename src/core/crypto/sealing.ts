/**
 * The interface for encrypting people's account keys and tokens.
 *
 * @module
 */
/** An encrypted text, and the id of its key. */
export interface Sealed {
  /** At most 48,000 characters, from a text of at most 17,000. */
  sealed: string;
  /**
   * The id of the key, for {@linkcode Sealing.unseal}: at most 256 characters.
   */
  keyId: string;
}

/**
 * Encrypts the keys and tokens of people's accounts, perhaps by a key
 * management service (KMS). A method has ten seconds to respond. If it cannot,
 * it throws: the tool call fails with a message that says so, and nothing is
 * lost.
 */
export interface Sealing {
  /**
   * The id of the key that encrypts now. A text encrypted with another key is
   * encrypted again when it is used.
   */
  readonly keyId: string;
  /**
   * Encrypts a text so that no one without the key can read or change it. The
   * text names the record to which it belongs.
   */
  seal(text: string): Promise<Sealed>;
  /**
   * Decrypts a text of any key in use. Called at most once a second for an
   * account in each process. Undefined if no key decrypts it any more: the
   * person is then asked to connect the account again.
   */
  unseal(sealed: Sealed): Promise<string | undefined>;
}
