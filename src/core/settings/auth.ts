/**
 * The settings of `AUTH_STRATEGY`: which callers are admitted, and how they are
 * authenticated.
 * @module
 */
import { isAddressEntry } from "../oauth/allowed_users.ts";
import { issuerId, type TrustedIssuer } from "../oauth/subject.ts";
import type { TokenShape } from "../oauth/credential.ts";
import { PROVIDER } from "./provider.ts";
import {
  CREDENTIALS,
  JWT,
  type JwtConfig,
  parseBearerTokens,
  parseJwt,
} from "./credentials.ts";
import { assertionSetting, type OAuthConfig, parseOAuth } from "./oauth.ts";
import { renameFor } from "./providers.ts";
import { type Exposure, SERVER } from "./server.ts";
import { type NamedSetting, type Settings, settingsOf } from "./setting.ts";
import { BOOLEAN_SHAPE, listOf, oneOf, refuseText } from "./shapes.ts";

/** The settings of each configured strategy; without any, everyone may call. */
export interface AuthConfig {
  oauth?: OAuthConfig;
  jwt?: JwtConfig;
  bearer?: { tokens: readonly string[] };
  apiKey?: { keys: readonly string[]; header: string };
  /**
   * True if callers without credentials may use tools, resources and prompts
   * that need no scope.
   */
  anonymous?: boolean;
}

/** True if everyone who can reach the server may call. */
export function isOpenToAll(
  { oauth, jwt, bearer, apiKey }: AuthConfig,
): boolean {
  return !(oauth || jwt || bearer || apiKey);
}

const STRATEGIES = ["none", "oauth", "bearer", "api_key", "jwt"] as const;

const CHOICE = listOf("strategies", oneOf(STRATEGIES).parse);

export const AUTH = settingsOf({
  AUTH_STRATEGY: {
    guards: true,
    words:
      "`none` (everyone), `oauth` (people sign in), `bearer` or `api_key` " +
      "(static credentials), `jwt` (tokens of other authorization " +
      "servers); or several of the last four: the form of a token decides " +
      "which one checks it.",
    shape: {
      wants: `none, or one or several of ${STRATEGIES.slice(1).join(", ")}`,
      parse: (text) => {
        const chosen = CHOICE.parse(text);
        const isOnce = new Set(chosen).size === chosen.length;
        const isAlone = chosen.length === 1 || !chosen.includes("none");
        if (!isAlone) {
          refuseText(
            "none lets everyone in; AUTH_ANONYMOUS=true lets strangers use " +
              "what needs no scope",
          );
        }
        return isOnce ? chosen : refuseText();
      },
    },
    default: ["none"],
    fix: "Use oauth for sign-in, or several such as oauth,bearer; none lets " +
      "everyone in",
  },
  AUTH_ANONYMOUS: {
    words: "Lets callers who present nothing use what needs no scope. See " +
      "docs/access.md.",
    shape: BOOLEAN_SHAPE,
    default: false,
  },
});

/**
 * Settings that are of use only with an `AUTH_STRATEGY`, which was perhaps
 * forgotten.
 */
const TELLTALES: readonly (readonly [NamedSetting, string])[] = [
  [PROVIDER.OAUTH_PROVIDER, "oauth"],
  [PROVIDER.OAUTH_CLIENT_ID, "oauth"],
  [CREDENTIALS.BEARER_TOKEN, "bearer"],
  [CREDENTIALS.API_KEY, "api_key"],
  [JWT.JWT_ISSUER, "jwt"],
];

/**
 * Parses the settings of the configured strategies. Missing and wrong settings
 * become complaints; then the result must not be used.
 *
 * @param scopes all scopes of the server
 */
export function parseAuth(
  settings: Settings,
  exposure: Exposure,
  scopes: readonly string[] = [],
): AuthConfig {
  const chosen = settings.read(AUTH.AUTH_STRATEGY);
  complainOfTelltales(settings);
  const has = (strategy: typeof STRATEGIES[number]) =>
    chosen.some((it) => it === strategy);
  if (has("oauth") || has("jwt")) requireBaseUrl(settings, exposure);
  const auth: AuthConfig = {};
  if (has("oauth")) auth.oauth = parseOAuth(settings, exposure, scopes);
  if (has("jwt")) auth.jwt = parseJwt(settings);
  if (auth.oauth) complainOfNamesakes(settings, auth.oauth, auth.jwt);
  if (auth.oauth && auth.jwt) doubtTwoSubjects(settings, auth.oauth, auth.jwt);
  if (auth.oauth) doubtBlockedAddresses(settings, auth.oauth, auth.jwt);
  if (has("bearer")) {
    const taken: TokenShape[] = auth.oauth ? ["own"] : [];
    if (auth.jwt) taken.push("jwt");
    auth.bearer = parseBearerTokens(settings, taken);
  }
  if (has("api_key")) {
    auth.apiKey = {
      keys: settings.require(CREDENTIALS.API_KEY),
      header: settings.read(CREDENTIALS.API_KEY_HEADER),
    };
  }
  if (settings.read(AUTH.AUTH_ANONYMOUS)) {
    auth.anonymous = true;
    // Without a strategy, scopes would stop callers who have no way to sign in.
    if (isOpenToAll(auth)) {
      settings.complain(AUTH.AUTH_ANONYMOUS, {
        got: settings.text(AUTH.AUTH_ANONYMOUS),
        wants: "an AUTH_STRATEGY by which callers can become known",
        fix:
          "Without a strategy everyone may use everything: leave it unset, " +
          "or set AUTH_STRATEGY=oauth",
      });
    }
  }
  return auth;
}

