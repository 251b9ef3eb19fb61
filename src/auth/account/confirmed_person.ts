/**
 * The identity of a signed-in person at this moment: what they make on the account page
 * lives for a year, while a session is up to an hour old.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";
import { now } from "../../clock.ts";
import { HttpError } from "../../errors.ts";
import { identifyAgain } from "../provider/unavailable.ts";
import type { LimitedServices } from "../services.ts";
import { isRecent, type SignedIn } from "../signed_in.ts";

/**
 * Makes the question who a signed-in person is now, where a rule looks at what
 * may have changed since. It is asked with the access token of their sign-in.
 *
 * @throws {HttpError} 403 when only another sign-in can tell, 503 when the
 * provider does not answer
 */
export function personConfirmation(
  { providers, confirmation, accountSessions, clock }: LimitedServices,
) {
  async function ask({ id, session }: SignedIn): Promise<Identity | undefined> {
    const tokens = await accountSessions.tokensOf(id, session);
    const { expiresAt = Infinity } = tokens ?? {};
    const { provider } = providers.of(session) ?? {};
    if (!tokens || !provider?.identify || expiresAt <= now(clock)) {
      return undefined;
    }
    return await identifyAgain(
      provider,
      tokens,
      session.identity,
      signInAgain,
    );
  }

  return async function confirmPerson(person: SignedIn): Promise<Identity> {
    const { identity } = person.session;
    if (!confirmation.isWanted) return identity;
    const asked = await ask(person);
    if (asked) return confirmation.reduce(asked);
    // The provider cannot be asked.
    if (isRecent(person.session, now(clock))) return identity;
    throw signInAgain();
  };
}

function signInAgain(cause?: unknown): HttpError {
  return new HttpError(
    403,
    "Sign out and sign in again: the provider must say who you are",
    {},
    { cause, situation: "sign in again" },
  );
}
