/**
 * Sign-in to the account page, at the same providers as for clients. Nothing is
 * stored before the person returns: `state`, the PKCE verifier and the nonce
 * are derived from two cookies. The provider client checks `nonce` and `iss`.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import {
  base64url,
  fingerprint,
  isSameSecret,
  randomId,
  seal,
  unseal,
} from "../../core/crypto/crypto.ts";
import { HttpError } from "../../core/errors.ts";
import { isBlocked, refusedByBlock } from "../../core/oauth/allowed_users.ts";
import { deriveKey } from "../../core/oauth/refresh_token.ts";
import { now } from "../../core/clock.ts";
import { AUTHORIZATION_REQUEST_TTL_SECONDS } from "../../core/oauth/lifetimes.ts";
import { isSubjectOfOther, subjectOf } from "../../core/oauth/subject.ts";
import { ACCOUNT_SESSION_SECONDS } from "./account_sessions.ts";
import { errorOfCheck, UpstreamError } from "../../core/provider/provider.ts";
import type { SignInProvider } from "../../core/provider/sign_in_providers.ts";
import {
  providerUnavailable,
  signInInterrupted,
  storeSignIn,
} from "../../core/provider/unavailable.ts";
import {
  browserCookieOf,
  checkSameSite,
  dropCookie,
  keepBrowserCookie,
  keepCookie,
  readCookie,
  redirect,
} from "../../core/http/browser.ts";
import { checkReauthenticated } from "./signed_in.ts";
import type { FormServices } from "./account_pages.ts";
import { readParameters } from "../../core/http/body.ts";
import type { PresentedCredential } from "../../core/http/rate_limit.ts";
import {
  authorizationUrlOf,
  verifierAndNonce,
} from "../../core/auth/grants/provider_choice.ts";

const STATE_PREFIX = "account.";

/** `state` with the encrypted return path after it. */
const STATE = /^(account\.[\w-]+\.[\w-]+)(?:\.([\w.-]+))?$/;

