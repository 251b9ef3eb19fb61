/**
 * The authorization server's endpoints and its gate, wired together.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { About } from "../../authoring/about.ts";
import type { Scopes } from "../../authoring/scope.ts";
import { type OAuthConfig, subjectIds } from "../../settings/oauth.ts";
import type { Logger } from "../../log/log.ts";
import { isMachine } from "../rules/configured_client.ts";
import { confirmation } from "../rules/confirmation.ts";
import { heldScopes } from "../rules/held_scopes.ts";
import { knownClients } from "../rules/known_clients.ts";
import type { Permissions } from "../rules/permissions.ts";
import { resourceOf } from "../rules/resource.ts";
import { parseScope } from "../rules/scope.ts";
import type { ScopeInWords } from "../../pages/consent_page.tsx";
import { accountSessionStore } from "../../store/account_sessions.ts";
import { accessTokenStore } from "../../store/access_tokens.ts";
import { assertionStore } from "../../store/assertions.ts";
import { approvalStore } from "../../store/approvals.ts";
import { attemptStore } from "../../store/attempts.ts";
import { authorizationRequestStore } from "../../store/authorization_requests.ts";
import { clientUseStore } from "../../store/client_uses.ts";
import { codeStore } from "../../store/codes.ts";
import type { Database } from "../../store/database.ts";
import type { LedgerStore } from "../../store/ledger.ts";
import { documentStore, type FetchDocument } from "../../store/documents.ts";
import { secretStore } from "../../store/secrets.ts";
import { grantStore } from "../../store/grants.ts";
import { peopleStore } from "../../store/people.ts";
import { refreshTokenStore } from "../../store/refresh_tokens.ts";
import type { SessionStore } from "../../store/sessions.ts";
import { taskStore } from "../../store/tasks.ts";
import { upstreamTokenStore } from "../../store/upstream_tokens.ts";
import { providerTokens } from "../provider/provider_tokens.ts";
import type { Provider } from "../provider/provider.ts";
import type { Gate } from "../doors/gate.ts";
import type { SignIn, SignInEndpoints } from "./sign_in_endpoints.ts";
import { accountEndpoints } from "../account/account.ts";
import { personConfirmation } from "../account/confirmed_person.ts";
import { personalTokens } from "../account/personal_tokens.ts";
import { connectionChanges } from "../account/connection_changes.ts";
import { accountSignIn } from "../account/account_sign_in.ts";
import { assertionVerifier } from "../provider/assertion_issuers.ts";
import { usualClaims } from "../provider/create_provider.ts";
import { grantByAssertion } from "./asserted_grant.ts";
import { attemptRecorder } from "./attempt_recorder.ts";
import { authorizeEndpoint } from "./authorize.ts";
import { clientDirectory } from "../clients/client_directory.ts";
import { consentEndpoint } from "./consent.ts";
import { grantsEnd } from "../grants/end_grant.ts";
import { authorizationServerMetadataEndpoint } from "./well_known.ts";
import { oauthGate } from "../doors/oauth_gate.ts";
import { providerUrls } from "./provider_url.ts";
import { providerCallbackEndpoint } from "./provider_callback.ts";
import { type RateLimit, rateLimit } from "../../http/rate_limit.ts";
import { registerEndpoint } from "./register.ts";
import { revokeEndpoint } from "./revoke.ts";
import { tokenEndpoint } from "./token.ts";

/** The parts of an authorization server. */
export interface AuthorizationServerOptions {
  config: OAuthConfig;
  log: Logger;
  database: Database;
  /** The engine's store, because a process has one cache of sessions. */
  sessions: SessionStore;
  /** The latest calls, written by the engine. */
  ledger?: LedgerStore;
  baseUrl: string;
  serverTitle: string;
  /** For pages and metadata. */
  about?: About;
  provider: Provider;
  fetchDocument: FetchDocument;
  scopes: Scopes;
  permissions?: Permissions;
  inWords(scopes: readonly string[]): ScopeInWords[];
}

/**
 * The gate and the endpoints; the protected resource's metadata is not among
 * them.
 */
export type AuthorizationServer = Pick<SignIn, "close"> & {
  gate: Gate;
  endpoints: Omit<SignInEndpoints, "protectedResourceMetadata">;
};

type Endpoint = (c: Context) => Promise<Response>;

