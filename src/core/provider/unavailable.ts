/**
 * Questions to the provider, and the errors while it does not answer.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import { HttpError, OAuthError } from "../errors.ts";
import type { ProviderIdentity } from "../oauth/person.ts";
import { persist } from "../kv/persist.ts";
import {
  misbehaved,
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "./provider.ts";

/**
 * Asks the provider. A failure becomes a 503, because nothing was used up. A
 * dead token becomes the error that `died` makes.
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
 * Asks the provider who a person is now; undefined if it does not say.
 *
 * @throws as {@linkcode askProvider}, also when it names someone else
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

/** Makes a 503: the request may work in a moment, and used nothing up. */
export function providerUnavailable(name: string, cause?: unknown): HttpError {
  return new HttpError(503, `${name} does not answer`, {
    cause,
    situation: "provider unavailable",
  });
}

/**
 * Makes a 503 for after the provider's code was exchanged: loading the page
 * again would present that code a second time.
 */
export function signInInterrupted(cause: unknown): HttpError {
  return new HttpError(503, "The sign-in was interrupted and cannot go on", {
    cause,
    situation: "interrupted",
  });
}

/** The time for which storing a sign-in is tried while a person waits. */
const STORE_MILLISECONDS = 15_000;

/**
 * Stores something after the provider's code was exchanged. The exchange cannot
 * be repeated, so storing is tried again while a person waits.
 *
 * @throws as {@linkcode signInInterrupted} when the database is away for longer
 */
export async function storeSignIn<T>(store: () => Promise<T>): Promise<T> {
  try {
    return await persist(store, { forMilliseconds: STORE_MILLISECONDS });
  } catch (error) {
    if (error instanceof OAuthError) throw error;
    throw signInInterrupted(error);
  }
}
