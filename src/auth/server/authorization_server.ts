/**
 * The authorization server: an app of its own, and the verification of its
 * access tokens.
 *
 * @module
 */
import { Hono } from "@hono/hono";
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
import { assertionStore } from "../../store/once.ts";
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
import { accountRoutes } from "../account/account.ts";
import { assertionVerifier } from "../provider/assertion_issuers.ts";
import { usualClaims } from "../provider/create_provider.ts";
import { accessTokenVerifier } from "./access_token_verifier.ts";
import { assertionGrant } from "./assertion_grant.ts";
import { authorizationCodeGrant } from "./authorization_code_grant.ts";
import { clientCredentialsGrant } from "./client_credentials_grant.ts";
import { refreshTokenGrant } from "./refresh_token_grant.ts";
import { attemptRecorder } from "./attempt_recorder.ts";
import { authorizeEndpoint } from "./authorize.ts";
import { clientDirectory } from "../clients/client_directory.ts";
import { consentEndpoint } from "./consent.ts";
import { grantsEnd } from "../grants/end_grant.ts";
import {
  authorizationServerMetadataEndpoint,
  serverMetadataPaths,
} from "./well_known.ts";
import { providerUrls } from "./provider_url.ts";
import { providerCallbackEndpoint } from "./provider_callback.ts";
import type { Passing } from "../../http/passing.ts";
import { rateLimit } from "../../http/rate_limit.ts";
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

/** The authorization server of `AUTH_STRATEGY=oauth`. */
export interface AuthorizationServer {
  /** Its endpoints and pages. */
  app: Hono<Passing>;
  /** Verifies its access tokens: the part of it that `/mcp` uses. */
  verify: ReturnType<typeof accessTokenVerifier>;
  /** Ends background work, after the last request. */
  close(): Promise<void>;
}

/** Makes the authorization server of `AUTH_STRATEGY=oauth`. */
export function authorizationServer(
  options: AuthorizationServerOptions,
): AuthorizationServer {
  const { config, log, database, baseUrl, provider, scopes } = options;
  const { clock } = database;
  const { about } = options;
  const { metadataDocuments, allowedUsers, assertionIssuers } = config;
  const { provider: settings } = config;
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
  const redeemAssertion = assertionIssuers.length === 0
    ? undefined
    : assertionGrant({
      ...services,
      verifyAssertion: assertionVerifier(assertionIssuers, {
        memberships: usualClaims(settings.provider === "dev" ? {} : settings),
        clock,
      }),
    });
  const limit = (endpoint: string, perSecond: number) => {
    const { check, waive } = rateLimit(services, endpoint, perSecond);
    return { ...services, checkRate: check, waiveRate: waive };
  };
  const authorizing = limit("authorize", 10);
  // A failure here is cheap, and others behind the same address need to
  // refresh.
  const issuing = limit("token", 200);
  const returning = limit("callback", 10);
  const account = accountRoutes(limit("account", 10));
  const finishSignIn = providerCallbackEndpoint(returning);
  const recorded = attemptRecorder(services);

  const app = new Hono<Passing>();
  const metadata = authorizationServerMetadataEndpoint({
    baseUrl,
    scopesSupported: scopes.supported,
    metadataDocuments: metadataDocuments.enabled,
    machines: machines.size > 0,
    assertions: redeemAssertion !== undefined,
    registration: config.policy.registration,
    about,
  });
  for (const path of serverMetadataPaths(baseUrl)) app.get(path, metadata);
  app.post("/register", recorded, registerEndpoint(limit("register", 2)));
  app.get("/authorize", recorded, authorizeEndpoint(authorizing));
  app.post("/authorize", recorded, consentEndpoint(authorizing));
  app.get("/oauth/provider-callback", recorded, async (c) => {
    await returning.checkRate(c);
    if (!account.isReturning(c)) return await finishSignIn(c);
    const response = await account.finish(c);
    returning.waiveRate(c);
    return response;
  });
  app.post(
    "/token",
    recorded,
    tokenEndpoint({
      ...issuing,
      redeemCode: authorizationCodeGrant(services),
      refresh: refreshTokenGrant(services),
      issueToMachine: clientCredentialsGrant(services),
      redeemAssertion,
    }),
  );
  app.post("/revoke", revokeEndpoint(issuing));
  app.route("/", account.app);

  return {
    app,
    verify: accessTokenVerifier(services),
    close: async () => {
      services.people.close();
      await services.attempts.close();
    },
  };
}
