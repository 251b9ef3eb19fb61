/**
 * The settings of `AUTH_STRATEGY`: the callers that are let in, and how they
 * are known.
 *
 * @module
 */
import * as z from "zod";
import { parsePermissions, type PermissionRule } from "../oauth/permissions.ts";
import type { Settings, Variable } from "./environment.ts";
import {
  isServerUrl,
  LIST,
  parseProvider,
  type ProviderConfig,
  providerId,
} from "./application.ts";
import type { Client } from "../oauth/client.ts";
import type { ClientPolicy } from "../oauth/client_policy.ts";
import { parseConfiguredClients } from "../oauth/configured_client.ts";
import {
  parseIssuer,
  type TrustedIssuer,
} from "../oauth/identity_assertion.ts";
import { issuerId, MACHINE_ID } from "../oauth/subject.ts";
import { type JwtConfig, parseJwt } from "./jwt.ts";
import { tokenShape } from "../oauth/token_shape.ts";

/** Settings of each chosen `AUTH_STRATEGY`; without any, everyone may call. */
export interface AuthConfig {
  oauth?: OAuthConfig;
  jwt?: JwtConfig;
  bearer?: { tokens: readonly string[] };
  apiKey?: { keys: readonly string[]; header: string };
  /** True if callers without credentials may use things that need no scope. */
  anonymous?: boolean;
}

/** True if everyone who reaches the server may call. */
export function isOpen({ oauth, jwt, bearer, apiKey }: AuthConfig): boolean {
  return !(oauth || jwt || bearer || apiKey);
}

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

const STRATEGIES = ["none", "oauth", "bearer", "api_key", "jwt"] as const;

const STRATEGY = {
  schema: LIST.pipe(z.array(z.enum(STRATEGIES)).min(1)).refine((chosen) =>
    new Set(chosen).size === chosen.length &&
    (chosen.length === 1 || !chosen.includes("none"))
  ),
  wants: `none, or some of ${STRATEGIES.slice(1).join(", ")}`,
  fix: "Use AUTH_STRATEGY=none to let everyone in, oauth for sign-in, or " +
    "several separated by commas, such as oauth,bearer.",
};

/** Settings that a strategy needs, to notice a forgotten AUTH_STRATEGY. */
const TELLTALES = {
  OAUTH_PROVIDER: "oauth",
  OAUTH_CLIENT_ID: "oauth",
  BEARER_TOKEN: "bearer",
  API_KEY: "api_key",
  JWT_ISSUER: "jwt",
} as const;

/**
 * The shortest secret: shorter ones can be guessed, and nothing slows guessing
 * down here.
 */
const MIN_SECRET_CHARACTERS = 16;

/** A list of credentials that fit into a header. */
const SECRETS = LIST.refine((secrets) =>
  secrets.length > 0 &&
  secrets.every((it) =>
    /^[\x21-\x7E]+$/.test(it) && it.length >= MIN_SECRET_CHARACTERS
  )
);

const HOST_NAMES = LIST.transform((names) =>
  names.map((name) => name.toLowerCase())
).refine((names) => names.every((name) => /^[a-z0-9.-]+$/.test(name)));

/** The parser and messages of a setting that is true or false. */
export const BOOLEAN = {
  schema: z.enum(["true", "false", "1", "0"]).transform((text) =>
    text === "true" || text === "1"
  ),
  wants: "true or false",
  fix: "Leave it unset for the default.",
};

const LEDGER_DAYS = {
  schema: z.string().regex(/^\d{1,3}$/).transform(Number)
    .refine((days) => days <= 365),
  wants: "days from 0 to 365",
  fix: "Leave it unset for 30; 0 keeps nothing.",
};

const HEADER_NAME = {
  schema: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/).toLowerCase(),
  wants: "the name of a header",
  fix: "Leave it unset for x-api-key.",
};

/**
 * Parses the settings of the chosen strategies. Missing or wrong settings
 * become complaints, and the result must then not be used.
 *
 * @param place `deployed`: on a public platform; `loopback`: only this machine
 * can reach the server
 * @param scopes all scopes of the server
 */