/**
 * Complains of an issuer at the host of a custom provider. The provider's
 * subjects begin with its host, so a person of the issuer could be taken for
 * one of the provider.
 */
function complainOfNamesakes(
  settings: Settings,
  { providers, assertionIssuers }: OAuthConfig,
  jwt?: JwtConfig,
): void {
  for (const { id, key, config } of providers) {
    if (config.provider !== "custom" || !config.userinfoUrl) continue;
    const place = renameFor(key)(PROVIDER.OAUTH_USERINFO_URL).name;
    const complain = (
      setting: NamedSetting | undefined,
      issuers: readonly TrustedIssuer[] = [],
    ) => {
      const namesake = issuers.find((issuer) => issuerId(issuer) === id);
      if (!setting || !namesake) return;
      settings.complain(setting, {
        got: namesake.issuer,
        wants: `issuers elsewhere than at the host of ${place}, whose people ` +
          "could be taken for theirs",
        fix: "Where they are the same people, use OAUTH_PROVIDER=oidc with " +
          `OAUTH_ISSUER=${namesake.issuer}`,
      });
    };
    complain(assertionSetting(settings), assertionIssuers);
    complain(JWT.JWT_ISSUER, jwt?.issuers);
  }
}

/**
 * The hosts of providers' issuers, keyed by the prefix of the provider's
 * subjects.
 */
const HOSTS: Readonly<Record<string, string>> = {
  google: "accounts.google.com",
  microsoft: "login.microsoftonline.com",
  gitlab: "gitlab.com",
};

/**
 * Warns if people of one issuer have two subjects: one by sign-in and one by
 * JWT.
 */
function doubtTwoSubjects(
  settings: Settings,
  { providers }: OAuthConfig,
  { issuers }: JwtConfig,
): void {
  for (const { id, config } of providers) {
    const own = "issuer" in config && config.issuer
      ? new URL(config.issuer).host
      : HOSTS[config.provider];
    const known = issuers.find(({ issuer }) =>
      config.provider in HOSTS && new URL(issuer).host === own
    );
    if (known === undefined) continue;
    settings.doubts.push(
      `People of ${config.provider} have two subjects here, ${id}:… where they ` +
        `sign in and ${issuerId(known)}#… where they come with a token of ` +
        "JWT_ISSUER: block, end and erase both",
    );
  }
}

/**
 * Warns if people are blocked by e-mail address, but may call with tokens that
 * contain none.
 */
function doubtBlockedAddresses(
  settings: Settings,
  { blocked, assertionIssuers }: OAuthConfig,
  jwt?: JwtConfig,
): void {
  if (!blocked.some(isAddressEntry)) return;
  const from = [
    ...jwt ? ["JWT_ISSUER"] : [],
    ...assertionIssuers.length > 0 ? [assertionSetting(settings)!.name] : [],
  ];
  if (from.length === 0) return;
  settings.doubts.push(
    "OAUTH_BLOCKED: an address is known of who comes with a token of " +
      `${from.join(" or ")} only if the token has it as email, or a ` +
      "connection of theirs here: block these people by their subject",
  );
}

/**
 * Complains of credentials without `AUTH_STRATEGY`, a mistake that would admit
 * everyone.
 */
function complainOfTelltales(settings: Settings): void {
  const { name: variable } = AUTH.AUTH_STRATEGY;
  if (settings.text(AUTH.AUTH_STRATEGY) !== undefined) return;
  // A misspelt name of `AUTH_STRATEGY` is reported already.
  if (settings.complaints.some((it) => it.variable === variable)) return;
  const telltale = TELLTALES.find(([it]) => settings.text(it) !== undefined);
  // Read, so that misspelt names of these settings are reported.
  if (!telltale) return TELLTALES.forEach(([it]) => settings.read(it));
  const [{ name }, strategy] = telltale;
  settings.complain(AUTH.AUTH_STRATEGY, {
    wants: `${strategy}, because ${name} is set`,
    fix: `Use AUTH_STRATEGY=${strategy}, or none to let everyone in`,
  });
}

/**
 * Requires `BASE_URL` if other machines can reach the server. Without it,
 * clients would be told to sign in at a loopback address.
 */
function requireBaseUrl(
  settings: Settings,
  { deployed, loopback }: Exposure,
): void {
  if (settings.text(SERVER.BASE_URL) || loopback && !deployed) return;
  settings.complain(SERVER.BASE_URL, {
    wants: "the public address, because other machines can reach this server " +
      "and clients must be told where to sign in",
    fix: "Use the address people type, such as https://tools.example.com, or " +
      "HOST=127.0.0.1 for this machine only",
  });
}
