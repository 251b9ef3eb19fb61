/**
 * `/account`: the connections of a person's clients, and the forms that end
 * them; for operators, everyone's.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { About } from "../../authoring/about.ts";
import type { Scopes } from "../../authoring/scope.ts";
import { basePathOf } from "../../net/base_path.ts";
import type { Logger } from "../../log/log.ts";
import type { EndGrants } from "../grants/end_grant.ts";
import { type Grant, ledgerIdOf } from "../rules/grant.ts";
import type { Permissions } from "../rules/permissions.ts";
import { nameOf } from "../rules/person.ts";
import {
  AccountPage,
  type Changed,
  type ConnectedClient,
  type ConnectionInWords,
  isChanged,
  SignInPage,
} from "../../pages/account_page.tsx";
import { OperatorSection } from "../../pages/operator_section.tsx";
import { page } from "../../pages/respond.ts";
import { TokenSection } from "../../pages/token_section.tsx";
import type { CallFilter } from "../../pages/operator_calls.tsx";
import {
  connectionInWords,
  countSessions,
  tokenInWords,
} from "./grant_words.ts";
import { type OperatorSources, operatorView } from "./operator_view.ts";
import { type MakeToken, TOKEN_DAYS } from "./personal_tokens.ts";
import { type SignedIn, signedInPeople, signedOut } from "./signed_in.ts";
import type {
  AccountSession,
  AccountSessionStore,
} from "../../store/account_sessions.ts";
import type { GrantStore } from "../../store/grants.ts";
import { type Clock, now } from "../../clock.ts";
import { HttpError } from "../../errors.ts";
import { isAllowed } from "../rules/allowed_users.ts";
import { dropCookie } from "../../http/cookie.ts";
import { mintCsrf } from "../../http/csrf.ts";
import { Buckets, type Rate } from "../../http/buckets.ts";
import { refuseFor } from "../../http/rate_limit.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import { redirect } from "../../http/redirect.ts";

/** The account page's routes. */
export interface AccountEndpoints {
  /** Answers `GET /account`. */
  show(c: Context): Promise<Response>;
  /** `POST /account/end`: ends the grants it names, or all of a subject. */
  end(c: Context): Promise<Response>;
  /**
   * Answers `POST /account/tokens`: makes an access token, which its browser is
   * shown for five minutes.
   */
  makeToken(c: Context): Promise<Response>;
  /** Answers `POST /account/sign-out`. */
  signOut(c: Context): Promise<Response>;
}

/** Rounds of looking for what is open. */
const MOST_ROUNDS = 5;

/** The most connections and access tokens on one page; a person has a few. */
const MOST_SHOWN = 500;

/** The pages of one person: each reads all that they have. */
const PAGES: Rate = { burst: 60, perSecond: 1 };

/** The parts of the account page. */
export interface AccountOptions extends OperatorSources {
  baseUrl: string;
  serverTitle: string;
  about?: About;
  providerName: string;
  providerId: string;
  /** `OAUTH_ADMINS`. */
  admins: readonly string[];
  /** The scopes that a new access token may have. */
  scopes: Scopes;
  permissions?: Permissions;
  makeToken: MakeToken;
  accountSessions: AccountSessionStore;
  grants: GrantStore;
  endGrants: EndGrants;
  clock: Clock;
  log: Logger;
}

