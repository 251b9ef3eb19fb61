/**
 * Handles errors after the provider's code was redeemed, which is possible only
 * once.
 * @module
 */
import { UpstreamError } from "./provider.ts";

/**
 * Runs a step after redeeming a code. If it fails, its error gets
 * `isCodeSpent`.
 *
 * @param revoke revokes the new tokens. Not called if the provider does not
 * respond: the person may try again, and some providers revoke all tokens of a
 * person together
 */
export async function withSpentCode<T>(
  step: () => Promise<T>,
  revoke?: () => Promise<void>,
): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    if (!(cause instanceof UpstreamError)) throw cause;
    const { kind, message, code } = cause;
    if (kind !== "unavailable") await revoke?.().catch(() => {});
    throw new UpstreamError(kind, message, { cause, code, isCodeSpent: true });
  }
}
