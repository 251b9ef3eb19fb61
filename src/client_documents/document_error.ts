/**
 * Why a client's document could not be had.
 *
 * @module
 */

/**
 * The document could not be had. Apart from whether trying again may help, the
 * message is the same whatever happened, so that no one can use us to look
 * around; the log finds the reason in `cause`.
 */
export class DocumentError extends Error {
  override name = "DocumentError";
  /** Its host answered, and what it answered is no document. */
  readonly isPermanent: boolean;
  constructor(options: ErrorOptions) {
    super("The document could not be fetched", options);
    this.isPermanent = options.cause instanceof NoDocument;
  }
}

/** What is at an address cannot be used, now or later. */
export class NoDocument extends Error {
  override name = "NoDocument";
}