export function parseAuth(
  settings: Settings,
  place: { deployed: boolean; loopback: boolean },
  scopes: readonly string[] = [],
): AuthConfig {
  const chosen = settings.read("AUTH_STRATEGY", STRATEGY);
  if (chosen === undefined) complainOfTelltales(settings);
  const has = (strategy: typeof STRATEGIES[number]) =>
    chosen?.includes(strategy) === true;
  if (has("oauth") || has("jwt")) requireBaseUrl(settings, place);
  const auth: AuthConfig = {};
  if (has("oauth")) auth.oauth = parseOAuth(settings, place, scopes);
  if (has("jwt")) auth.jwt = parseJwt(settings);
  if (auth.oauth) complainOfNamesakes(settings, auth.oauth, auth.jwt);
  if (has("bearer")) auth.bearer = parseBearer(settings, auth);
  if (has("api_key")) auth.apiKey = parseApiKey(settings);
  if (settings.read("AUTH_ANONYMOUS", BOOLEAN)) {
    if (isOpen(auth)) complainOfOpenness(settings);
    auth.anonymous = true;
  }
  return auth;
}

function parseBearer(
  settings: Settings,
  { oauth, jwt }: AuthConfig,
): AuthConfig["bearer"] {
  const tokens = settings.require("BEARER_TOKEN", {
    schema: SECRETS,
    wants:
      `the token that clients must send, of at least ${MIN_SECRET_CHARACTERS} ASCII characters`,
    fix: "Make one with: openssl rand -base64 32.",
    secret: true,
  }) ?? [];
  // Such a token would be judged by another door, and always refused.
  const taken = { own: oauth, jwt, static: undefined };
  if (tokens.some((token) => taken[tokenShape(token)] !== undefined)) {
    settings.complain({
      variable: "BEARER_TOKEN",
      got: "(hidden)",
      wants: "tokens that do not look like those of the other strategies",
      fix: "Make one with: openssl rand -base64 32.",
    });
  }
  return { tokens };
}

function parseApiKey(settings: Settings): AuthConfig["apiKey"] {
  const keys = settings.require("API_KEY", {
    schema: SECRETS,
    wants:
      `the key that clients must send, of at least ${MIN_SECRET_CHARACTERS} ASCII characters`,
    fix: "Make one with: openssl rand -base64 32.",
    secret: true,
  });
  const header = settings.read("API_KEY_HEADER", HEADER_NAME);
  return { keys: keys ?? [], header: header ?? "x-api-key" };
}

/**
 * Complains if an issuer could have the same subjects as the people who sign
 * in, but its people are others: a custom provider is known only by its host,
 * where other issuers may be too.
 */
function complainOfNamesakes(
  settings: Settings,
  { provider, assertionIssuers }: OAuthConfig,
  jwt?: JwtConfig,
): void {
  if (provider.provider !== "custom" || !provider.userinfoUrl) return;
  const id = providerId(provider);
  const complain = (
    variable: Variable,
    issuers: readonly TrustedIssuer[] = [],
  ) => {
    const namesake = issuers.find((issuer) => issuerId(issuer) === id);
    if (namesake === undefined) return;
    settings.complain({
      variable,
      got: namesake.issuer,
      wants:
        "issuers elsewhere than at the host of OAUTH_USERINFO_URL, whose " +
        "people could be taken for theirs",
      fix: "Where they are the same people, use OAUTH_PROVIDER=oidc with " +
        `OAUTH_ISSUER=${namesake.issuer}.`,
    });
  };
  complain("OAUTH_ASSERTION_ISSUERS", assertionIssuers);
  // The people of the first issuer keep their subjects as they are.
  complain("JWT_ISSUER", jwt?.issuers.slice(1));
}

/**
 * Complains of credentials in the settings of a server that lets everyone in:
 * it is hardly meant to.
 */
function complainOfTelltales(settings: Settings): void {
  if (settings.text("AUTH_STRATEGY") !== undefined) return;
  for (const [variable, strategy] of Object.entries(TELLTALES)) {
    if (settings.text(variable as Variable) === undefined) continue;
    settings.complain({
      variable: "AUTH_STRATEGY",
      wants: `${strategy}, because ${variable} is set`,
      fix: `Use AUTH_STRATEGY=${strategy}, or none to let everyone in.`,
    });
    return;
  }
}

/** Complains of strangers who cannot sign in: scopes would not stop them. */
function complainOfOpenness(settings: Settings): void {
  settings.complain({
    variable: "AUTH_ANONYMOUS",
    got: "true",
    wants: "an AUTH_STRATEGY by which callers can become known",
    fix: "Without a strategy everyone may use everything: leave it unset, or " +
      "set AUTH_STRATEGY=oauth.",
  });
}

/**
 * Requires `BASE_URL`. Without it, clients elsewhere would be sent to the
 * loopback address.
 */
