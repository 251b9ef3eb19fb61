/**
 * `GET /account`: the connections of a person's clients, and their access
 * tokens; for operators, everyone's.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { About } from "../../authoring/about.ts";
import type { Scopes } from "../../authoring/scope.ts";
import { basePathOf } from "../../net/base_path.ts";
import { type Grant, ledgerIdOf, withinLifetimes } from "../rules/grant.ts";
import type { Lifetimes } from "../rules/lifetimes.ts";
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
import type { WaitStore } from "../../store/waits.ts";
import { WaitingSection } from "../../pages/waiting_section.tsx";
import { waitsInWords } from "./waits.ts";
import { tokenDays } from "./personal_tokens.ts";
import type { SignedIn, SignedInPeople } from "./signed_in.ts";
import type { AccountSessionStore } from "../../store/account_sessions.ts";
import { type Clock, now } from "../../clock.ts";
import { mintCsrf } from "../../http/csrf.ts";
import { Buckets, type Rate } from "../../http/buckets.ts";
import { refuseFor } from "../../http/rate_limit.ts";
import { fingerprint } from "../../crypto/crypto.ts";

/** The most connections and access tokens on one page; a person has a few. */
const MOST_SHOWN = 500;

/** The pages of one person: each reads all that they have. */
const PAGES: Rate = { burst: 60, perSecond: 1 };

/** The parts of the account page. */
interface AccountPageOptions extends OperatorSources {
  baseUrl: string;
  serverTitle: string;
  about?: About;
  providerName: string;
  /** The scopes that a new access token may have. */
  scopes: Scopes;
  permissions?: Permissions;
  signedIn: SignedInPeople;
  accountSessions: Pick<AccountSessionStore, "findMade">;
  /** The questions that wait for people. */
  waits: Pick<WaitStore, "listOf">;
  lifetimes: Lifetimes;
  clock: Clock;
}

/** Shows the account page, or the button to sign in there. */
export function accountPageEndpoint(
  options: AccountPageOptions,
): (c: Context) => Promise<Response> {
  const { baseUrl, serverTitle, about, providerName, signedIn } = options;
  const { accountSessions, grants, ledger, lifetimes, clock } = options;
  const base = basePathOf(baseUrl);
  const pages = new Buckets(PAGES);

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
    const own = (await grants.listOfSubject(session.subject, MOST_SHOWN))
      .map((grant) => withinLifetimes(grant, lifetimes))
      .filter(({ expiresAt }) => expiresAt > time);
    const [calls, sessions, waits] = await Promise.all([
      ledger?.list(own.map(ledgerIdOf)),
      countSessions(own, options),
      waitsInWords(session.subject, options),
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
      new Set(options.configured.map(({ clientId }) => clientId)),
      (grant) =>
        connectionInWords(grant, options, {
          sessions,
          calls: callsOf.get(grant.id),
        }),
    );
    const view = signedIn.isOperator(session)
      ? await operatorView(options, filter, after)
      : undefined;
    const { supported } = options.scopes;
    const grantable = options.permissions?.ceiling(session) ?? supported;
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
        lifetimes,
        ended,
        changed,
        most: own.length < MOST_SHOWN ? undefined : MOST_SHOWN,
        waiting: WaitingSection({ base, waits, now: time }),
        tokens: TokenSection({
          base,
          tokens: tokens.map((grant) =>
            tokenInWords(grant, options, callsOf.get(grant.id))
          ),
          scopes: options.inWords(grantable),
          isBare: grantable.length === 0 && supported.length > 0,
          days: tokenDays(lifetimes),
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

  return async function show(c) {
    const found = await signedIn.find(c);
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
  };
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

/** Groups sign-ins under the connection that they are of, newest first. */
function byClient(
  grants: readonly Grant[],
  configured: ReadonlySet<string>,
  inWords: (grant: Grant) => ConnectionInWords,
): ConnectedClient[] {
  const groups = Map.groupBy(
    grants,
    ({ kind = "", clientId }) => `${kind} ${clientId}`,
  );
  return [...groups.values()].map((held) => {
    const [{ clientId, clientName: name }] = held;
    return {
      clientId,
      name,
      isConfigured: configured.has(clientId),
      // Only a client with a metadata document has an address as its id.
      domain: clientId.startsWith("https:")
        ? URL.parse(clientId)?.hostname
        : undefined,
      connections: held.map(inWords),
    };
  });
}
