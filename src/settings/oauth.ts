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
import {
  parsePermissions,
  type PermissionRule,
} from "../auth/rules/permissions.ts";
import { issuerId, MACHINE_ID } from "../auth/rules/subject.ts";
import {
  parseProvider,
  type ProviderConfig,
  providerId,
} from "./application.ts";
import { CLIENTS, parseClients } from "./clients.ts";
import { parseLifetimes } from "./lifetimes.ts";
import type { Reach } from "./server.ts";
import { type Settings, settingsOf } from "./setting.ts";
import { listOf, text, wholeNumber } from "./shapes.ts";

/** `AUTH_STRATEGY=oauth`: our own authorization server in front of a provider. */
export interface OAuthConfig {
  provider: ProviderConfig;
  /** Subjects, verified e-mails and `@domain`s that may sign in; empty: all. */
  allowedUsers: readonly string[];
  /** The same notation, for people who may see everyone's grants. */
  admins: readonly string[];
  /**
   * The number of days for which a connection's latest calls are kept; 0: none.
   */
  ledgerDays: number;
  /** Clients that the operator set up. */
  clients: readonly Client[];
  policy: ClientPolicy;
  lifetimes: Lifetimes;
  /** Identity providers whose assertions let clients in without a page. */
  assertionIssuers: readonly TrustedIssuer[];
  /**
   * The scopes that people may be granted; undefined: everyone may be granted
   * everything.
   */
  permissions?: readonly PermissionRule[];
  /** Client ID metadata documents; an empty list of domains allows all. */
  metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
}

/**
 * Lists the prefixes of subjects, first that of people who sign in on a page.
 */
export function subjectIds(
  { provider, assertionIssuers }: OAuthConfig,
): [string, ...string[]] {
  return [providerId(provider), ...assertionIssuers.map(issuerId), MACHINE_ID];
}

const USERS = {
  shape: listOf("subjects, e-mail addresses or @domains"),
  default: [],
  example: "jo@example.com,@example.org",
} as const;

/** The settings of people who sign in. */
export const PEOPLE = settingsOf({
  OAUTH_ALLOWED_USERS: {
    ...USERS,
    words: "Who may sign in: subjects, verified e-mail addresses, `@domain`.",
    unset: "everyone the provider knows",
  },
  OAUTH_ADMINS: {
    ...USERS,
    words: "Who sees everyone's connections on `/account`.",
    unset: "no one",
  },
  OAUTH_LEDGER_DAYS: {
    words: "For how many days `/account` shows the latest tool calls of a " +
      "connection: tool, time and outcome, never arguments; `0` keeps none.",
    shape: wholeNumber("days", 365),
    default: 30,
  },
  OAUTH_PERMISSIONS: {
    words: "Who may be granted what: `who=scope scope; who=scope`. Who is a " +
      "subject, a verified e-mail address, `@domain`, `group:`, `role:`, " +
      "`org:` or `team:` with a name, or `*` for everyone; a scope may be " +
      "`*`. See docs/access.md.",
    shape: text("entries who=scope scope, separated by semicolons"),
    unset: "everyone everything",
    example: "@example.com=*; group:staff=*",
  },
});

/** Parses the settings of the authorization server. */
export function parseOAuth(
  settings: Settings,
  reach: Reach,
  scopes: readonly string[],
): OAuthConfig {
  const provider = parseProvider(settings, reach);
  return {
    provider,
    allowedUsers: settings.read(PEOPLE.OAUTH_ALLOWED_USERS),
    admins: settings.read(PEOPLE.OAUTH_ADMINS),
    ledgerDays: settings.read(PEOPLE.OAUTH_LEDGER_DAYS),
    clients: parseClients(settings),
    lifetimes: parseLifetimes(settings),
    policy: {
      registration: settings.read(CLIENTS.OAUTH_REGISTRATION),
      redirectHosts: settings.read(CLIENTS.OAUTH_REDIRECT_HOSTS),
      trusted: settings.read(CLIENTS.OAUTH_TRUSTED_CLIENTS),
    },
    assertionIssuers: settings.read(CLIENTS.OAUTH_ASSERTION_ISSUERS),
    permissions: readPermissions(settings, scopes),
    metadataDocuments: {
      // Developers may be offline, and clients without a document can register
      // instead.
      enabled: settings.read(CLIENTS.CIMD_ENABLED) ??
        provider.provider !== "dev",
      allowedDomains: settings.read(CLIENTS.CIMD_ALLOWED_DOMAINS),
    },
  };
}

/** Reads the permissions and complains of every wrong entry. */
function readPermissions(
  settings: Settings,
  scopes: readonly string[],
): readonly PermissionRule[] | undefined {
  const got = settings.read(PEOPLE.OAUTH_PERMISSIONS);
  if (got === undefined) return undefined;
  const { rules, complaints } = parsePermissions(got, scopes);
  for (const got of complaints) {
    settings.complain(PEOPLE.OAUTH_PERMISSIONS, {
      got,
      fix: scopes.length > 0
        ? `There are these scopes: ${scopes.join(" ")}, and * for all`
        : "Nothing here needs a scope: leave it unset",
    });
  }
  return rules;
}
