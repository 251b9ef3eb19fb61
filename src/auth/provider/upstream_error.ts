/**
 * The failures between us and the provider, by the four kinds that decide the
 * next step.
 *
 * @module
 */

/**
 * - `denied`: the person or the provider refused.
 * - `dead`: the code or refresh token is no longer valid (`invalid_grant`).
 * - `unavailable`: 5xx, 429, a time-out or no connection; trying again may
 *   help.
 * - `misbehaved`: an answer that breaks the protocol, or one that means that
 *   our application is not set up right there.
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
  /** The provider's own error code, if it gave one (RFC 6749 §5.2). */
  readonly code?: string;
  /** True if the code was exchanged before: only a new sign-in helps. */
  readonly isCodeSpent: boolean;
  /** `message` must hold no secret. */
  constructor(
    readonly kind: UpstreamErrorKind,
    message: string,
    { cause, code, isCodeSpent = false }: {
      cause?: unknown;
      code?: string;
      isCodeSpent?: boolean;
    } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.isCodeSpent = isCodeSpent;
  }
}

/** Runs a step after the exchange of a code; its failure gets `isCodeSpent`. */
export async function afterCode<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    if (!(cause instanceof UpstreamError)) throw cause;
    const { kind, message, code } = cause;
    throw new UpstreamError(kind, message, { cause, code, isCodeSpent: true });
  }
}

/**
 * Gives the error with which a provider's answer is refused, undefined for one
 * that is taken. While the provider cannot be asked, none is refused: an answer
 * without a code opens nothing.
 */
export async function refusalOf(
  check: () => Promise<void> | undefined,
): Promise<UpstreamError | undefined> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return error.kind === "unavailable" ? undefined : error;
  }
}
