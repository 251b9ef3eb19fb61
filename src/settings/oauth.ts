/**
 * The settings of `AUTH_STRATEGY=oauth`: our own authorization server in front
 * of a provider.
 *
 * @module
 */
import type { Client } from "../auth/rules/client.ts";
import type { ClientPolicy } from "../auth/rules/client_policy.ts";
import type { TrustedIssuer } from "../auth/rules/identity_assertion.ts";
import type { Lifetimes } from "../auth/rules/lifetimes.ts";
import type { Known } from "../auth/rules/list_entry.ts";
import type { PermissionRule } from "../auth/rules/permissions.ts";
import { issuerId, MACHINE_ID } from "../auth/rules/subject.ts";
import { CLIENTS, parseClients } from "./clients.ts";
import { parseLifetimes } from "./lifetimes.ts";
import { parsePeople, type PeopleConfig, readPermissions } from "./people.ts";
import { type ListedProviders, parseProviders } from "./providers.ts";
import type { Exposure } from "./server.ts";
import type { Settings } from "./setting.ts";

export interface OAuthConfig extends PeopleConfig {
  /** The providers that people sign in at, as they are listed. */
  providers: ListedProviders;
  /** Clients that the operator set up. */
  clients: readonly Client[];
  policy: ClientPolicy;
  lifetimes: Lifetimes;
  /** Identity providers whose assertions let clients in without a page. */
  assertionIssuers: readonly TrustedIssuer[];
  /** The scopes that people may be granted; undefined: everything. */
  permissions?: readonly PermissionRule[];
  /** Client ID metadata documents; an empty list of domains allows all. */
  metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
}

/** Lists the prefixes of subjects, those of providers first. */
export function subjectIds(
  { providers, assertionIssuers }: OAuthConfig,
): string[] {
  return [
    ...providers.map(({ id }) => id),
    ...assertionIssuers.map(issuerId),
    MACHINE_ID,
  ];
}

export function parseOAuth(
  settings: Settings,
  exposure: Exposure,
  scopes: readonly string[],
): OAuthConfig {
  const providers = parseProviders(settings, exposure);
  const clients = parseClients(settings);
  const assertionIssuers = settings.read(CLIENTS.OAUTH_ASSERTION_ISSUERS);
  const known = knownHere({ providers, clients, assertionIssuers });
  return {
    providers,
    ...parsePeople(settings, known),
    clients,
    lifetimes: parseLifetimes(settings),
    policy: {
      registration: settings.read(CLIENTS.OAUTH_REGISTRATION),
      redirectHosts: settings.read(CLIENTS.OAUTH_REDIRECT_HOSTS),
      trusted: settings.read(CLIENTS.OAUTH_TRUSTED_CLIENTS),
    },
    assertionIssuers,
    permissions: readPermissions(settings, scopes, known),
    metadataDocuments: {
      // Developers may be offline, and clients without a document can register
      // instead.
      enabled: settings.read(CLIENTS.CIMD_ENABLED) ??
        providers.some(({ config }) => config.provider !== "dev"),
      allowedDomains: settings.read(CLIENTS.CIMD_ALLOWED_DOMAINS),
    },
  };
}

/** Lists the people and clients that there can be with these settings. */
function knownHere(
  { providers, clients, assertionIssuers }: Pick<
    OAuthConfig,
    "providers" | "clients" | "assertionIssuers"
  >,
): Known {
  return {
    providers: providers.map(({ id, key, config }) => ({
      id,
      key,
      kind: config.provider,
    })),
    otherIds: assertionIssuers.map(issuerId),
    clientIds: clients.map(({ clientId }) => clientId),
  };
}
