/**
 * The steps after the exchange of a code, which cannot be exchanged again.
 *
 * @module
 */
import { UpstreamError } from "./provider.ts";

/**
 * Runs a step after the exchange of a code; its failure gets `isCodeSpent`.
 *
 * @param revoke ends the tokens of the code, if the provider can. It is not
 * called where the provider does not answer: at some, the tokens of a person
 * end together
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
