/**
 * The stores and rules that the endpoints of an authorization server share.
 *
 * @module
 */
import type { OperatorInfo } from "../../authoring/about.ts";
import type { AccountService } from "../../authoring/account.ts";
import type { Scopes } from "../../authoring/scope.ts";
import { type OAuthConfig, subjectIds } from "../settings/oauth.ts";
import type { ListedProvider } from "../settings/providers.ts";
import type { Logger } from "../log/log.ts";
import { identityRecheck } from "../oauth/identity_recheck.ts";
import { effectiveScopesBy } from "../oauth/effective_scopes.ts";
import type { Permissions } from "../oauth/permissions.ts";
import { basePathOf } from "../net/url.ts";
import type { ToolInWords } from "../pages/names.tsx";
import type { ScopeInWords } from "../pages/scopes.ts";
import { accessTokenStore } from "../store/access_tokens.ts";
import { assertionStore } from "../store/once.ts";
import { approvalStore } from "../store/approvals.ts";
import { attemptStore } from "../store/attempts.ts";
import { authorizationRequestStore } from "../store/authorization_requests.ts";
import { blockStore } from "../store/blocks.ts";
import { clientUseStore } from "../store/client_uses.ts";
import { clientConnectionStore } from "../store/connections.ts";
import { codeStore } from "../store/codes.ts";
import type { Database } from "../kv/database.ts";
import type { OpenedServer } from "../store/opened_server.ts";
import { documentStore, type FetchDocument } from "../store/documents.ts";
import { secretStore } from "../store/secrets.ts";
import { grantStore } from "../store/grants.ts";
import { peopleStore } from "../store/people.ts";
import { refreshTokenStore } from "../store/refresh_tokens.ts";
import type { SessionStore } from "../store/sessions.ts";
import { upstreamTokenStore } from "../store/upstream_tokens.ts";
import { providerTokens } from "../provider/provider_tokens.ts";
import type { Provider } from "../provider/provider.ts";
import { signInProviders } from "../provider/sign_in_providers.ts";
import { rateLimitedFetch } from "./clients/fetch_bounds.ts";
import { clientDirectory } from "./clients/client_directory.ts";
import { grantsEnd, type PersonRecords } from "./grants/end_grant.ts";
import {
  personData,
  type PersonStores,
  type PersonTasks,
} from "./grants/person_data.ts";
import { providerChoice } from "./grants/provider_choice.ts";

/** Lists the hosts of client ID metadata documents that the settings name. */
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
   * The session store of the engine, because a process has one cache of
   * sessions.
   */
  sessions: SessionStore;
  /** The tasks of people, if a feature stores tasks. */
  tasks?: PersonTasks;
  /** The server, for the pages of features. */
  server: OpenedServer;
  /** The records of features about people; sign-ins come first. */
  records: readonly PersonRecords[];
  /** The latest calls of connections, if there is a ledger. */
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
  /**
   * Lists the tools that a client with some scopes can use; tools that are not
   * read-only come first.
   */
  toolsWithin(
    scopes: readonly string[],
  ): (ToolInWords & { needsScope: boolean })[];
  /** Lists the services at which a client with some scopes can act. */
  servicesWithin(scopes: readonly string[]): AccountService[];
  /** True if a tool needs an account at a service. */
  needsAccount(tool: string, service: string): boolean;
  /**
   * Returns the title of a tool; undefined if it has none, or is not served.
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
    approvals: approvalStore(database),
    assertions: assertionStore(database),
    attempts: attemptStore(database, log),
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

/** Makes the stores and the rules of an authorization server. */
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
  const endGrants = grantsEnd(shared);
  const { serverTitle, about } = options;
  /** The props that every page gets. */
  const frame = { base: basePathOf(baseUrl), serverTitle, about };
  return {
    ...shared,
    frame,
    allowedUsers,
    configured,
    lifetimes,
    policy,
    providers,
    /** The prefixes of the subjects of all people and machines. */
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
    /** Decides when the provider is asked again who a person is. */
    identityRecheck: identityRecheck({ ...shared, allowedUsers }),
    /** Computes the scopes of a grant that are still effective. */
    effectiveScopes: effectiveScopesBy({ ...config, baseUrl, permissions }),
  };
}
