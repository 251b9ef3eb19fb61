/**
 * Requests to the provider, and the errors if it does not respond.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import { HttpError, OAuthError } from "../errors.ts";
import type { ProviderIdentity } from "../oauth/person.ts";
import { untilReachable } from "../kv/operations.ts";
import {
  misbehaved,
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "./provider.ts";

/**
 * Sends a request to the provider. A failure becomes a 503: the client's code
 * or token is unused, so it can try again. If the provider no longer accepts
 * its tokens, throws the error that `died` makes.
 */
export async function askProvider<T>(
  { name }: Pick<Provider, "name">,
  question: () => Promise<T>,
  died?: (cause: UpstreamError) => Error | Promise<Error>,
): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    if (error.kind === "dead" && died) throw await died(error);
    throw providerUnavailable(name, error);
  }
}

/**
 * Asks the provider for a person's current identity; undefined if the provider
 * cannot tell.
 * @throws the errors of {@linkcode askProvider}, and one if the provider names
 * another person
 */
export async function identifyAgain(
  provider: Provider,
  tokens: UpstreamTokens,
  { subject }: Pick<Identity, "subject">,
  died: (cause: UpstreamError) => Error | Promise<Error>,
): Promise<ProviderIdentity | undefined> {
  return await askProvider(provider, async () => {
    const identity = await provider.identify?.(tokens);
    if (identity === undefined || identity.subject === subject) return identity;
    throw misbehaved("The provider named another person than before");
  }, died);
}

/**
 * Makes a 503 after which the client may repeat its request: its code, state or
 * token is unused.
 */
export function providerUnavailable(name: string, cause?: unknown): HttpError {
  return new HttpError(503, `${name} does not answer`, {
    cause,
    situation: "provider unavailable",
  });
}

/**
 * Makes a 503 for a failure after the provider's code was redeemed. Reloading
 * the page would present the redeemed code again.
 */
export function signInInterrupted(cause: unknown): HttpError {
  return new HttpError(503, "The sign-in was interrupted and cannot go on", {
    cause,
    situation: "interrupted",
  });
}

/** The time for which storing a sign-in is retried, while the person waits. */
const STORE_MILLISECONDS = 15_000;

/**
 * Stores the result of redeeming the provider's code. Retries, because the code
 * cannot be redeemed again.
 * @throws {@linkcode signInInterrupted}'s error if the database stays
 * unreachable
 */
export async function storeSignIn<T>(store: () => Promise<T>): Promise<T> {
  try {
    return await untilReachable(store, { forMilliseconds: STORE_MILLISECONDS });
  } catch (error) {
    if (error instanceof OAuthError) throw error;
    throw signInInterrupted(error);
  }
}
