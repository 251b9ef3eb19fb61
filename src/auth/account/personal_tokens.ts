/**
 * `POST /account/tokens`: a person makes an access token for a program of
 * their own.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Scopes } from "../../authoring/scope.ts";
import { HttpError } from "../../errors.ts";
import { openPersonalGrant } from "../rules/new_grant.ts";
import type { Lifetimes } from "../rules/lifetimes.ts";
import type { MayHold } from "../rules/held_scopes.ts";
import { resourceOf } from "../rules/resource.ts";
import { type Clock, now } from "../../clock.ts";
import type { AccessTokenStore } from "../../store/access_tokens.ts";
import type { personConfirmation } from "./confirmed_person.ts";
import { type SignedInPeople, signedOut } from "./signed_in.ts";
import type { AccountSessionStore } from "../../store/account_sessions.ts";
import { redirect } from "../../http/redirect.ts";
import type { Logger } from "../../log/log.ts";

/** The lifetimes that are offered for a token, in days. */
const TOKEN_DAYS = [7, 30, 90];

/** Lists the lifetimes that a token may have, in days; the most is the last. */
export function tokenDays(
  { personalTokenSeconds }: Pick<Lifetimes, "personalTokenSeconds">,
): number[] {
  const most = personalTokenSeconds / DAY_SECONDS;
  return [...TOKEN_DAYS.filter((days) => days < most), most];
}

/**
 * The most tokens of one person; more would mean that old ones are never ended.
 */
const MOST_TOKENS = 50;

/** True if some token of a person opens something, by all that they may have. */
export function opensAnything(
  ceiling: readonly string[] | undefined,
  { scopes, opensUnscoped }: { scopes: Scopes; opensUnscoped: boolean },
): boolean {
  return ceiling?.length !== 0 || opensUnscoped ||
    scopes.supported.length === 0;
}

const DAY_SECONDS = 24 * 60 * 60;
const NAME = /^\P{Cc}{1,80}$/u;

/**
 * Lets people make tokens, with scopes that they have themselves. Each is shown
 * once.
 */
export function personalTokenEndpoint(
  {
    baseUrl,
    scopes,
    opensUnscoped,
    signedIn,
    confirmPerson,
    mayHold,
    accessTokens,
    accountSessions,
    lifetimes,
    clock,
    log,
  }: {
    baseUrl: string;
    scopes: Scopes;
    opensUnscoped: boolean;
    signedIn: SignedInPeople;
    confirmPerson: ReturnType<typeof personConfirmation>;
    /** Tells what a grant's token may be used for here. */
    mayHold: MayHold;
    accessTokens: Pick<AccessTokenStore, "issuePersonal">;
    accountSessions: Pick<AccountSessionStore, "stays" | "keepMade">;
    lifetimes: Lifetimes;
    clock: Clock;
    log: Logger;
  },
): (c: Context) => Promise<Response> {
  const offered = tokenDays(lifetimes);

  return async function makeToken(c) {
    const { form, ...person } = await signedIn.findForm(c);
    const { id, session: { subject, provider } } = person;
    const name = form.get("name")?.trim() ?? "";
    if (!NAME.test(name)) {
      throw new HttpError(400, "name must be 1 to 80 characters");
    }
    const days = offered.find((days) => String(days) === form.get("days"));
    if (days === undefined) {
      throw new HttpError(400, `days must be one of ${offered.join(", ")}`);
    }
    const grant = openPersonalGrant({
      issuer: baseUrl,
      resource: resourceOf(baseUrl),
      subject,
      identity: await confirmPerson(person),
      provider,
      name,
      // Other scopes in the form were on no page of ours.
      scopes: scopes.supported.filter((scope) =>
        form.get(`scope.${scope}`) !== undefined
      ),
      seconds: days * DAY_SECONDS,
      now: now(clock),
    });
    const may = mayHold(grant);
    if (!may || !opensAnything(may.ceiling, { scopes, opensUnscoped })) {
      throw new HttpError(403, "This account may not use this server");
    }
    const token = await accessTokens.issuePersonal(
      { ...grant, scopes: may.scopes },
      {
        most: MOST_TOKENS,
        async keep(token) {
          const stays = await accountSessions.stays(id);
          // Everything of theirs has ended while it was made.
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
        `There are ${MOST_TOKENS} access tokens already: end one first`,
      );
    }
    log.audit("Access token made on the account page", {
      reference: c.get("reference"),
      subject,
      grantId: grant.id,
    });
    // Loading that page again makes no second token.
    return redirect(c, `${baseUrl}/account/tokens?made=${grant.id}`);
  };
}
