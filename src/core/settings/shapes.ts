/**
 * Parsers of setting values, with the description of the form that each
 * accepts.
 *
 * @module
 */
import { fromBase64url } from "../crypto/crypto.ts";
import { parseServerUrl } from "../net/server_url.ts";
import { isNear, lettersOf } from "../../authoring/options.ts";

/**
 * A parser for the text of a setting, and a description of the accepted texts.
 * The parser throws a {@linkcode ShapeError}.
 */
export interface TextShape<T> {
  wants: string;
  parse(text: string): T;
}

/** A text that a parser does not accept. The message is added to `wants`. */
export class ShapeError extends Error {}

export function refuseText(detail?: string): never {
  throw new ShapeError(detail);
}

export function anyText(wants: string): TextShape<string> {
  return { wants, parse: (text) => text };
}

export function textMatching(
  wants: string,
  pattern: RegExp,
): TextShape<string> {
  return { wants, parse: (text) => pattern.test(text) ? text : refuseText() };
}

/** Makes the parser of one of several words. */
export function oneOf<T extends string>(words: readonly T[]): TextShape<T> {
  return {
    wants: `one of ${words.join(", ")}`,
    parse: (text) => {
      const found = words.find((word) => word === text);
      if (found !== undefined) return found;
      const letters = lettersOf(text);
      const meant = words.find((word) => isNear(letters, lettersOf(word)));
      return meant ? refuseText(`is ${meant} meant?`) : refuseText();
    },
  };
}

/** Makes the parser of a decimal integer between `min` and a maximum. */
export function wholeNumber(
  what: string,
  max: number,
  min = 0,
): TextShape<number> {
  const parse = (text: string) =>
    /^\d{1,9}$/.test(text) && Number(text) <= max && Number(text) >= min
      ? Number(text)
      : refuseText();
  return { wants: `${what} from ${min} to ${max}`, parse };
}

export const BOOLEAN_SHAPE: TextShape<boolean> = {
  wants: "true or false",
  parse: (text) =>
    /^(true|1)$/.test(text) || !/^(false|0)$/.test(text) && refuseText(),
};

/** Makes a parser that lowercases the text first. */
export function lowerCase<T>({ wants, parse }: TextShape<T>): TextShape<T> {
  return { wants, parse: (text) => parse(text.toLowerCase()) };
}

/**
 * Makes the parser of a list with commas or spaces. The list must not be empty,
 * because that could be read as everyone.
 */
export function listOf<T = string>(
  what: string,
  parse = (item: string, _nth: number, _all: string[]) => item as T,
): TextShape<T[]> {
  return {
    wants: `${what}, separated by commas`,
    parse: (text) => {
      const items = text.split(/[\s,]+/).filter((item) => item !== "");
      return items.length > 0 ? items.map(parse) : refuseText();
    },
  };
}

/** Different keys of 32 random bytes each, in base64 or base64url. */
export const ENCRYPTION_KEYS_SHAPE: TextShape<string[]> = listOf(
  "different keys of 32 random bytes in base64",
  (key, nth, all) => {
    const bytes = /^[\w+/-]{43}=?$/.test(key) && fromBase64url(key);
    const isKey = bytes && new Set(bytes).size > 1 && all.indexOf(key) === nth;
    return isKey ? key : refuseText(`number ${nth + 1} is none`);
  },
);

/** The URL of a server, unchanged: https, or http on loopback. */
export const SERVER_URL_SHAPE: TextShape<string> = {
  wants: "an https URL",
  parse: (text) => parseServerUrl(text) ? text : refuseText(),
};

/** An issuer, which has no query (RFC 8414 §2). */
export const ISSUER_URL_SHAPE: TextShape<string> = {
  wants: "an https URL without ?",
  parse: (text) =>
    text.includes("?") ? refuseText() : SERVER_URL_SHAPE.parse(text),
};