/** Makes the account page's endpoints. */
export function accountEndpoints(options: AccountOptions): AccountEndpoints {
  const { baseUrl, serverTitle, about, providerName } = options;
  const { accountSessions, log } = options;
  const base = basePathOf(baseUrl);
  const { grants, ledger, clock } = options;
  const { endGrants } = options;
  const people = signedInPeople(options);
  const cookie = { name: "account", baseUrl };
  const pages = new Buckets(PAGES);

  // An empty list means no operators, unlike the list of people who may sign
  // in.
  const isOperator = (session: AccountSession) =>
    options.admins.length > 0 && isAllowed(session, options.admins);

  async function accountPage(
    c: Context,
    { id, session }: SignedIn,
    { ended, changed, filter, after, ...asked }: {
      ended?: number;
      changed?: Changed;
      /** The grant of an access token that was made a moment ago. */
      made?: string;
      filter: CallFilter;
      /** The place where a page of people begins. */
      after?: string;
    },
  ): Promise<Response> {
    refuseFor(pages.take(fingerprint(session.subject), clock()));
    const csrf = mintCsrf(id);
    const time = now(clock);
    const own = await grants.listOfSubject(session.subject, MOST_SHOWN);
    const [calls, sessions] = await Promise.all([
      ledger?.list(own.map(ledgerIdOf)),
      countSessions(own, options),
    ]);
    const callsOf = new Map(
      calls?.map((calls, index) => [own[index].id, calls]),
    );
    const { token: tokens = [], connection: connections = [] } = Object.groupBy(
      own,
      ({ kind }) => kind === "token" ? kind : "connection",
    );
    const clients = byClient(
      connections,
      (grant) =>
        connectionInWords(grant, options, {
          sessions,
          calls: callsOf.get(grant.id),
        }),
    );
    const view = isOperator(session)
      ? await operatorView(options, filter, after)
      : undefined;
    const made = tokens.find((grant) => grant.id === asked.made);
    return page(
      c,
      AccountPage({
        base,
        serverTitle,
        about,
        person: nameOf(session),
        providerName,
        clients,
        csrf,
        now: time,
        ended,
        changed,
        most: own.length < MOST_SHOWN ? undefined : MOST_SHOWN,
        tokens: TokenSection({
          base,
          tokens: tokens.map((grant) =>
            tokenInWords(grant, options, callsOf.get(grant.id))
          ),
          scopes: options.inWords(
            options.permissions?.ceiling(session) ?? options.scopes.supported,
          ),
          days: TOKEN_DAYS,
          made: made && {
            name: made.clientName,
            token: await accountSessions.findMade(id, made.id),
          },
          csrf,
          now: time,
        }),
        children: view && OperatorSection({ base, csrf, now: time, ...view }),
      }),
      { forms: "self" },
    );
  }

  /** Ends those of these grants that a person has, and gives their number. */
  async function endSome(
    c: Context,
    grantIds: ReadonlySet<string>,
    session: AccountSession,
  ): Promise<number> {
    const found = await Promise.all([...grantIds].map(grants.find));
    const ended = found.filter((one) => one?.value.status === "active")
      .map((read) => ({ grant: read!.value, read }))
      // Another person's grant is treated like one that does not exist.
      .filter(({ grant: { subject } }) =>
        subject === session.subject || isOperator(session)
      );
    await endGrants(ended);
    for (const { grant: { id, subject, clientName } } of ended) {
      log.audit("Connection ended on the account page", {
        reference: c.get("reference"),
        subject: session.subject,
        // An operator may end those of others.
        owner: subject === session.subject ? undefined : subject,
        grantId: id,
        client: clientName,
      });
    }
    return ended.length;
  }

  /**
   * Ends everything that a person or a machine has: what is open, what a code
   * still opens, and who is signed in here as them. Gives the number.
   */
  async function endAllOf(
    c: Context,
    subject: string,
    session: AccountSession,
  ): Promise<number> {
    if (!isOperator(session)) {
      throw new HttpError(403, "Only operators end everything of a person");
    }
    let count = 0;
    // Again until there is none: a client may get another one meanwhile.
    for (let round = 0; round < MOST_ROUNDS; round++) {
      await accountSessions.endAllOf(subject);
      const open = await grants.listOpen(subject);
      if (open.length === 0) break;
      count += open.length;
      await endGrants(open.map((read) => ({ grant: read.value, read })));
    }
    log.audit("Everything of a subject ended on the account page", {
      reference: c.get("reference"),
      subject: session.subject,
      ended: subject,
      count,
    });
    return count;
  }

  return {
    async show(c) {
      const found = await people.find(c);
      if (found) {
        const { ended, changed, made, after, ...asked } = c.req.query();
        return await accountPage(c, found, {
          ended: ended === undefined ? undefined : Number(ended) || 0,
          changed: isChanged(changed) ? changed : undefined,
          filter: filterOf(asked),
          after,
          made,
        });
      }
      return page(c, SignInPage({ base, serverTitle, about, providerName }), {
        forms: "any",
      });
    },

    async makeToken(c) {
      const person = await people.findForm(c);
      const { id, session, form } = person;
      const grantId = await options.makeToken(
        person,
        form,
        async (grantId, token) => {
          const stays = await accountSessions.stays(id);
          // Everything of theirs has ended while it was made.
          if (!stays) throw signedOut();
          const keep = await accountSessions.keepMade(id, grantId, token);
          return (transaction) => {
            stays(transaction);
            keep(transaction);
          };
        },
      );
      log.audit("Access token made on the account page", {
        reference: c.get("reference"),
        subject: session.subject,
        grantId,
      });
      // Loading that page again makes no second token.
      return redirect(c, `${baseUrl}/account?made=${grantId}`);
    },

    async end(c) {
      const { session, form } = await people.findForm(c);
      const subject = form.get("subject");
      if (subject !== undefined) {
        const count = await endAllOf(c, decoded(subject), session);
        return redirect(c, `${baseUrl}/account?ended=${count}`);
      }
      const ids = new Set(form.require("grants").split(" "));
      const count = await endSome(c, ids, session);
      return redirect(c, `${baseUrl}/account?ended=${count}`);
    },

    async signOut(c) {
      const { id } = await people.findForm(c);
      await accountSessions.end(id);
      dropCookie(c, cookie);
      return redirect(c, `${baseUrl}/account`);
    },
  };
}

/** A subject as our form has it. @throws {HttpError} 400 */
function decoded(subject: string): string {
  try {
    return decodeURIComponent(subject);
  } catch (cause) {
    throw new HttpError(400, "subject is not percent-encoded", {}, { cause });
  }
}

/** The calls that an operator asks for. */
function filterOf(
  { person, client, outcome }: Record<string, string | undefined>,
): CallFilter {
  return {
    person,
    client,
    outcome: outcome === "failed" || outcome === "fine" ? outcome : undefined,
  };
}

/** Groups grants under the client that holds them, newest first. */
function byClient(
  grants: readonly Grant[],
  inWords: (grant: Grant) => ConnectionInWords,
): ConnectedClient[] {
  const groups = Map.groupBy(grants, ({ clientId }) => clientId);
  return [...groups].map(([clientId, held]) => ({
    clientId,
    name: held[0].clientName,
    // Only a client with a metadata document has an address as its id.
    domain: clientId.startsWith("https:")
      ? URL.parse(clientId)?.hostname
      : undefined,
    connections: held.map(inWords),
  }));
}
