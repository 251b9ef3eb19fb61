/**
 * Finds the person who is signed in to the account page, and checks what they
 * may do.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { HttpError } from "../../core/errors.ts";
import {
  CLOCK_TOLERANCE_SECONDS,
  RECENT_SIGN_IN_SECONDS,
} from "../../core/oauth/lifetimes.ts";
import { readParameters } from "../../core/http/body.ts";
import { checkSameSite, isCsrf, readCookie } from "../../core/http/browser.ts";
import { isAllowed, isBlocked } from "../../core/oauth/allowed_users.ts";
import type { PeopleConfig } from "../../core/settings/people.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { SignInProviders } from "../../core/provider/sign_in_providers.ts";
import type { Parameters } from "../../core/oauth/parameters.ts";
import {
  ACCOUNT_SESSION_SECONDS,
  type AccountSession,
  type AccountSessionStore,
} from "./account_sessions.ts";
import { printDuration } from "../../core/pages/times.tsx";
import { unlessBlocked } from "../../core/store/blocks.ts";
import type { Write } from "../../core/kv/database.ts";

export interface SignedIn {
  id: string;
  session: AccountSession;
}

export type SignInGuard = ReturnType<typeof signInGuard>;

/** Makes the functions that find and check the signed-in person. */
export function signInGuard(
  { baseUrl, providers, admins, allowedUsers, blocked, accountSessions }:
    & Pick<PeopleConfig, "admins" | "allowedUsers" | "blocked">
    & {
      baseUrl: string;
      /** The configured providers; sessions of other providers are ignored. */
      providers: Pick<SignInProviders, "of">;
      accountSessions: Pick<AccountSessionStore, "find" | "stays">;
    },
) {
  async function find(c: Context): Promise<SignedIn | undefined> {
    const id = readCookie(c, { name: "account", baseUrl });
    if (id === undefined) return undefined;
    const session = await accountSessions.find(id);
    if (!session || !providers.of(session)) return undefined;
    if (isBlocked({ ...session, clientId: "" }, blocked)) return undefined;
    return { id, session };
  }

  /**
   * Finds the sender of a form by cookie and CSRF token.
   *
   * @param maxBytes the maximum size of the form
   * @throws {HttpError} 403
   */
  async function findForm(
    c: Context,
    maxBytes?: number,
  ): Promise<SignedIn & { form: Parameters }> {
    checkSameSite(c.req.raw, baseUrl);
    // A long form is read only from a signed-in person.
    const found = await find(c);
    if (!found) throw signedOut();
    const form = await readParameters(c, [], maxBytes);
    if (!isCsrf(form.get("csrf") ?? "", found.id)) throw signedOut();
    return { ...found, form };
  }

  /**
   * True if a person is an operator. An empty list means no operators; an empty
   * list of allowed users means everyone.
   */
  function isOperator(session: AccountSession): boolean {
    return admins.length > 0 && isAllowed(session, admins);
  }

  /**
   * Checks that a person may use this server's tools. Others can still see and
   * delete their own data on the account page.
   *
   * @throws {HttpError} 403
   */
  function checkAllowed({ session }: SignedIn): void {
    if (isAllowed(session, allowedUsers)) return;
    throw new HttpError(403, "This account may not use this server");
  }

  /**
   * Makes a commit fail if the session has ended or an operator has blocked the
   * person.
   *
   * @throws {HttpError} 403 if the person may not use this server, or the
   * session has already ended
   */
  async function staysAllowed(person: SignedIn): Promise<Write> {
    checkAllowed(person);
    const stays = await accountSessions.stays(person.id);
    if (!stays) throw signedOut();
    const { subject } = person.session;
    return (transaction) => stays(unlessBlocked(transaction, { subject }));
  }

  /**
   * Checks that a person is still signed in, after their form has changed
   * nothing. Otherwise the next page would only ask them to sign in.
   *
   * @throws {HttpError} 403
   */
  async function checkStays({ id }: SignedIn): Promise<void> {
    if (!await accountSessions.find(id)) throw signedOut();
  }

  return { find, findForm, isOperator, checkAllowed, checkStays, staysAllowed };
}

/**
 * Checks that a provider has just authenticated the person again. Someone at
 * the browser could remove our `max_age` or `prompt` from the request. So an
 * OpenID provider must send `auth_time`, by which we know that the request was
 * intact.
 *
 * @throws {HttpError} 403
 */
export function checkReauthenticated(
  { name, tellsTime }: Pick<Provider, "name" | "tellsTime">,
  authenticatedAt: number | undefined,
  now: number,
): void {
  const earliest = now - RECENT_SIGN_IN_SECONDS - CLOCK_TOLERANCE_SECONDS;
  if (
    authenticatedAt === undefined ? !tellsTime : authenticatedAt >= earliest
  ) return;
  const asked = authenticatedAt === undefined
    ? "did not say when it asked you"
    : "did not ask you again";
  throw new HttpError(403, `${name} ${asked}`, {
    situation: "not asked again",
  });
}

/** True if the provider authenticated the person again in the last minutes. */
export function isFreshNow(
  { isFresh, expiresAt }: AccountSession,
  now: number,
): boolean {
  return isFresh === true &&
    now < expiresAt - ACCOUNT_SESSION_SECONDS + RECENT_SIGN_IN_SECONDS;
}

/**
 * Checks that the provider has just authenticated the person, because someone
 * else may be at the open browser.
 *
 * @param what the action for which this is needed, for the message
 * @throws {HttpError} 403
 */
export function checkFresh(
  session: AccountSession,
  now: number,
  what: string,
): void {
  if (isFreshNow(session, now)) return;
  const span = printDuration(RECENT_SIGN_IN_SECONDS);
  throw new HttpError(403, `Only a sign-in of the last ${span} may ${what}`, {
    situation: "not fresh",
  });
}

/** Makes the error for a form whose sender is not signed in. */
export function signedOut(): HttpError {
  return new HttpError(
    403,
    "You are no longer signed in, or the page is older than your sign-in",
    { situation: "signed out" },
  );
}
