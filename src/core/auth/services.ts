/**
 * The stores and rules that the authorization server's endpoints share.
 * @module
 */
import type { OperatorInfo } from "../../authoring/about.ts";
import type { AccountService } from "../../authoring/account.ts";
import type { Scopes } from "../../authoring/scope.ts";
import { type OAuthConfig, subjectIds } from "../settings/oauth.ts";
import type { ListedProvider } from "../settings/providers.ts";
import type { Logger } from "../log/log.ts";
import { effectiveScopesBy, identityRecheck } from "../oauth/grant.ts";
import type { Permissions } from "../oauth/permissions.ts";
import { basePathOf } from "../net/url.ts";
import type { ToolInWords } from "../pages/names.tsx";
import type { ScopeInWords } from "../pages/scopes.ts";
import { accessTokenStore } from "../store/access_tokens.ts";
import { assertionStore } from "../store/once.ts";
import { consentStore } from "../store/consents.ts";
import { attemptLog } from "../store/attempts.ts";
import { authorizationRequestStore } from "../store/authorization_requests.ts";
import { blockStore } from "../store/blocks.ts";
import { clientUseStore } from "../store/client_uses.ts";
import { clientConnectionStore } from "../store/connections.ts";
import { codeStore } from "../store/codes.ts";
import type { Database } from "../kv/database.ts";
import type { OpenedServer } from "../store/opened_server.ts";
import { documentStore, type FetchDocument } from "../store/documents.ts";
import { secretStore } from "../store/secrets.ts";
import { grantStore, refreshTokenStore } from "../store/grants.ts";
import { peopleStore } from "../store/people.ts";
import type { SessionStore } from "../store/sessions.ts";
import { upstreamTokenStore } from "../store/upstream_tokens.ts";
import { providerTokens } from "../provider/provider_tokens.ts";
import type { Provider } from "../provider/provider.ts";
import { signInProviders } from "../provider/sign_in_providers.ts";
import { rateLimitedFetch } from "./clients/fetch_bounds.ts";
import { clientDirectory } from "./clients/client_directory.ts";
import { makeEndGrants, type PersonRecords } from "./grants/end_grant.ts";
import {
  personData,
  type PersonStores,
  type PersonTasks,
} from "./grants/person_data.ts";
import { providerChoice } from "./grants/provider_choice.ts";

/**
 * Lists the hosts that the settings trust, or allow for client ID metadata
 * documents.
 */
function trustedHosts(
  { policy, metadataDocuments }: OAuthConfig,
): ReadonlySet<string> {
  const named = [...policy.trusted, ...metadataDocuments.allowedDomains];
  return new Set(named.map((name) => URL.parse(name)?.hostname ?? name));
}

export interface AuthorizationServerOptions {
  config: OAuthConfig;
  log: Logger;
  database: Database;
  /**
   * The server's only session store, so that a process has one cache of
   * sessions.
   */
  sessions: SessionStore;
  /** People's tasks; undefined if no feature stores tasks. */
  tasks?: PersonTasks;
  /** The parts of the server that the pages of features need. */
  server: OpenedServer;
  /** The records that features store about people, those of sign-ins first. */
  records: readonly PersonRecords[];
  /** The latest calls of connections; undefined if calls are not recorded. */
  ledger?: PersonStores["ledger"];
  baseUrl: string;
  serverTitle: string;
  /** Facts about the server, for pages and metadata. */
  about?: OperatorInfo;
  provider(listed: ListedProvider): Provider;
  fetchDocument: FetchDocument;
  scopes: Scopes;
  permissions?: Permissions;
  /** True if a tool, resource or prompt needs no scope. */
  opensUnscoped: boolean;
  inWords(scopes: readonly string[]): ScopeInWords[];
  /** Lists the tools that these scopes allow; read-only tools come last. */
  toolsWithin(
    scopes: readonly string[],
  ): (ToolInWords & { needsScope: boolean })[];
  /** Lists the outside services that tools within these scopes use. */
  servicesWithin(scopes: readonly string[]): AccountService[];
  needsAccount(tool: string, service: string): boolean;
  /**
   * Returns a tool's title; undefined if it has none, or there is no such tool.
   */
  titleOf(tool: string): string | undefined;
}

export type AuthServices = ReturnType<typeof authorizationServices>;

function openStores(
  database: Database,
  log: Logger,
  { lifetimes, blocked }: OAuthConfig,
) {
  const grants = grantStore(database, blocked);
  return {
    accessTokens: accessTokenStore(database),
    consents: consentStore(database),
    assertions: assertionStore(database),
    attempts: attemptLog(database, log),
    clientUses: clientUseStore(database),
    codes: codeStore(database, lifetimes),
    connections: clientConnectionStore(database, grants),
    grants,
    people: peopleStore(database, grants),
    refreshTokens: refreshTokenStore(database, lifetimes),
    requests: authorizationRequestStore(database),
    secrets: secretStore(database),
    upstreamTokens: upstreamTokenStore(database),
  };
}

export function authorizationServices(options: AuthorizationServerOptions) {
  const { config, log, database, baseUrl, permissions } = options;
  const { clock } = database;
  const { admins, allowedUsers, blocked, clients: configured } = config;
  const { lifetimes, metadataDocuments, policy } = config;
  const stores = openStores(database, log, config);
  const shared = { ...options, ...stores, clock, admins, blocked };
  const providers = signInProviders({
    listed: config.providers,
    baseUrl,
    make: options.provider,
    log,
  });
  const endGrants = makeEndGrants(shared);
  const { serverTitle, about } = options;
  /** The props of every page. */
  const frame = { base: basePathOf(baseUrl), serverTitle, about };
  return {
    ...shared,
    frame,
    allowedUsers,
    configured,
    lifetimes,
    policy,
    providers,
    /** The prefixes of all subjects of people and machines. */
    subjectIds: subjectIds(config),
    clients: clientDirectory({
      ...shared,
      documents: documentStore(
        database,
        rateLimitedFetch(options.fetchDocument, trustedHosts(config)),
      ),
      configured,
      metadataDocuments,
    }),
    endGrants,
    personData: personData({
      ...shared,
      blocks: blockStore(database),
      endGrants,
      findBaseUrl: () => Promise.resolve(baseUrl),
    }),
    choice: providerChoice({ baseUrl, providers, frame }),
    providerTokens: providerTokens({
      ...shared,
      providers,
      background: (work) => database.background(work),
    }),
    /** Decides when to ask the provider for a person's current identity. */
    identityRecheck: identityRecheck({ ...shared, allowedUsers }),
    /** Computes which scopes of a grant are still allowed. */
    effectiveScopes: effectiveScopesBy({ ...config, baseUrl, permissions }),
  };
}
