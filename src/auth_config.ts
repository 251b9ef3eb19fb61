/**
 * The settings of `AUTH_STRATEGY`: who may call, and who says so.
 *
 * @module
 */
import { z } from "zod";
import type { Settings, Variable } from "./config.ts";
import { isLoopback } from "./loopback.ts";

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

/** Our application at the provider. */
export interface ProviderApplication {
  clientId: string;
  clientSecret: string;
  /** What we ask of the provider; undefined: the provider's preset. */
  scopes?: readonly string[];
  /** Query parameters added to the provider's authorization request. */
  extraAuthParams: Readonly<Record<string, string>>;
}

/** Who people sign in with. */
export type ProviderConfig =
  | { provider: "dev" }
  | ProviderApplication & {
    provider: "github" | "google" | "microsoft" | "gitlab";
    /** A tenant's or a self-hosted instance's issuer in place of the public one. */
    issuer?: string;
  }
  | ProviderApplication & { provider: "oidc"; issuer: string }
  | ProviderApplication & {
    provider: "custom";
    authorizationUrl: string;
    tokenUrl: string;
    userinfoUrl: string;
    revocationUrl?: string;
  };

const STRATEGIES = ["none", "oauth", "bearer", "api_key", "jwt"] as const;

const STRATEGY = {
  schema: z.enum(STRATEGIES),
  wants: `one of ${STRATEGIES.join(", ")}`,
  fix: "Use AUTH_STRATEGY=none to let everybody in, or oauth for sign-in.",
};

const PROVIDERS = [
  "github",
  "google",
  "microsoft",
  "gitlab",
  "oidc",
  "custom",
  "dev",
] as const;

const PROVIDER = {
  schema: z.enum(PROVIDERS),
  wants: `one of ${PROVIDERS.join(", ")}`,
  fix: "Use OAUTH_PROVIDER=dev to try the flow with nothing configured.",
};

/** What each strategy cannot do without, to notice a forgotten AUTH_STRATEGY. */
const TELLTALES = {
  OAUTH_PROVIDER: "oauth",
  OAUTH_CLIENT_ID: "oauth",
  BEARER_TOKEN: "bearer",
  API_KEY: "api_key",
  JWT_ISSUER: "jwt",
} as const;

const TEXT = z.string();

function list(text: string): string[] {
  return text.split(/[\s,]+/).filter((item) => item !== "");
}

const LIST = z.string().transform(list);

/** A list of credentials that fit into a header. */
const SECRETS = LIST.refine((secrets) =>
  secrets.length > 0 && secrets.every((it) => /^[\x21-\x7E]+$/.test(it))
);

/** An https URL, or http on this machine, kept as it was written. */
const SERVER_URL = z.string().refine((text) => {
  const url = URL.parse(text);
  return url !== null && !url.hash && !url.username && !url.password &&
    (url.protocol === "https:" ||
      url.protocol === "http:" && isLoopback(url));
});

function serverUrl(what: string, example: string) {
  return {
    schema: SERVER_URL,
    wants: `${what}: an https URL`,
    fix: `It looks like ${example}.`,
  };
}

const PARAMETERS = {
  schema: z.string().transform((text) =>
    Object.fromEntries(new URLSearchParams(text))
  ),
  wants: "query parameters",
  fix: "Write them as in a URL: prompt=consent&access_type=offline.",
};