/** Makes the authorization server of `AUTH_STRATEGY=oauth`. */
export function authorizationServer(
  options: AuthorizationServerOptions,
): AuthorizationServer {
  const { config, log, database, baseUrl, provider, scopes } = options;
  const { clock } = database;
  const { about } = options;
  const { metadataDocuments, allowedUsers, assertionIssuers } = config;
  const grants = grantStore(database);
  const secrets = secretStore(database);
  const documents = documentStore(database, options.fetchDocument);
  const upstreamTokens = upstreamTokenStore(database);
  const assertions = assertionStore(database);
  const machines = new Map(
    config.clients.filter(isMachine).map(({ clientId, metadata }) =>
      [clientId, parseScope(metadata.scope)] as const
    ),
  );
  const [ownId, ...otherIds] = subjectIds(config);
  const services = {
    ...options,
    clock,
    providerName: provider.name,
    providerId: ownId,
    otherIds: otherIds.filter((id) => id !== ownId),
    allowedUsers,
    clients: clientDirectory({
      baseUrl,
      secrets,
      documents,
      assertions,
      clock,
      configured: config.clients,
      metadataDocuments,
    }),
    secrets,
    assertions,
    approvals: approvalStore(database),
    requests: authorizationRequestStore(database),
    grants,
    people: peopleStore(database, grants),
    endGrants: grantsEnd({ ...options, grants, tasks: taskStore(database) }),
    accessTokens: accessTokenStore(database),
    clientUses: clientUseStore(database),
    codes: codeStore(database),
    refreshTokens: refreshTokenStore(database),
    accountSessions: accountSessionStore(database),
    attempts: attemptStore(database, log),
    admins: config.admins,
    configured: config.clients,
    policy: config.policy,
    providerUrl: providerUrls({ baseUrl, provider }),
    providerTokens: providerTokens({
      provider,
      providerId: ownId,
      grants,
      upstreamTokens,
      clock,
    }),
    confirmation: confirmation({
      allowedUsers,
      permissions: options.permissions,
    }),
    mayHold: heldScopes({
      issuer: baseUrl,
      resource: resourceOf(baseUrl),
      providerId: ownId,
      allowedUsers,
      machines,
      isKnownClient: knownClients({
        configured: config.clients,
        metadataDocuments,
      }),
      assertionIssuers,
      permissions: options.permissions,
    }),
  };
  const { provider: settings } = config;
  const byAssertion = assertionIssuers.length === 0
    ? undefined
    : grantByAssertion({
      ...services,
      verifyAssertion: assertionVerifier(assertionIssuers, {
        memberships: usualClaims(settings.provider === "dev" ? {} : settings),
        clock,
      }),
    });
  const limited = (limit: RateLimit) => ({
    ...services,
    checkRate: limit.check,
    waiveRate: limit.waive,
  });
  const authorizing = limited(rateLimit(services, "authorize", 10));
  // A failure here is cheap, and others behind the same address need to
  // refresh.
  const tokenRate = rateLimit(services, "token", 200);
  const callbackRate = rateLimit(services, "callback", 10);
  const accountRate = rateLimit(services, "account", 10);
  const signIn = accountSignIn(limited(accountRate));
  const account = accountEndpoints({
    ...services,
    makeToken: personalTokens({
      ...services,
      confirmPerson: personConfirmation(services),
    }),
  });
  const change = connectionChanges(services);
  const rated = (endpoint: Endpoint): Endpoint => async (c) => {
    await accountRate.check(c);
    return await endpoint(c);
  };
  const providerCallback = providerCallbackEndpoint(limited(callbackRate));
  const recorded = attemptRecorder(services);
  return {
    endpoints: {
      authorizationServerMetadata: authorizationServerMetadataEndpoint({
        baseUrl,
        scopesSupported: scopes.supported,
        metadataDocuments: metadataDocuments.enabled,
        machines: machines.size > 0,
        assertions: byAssertion !== undefined,
        registration: config.policy.registration,
        about,
      }),
      register: recorded(
        registerEndpoint(limited(rateLimit(services, "register", 2))),
      ),
      authorize: recorded(authorizeEndpoint(authorizing)),
      consent: recorded(consentEndpoint(authorizing)),
      providerCallback: recorded(async (c) => {
        await callbackRate.check(c);
        if (!signIn.isReturning(c)) return await providerCallback(c);
        const response = await signIn.finish(c);
        callbackRate.waive(c);
        return response;
      }),
      token: recorded(
        tokenEndpoint({
          ...limited(tokenRate),
          grantByAssertion: byAssertion,
        }),
      ),
      revoke: revokeEndpoint(limited(tokenRate)),
      account: rated(account.show),
      accountSignIn: signIn.start,
      accountSignOut: rated(account.signOut),
      accountEnd: rated(account.end),
      accountPause: rated(change.pause),
      accountResume: rated(change.resume),
      accountNarrow: rated(change.narrow),
      accountTokens: rated(account.makeToken),
    },
    gate: oauthGate(services),
    close: async () => {
      services.people.close();
      await services.attempts.close();
    },
  };
}
