/**
 * The settings of the strategies without a sign-in: static credentials, and the
 * tokens of other authorization servers.
 *
 * @module
 */
import { type TokenShape, tokenShape } from "../oauth/credential.ts";
import { type Settings, settingsOf } from "./setting.ts";
import {
  ISSUER_URL_SHAPE,
  listOf,
  lowerCase,
  SERVER_URL_SHAPE,
  textMatching,
  wholeNumber,
} from "./shapes.ts";

/**
 * A setting for credentials. The minimum length is there because shorter ones
 * could be guessed.
 */
const SECRET = {
  shape: listOf(
    "credentials of at least 16 ASCII characters",
    textMatching("", /^[\x21-\x7E]{16,}$/).parse,
  ),
  default: [],
  fix: "Make one with: openssl rand -base64 32",
  secret: true,
  guards: true,
} as const;

export const CREDENTIALS = settingsOf({
  BEARER_TOKEN: {
    ...SECRET,
    words: "The token that clients send, of at least 16 characters (`openssl " +
      "rand -base64 32`); several while you change it.",
  },
  API_KEY: { ...SECRET, words: "`api_key`: the same in a header of its own." },
  API_KEY_HEADER: {
    words: "`api_key`: that header.",
    shape: lowerCase(
      textMatching("the name of a header", /^[!#$%&'*+.^_`|~0-9a-z-]+$/),
    ),
    default: "x-api-key",
  },
});

/**
 * Parses the tokens of `bearer`.
 *
 * @param taken the shapes of tokens that other strategies accept
 */
export function parseBearerTokens(
  settings: Settings,
  taken: readonly TokenShape[],
): { tokens: readonly string[] } {
  const tokens = settings.require(CREDENTIALS.BEARER_TOKEN);
  // Another strategy would check such a token, and always refuse it.
  if (tokens.some((token) => taken.includes(tokenShape(token)))) {
    settings.complain(CREDENTIALS.BEARER_TOKEN, {
      got: "(hidden)",
      wants: "tokens that do not look like those of the other strategies",
    });
  }
  return { tokens };
}

/** `AUTH_STRATEGY=jwt`: access tokens of other authorization servers. */
export interface JwtConfig {
  issuers: readonly { issuer: string; jwksUrl: string }[];
  /** The accepted audiences; a token must have one of them. */
  audiences: readonly string[];
  /** The accepted difference between an issuer's clock and this server's. */
  leewaySeconds: number;
  /**
   * The accepted `typ`s in lower case without `application/`. "" accepts a
   * token without `typ`.
   */
  types: readonly string[];
  /** The claims that may contain scopes. The first one present is used. */
  scopeClaims: readonly string[];
  /** The claims that may name the client. The first one present is used. */
  clientClaims: readonly string[];
}

/**
 * RFC 9068 §2.1 requires `at+jwt`; many servers write `JWT` or nothing. A token
 * with another `typ`, such as a logout token, is not an access token.
 */
const USUAL_TYPES = ["", "jwt", "at+jwt"];

export const JWT = settingsOf({
  JWT_ISSUER: {
    guards: true,
    words: "The issuers whose tokens are taken, such as " +
      "`https://login.example.com`.",
    shape: listOf("https URLs without ?", ISSUER_URL_SHAPE.parse),
    default: [],
    fix: "It looks like https://login.example.com",
  },
  JWT_AUDIENCE: {
    words: "The audience of tokens for this server, usually its `/mcp` " +
      "address; of several, a token names one.",
    shape: listOf("audiences of the tokens"),
    default: [],
    example: "https://tools.example.com/mcp",
  },
  JWT_JWKS_URL: {
    words: "The address of each issuer's keys, in the same order.",
    shape: listOf("https URLs", SERVER_URL_SHAPE.parse),
    default: [],
    example: "https://login.example.com/.well-known/jwks.json",
  },
  JWT_LEEWAY: {
    words: "Seconds by which clocks may differ, up to 300.",
    shape: wholeNumber("seconds", 300),
    default: 60,
  },
  JWT_TYPE: {
    guards: true,
    words: "The `typ` that tokens must have, or several.",
    shape: listOf(
      "types of tokens",
      (typ) => typ.toLowerCase().replace(/^application\//, ""),
    ),
    unset: "at+jwt, JWT or none",
    example: "at+jwt",
  },
  JWT_SCOPE_CLAIM: {
    words: "The claims that hold scopes: the first one present counts; a dot " +
      "leads into an object.",
    shape: listOf("names of claims"),
    default: ["scope", "scp"],
  },
  JWT_CLIENT_CLAIM: {
    words: "The claims that name the client, such as Okta's `cid`: the first " +
      "one present counts.",
    shape: listOf("names of claims"),
    default: ["client_id", "azp"],
  },
});

/** Parses the issuers of accepted tokens, and complains of wrong settings. */
export function parseJwt(settings: Settings): JwtConfig {
  const issuers = settings.require(JWT.JWT_ISSUER);
  const audiences = settings.require(JWT.JWT_AUDIENCE);
  const jwksUrls = settings.require(JWT.JWT_JWKS_URL);
  const isWhole = issuers.length > 0 && jwksUrls.length > 0;
  if (isWhole && issuers.length !== jwksUrls.length) {
    settings.complain(JWT.JWT_JWKS_URL, {
      got: jwksUrls.join(","),
      wants: "one address for each of JWT_ISSUER, in the same order",
      fix: `JWT_ISSUER names ${issuers.length}`,
    });
  }
  return {
    issuers: issuers.map((issuer, index) => ({
      issuer,
      jwksUrl: jwksUrls[index] ?? "",
    })),
    audiences,
    leewaySeconds: settings.read(JWT.JWT_LEEWAY),
    types: settings.read(JWT.JWT_TYPE) ?? USUAL_TYPES,
    scopeClaims: settings.read(JWT.JWT_SCOPE_CLAIM),
    clientClaims: settings.read(JWT.JWT_CLIENT_CLAIM),
  };
}
