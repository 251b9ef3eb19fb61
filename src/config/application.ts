/**
 * The settings of the sign-in provider.
 *
 * @module
 */
import * as z from "zod";
import type { Settings } from "./environment.ts";
import { isLoopback } from "../loopback.ts";
import { issuerId } from "../oauth/subject.ts";

/** Our application at the provider. */
export interface ProviderApplication {
  /** The provider's name for people; undefined: its own name, or its host. */
  name?: string;
  clientId: string;
  clientSecret: string;
  /** The scopes to ask of the provider; undefined: the provider's preset. */
  scopes?: readonly string[];
  /** Query parameters added to the provider's authorization request. */
  extraAuthParams: Readonly<Record<string, string>>;
  /** The claim that holds a person's groups: its name, or a path of dots. */
  groupsClaim?: string;
}

/** The sign-in provider. */
export type ProviderConfig =
  | { provider: "dev" }
  | ProviderApplication & {
    provider: "github" | "google" | "microsoft" | "gitlab";
    /**
     * The issuer of a tenant or a self-hosted instance in place of the public
     * one.
     */
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

/** Any text. */
export const TEXT = z.string();

/** Parses words between commas or spaces. */
export const LIST = z.string().transform((text) =>
  text.split(/[\s,]+/).filter((item) => item !== "")
);

/** True if a text is an https URL, or http on this machine. */
export function isServerUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && !url.hash && !url.username && !url.password &&
    (url.protocol === "https:" ||
      url.protocol === "http:" && isLoopback(url));
}

/** Server addresses, kept as they were written. */
const SERVER_URL = z.string().refine(isServerUrl);

/** Makes the messages for a setting that is a server's address. */
export function serverUrl(what: string, example: string) {
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

/** Parses `OAUTH_PROVIDER` and the settings it needs. */
export function parseProvider(
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
        fix: "dev lets anyone in under any name: use it on loopback only.",
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
    name: settings.read("OAUTH_PROVIDER_NAME", {
      schema: z.string().max(40),
      wants: "what people know the provider as, in 40 characters",
      fix: "For example: Example ID. Leave it unset for its host.",
    }),
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
    groupsClaim: settings.text("OAUTH_GROUPS_CLAIM"),
  };
}

/**
 * Makes the stable name of a provider, which keeps its subjects and grants apart
 * from another's: its name, or its address if the name could mean several. How
 * the settings spell the address makes no difference.
 */
export function providerId(config: ProviderConfig): string {
  switch (config.provider) {
    case "dev":
      return "dev";
    case "custom":
      return issuerId({ issuer: new URL(config.userinfoUrl).origin });
    case "github":
      // Nothing else of it is used.
      return config.issuer === undefined
        ? config.provider
        : issuerId({ issuer: new URL(config.issuer).origin });
    case "microsoft":
      // Tenants are known in any case of letters.
      return config.issuer === undefined
        ? config.provider
        : issuerId({ issuer: config.issuer.toLowerCase() });
    default:
      return config.issuer === undefined
        ? config.provider
        : issuerId({ issuer: config.issuer });
  }
}

/** The setting that says where the provider is, as it is set. */
export function providerSetting(config: ProviderConfig): string {
  switch (config.provider) {
    case "dev":
      return "OAUTH_PROVIDER=dev";
    case "custom":
      return `OAUTH_TOKEN_URL=${config.tokenUrl}`;
    default:
      return config.issuer === undefined
        ? `OAUTH_PROVIDER=${config.provider}`
        : `OAUTH_ISSUER=${config.issuer}`;
  }
}
