/**
 * Steps after redeeming a code, which cannot be redeemed again.
 *
 * @module
 */
import { UpstreamError } from "./provider.ts";

/**
 * Runs a step after redeeming a code. If the step fails, its error gets
 * `isCodeSpent`.
 *
 * @param revoke revokes the tokens of the code, if the provider can do that.
 * Not called if the provider does not respond: the person may try again, and at
 * some providers all tokens of a person are revoked together
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
