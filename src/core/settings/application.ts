/**
 * One sign-in provider, as it is set up, and its stable name.
 *
 * @module
 */
import { issuerId } from "../oauth/subject.ts";

export interface ProviderApplication {
  /** The provider's name on pages; by default its own name, or its host. */
  name?: string;
  clientId: string;
  clientSecret: string;
  /** The scopes to request at the provider; by default its preset. */
  scopes?: readonly string[];
  /** Query parameters added to the provider's authorization request. */
  extraAuthParams: Readonly<Record<string, string>>;
  /** The claim that holds a person's groups: its name, or a path with dots. */
  groupsClaim?: string;
}

export type ProviderConfig =
  | { provider: "dev" }
  | ProviderApplication & {
    provider: "github" | "google" | "microsoft" | "gitlab";
    /** The issuer of a tenant, or of an instance of one's own. */
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

/** The kinds of providers. */
export const PROVIDERS = [
  "github",
  "google",
  "microsoft",
  "gitlab",
  "oidc",
  "custom",
  "dev",
] as const;

/**
 * Makes the stable name of a provider, which keeps its subjects and grants apart
 * from another's: its name, or its address if the name could mean several. How
 * the settings spell the address makes no difference.
 */
export function providerId(config: ProviderConfig): string {
  if (config.provider === "custom") {
    return issuerId({ issuer: new URL(config.userinfoUrl).origin });
  }
  if (config.provider === "dev" || config.issuer === undefined) {
    return config.provider;
  }
  const { provider, issuer } = config;
  switch (provider) {
    case "github":
      // Only the origin of the issuer is used.
      return issuerId({ issuer: new URL(issuer).origin });
    case "microsoft":
      // The names of tenants are not case-sensitive.
      return issuerId({ issuer: issuer.toLowerCase() });
    default:
      return issuerId({ issuer });
  }
}

/** The form of the ID of a tenant, or of an object in one, at Microsoft. */
export const ENTRA_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Names that Microsoft has for many tenants together. */
const MANY_TENANTS = ["common", "organizations", "consumers"];

/**
 * True if the people of every tenant at Microsoft sign in there. Anyone can make
 * a tenant, and give its people the roles of an application as they like.
 */
export function isForEveryTenant(
  config: { provider: ProviderConfig["provider"]; issuer?: string },
): boolean {
  if (config.provider !== "microsoft") return false;
  const { issuer } = config;
  const tenant = issuer && URL.parse(issuer)?.pathname.split("/")[1];
  return !tenant || MANY_TENANTS.includes(tenant.toLowerCase());
}
