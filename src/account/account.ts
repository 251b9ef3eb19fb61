/**
 * `/account`: what a person's clients may do in their name, and its end; for
 * operators, everybody's.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { About } from "../about.ts";
import type { Scopes } from "../authoring/scope.ts";
import { basePathOf } from "../base_path.ts";
import type { Logger } from "../log.ts";
import type { ClientDirectory } from "../authorization_server/client_directory.ts";
import { type Client, clientName } from "../oauth/client.ts";
import { shortClientId } from "../oauth/client_id.ts";
import type { EndGrant } from "../authorization_server/end_grant.ts";
import { bindingOf, type Grant } from "../oauth/grant.ts";
import type { Permissions } from "../oauth/permissions.ts";
import {
  AccountPage,
  type ConnectedClient,
  type ConnectionInWords,
  SignInPage,
} from "../pages/account_page.tsx";
import { OperatorSection } from "../pages/operator_section.tsx";
import { page } from "../pages/respond.ts";
import { type TokenInWords, TokenSection } from "../pages/token_section.tsx";
import { type MakeToken, TOKEN_DAYS } from "./personal_tokens.ts";
import { type SignedIn, signedInPeople } from "./signed_in.ts";
import type {
  AccountSession,
  AccountSessionStore,
} from "../store/account_sessions.ts";
import type { AttemptStore } from "../store/attempts.ts";
import type { ClientUseStore } from "../store/client_uses.ts";
import type { GrantStore } from "../store/grants.ts";
import { type Clock, now } from "../clock.ts";
import type { SessionStore } from "../store/sessions.ts";
import { isAllowed } from "../oauth/allowed_users.ts";
import { dropCookie } from "../http/cookie.ts";
import { mintCsrf } from "../http/csrf.ts";
import { redirect } from "../http/redirect.ts";

/** The account page's routes. */
export interface AccountEndpoints {
  /** `GET /account`. */
  show(c: Context): Promise<Response>;
  /** `POST /account/end`: ends the grants it names. */
  end(c: Context): Promise<Response>;
  /** `POST /account/tokens`: makes an access token, which is shown once. */
  makeToken(c: Context): Promise<Response>;
  /** `POST /account/sign-out`. */
  signOut(c: Context): Promise<Response>;
}

/** What the account page is made of. */
export interface AccountOptions {
  baseUrl: string;
  serverTitle: string;
  about?: About;
  providerName: string;
  /** `OAUTH_ADMINS`. */
  admins: readonly string[];
  /** What a new access token may be given. */
  scopes: Scopes;
  permissions?: Permissions;
  makeToken: MakeToken;
  /** `OAUTH_CLIENTS`. */
  configured: readonly Client[];
  clientUses: ClientUseStore;
  accountSessions: AccountSessionStore;
  grants: GrantStore;
  clients: Pick<ClientDirectory, "findRegistered">;
  sessions: SessionStore;
  endGrant: EndGrant;
  attempts: AttemptStore;
  clock: Clock;
  log: Logger;
}

