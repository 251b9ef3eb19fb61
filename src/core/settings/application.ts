/**
 * The configuration of a sign-in provider, and its stable id.
 *
 * @module
 */
import { issuerId } from "../oauth/subject.ts";

export interface ProviderApplication {
  /** The provider's name on pages; by default the preset's, or the host. */
  name?: string;
  clientId: string;
  clientSecret: string;
  /** The scopes to request from the provider; by default the preset's. */
  scopes?: readonly string[];
  /** Further query parameters for the provider's authorization request. */
  extraAuthParams: Readonly<Record<string, string>>;
  /** The claim that holds a person's groups: its name, or a path with dots. */
  groupsClaim?: string;
}

export type ProviderConfig =
  | { provider: "dev" }
  | ProviderApplication & {
    provider: "github" | "google" | "microsoft" | "gitlab";
    /** The issuer of a tenant, or of a self-hosted instance. */
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
 * Returns the stable id of a provider, by which its subjects and grants differ
 * from those of others: its kind, or its URL if the kind could mean several
 * providers. Different spellings of the URL give the same id.
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
      // Tenant names are case-insensitive.
      return issuerId({ issuer: issuer.toLowerCase() });
    default:
      return issuerId({ issuer });
  }
}

/** Matches the id of a Microsoft tenant, or of an object in it. */
export const ENTRA_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Microsoft's aliases for many tenants. */
const MANY_TENANTS = ["common", "organizations", "consumers"];

/**
 * True if people of every Microsoft tenant can sign in. Anyone can make a
 * tenant, and give its people any role of an application.
 */
export function isForEveryTenant(
  config: { provider: ProviderConfig["provider"]; issuer?: string },
): boolean {
  if (config.provider !== "microsoft") return false;
  const { issuer } = config;
  const tenant = issuer && URL.parse(issuer)?.pathname.split("/")[1];
  return !tenant || MANY_TENANTS.includes(tenant.toLowerCase());
}