export function accountSignIn(services: FormServices) {
  const { baseUrl, returnPaths, providers, choice, identityRecheck, log } =
    services;
  const cookie = { name: "account-sign-in", baseUrl };

  // `state` contains a fingerprint of the browser's cookie, the provider and
  // `isFresh`. A provider does not know the cookie, so it cannot make the
  // `state` of another provider, or turn a fresh sign-in into a usual one. The
  // fingerprint also needs our key, so a valid `state` shows that a sign-in
  // began here.
  async function stateOf(
    handle: string,
    browser: string,
    { id }: SignInProvider,
    isFresh: boolean,
  ): Promise<string> {
    const key = base64url(await services.secrets.find("account-sign-in"));
    const purpose = isFresh ? " fresh" : "";
    return `${STATE_PREFIX}${handle}.` +
      fingerprint(`${key} ${browser} ${handle} ${id}${purpose}`).slice(0, 16);
  }

  /**
   * Finds the sign-in that a provider's response belongs to, if this browser
   * began it.
   */
  async function find(c: Context) {
    const [, own = "", sealed = ""] = STATE.exec(c.req.query("state") ?? "") ??
      [];
    const handle = readCookie(c, cookie);
    const browser = browserCookieOf(c, baseUrl);
    // Each provider has its own callback URL, so that no response is taken for
    // another provider's.
    const from = providers.find(c.req.param("provider"));
    if (!handle || !browser || !from) return undefined;
    for (const isFresh of [false, true]) {
      const state = await stateOf(handle, browser, from, isFresh);
      if (!isSameSecret(own, state)) continue;
      return { handle, browser, from, isFresh, sealed };
    }
  }

  /** Makes the key that encrypts the return path for this browser. */
  const returnPathKey = (handle: string, browser: string) =>
    deriveKey(`${browser} ${handle}`, "account place");

  async function ask<T>(
    c: Context,
    { provider }: SignInProvider,
    question: () => Promise<T>,
  ): Promise<T> {
    try {
      return await question();
    } catch (cause) {
      if (!(cause instanceof UpstreamError)) throw cause;
      switch (cause.kind) {
        case "unavailable":
          throw cause.isCodeSpent
            ? signInInterrupted(cause)
            : providerUnavailable(provider.name, cause);
        case "denied":
          log.warning("Sign-in to the account page failed", {
            reference: c.get("reference"),
            error: cause,
          });
          throw refused(provider);
        default:
          throw new HttpError(502, `Signing in with ${provider.name} failed`, {
            cause,
            situation: "provider failed",
          });
      }
    }
  }

  function refused(
    { name }: SignInProvider["provider"],
    cause?: UpstreamError,
  ): HttpError {
    return new HttpError(403, `${name} refused`, {
      cause,
      situation: "provider refused",
    });
  }

  return {
    async start(c: Context): Promise<Response> {
      // A form of another site is sent without the cookies. The response to it
      // would replace them.
      checkSameSite(c.req.raw, baseUrl);
      // All tabs share one handle, so that sign-ins in two tabs do not break
      // each other.
      const handle = readCookie(c, cookie) ?? randomId();
      keepCookie(c, cookie, handle, AUTHORIZATION_REQUEST_TTL_SECONDS);
      const browser = keepBrowserCookie(c, baseUrl);
      const form = c.req.header("content-type") === undefined
        ? undefined
        : await readParameters(c);
      const returnPath = returnPaths.truncate(form?.get("back"));
      const chosen = choice.find({ key: form?.get("provider") });
      // The form names none of several providers: the page has a button for
      // each.
      if (!chosen) return redirect(c, returnPaths.addressOf(returnPath));
      const isFresh = form?.get("fresh") !== undefined;
      const own = await stateOf(handle, browser, chosen, isFresh);
      const state = returnPath === ""
        ? own
        : `${own}.${await seal(returnPathKey(handle, browser), returnPath)}`;
      const url = await ask(
        c,
        chosen,
        () => authorizationUrlOf(chosen, { handle, state, browser, isFresh }),
      );
      choice.remember(c, chosen);
      return redirect(c, url.href);
    },

    /** True if a provider's response is for the account page. */
    isReturning: (c: Context): boolean =>
      c.req.query("state")?.startsWith(STATE_PREFIX) === true,

    /**
     * Returns the credential of a provider's response, for the rate limit: its
     * `state`, which proves that the response is genuine.
     */
    shown: (c: Context): PresentedCredential[] => {
      const [, value = ""] = STATE.exec(c.req.query("state") ?? "") ?? [];
      return [{ value, isValid: async () => await find(c) !== undefined }];
    },

    /** Handles `GET /oauth/provider-callback` if `isReturning` is true. */
    async finish(c: Context): Promise<Response> {
      const { code, error, iss: issuer } = c.req.query();
      const found = await find(c);
      if (!found) {
        throw new HttpError(
          400,
          "This sign-in has expired, or it began in another browser",
          { situation: "account sign-in expired" },
        );
      }
      const { handle, browser, from, isFresh, sealed } = found;
      const { id: providerId, provider } = from;
      if (error !== undefined || code === undefined) {
        const other = await errorOfCheck(() => provider.checkIssuer?.(issuer));
        // If another issuer sent this response (RFC 9207 §2.4), the provider's
        // own may still come, and needs the cookie.
        if (!other) dropCookie(c, cookie);
        throw refused(provider, other);
      }
      const { tokens, identity, authenticatedAt } = await ask(
        c,
        from,
        () =>
          provider.redeem({
            code,
            ...verifierAndNonce(handle, browser, from),
            redirectUri: from.redirectUri,
            issuer,
          }),
      );
      const isTakenForOther = isSubjectOfOther(
        identity.subject,
        services.subjectIds,
        providerId,
      );
      if (isTakenForOther) throw refused(provider);
      const subject = subjectOf(providerId, identity);
      if (isBlocked({ subject, identity, clientId: "" }, services.blocked)) {
        throw refusedByBlock();
      }
      if (isFresh) {
        checkReauthenticated(provider, authenticatedAt, now(services.clock));
      }
      const session = {
        subject,
        provider: providerId,
        identity: identityRecheck.reduce(identity),
        ...isFresh && { isFresh },
      };
      const id = await storeSignIn(() =>
        services.accountSessions.save(session)
      );
      if (provider.revokesOne) {
        // Without `revokesOne`, this would revoke all of the person's tokens.
        // GitHub keeps ten tokens, and revokes an older one for the eleventh.
        services.database.background(async () =>
          await provider.revoke?.(tokens)
        );
      }
      log.audit("Signed in to the account page", {
        reference: c.get("reference"),
        subject,
      });
      // Not dropped earlier, because reloading the page needs the cookie.
      dropCookie(c, cookie);
      keepCookie(c, { name: "account", baseUrl }, id, ACCOUNT_SESSION_SECONDS);
      // Without a valid return path, the sign-in leads to the first part.
      const returnPath = await unseal(returnPathKey(handle, browser), sealed)
        .catch(() => undefined);
      return redirect(c, returnPaths.addressOf(returnPath));
    },
  };
}
