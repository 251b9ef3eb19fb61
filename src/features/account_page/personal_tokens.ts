/**
 * `/account/tokens`: a person's own access tokens, and the endpoint that makes
 * one for their programs.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { now } from "../../core/clock.ts";
import { HttpError } from "../../core/errors.ts";
import { redirect } from "../../core/http/browser.ts";
import { TokenSection } from "./token_section.tsx";
import { isAllowed } from "../../core/oauth/allowed_users.ts";
import { openPersonalGrant } from "../../core/oauth/new_grant.ts";
import type { Lifetimes } from "../../core/oauth/lifetimes.ts";
import type { Parameters } from "../../core/oauth/parameters.ts";
import { resourceOf } from "../../core/oauth/resource.ts";
import type { AccountPagePart, AccountPageServices } from "./account_pages.ts";
import { callsHref, ownGrants, toolsOf } from "./connections_part.ts";
import { checkFresh, isFreshNow, signedOut } from "./signed_in.ts";

/** The offered lifetimes of a token, in days. */
const TOKEN_DAYS = [7, 30, 90];

/** Lists the allowed lifetimes of a token in days, in ascending order. */
function tokenDays(
  { personalTokenSeconds }: Pick<Lifetimes, "personalTokenSeconds">,
): number[] {
  const most = personalTokenSeconds / DAY_SECONDS;
  return [...TOKEN_DAYS.filter((days) => days < most), most];
}

/** The maximum number of tokens of one person. */
const MAX_TOKENS = 50;

/** True if a token with all scopes of its person can use any tool. */
function opensAnything(
  ceiling: readonly string[] | undefined,
  { scopes, opensUnscoped }: AccountPageServices,
): boolean {
  return ceiling?.length !== 0 || opensUnscoped ||
    scopes.supported.length === 0;
}

const DAY_SECONDS = 24 * 60 * 60;
const NAME = /^\P{Cc}{1,80}$/u;

/** Reads the name of a token or a passkey from its form. @throws {HttpError} 400 */
export function readName(form: Pick<Parameters, "get">): string {
  const name = form.get("name")?.trim() ?? "";
  if (NAME.test(name)) return name;
  throw new HttpError(400, "name must be 1 to 80 characters");
}

export function tokensPart(services: AccountPageServices): AccountPagePart {
  const { scopes, permissions, accountSessions, lifetimes } = services;
  return {
    name: "tokens",
    label: "Tokens",
    title: "Your access tokens",
    leadsAway: true,

    async show(visit) {
      const { id, session, providerKey, form, now } = visit;
      const { made: madeId } = visit.query;
      const [{ own, most }, madeToken] = await Promise.all([
        ownGrants(session.subject, services),
        madeId === undefined ? undefined : accountSessions.findMade(id, madeId),
      ]);
      const tokens = own.filter(({ kind }) => kind === "token");
      const made = tokens.find((grant) => grant.id === madeId);
      const grantable = permissions?.ceiling(session) ?? scopes.supported;
      return TokenSection({
        ...form,
        providerKey,
        isFresh: isFreshNow(session, now),
        tokens: tokens.map((grant) => ({
          ...grant,
          scopes: services.inWords(grant.scopes),
          tools: toolsOf([grant], services),
          callsHref: callsHref(visit, grant.clientName, services),
        })),
        scopes: services.inWords(grantable),
        isBare: grantable.length === 0 && scopes.supported.length > 0,
        mayMake: isAllowed(session, services.allowedUsers) &&
          opensAnything(grantable, services),
        hasAccounts: services.additions.some(({ hasAccounts }) =>
          hasAccounts?.(services)
        ),
        days: tokenDays(lifetimes),
        made: made && { name: made.clientName, token: madeToken },
        most,
        now,
      });
    },
  };
}

/**
 * Makes the endpoint that issues a personal access token, with scopes that its
 * person has. A token is shown once.
 */
export function personalTokenEndpoint(
  services: AccountPageServices,
): (c: Context) => Promise<Response> {
  const { baseUrl, signedIn, accountSessions, lifetimes } = services;
  const offered = tokenDays(lifetimes);

  return async function makeToken(c) {
    const { form, id, session } = await signedIn.findForm(c);
    checkFresh(session, now(services.clock), "make an access token");
    const { subject, provider, identity } = session;
    const name = readName(form);
    const days = offered.find((days) => String(days) === form.get("days"));
    if (days === undefined) {
      throw new HttpError(400, `days must be one of ${offered.join(", ")}`);
    }
    const grant = openPersonalGrant({
      issuer: baseUrl,
      resource: resourceOf(baseUrl),
      subject,
      identity,
      provider,
      name,
      ...form.get("accounts") !== undefined && { mayUseAccounts: true },
      // Other scopes are ignored: our form has none.
      scopes: services.scopes.supported.filter((scope) =>
        form.get(`scope.${scope}`) !== undefined
      ),
      seconds: days * DAY_SECONDS,
      now: now(services.clock),
    });
    const effective = services.effectiveScopes(grant);
    if (!effective || !opensAnything(effective.ceiling, services)) {
      throw new HttpError(403, "This account may not use this server");
    }
    const token = await services.accessTokens.issuePersonal(
      { ...grant, scopes: effective.scopes },
      {
        most: MAX_TOKENS,
        async keep(token) {
          const stays = await accountSessions.stays(id);
          // The session was ended while the token was made.
          if (!stays) throw signedOut();
          const keep = await accountSessions.keepMade(id, grant.id, token);
          return (transaction) => {
            stays(transaction);
            keep(transaction);
          };
        },
      },
    );
    if (token === undefined) {
      throw new HttpError(
        409,
        `There are ${MAX_TOKENS} access tokens already: end one first`,
      );
    }
    services.log.audit("Access token made on the account page", {
      reference: c.get("reference"),
      subject,
      grantId: grant.id,
    });
    // Reloading that page makes no second token.
    return redirect(c, `${baseUrl}/account/tokens?made=${grant.id}`);
  };
}
