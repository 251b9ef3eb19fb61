/**
 * `POST /account/tokens`: a person makes an access token for a program of
 * their own.
 *
 * @module
 */
import type { Scopes } from "../../authoring/scope.ts";
import { HttpError } from "../../errors.ts";
import type { Parameters } from "../rules/parameters.ts";
import { openPersonalGrant } from "../rules/grant.ts";
import type { MayHold } from "../rules/held_scopes.ts";
import { resourceOf } from "../rules/resource.ts";
import { type Clock, now } from "../../clock.ts";
import type { AccessTokenStore } from "../../store/access_tokens.ts";
import type { ConfirmPerson } from "./confirmed_person.ts";
import type { SignedIn } from "./signed_in.ts";
import type { Write } from "../../store/transaction.ts";

/** The lifetimes that a token may have, in days. */
export const TOKEN_DAYS = [7, 30, 90, 365] as const;

/**
 * The most tokens of one person; more would mean that old ones are never ended.
 */
const MOST_TOKENS = 50;

const DAY_SECONDS = 24 * 60 * 60;
const NAME = /^\P{Cc}{1,80}$/u;

/**
 * Makes a token and gives the ID of its grant.
 *
 * @param keep stores the token for its person, who sees it once
 * @throws {HttpError}
 */
export type MakeToken = (
  person: SignedIn,
  form: Parameters,
  keep: (grantId: string, token: string) => Promise<Write>,
) => Promise<string>;

/** Lets people make tokens, with scopes that they have themselves. */
export function personalTokens(
  {
    baseUrl,
    scopes: { supported },
    confirmPerson,
    mayHold,
    accessTokens,
    clock,
  }: {
    baseUrl: string;
    scopes: Scopes;
    confirmPerson: ConfirmPerson;
    /** Tells what a grant's token may be used for here. */
    mayHold: MayHold;
    accessTokens: AccessTokenStore;
    clock: Clock;
  },
): MakeToken {
  return async function makeToken(person, form, keep) {
    const { subject, provider } = person.session;
    const name = form.get("name")?.trim() ?? "";
    if (!NAME.test(name)) {
      throw new HttpError(400, "name must be 1 to 80 characters");
    }
    const days = TOKEN_DAYS.find((days) => String(days) === form.get("days"));
    if (days === undefined) {
      throw new HttpError(400, `days must be one of ${TOKEN_DAYS.join(", ")}`);
    }
    const grant = openPersonalGrant({
      issuer: baseUrl,
      resource: resourceOf(baseUrl),
      subject,
      identity: await confirmPerson(person),
      provider,
      name,
      // Other scopes in the form were on no page of ours.
      scopes: supported.filter((scope) =>
        form.get(`scope.${scope}`) !== undefined
      ),
      seconds: days * DAY_SECONDS,
      now: now(clock),
    });
    const may = mayHold(grant);
    if (!may) {
      throw new HttpError(403, "This account may not use this server");
    }
    const token = await accessTokens.issuePersonal(
      { ...grant, scopes: may.scopes },
      { most: MOST_TOKENS, keep: (token) => keep(grant.id, token) },
    );
    if (token !== undefined) return grant.id;
    throw new HttpError(
      409,
      `There are ${MOST_TOKENS} access tokens already: end one first`,
    );
  };
}
