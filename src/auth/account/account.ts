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
import type { EndGrant } from "../grants/end_grant.ts";
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
import { connectionInWords, tokenInWords } from "./grant_words.ts";
import { type OperatorSources, operatorView } from "./operator_view.ts";
import { type MakeToken, TOKEN_DAYS } from "./personal_tokens.ts";
import { type SignedIn, signedInPeople } from "./signed_in.ts";
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
import { redirect } from "../../http/redirect.ts";

/** The account page's routes. */
export interface AccountEndpoints {
  /** Answers `GET /account`. */
  show(c: Context): Promise<Response>;
  /** `POST /account/end`: ends the grants it names, or all of a subject. */
  end(c: Context): Promise<Response>;
  /**
   * Answers `POST /account/tokens`: makes an access token, which is shown once.
   */
  makeToken(c: Context): Promise<Response>;
  /** Answers `POST /account/sign-out`. */
  signOut(c: Context): Promise<Response>;
}

/** Grants are ended so many at a time, and looked for so many times. */
const ENDED_AT_ONCE = 10;
const MOST_ROUNDS = 5;

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
  endGrant: EndGrant;
  clock: Clock;
  log: Logger;
}

/** Makes the account page's endpoints. */
export function accountEndpoints(options: AccountOptions): AccountEndpoints {
  const { baseUrl, serverTitle, about, providerName } = options;
  const { accountSessions, log } = options;
  const base = basePathOf(baseUrl);
  const { grants, ledger, clock } = options;
  const { endGrant } = options;
  const people = signedInPeople(options);
  const cookie = { name: "account", baseUrl };

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
    const csrf = mintCsrf(id);
    const time = now(clock);
    const own = await grants.listOfSubject(session.subject);
    const calls = await ledger?.list(own.map(ledgerIdOf));
    const callsOf = new Map(
      calls?.map((calls, index) => [own[index].id, calls]),
    );
    const { token: tokens = [], connection: connections = [] } = Object.groupBy(
      own,
      ({ kind }) => kind === "token" ? kind : "connection",
    );
    const clients = await byClient(
      connections,
      (grant) => connectionInWords(grant, options, callsOf.get(grant.id)),
    );
    const view = isOperator(session)
      ? await operatorView(options, filter, after)
      : undefined;
    // Last: if something before it fails, loading the page again still shows
    // the token.
    const made = asked.made === undefined
      ? undefined
      : await accountSessions.takeMade(id, asked.made);
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
        tokens: TokenSection({
          base,
          tokens: tokens.map((grant) =>
            tokenInWords(grant, options, callsOf.get(grant.id))
          ),
          scopes: options.permissions?.ceiling(session) ??
            options.scopes.supported,
          days: TOKEN_DAYS,
          made,
          csrf,
          now: time,
        }),
        children: view && OperatorSection({ base, csrf, now: time, ...view }),
      }),
      { forms: "self" },
    );
  }

  /** Ends a grant; false if the person has no grant with this id. */
  async function endOne(
    c: Context,
    grantId: string,
    session: AccountSession,
  ): Promise<boolean> {
    const found = await grants.find(grantId);
    const grant = found?.value;
    if (grant?.status !== "active") return false;
    // Another person's grant is treated like one that does not exist.
    if (grant.subject !== session.subject && !isOperator(session)) return false;
    await endGrant(grant, found);
    log.audit("Connection ended on the account page", {
      reference: c.get("reference"),
      subject: session.subject,
      // An operator may end those of others.
      owner: grant.subject === session.subject ? undefined : grant.subject,
      grantId,
      client: grant.clientName,
    });
    return true;
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
      while (open.length > 0) {
        const some = open.splice(-ENDED_AT_ONCE);
        await Promise.all(some.map((found) => endGrant(found.value, found)));
      }
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
        (grantId, token) => accountSessions.keepMade(id, grantId, token),
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
      const ended = await Promise.all(
        form.require("grants").split(" ").map((id) => endOne(c, id, session)),
      );
      const count = ended.filter(Boolean).length;
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
async function byClient(
  grants: readonly Grant[],
  inWords: (grant: Grant) => Promise<ConnectionInWords>,
): Promise<ConnectedClient[]> {
  const groups = Map.groupBy(grants, ({ clientId }) => clientId);
  return await Promise.all(
    [...groups].map(async ([clientId, held]) => ({
      clientId,
      name: held[0].clientName,
      // Only a client with a metadata document has an address as its id.
      domain: clientId.startsWith("https:")
        ? URL.parse(clientId)?.hostname
        : undefined,
      connections: await Promise.all(held.map(inWords)),
    })),
  );
}
