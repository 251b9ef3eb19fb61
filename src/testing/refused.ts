/**
 * A request that was refused.
 *
 * @module
 */

/** A request that a server refused, as its client learns it. */
export class RefusedError extends Error {
  /** `RefusedError` */
  override name = "RefusedError";

  /** Made from the server's answer. */
  constructor(
    message: string,
    /** The HTTP status, such as 403 for a missing scope. */
    readonly status: number,
    /** The JSON-RPC error code, such as -32602 for an unknown tool. */
    readonly code: number,
    /** More about it, by the code. */
    readonly data?: unknown,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