const BOOLEAN = {
  schema: z.enum(["true", "false", "1", "0"]).transform((text) =>
    text === "true" || text === "1"
  ),
  wants: "true or false",
  fix: "Leave it unset for true.",
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
 */
export function parseAuth(
  settings: Settings,
  place: { deployed: boolean; loopback: boolean },
): AuthConfig {
  const strategy = settings.read("AUTH_STRATEGY", STRATEGY);
  switch (strategy) {
    case undefined:
      complainOfTelltales(settings);
      return { strategy: "none" };
    case "none":
      return { strategy };
    case "oauth":
      return parseOAuth(settings, place);
    case "bearer": {
      const tokens = settings.require("BEARER_TOKEN", {
        schema: SECRETS,
        wants: "the token that clients must send",
        fix: "Make one with: openssl rand -base64 32.",
        secret: true,
      });
      return { strategy, tokens: tokens ?? [] };
    }
    case "api_key": {
      const keys = settings.require("API_KEY", {
        schema: SECRETS,
        wants: "the key that clients must send",
        fix: "Make one with: openssl rand -base64 32.",
        secret: true,
      });
      const header = settings.read("API_KEY_HEADER", HEADER_NAME);
      return { strategy, keys: keys ?? [], header: header ?? "x-api-key" };
    }
    case "jwt":
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

function parseOAuth(
  settings: Settings,
  place: { deployed: boolean; loopback: boolean },
): OAuthConfig {
  if (place.deployed && settings.text("BASE_URL") === undefined) {
    settings.complain({
      variable: "BASE_URL",
      wants: "the public address, because sign-in must return to it",
      fix: "Use the address people type, such as https://tools.example.com.",
    });
  }
  const users = {
    schema: LIST,
    wants: "subjects, e-mail addresses or @domains, separated by commas",
    fix: "For example: jo@example.com,@example.org.",
  };
  return {
    strategy: "oauth",
    provider: parseProvider(settings, place),
    allowedUsers: settings.read("OAUTH_ALLOWED_USERS", users) ?? [],
    admins: settings.read("OAUTH_ADMINS", users) ?? [],
    metadataDocuments: {
      enabled: settings.read("CIMD_ENABLED", BOOLEAN) ?? true,
      allowedDomains: settings.read("CIMD_ALLOWED_DOMAINS", {
        schema: LIST,
        wants: "host names separated by commas",
        fix: "For example: claude.ai,vscode.dev.",
      }) ?? [],
    },
  };
}

function parseProvider(
  settings: Settings,
  { deployed, loopback }: { deployed: boolean; loopback: boolean },
): ProviderConfig {
  const provider = settings.require("OAUTH_PROVIDER", PROVIDER);
  if (provider === undefined || provider === "dev") {
    if (provider && (deployed || !loopback)) {
      settings.complain({
        variable: "OAUTH_PROVIDER",
        got: provider,
        wants: "a real provider, because other machines can reach this server",
        fix: "dev lets anybody in under any name: use it on loopback only.",
      });
    }
    return { provider: "dev" };
  }
  const application = parseApplication(settings);
  const issuer = serverUrl("the provider's issuer", "https://id.example.com");
  switch (provider) {
    case "oidc":
      return {
        ...application,
        provider,
        issuer: settings.require("OAUTH_ISSUER", issuer) ?? "",
      };
    case "custom": {
      const endpoint = (name: string) =>
        serverUrl(
          `the provider's ${name} endpoint`,
          `https://id.example.com/${name}`,
        );
      return {
        ...application,
        provider,
        authorizationUrl: settings.require(
          "OAUTH_AUTHORIZATION_URL",
          endpoint("authorization"),
        ) ?? "",
        tokenUrl: settings.require("OAUTH_TOKEN_URL", endpoint("token")) ?? "",
        userinfoUrl: settings.require(
          "OAUTH_USERINFO_URL",
          endpoint("userinfo"),
        ) ?? "",
        revocationUrl: settings.read(
          "OAUTH_REVOCATION_URL",
          endpoint("revocation"),
        ),
      };
    }
    default:
      return {
        ...application,
        provider,
        issuer: settings.read("OAUTH_ISSUER", issuer),
      };
  }
}

function parseApplication(settings: Settings): ProviderApplication {
  const fix = "Register an application at the provider, with the callback " +
    "address BASE_URL/oauth/provider-callback.";
  return {
    clientId: settings.require("OAUTH_CLIENT_ID", {
      schema: TEXT,
      wants: "our application's client ID at the provider",
      fix,
    }) ?? "",
    clientSecret: settings.require("OAUTH_CLIENT_SECRET", {
      schema: TEXT,
      wants: "our application's client secret at the provider",
      fix,
      secret: true,
    }) ?? "",
    scopes: settings.read("OAUTH_SCOPES", {
      schema: LIST,
      wants: "scopes of the provider, separated by spaces",
      fix: "Leave it unset for what signing in needs.",
    }),
    extraAuthParams: settings.read("OAUTH_EXTRA_AUTH_PARAMS", PARAMETERS) ?? {},
  };
}
