/**
 * The settings of the sign-in provider.
 *
 * @module
 */
import { issuerId } from "../auth/rules/subject.ts";
import type { Exposure } from "./server.ts";
import { type Settings, settingsOf } from "./setting.ts";
import { listOf, matching, oneOf, SERVER_URL, text } from "./shapes.ts";

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

const REGISTER = "Register an application at the provider, with the callback " +
  "address BASE_URL/oauth/provider-callback";

export const PROVIDER = settingsOf({
  OAUTH_PROVIDER: {
    words: "`github`, `google`, `microsoft`, `gitlab`, `oidc` (any OpenID " +
      "provider, with `OAUTH_ISSUER`), `custom` (with the addresses below), " +
      "or `dev`: a built-in one for trying it out, on loopback only.",
    shape: oneOf(PROVIDERS),
    fix: "Use OAUTH_PROVIDER=dev to try the flow with nothing configured",
  },
  OAUTH_PROVIDER_NAME: {
    words: "The name of the provider on pages.",
    shape: matching("a name of up to 40 characters", /^.{1,40}$/u),
    unset: "its own name, or its host",
    example: "Example ID",
  },
  OAUTH_CLIENT_ID: {
    words: "Your application at the provider. Its callback address there is " +
      "`BASE_URL/oauth/provider-callback`.",
    shape: text("our application's client ID at the provider"),
    default: "",
    fix: REGISTER,
  },
  OAUTH_CLIENT_SECRET: {
    words: "The secret of that application.",
    shape: text("our application's client secret at the provider"),
    default: "",
    fix: REGISTER,
    secret: true,
  },
  OAUTH_PROVIDER_SCOPES: {
    words: "Scopes that are asked of the provider.",
    shape: listOf("scopes of the provider"),
    unset: "what signing in needs",
    example: "openid email",
    formerly: "OAUTH_SCOPES",
  },
  OAUTH_EXTRA_AUTH_PARAMS: {
    words: "More query parameters for the provider's sign-in page.",
    shape: {
      wants: "query parameters",
      parse: (text): Record<string, string> =>
        Object.fromEntries(new URLSearchParams(text)),
    },
    example: "prompt=consent&access_type=offline",
  },
  OAUTH_GROUPS_CLAIM: {
    words: "The claim in which an `oidc` or `custom` provider lists a " +
      "person's groups: its name, or a path such as " +
      "`resource_access.tools.roles`.",
    shape: text("the name of a claim"),
    unset: "`groups`",
    example: "roles",
  },
  OAUTH_ISSUER: {
    words: "The issuer of an `oidc` provider; of a tenant or an instance of " +
      "your own at `microsoft` and `gitlab`.",
    shape: SERVER_URL,
    example: "https://id.example.com",
  },
  OAUTH_AUTHORIZATION_URL: endpoint("authorization"),
  OAUTH_TOKEN_URL: endpoint("token"),
  OAUTH_USERINFO_URL: endpoint("userinfo"),
  OAUTH_REVOCATION_URL: endpoint("revocation"),
});

function endpoint(name: string) {
  return {
    words: `The ${name} endpoint of a \`custom\` provider` +
      (name === "revocation" ? ", if it has one." : "."),
    shape: SERVER_URL,
    example: `https://id.example.com/${name}`,
  };
}

/** Parses `OAUTH_PROVIDER` and the settings it needs. */
export function parseProvider(
  settings: Settings,
  { deployed, loopback }: Exposure,
): ProviderConfig {
  const provider = settings.require(PROVIDER.OAUTH_PROVIDER);
  if (provider === undefined || provider === "dev") {
    if (provider && (deployed || !loopback)) {
      settings.complain(PROVIDER.OAUTH_PROVIDER, {
        got: provider,
        wants: "a real provider, because other machines can reach this server",
        fix: "dev lets anyone in under any name: use it on loopback only",
      });
    }
    return { provider: "dev" };
  }
  const application: ProviderApplication = {
    name: settings.read(PROVIDER.OAUTH_PROVIDER_NAME),
    clientId: settings.require(PROVIDER.OAUTH_CLIENT_ID),
    clientSecret: settings.require(PROVIDER.OAUTH_CLIENT_SECRET),
    scopes: settings.read(PROVIDER.OAUTH_PROVIDER_SCOPES),
    extraAuthParams: settings.read(PROVIDER.OAUTH_EXTRA_AUTH_PARAMS) ?? {},
    groupsClaim: settings.read(PROVIDER.OAUTH_GROUPS_CLAIM),
  };
  const needed = (setting: typeof PROVIDER.OAUTH_TOKEN_URL) =>
    settings.require(setting) ?? "";
  if (provider === "custom") {
    return {
      ...application,
      provider,
      authorizationUrl: needed(PROVIDER.OAUTH_AUTHORIZATION_URL),
      tokenUrl: needed(PROVIDER.OAUTH_TOKEN_URL),
      userinfoUrl: needed(PROVIDER.OAUTH_USERINFO_URL),
      revocationUrl: settings.read(PROVIDER.OAUTH_REVOCATION_URL),
    };
  }
  return provider === "oidc"
    ? { ...application, provider, issuer: needed(PROVIDER.OAUTH_ISSUER) }
    : {
      ...application,
      provider,
      issuer: settings.read(PROVIDER.OAUTH_ISSUER),
    };
}

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

/** The setting that says where the provider is, as it is set. */
export function providerSetting(config: ProviderConfig): string {
  if (config.provider === "custom") return `OAUTH_TOKEN_URL=${config.tokenUrl}`;
  return config.provider === "dev" || config.issuer === undefined
    ? `OAUTH_PROVIDER=${config.provider}`
    : `OAUTH_ISSUER=${config.issuer}`;
}