function requireBaseUrl(
  settings: Settings,
  { deployed, loopback }: { deployed: boolean; loopback: boolean },
): void {
  if (settings.text("BASE_URL") !== undefined || loopback && !deployed) return;
  settings.complain({
    variable: "BASE_URL",
    wants: "the public address, because other machines can reach this server " +
      "and clients must be told where to sign in",
    fix: "Use the address people type, such as https://tools.example.com, or " +
      "HOST=127.0.0.1 for this machine only.",
  });
}

function readPolicy(settings: Settings): ClientPolicy {
  return {
    registration: settings.read("OAUTH_REGISTRATION", BOOLEAN) ?? true,
    redirectHosts: settings.read("OAUTH_REDIRECT_HOSTS", {
      schema: LIST.transform((entries) =>
        entries.map((entry) => entry.toLowerCase())
      ).refine((entries) =>
        entries.length > 0 &&
        entries.every((entry) =>
          /^[a-z0-9.-]+$|^[a-z][a-z0-9+.-]*:$/.test(entry)
        )
      ),
      wants: "host names, localhost, or schemes with a colon, separated by " +
        "commas",
      fix: "For example: claude.ai,localhost,cursor:.",
    }) ?? [],
    trusted: settings.read("OAUTH_TRUSTED_CLIENTS", {
      schema: LIST,
      wants: "client IDs, or domains of metadata documents, separated by " +
        "commas",
      fix: "For example: intranet,claude.ai.",
    }) ?? [],
  };
}

function readClients(settings: Settings): readonly Client[] {
  const variable = "OAUTH_CLIENTS";
  const text = settings.text(variable);
  if (text === undefined) return [];
  try {
    return parseConfiguredClients(text, (name) => settings.text(name));
  } catch (error) {
    settings.complain({
      variable,
      got: "(hidden)",
      wants: "a JSON array of clients, or the path of a file with one: " +
        (error as Error).message,
      fix: "Use the names of RFC 7591, such as client_id and redirect_uris.",
    });
    return [];
  }
}

/** Reads the permissions and complains of every wrong entry. */
function readPermissions(
  settings: Settings,
  scopes: readonly string[],
): readonly PermissionRule[] | undefined {
  const variable = "OAUTH_PERMISSIONS";
  const text = settings.text(variable);
  if (text === undefined) return undefined;
  const { rules, complaints } = parsePermissions(text, scopes);
  for (const got of complaints) {
    settings.complain({
      variable,
      got,
      wants: "entries who=scope scope, separated by semicolons",
      fix: scopes.length > 0
        ? `There are these scopes: ${scopes.join(" ")}, and * for all.`
        : "Nothing here needs a scope: leave it unset.",
    });
  }
  return rules;
}

function parseOAuth(
  settings: Settings,
  place: { deployed: boolean; loopback: boolean },
  scopes: readonly string[],
): OAuthConfig {
  const users = {
    schema: LIST,
    wants: "subjects, e-mail addresses or @domains, separated by commas",
    fix: "For example: jo@example.com,@example.org.",
  };
  const provider = parseProvider(settings, place);
  return {
    provider,
    allowedUsers: settings.read("OAUTH_ALLOWED_USERS", users) ?? [],
    admins: settings.read("OAUTH_ADMINS", users) ?? [],
    ledgerDays: settings.read("OAUTH_LEDGER_DAYS", LEDGER_DAYS) ?? 30,
    clients: readClients(settings),
    policy: readPolicy(settings),
    assertionIssuers: settings.read("OAUTH_ASSERTION_ISSUERS", {
      schema: LIST.transform((entries) => entries.map(parseIssuer)).refine((
        issuers,
      ) =>
        issuers.length > 0 &&
        issuers.every(({ issuer }) => isServerUrl(issuer)) &&
        new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length
      ),
      wants: "the issuers of identity providers: https URLs, each once, " +
        "separated by commas, with #tenant behind one that serves several",
      fix: "It looks like https://acme.okta.com.",
    }) ?? [],
    permissions: readPermissions(settings, scopes),
    metadataDocuments: {
      // Developers may be offline, and clients without a document can register
      // instead.
      enabled: settings.read("CIMD_ENABLED", BOOLEAN) ??
        provider.provider !== "dev",
      allowedDomains: settings.read("CIMD_ALLOWED_DOMAINS", {
        schema: HOST_NAMES,
        wants: "host names separated by commas",
        fix: "For example: claude.ai,vscode.dev.",
      }) ?? [],
    },
  };
}
