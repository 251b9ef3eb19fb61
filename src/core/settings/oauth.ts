/**
 * The settings of `AUTH_STRATEGY=oauth`: this server's own authorization server
 * in front of a provider, and the lifetimes of grants and tokens.
 * @module
 */
import type { Client } from "../oauth/client.ts";
import type { ClientPolicy } from "../oauth/client_policy.ts";
import type { Lifetimes } from "../oauth/lifetimes.ts";
import type { KnownNames } from "../oauth/list_entry.ts";
import type { PermissionRule } from "../oauth/permissions.ts";
import { issuerId, MACHINE_ID, type TrustedIssuer } from "../oauth/subject.ts";
import { isForEveryTenant } from "./application.ts";
import { CLIENTS, parseClients } from "./clients.ts";
import { parsePeople, type PeopleConfig, readPermissions } from "./people.ts";
import { type ListedProviders, parseProviders } from "./providers.ts";
import type { Exposure } from "./server.ts";
import { type IssuerSetting, type Settings, settingsOf } from "./setting.ts";
import { wholeNumber } from "./shapes.ts";

export interface OAuthConfig extends PeopleConfig {
  /** The providers at which people sign in, in the order of the setting. */
  providers: ListedProviders;
  /** The clients of `OAUTH_CLIENTS`. */
  clients: readonly Client[];
  policy: ClientPolicy;
  lifetimes: Lifetimes;
  /**
   * Identity providers whose assertions (ID-JAG) let clients get tokens without
   * a page.
   */
  assertionIssuers: readonly TrustedIssuer[];
  /**
   * The operator's permissions; undefined if everyone may be granted every
   * scope.
   */
  permissions?: readonly PermissionRule[];
  /** Client ID metadata documents. An empty list of domains accepts all. */
  metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
}

/** Lists the prefixes of all subjects, providers first. */
export function subjectIds(
  { providers, assertionIssuers }: OAuthConfig,
): string[] {
  return [
    ...providers.map(({ id }) => id),
    ...assertionIssuers.map(issuerId),
    MACHINE_ID,
  ];
}

/**
 * Finds the setting for issuers of assertions; undefined if no feature has it.
 */
export function assertionSetting(
  { options: { features = [] } }: Settings,
): IssuerSetting | undefined {
  return features.map(({ settings }) => settings?.assertionIssuers)
    .find((setting) => setting);
}

export function parseOAuth(
  settings: Settings,
  exposure: Exposure,
  scopes: readonly string[],
): OAuthConfig {
  // Parsed first, because clients name variables, which must not be reported as
  // misspelt.
  const clients = parseClients(settings);
  const providers = parseProviders(settings, exposure);
  const asserting = assertionSetting(settings);
  const assertionIssuers = asserting ? settings.read(asserting) : [];
  const known: KnownNames = {
    providers: providers.map(({ id, key, config }) => ({
      id,
      key,
      kind: config.provider,
      isForEveryTenant: isForEveryTenant(config),
    })),
    otherIds: assertionIssuers.map(issuerId),
    clientIds: clients.map(({ clientId }) => clientId),
  };
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
      // Developers may be offline, and clients can register dynamically
      // instead.
      enabled: settings.read(CLIENTS.CIMD_ENABLED) ??
        providers.some(({ config }) => config.provider !== "dev"),
      allowedDomains: settings.read(CLIENTS.CIMD_ALLOWED_DOMAINS),
    },
  };
}

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

/**
 * The settings of lifetimes. A shorter lifetime also shortens open grants and
 * tokens.
 */
export const LIFETIMES = settingsOf({
  OAUTH_ACCESS_TOKEN_MINUTES: {
    words: "The minutes for which a client's access token is good.",
    shape: wholeNumber("minutes", 24 * 60, 5),
    default: 60,
  },
  OAUTH_IDLE_DAYS: {
    words: "The days without use after which a connection ends.",
    shape: wholeNumber("days", 365, 1),
    default: 30,
  },
  OAUTH_CONNECTION_DAYS: {
    words: "The days after which a connection ends in any case.",
    shape: wholeNumber("days", 365, 1),
    default: 90,
  },
  OAUTH_PERSONAL_TOKEN_DAYS: {
    words: "The most days for which a person's own access token is good.",
    shape: wholeNumber("days", 365, 1),
    default: 365,
  },
});

function parseLifetimes(settings: Settings): Lifetimes {
  return {
    accessTokenSeconds: settings.read(LIFETIMES.OAUTH_ACCESS_TOKEN_MINUTES) *
      MINUTE,
    idleSeconds: settings.read(LIFETIMES.OAUTH_IDLE_DAYS) * DAY,
    grantSeconds: settings.read(LIFETIMES.OAUTH_CONNECTION_DAYS) * DAY,
    personalTokenSeconds: settings.read(LIFETIMES.OAUTH_PERSONAL_TOKEN_DAYS) *
      DAY,
  };
}
