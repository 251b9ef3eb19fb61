/**
 * The failures of fetching a client's document.
 *
 * @module
 */

/**
 * A document could not be fetched. The message is the same whatever happened,
 * so that no one can use us to probe a network; only `isPermanent` differs. The
 * log finds the reason in `cause`.
 */
export class DocumentError extends Error {
  override name = "DocumentError";
  /** True if the host answered, but not with a document. */
  readonly isPermanent: boolean;
  constructor(options: ErrorOptions) {
    super("The document could not be fetched", options);
    this.isPermanent = options.cause instanceof NoDocument;
  }
}

/** An answer that cannot be used, now or later. */
export class NoDocument extends Error {
  override name = "NoDocument";
}
