/**
 * The form of every refusal of a provider's answer.
 *
 * @module
 */
import assert from "node:assert/strict";
import { UpstreamError } from "../../../src/core/provider/provider.ts";

/** Secrets that must never be in a message. */
const SECRETS = [
  "hush-hush",
  "the-code",
  "the-verifier",
  "upstream-access",
  "upstream-refresh",
  "old-refresh",
];

/** Waits for a refusal of that kind with those words and without a secret. */
export async function assertRefused(
  promise: Promise<unknown>,
  kind: UpstreamError["kind"],
  words: RegExp,
): Promise<void> {
  const error = await promise.then(() => undefined, (error) => error);
  assert(error instanceof UpstreamError, `was not refused: ${error}`);
  assert.equal(error.kind, kind, error.message);
  assert.match(error.message, words);
  for (const secret of SECRETS) {
    assert(!error.message.includes(secret), error.message);
  }
}
