/**
 * What can go wrong between us and the provider, in the four ways that make a
 * difference to what happens next.
 *
 * @module
 */

/**
 * - `denied`: the person or the provider said no.
 * - `dead`: the code or refresh token is of no use any more (`invalid_grant`).
 * - `unavailable`: 5xx, 429, a time-out or no connection; trying again may
 *   help.
 * - `misbehaved`: an answer that breaks the protocol, or one that says that our
 *   application is not set up right there.
 */
export type UpstreamErrorKind =
  | "denied"
  | "dead"
  | "unavailable"
  | "misbehaved";

/** A failed conversation with the provider. The message holds no secret. */
export class UpstreamError extends Error {
  /** The name of the class. */
  override name = "UpstreamError";
  /** The provider's own error code, where it gave one (RFC 6749 §5.2). */
  readonly code?: string;
  /** `message` must hold no secret. */
  constructor(
    readonly kind: UpstreamErrorKind,
    message: string,
    { cause, code }: { cause?: unknown; code?: string } = {},
  ) {
    super(message, { cause });
    this.code = code;
  }
}
