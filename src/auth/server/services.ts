/**
 * The stores and rules that the endpoints of an authorization server share.
 *
 * @module
 */
import type { About } from "../../authoring/about.ts";
import type { Scopes } from "../../authoring/scope.ts";
import { type OAuthConfig, subjectIds } from "../../settings/oauth.ts";
import type { ListedProvider } from "../../settings/providers.ts";
import type { Logger } from "../../log/log.ts";
import { confirmation } from "../rules/confirmation.ts";
import type { Permissions } from "../rules/permissions.ts";
import type { ScopeInWords } from "../../pages/consent_page.tsx";
import { accountSessionStore } from "../../store/account_sessions.ts";
import { accessTokenStore } from "../../store/access_tokens.ts";
import { assertionStore } from "../../store/once.ts";
import { approvalStore } from "../../store/approvals.ts";
import { attemptStore } from "../../store/attempts.ts";
import { authorizationRequestStore } from "../../store/authorization_requests.ts";
import { blockStore } from "../../store/blocks.ts";
import { clientUseStore } from "../../store/client_uses.ts";
import { connectionStore } from "../../store/connections.ts";
import { codeStore } from "../../store/codes.ts";
import type { Database } from "../../store/database.ts";
import { type LedgerStore, ledgerStore } from "../../store/ledger.ts";
import { documentStore, type FetchDocument } from "../../store/documents.ts";
import { secretStore } from "../../store/secrets.ts";
import { grantStore } from "../../store/grants.ts";
import { peopleStore } from "../../store/people.ts";
import { refreshTokenStore } from "../../store/refresh_tokens.ts";
import type { SessionStore } from "../../store/sessions.ts";
import { stepFailureStore } from "../../store/step_failures.ts";
import { stepStore } from "../../store/steps.ts";
import { taskRunStore } from "../../store/task_runs.ts";
import { taskStore } from "../../store/tasks.ts";
import { waitStore } from "../../store/waits.ts";
import { upstreamTokenStore } from "../../store/upstream_tokens.ts";
import { providerTokens } from "../provider/provider_tokens.ts";
import type { Provider } from "../provider/provider.ts";
import { signInProviders } from "../provider/sign_in_providers.ts";
import { boundedFetch } from "../clients/fetch_bounds.ts";
import { signedInPeople } from "../account/signed_in.ts";
import { clientDirectory } from "../clients/client_directory.ts";
import { grantsEnd } from "../grants/end_grant.ts";
import { personData } from "../grants/person_data.ts";
import { bindingOf } from "../rules/grant.ts";
import { resourceOf } from "../rules/resource.ts";
import { mayHoldOf } from "./may_hold.ts";
import { providerChoice } from "../grants/provider_choice.ts";
import type { CheckRate, WaiveRate } from "../../http/rate_limit.ts";

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
  /** Makes a provider of the list. */
  provider(listed: ListedProvider): Provider;
  fetchDocument: FetchDocument;
  scopes: Scopes;
  permissions?: Permissions;
  inWords(scopes: readonly string[]): ScopeInWords[];
}

/** The shared parts of the endpoints. */
export type Services = ReturnType<typeof authorizationServices>;

/** The shared parts, with the limit of an endpoint. */
export type LimitedServices = Services & {
  checkRate: CheckRate;
  waiveRate: WaiveRate;
};

/** Opens the stores of an authorization server, and reads its rules. */
export function authorizationServices(options: AuthorizationServerOptions) {
  const { config, log, database, baseUrl, permissions } = options;
  const { clock } = database;
  const { metadataDocuments, allowedUsers, blocked, lifetimes } = config;
  const grants = grantStore(database);
  const secrets = secretStore(database);
  const documents = documentStore(
    database,
    boundedFetch(options.fetchDocument, { clock }),
  );
  const upstreamTokens = upstreamTokenStore(database);
  const assertions = assertionStore(database);
  const providers = signInProviders({
    listed: config.providers,
    baseUrl,
    make: options.provider,
  });
  const accountSessions = accountSessionStore(database);
  const tasks = taskStore(database);
  const waits = waitStore(database);
  const connections = connectionStore(database, grants);
  const accessTokens = accessTokenStore(database);
  const endGrants = grantsEnd({ ...options, grants, tasks });
  return {
    ...options,
    clock,
    /** The providers that people sign in at. */
    providers,
    /** The prefixes of all subjects. */
    subjectIds: subjectIds(config),
    /** People who may sign in; empty: everyone. */
    allowedUsers,
    /** People and clients who may nothing. */
    blocked,
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
    connections,
    requests: authorizationRequestStore(database),
    grants,
    people: peopleStore(database, grants),
    endGrants,
    accessTokens,
    personData: personData({
      ...options,
      accessTokens,
      accountSessions,
      blocks: blockStore(database),
      connections,
      endGrants,
      grants,
      // Some may have been kept before, even if none is now.
      ledger: options.ledger ?? ledgerStore(database, { keepSeconds: 0, log }),
      tasks,
      waits,
      bindingsOf: (subject) =>
        Promise.resolve([
          bindingOf({
            issuer: baseUrl,
            resource: resourceOf(baseUrl),
            subject,
          }),
        ]),
    }),
    clientUses: clientUseStore(database),
    codes: codeStore(database, lifetimes),
    refreshTokens: refreshTokenStore(database, lifetimes),
    lifetimes,
    waits,
    tasks,
    taskRuns: taskRunStore(database),
    steps: stepStore(database),
    stepFailures: stepFailureStore(database, log),
    accountSessions,
    /** Finds who is signed in to the account page. */
    signedIn: signedInPeople({
      baseUrl,
      providers,
      admins: config.admins,
      blocked,
      accountSessions,
    }),
    attempts: attemptStore(database, log),
    /** `OAUTH_ADMINS`. */
    admins: config.admins,
    configured: config.clients,
    policy: config.policy,
    choice: providerChoice({ ...options, providers }),
    providerTokens: providerTokens({
      providers,
      grants,
      upstreamTokens,
      clock,
    }),
    /** Decides when the provider is asked who a person is now. */
    confirmation: confirmation({
      allowedUsers,
      blocked,
      admins: config.admins,
      permissions,
    }),
    /** Tells what a grant's tokens may still be used for. */
    mayHold: mayHoldOf(options),
  };
}
