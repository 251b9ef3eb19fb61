/**
 * The settings of one sign-in provider.
 *
 * @module
 */
import {
  type ProviderApplication,
  type ProviderConfig,
  PROVIDERS,
} from "./application.ts";
import type { Exposure } from "./server.ts";
import { type NamedSetting, type Settings, settingsOf } from "./setting.ts";
import {
  anyText,
  ISSUER_URL_SHAPE,
  listOf,
  lowerCase,
  oneOf,
  refuseText,
  SERVER_URL_SHAPE,
  textMatching,
} from "./shapes.ts";

/**
 * The fix for a missing registration at the provider. It contains `BASE_URL`.
 */
const REGISTER = "Register an application at the provider, with exactly the " +
  "callback address BASE_URL/oauth/provider-callback";

/** Matches the name of one of several providers, in variables and in a path. */
const LISTED_NAME = /^[a-z][a-z0-9]{0,19}$/;

export const PROVIDER = settingsOf({
  OAUTH_PROVIDER: {
    guards: true,
    words: "`github`, `google`, `microsoft`, `gitlab`, `oidc` (any OpenID " +
      "provider, with `OAUTH_ISSUER`), `custom` (with the addresses " +
      "below), or `dev` (built in, on loopback only). Or several, or " +
      "names of your own, each with settings such as " +
      "`OAUTH_GITHUB_CLIENT_ID`. See docs/access.md.",
    shape: {
      wants: `one of ${PROVIDERS.join(", ")}; or several names, each once, ` +
        "of small letters and digits",
      parse: (text) => {
        const names = listOf("").parse(text);
        if (names.length === 1) return [oneOf(PROVIDERS).parse(text)];
        const isEachOnce = new Set(names).size === names.length;
        return isEachOnce && names.every((name) => LISTED_NAME.test(name))
          ? names
          : refuseText();
      },
    },
    fix: "Use OAUTH_PROVIDER=dev to try the flow with nothing configured",
  },
  OAUTH_PROVIDER_NAME: {
    words: "The name of the provider on pages.",
    shape: textMatching("a name of up to 40 characters", /^.{1,40}$/u),
    unset: "its own name, or its host",
    example: "Example ID",
  },
  OAUTH_CLIENT_ID: {
    guards: true,
    words:
      "Your application at the provider. Its callback address is exactly " +
      "`BASE_URL/oauth/provider-callback`; with several providers it ends " +
      "in `/` and the provider's name.",
    shape: anyText("your application's client ID at the provider"),
    default: "",
    fix: REGISTER,
  },
  OAUTH_CLIENT_SECRET: {
    words: "The secret of that application.",
    shape: anyText("your application's client secret at the provider"),
    default: "",
    fix: REGISTER,
    secret: true,
  },
  OAUTH_PROVIDER_SCOPES: {
    words: "Scopes to ask of the provider.",
    shape: listOf("scopes of the provider"),
    unset: "what signing in needs",
    example: "openid email",
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
    words:
      "The claim in which an `oidc` or `custom` provider lists a person's " +
      "groups: a name, or a path such as `resource_access.tools.roles`.",
    shape: anyText("the name of a claim"),
    unset: "`groups`",
    example: "roles",
  },
  OAUTH_ISSUER: {
    guards: true,
    words: "The issuer of an `oidc` provider, of a tenant at `microsoft`, of " +
      "your own instance at `gitlab`.",
    shape: ISSUER_URL_SHAPE,
    example: "https://id.example.com",
  },
  OAUTH_PROVIDER_DOMAINS: {
    guards: true,
    words: "With several providers: the domains whose addresses are this " +
      "one's. An app that proposes such an address leads there, and no " +
      "other provider can vouch for it.",
    shape: lowerCase(listOf(
      "domains without an @",
      textMatching("", /^[a-z0-9-]+(\.[a-z0-9-]+)+$/).parse,
    )),
    default: [],
    unset: "none",
    example: "example.com,example.org",
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
    shape: SERVER_URL_SHAPE,
    example: `https://id.example.com/${name}`,
  };
}

/** Renames a setting to the name that it has for one of several providers. */
export type Rename = <S extends NamedSetting>(setting: S) => S;

export function parseProvider(
  settings: Settings,
  provider: typeof PROVIDERS[number],
  { rename, choice, deployed, loopback }: Exposure & {
    rename: Rename;
    /** The setting that selected the kind of provider. */
    choice: NamedSetting;
  },
): ProviderConfig {
  if (provider === "dev") {
    if (deployed || !loopback) {
      settings.complain(choice, {
        got: settings.text(choice),
        wants: "a real provider, because other machines can reach this server",
        fix: "dev lets anyone in under any name: use it on loopback only",
      });
    }
    return { provider: "dev" };
  }
  const read: typeof settings.read = (setting: NamedSetting) =>
    settings.read(rename(setting)) as never;
  const application: ProviderApplication = {
    name: read(PROVIDER.OAUTH_PROVIDER_NAME),
    clientId: settings.require(rename(PROVIDER.OAUTH_CLIENT_ID)),
    clientSecret: settings.require(rename(PROVIDER.OAUTH_CLIENT_SECRET)),
    scopes: read(PROVIDER.OAUTH_PROVIDER_SCOPES),
    extraAuthParams: read(PROVIDER.OAUTH_EXTRA_AUTH_PARAMS) ?? {},
    groupsClaim: read(PROVIDER.OAUTH_GROUPS_CLAIM),
  };
  const needed = (setting: typeof PROVIDER.OAUTH_TOKEN_URL) =>
    settings.require(rename(setting)) ?? "";
  switch (provider) {
    case "oidc":
      return {
        ...application,
        provider,
        issuer: needed(PROVIDER.OAUTH_ISSUER),
      };
    case "custom":
      return {
        ...application,
        provider,
        authorizationUrl: needed(PROVIDER.OAUTH_AUTHORIZATION_URL),
        tokenUrl: needed(PROVIDER.OAUTH_TOKEN_URL),
        userinfoUrl: needed(PROVIDER.OAUTH_USERINFO_URL),
        revocationUrl: read(PROVIDER.OAUTH_REVOCATION_URL),
      };
    default:
      return { ...application, provider, issuer: read(PROVIDER.OAUTH_ISSUER) };
  }
}

/** Returns the setting that identifies a provider, for a log or a page. */
export function providerSetting(
  config: ProviderConfig,
  rename: Rename,
): string {
  switch (config.provider) {
    case "dev":
      return "OAUTH_PROVIDER=dev";
    case "custom":
      return `${rename(PROVIDER.OAUTH_TOKEN_URL).name}=${config.tokenUrl}`;
    default:
      return config.issuer === undefined
        ? `OAUTH_PROVIDER=${config.provider}`
        : `${rename(PROVIDER.OAUTH_ISSUER).name}=${config.issuer}`;
  }
}