/** The account page at work. */
export function accountEndpoints(options: AccountOptions): AccountEndpoints {
  const { baseUrl, serverTitle, about, providerName } = options;
  const { accountSessions, log } = options;
  const base = basePathOf(baseUrl);
  const { grants, clients, sessions, attempts, clock } = options;
  const { endGrant } = options;
  const people = signedInPeople(options);
  const cookie = { name: "account", baseUrl };

  // An empty list lets nobody in here, unlike the one of who may sign in.
  const isOperator = ({ identity }: AccountSession) =>
    options.admins.length > 0 && isAllowed(identity, options.admins);

  async function inWords(grant: Grant): Promise<ConnectionInWords> {
    const { id: grantId, createdAt, usedAt, scopes, redirectUri } = grant;
    return {
      grantId,
      createdAt,
      usedAt,
      scopes,
      redirectUri,
      sessions: await sessions.countOf(bindingOf(grant), grantId),
    };
  }

  async function operatorSection(csrf: string, time: number) {
    const [everybodys, tried] = await Promise.all([
      grants.list(),
      attempts.list(),
    ]);
    const registered = await registeredClients(everybodys);
    return OperatorSection({
      base,
      csrf,
      now: time,
      grants: await Promise.all(everybodys.map(async (grant) => ({
        ...await inWords(grant),
        subject: grant.subject,
        person: nameOf(grant),
        clientName: grant.kind === "token"
          ? `${grant.clientName} (access token)`
          : grant.clientName,
      }))),
      registrations: registered.map((client) => ({
        clientId: shortClientId(client.clientId),
        clientName: clientName(client),
        issuedAt: client.issuedAt,
        usedAt: Math.max(
          ...everybodys.filter(({ clientId }) => clientId === client.clientId)
            .map(({ usedAt }) => usedAt),
        ),
        redirectUris: client.metadata.redirect_uris,
      })),
      clients: await Promise.all(
        options.configured.map(async (client) => ({
          clientId: client.clientId,
          clientName: clientName(client),
          grantTypes: client.metadata.grant_types,
          usedAt: await options.clientUses.find(client.clientId),
          redirectUris: client.metadata.redirect_uris,
        })),
      ),
      attempts: tried,
    });
  }

  /** The registrations behind grants, newest first; documents are not read. */
  async function registeredClients(
    everybodys: readonly Grant[],
  ): Promise<Client[]> {
    const ids = new Set(
      everybodys.filter(({ kind }) => kind === undefined)
        .map(({ clientId }) => clientId),
    );
    const found = await Promise.all(
      [...ids].map((clientId) => clients.findRegistered(clientId)),
    );
    return found.filter((client) => client !== undefined)
      .sort((a, b) => b.issuedAt - a.issuedAt);
  }

  async function accountPage(
    c: Context,
    { id, session }: SignedIn,
    { ended, made }: { ended?: number; made?: string },
  ): Promise<Response> {
    const csrf = mintCsrf(id);
    const time = now(clock);
    const own = await grants.listOfSubject(session.subject);
    const { token: tokens = [], connection: connections = [] } = Object.groupBy(
      own,
      ({ kind }) => kind === "token" ? kind : "connection",
    );
    return page(
      c,
      AccountPage({
        base,
        serverTitle,
        about,
        person: nameOf(session),
        providerName,
        clients: await byClient(connections, inWords),
        csrf,
        now: time,
        ended,
        tokens: TokenSection({
          base,
          tokens: tokens.map(tokenInWords),
          scopes: options.permissions?.ceiling(session) ??
            options.scopes.supported,
          days: TOKEN_DAYS,
          made,
          csrf,
          now: time,
        }),
        children: isOperator(session)
          ? await operatorSection(csrf, time)
          : undefined,
      }),
      { forms: "self" },
    );
  }

  /** Ends a grant; false when the person has none of this name. */
  async function endOne(
    grantId: string,
    session: AccountSession,
  ): Promise<boolean> {
    const found = await grants.find(grantId);
    const grant = found?.value;
    if (grant?.status !== "active") return false;
    // Another person's grant is treated like one that does not exist.
    if (grant.subject !== session.subject && !isOperator(session)) return false;
    await endGrant(grant, found);
    log.info("Connection ended on the account page", {
      grantId,
      client: grant.clientName,
      by: session.subject,
    });
    return true;
  }

  return {
    async show(c) {
      const found = await people.find(c);
      if (found) {
        const { ended, made } = c.req.query();
        return await accountPage(c, found, {
          ended: ended === undefined ? undefined : Number(ended) || 0,
          made: made === undefined
            ? undefined
            : await accountSessions.takeMade(found.id, made),
        });
      }
      return page(c, SignInPage({ base, serverTitle, about, providerName }), {
        forms: "any",
      });
    },

    async makeToken(c) {
      const { id, session, form } = await people.findForm(c);
      const { grantId, token } = await options.makeToken(session, form);
      await accountSessions.saveMade(id, grantId, token);
      // Loading that page again makes no other token.
      return redirect(c, `${baseUrl}/account?made=${grantId}`);
    },

    async end(c) {
      const { session, form } = await people.findForm(c);
      const ended = await Promise.all(
        form.require("grants").split(" ").map((id) => endOne(id, session)),
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

function tokenInWords(grant: Grant): TokenInWords {
  const { id: grantId, clientName: name, scopes, createdAt, usedAt, endsAt } =
    grant;
  return {
    grantId,
    name,
    scopes,
    createdAt,
    usedAt: usedAt > createdAt ? usedAt : undefined,
    endsAt,
  };
}

function nameOf({ identity, subject }: Pick<Grant, "identity" | "subject">) {
  return identity.login ?? identity.name ?? identity.email ?? subject;
}

/** Grants, newest first, under the client that holds them. */
async function byClient(
  grants: readonly Grant[],
  inWords: (grant: Grant) => Promise<ConnectionInWords>,
): Promise<ConnectedClient[]> {
  const groups = Map.groupBy(grants, ({ clientId }) => clientId);
  return await Promise.all(
    [...groups].map(async ([clientId, held]) => ({
      clientId,
      name: held[0].clientName,
      // Only a metadata document has an address for a name.
      domain: clientId.startsWith("https:")
        ? URL.parse(clientId)?.hostname
        : undefined,
      connections: await Promise.all(held.map(inWords)),
    })),
  );
}
