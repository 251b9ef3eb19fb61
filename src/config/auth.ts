/**
 * The settings of `AUTH_STRATEGY`: who may call, and who says so.
 *
 * @module
 */
import * as z from "zod";
import { parsePermissions, type PermissionRule } from "../oauth/permissions.ts";
import type { Settings, Variable } from "./environment.ts";
import {
  LIST,
  parseProvider,
  type ProviderConfig,
  serverUrl,
  TEXT,
} from "./application.ts";

/** Settings of the chosen `AUTH_STRATEGY`. */
export type AuthConfig =
  | { strategy: "none" }
  | OAuthConfig
  | { strategy: "bearer"; tokens: readonly string[] }
  | { strategy: "api_key"; keys: readonly string[]; header: string }
  | JwtConfig;

/** `AUTH_STRATEGY=oauth`: our own authorization server in front of a provider. */
export interface OAuthConfig {
  strategy: "oauth";
  provider: ProviderConfig;
  /** Subjects, verified e-mails and `@domain`s that may sign in; empty: all. */
  allowedUsers: readonly string[];
  /** The same notation, for people who may see everybody's grants. */
  admins: readonly string[];
  /** Who may be granted what; undefined: everybody everything. */
  permissions?: readonly PermissionRule[];
  /** Client ID metadata documents; an empty list of domains allows all. */
  metadataDocuments: { enabled: boolean; allowedDomains: readonly string[] };
}

/** `AUTH_STRATEGY=jwt`: tokens of somebody else's authorization server. */
export interface JwtConfig {
  strategy: "jwt";
  issuer: string;
  audience: string;
  jwksUrl: string;
}

const STRATEGIES = ["none", "oauth", "bearer", "api_key", "jwt"] as const;

const STRATEGY = {
  schema: z.enum(STRATEGIES),
  wants: `one of ${STRATEGIES.join(", ")}`,
  fix: "Use AUTH_STRATEGY=none to let everybody in, or oauth for sign-in.",
};

/** What each strategy cannot do without, to notice a forgotten AUTH_STRATEGY. */
const TELLTALES = {
  OAUTH_PROVIDER: "oauth",
  OAUTH_CLIENT_ID: "oauth",
  BEARER_TOKEN: "bearer",
  API_KEY: "api_key",
  JWT_ISSUER: "jwt",
} as const;

/** Shorter ones are guessed, and nothing slows a guess down here. */
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

/** Words for a setting that is on unless it is switched off. */
export const BOOLEAN = {
  schema: z.enum(["true", "false", "1", "0"]).transform((text) =>
    text === "true" || text === "1"
  ),
  wants: "true or false",
  fix: "Leave it unset for the usual.",
};

const HEADER_NAME = {
  schema: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/).toLowerCase(),
  wants: "the name of a header",
  fix: "Leave it unset for x-api-key.",
};

/**
 * Parses the settings of the chosen strategy; what is missing or wrong
 * becomes complaints, and the result is then of no use.
 *
 * @param place `deployed`: on a public platform; `loopback`: only this machine
 * can reach the server
 * @param scopes what there is to grant
 */
export function parseAuth(
  settings: Settings,
  place: { deployed: boolean; loopback: boolean },
  scopes: readonly string[] = [],
): AuthConfig {
  const strategy = settings.read("AUTH_STRATEGY", STRATEGY);
  switch (strategy) {
    case undefined:
      complainOfTelltales(settings);
      return { strategy: "none" };
    case "none":
      return { strategy };
    case "oauth":
      return parseOAuth(settings, place, scopes);
    case "bearer": {
      const tokens = settings.require("BEARER_TOKEN", {
        schema: SECRETS,
        wants:
          `the token that clients must send, of at least ${MIN_SECRET_CHARACTERS} ASCII characters`,
        fix: "Make one with: openssl rand -base64 32.",
        secret: true,
      });
      return { strategy, tokens: tokens ?? [] };
    }
    case "api_key": {
      const keys = settings.require("API_KEY", {
        schema: SECRETS,
        wants:
          `the key that clients must send, of at least ${MIN_SECRET_CHARACTERS} ASCII characters`,
        fix: "Make one with: openssl rand -base64 32.",
        secret: true,
      });
      const header = settings.read("API_KEY_HEADER", HEADER_NAME);
      return { strategy, keys: keys ?? [], header: header ?? "x-api-key" };
    }
    case "jwt":
      requireBaseUrl(settings, place);
      return {
        strategy,
        issuer: settings.require(
          "JWT_ISSUER",
          serverUrl("the issuer of the tokens", "https://login.example.com"),
        ) ?? "",
        audience: settings.require("JWT_AUDIENCE", {
          schema: TEXT,
          wants: "what the tokens name as their audience",
          fix: "It is usually the address of this server's /mcp.",
        }) ?? "",
        jwksUrl: settings.require(
          "JWT_JWKS_URL",
          serverUrl(
            "the issuer's keys",
            "https://login.example.com/.well-known/jwks.json",
          ),
        ) ?? "",
      };
  }
}

/** A server with credentials in its settings is hardly meant to be open. */
function complainOfTelltales(settings: Settings): void {
  if (settings.text("AUTH_STRATEGY") !== undefined) return;
  for (const [variable, strategy] of Object.entries(TELLTALES)) {
    if (settings.text(variable as Variable) === undefined) continue;
    settings.complain({
      variable: "AUTH_STRATEGY",
      wants: `${strategy}, because ${variable} is set`,
      fix: `Use AUTH_STRATEGY=${strategy}, or none to let everybody in.`,
    });
    return;
  }
}

/** Without it clients are told the address of the machine that they run on. */
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

/** Every entry that is wrong is told. */
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
  requireBaseUrl(settings, place);
  const users = {
    schema: LIST,
    wants: "subjects, e-mail addresses or @domains, separated by commas",
    fix: "For example: jo@example.com,@example.org.",
  };
  const provider = parseProvider(settings, place);
  return {
    strategy: "oauth",
    provider,
    allowedUsers: settings.read("OAUTH_ALLOWED_USERS", users) ?? [],
    admins: settings.read("OAUTH_ADMINS", users) ?? [],
    permissions: readPermissions(settings, scopes),
    metadataDocuments: {
      // Whoever tries things out may be offline, and clients that could name
      // a document then register instead.
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
