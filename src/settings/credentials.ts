/**
 * The settings of `AUTH_STRATEGY=bearer` and `api_key`: static credentials.
 *
 * @module
 */

import { type TokenShape, tokenShape } from "../auth/rules/credential.ts";
import { type Settings, settingsOf } from "./setting.ts";
import { listOf, lowerCase, matching } from "./shapes.ts";

/**
 * Static credentials. Shorter ones can be guessed, and nothing slows guessing
 * down here.
 */
const SECRET = {
  shape: listOf(
    "credentials of at least 16 ASCII characters",
    matching("", /^[\x21-\x7E]{16,}$/).parse,
  ),
  default: [],
  fix: "Make one with: openssl rand -base64 32",
  secret: true,
} as const;

export const CREDENTIALS = settingsOf({
  BEARER_TOKEN: {
    ...SECRET,
    words: "The token that clients send, of at least 16 characters (`openssl " +
      "rand -base64 32`); several, separated by commas, while you change from " +
      "one to the next.",
  },
  API_KEY: {
    ...SECRET,
    words: "`api_key`: the same in a header of its own.",
  },
  API_KEY_HEADER: {
    words: "`api_key`: that header.",
    shape: lowerCase(
      matching("the name of a header", /^[!#$%&'*+.^_`|~0-9a-z-]+$/),
    ),
    default: "x-api-key",
  },
});

/**
 * Parses the tokens of `bearer`.
 *
 * @param taken the shapes of tokens that belong to other doors
 */
export function parseBearerTokens(
  settings: Settings,
  taken: readonly TokenShape[],
): { tokens: readonly string[] } {
  const tokens = settings.require(CREDENTIALS.BEARER_TOKEN);
  // Another door would check such a token, and always refuse it.
  if (tokens.some((token) => taken.includes(tokenShape(token)))) {
    settings.complain(CREDENTIALS.BEARER_TOKEN, {
      got: "(hidden)",
      wants: "tokens that do not look like those of the other strategies",
    });
  }
  return { tokens };
}

export function parseApiKeys(
  settings: Settings,
): { keys: readonly string[]; header: string } {
  return {
    keys: settings.require(CREDENTIALS.API_KEY),
    header: settings.read(CREDENTIALS.API_KEY_HEADER),
  };
}
