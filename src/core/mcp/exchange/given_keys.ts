/**
 * The keys and tokens that the author's code of one call was given. Nothing that
 * the code throws or returns may carry one further: a service may quote its key,
 * and an error the service. The engine hides every usual form of a key: as it
 * is, encoded for an address, a JSON text or HTML, and in base64.
 *
 * @module
 */
import { ToolError } from "../../../authoring/tool.ts";
import { base64 } from "../../crypto/crypto.ts";
import { isRefusal } from "../../errors.ts";
import { isObject } from "../../json.ts";
import {
  errorNameOf,
  framesOf,
  isError,
  isInstance,
  reasonsOf,
  textOf,
  wholeMessageOf,
} from "../../thrown.ts";

/** The text in place of a key. */
const HIDDEN = "(hidden)";

/** The fewest characters of a key: fewer keep no secret, and are everywhere. */
const MIN_CHARACTERS = 4;

/** The fewest base64 letters by which a key is known. */
const MIN_LETTERS = 6;

/** The most backslashes in a row that a key may have in other encodings. */
const MAX_BACKSLASHES = 16;

/** The longest expression of a key that is looked for in errors of others. */
const MAX_SOURCE = 32_768;

/** The most keys whose forms a process remembers. */
const MAX_KEYS = 1000;

/** A form of a key. */
interface Form {
  /** Letters and digits: a text without them does not have the form. */
  probe: string;
  /** The regular expression that finds it. */
  source: string;
}

type Forms = ReadonlyMap<string, readonly Form[]>;

/** The forms of the keys that were given last. */
const RECENT = new Map<string, readonly Form[]>();

function formsOf(key: string): readonly Form[] {
  const known = RECENT.get(key);
  if (known) return known;
  const inForm = new URLSearchParams([["", key]]).toString().slice(1);
  const inJson = JSON.stringify(key).slice(1, -1);
  const texts = new Set([key, encodeURIComponent(key), inForm, inJson]);
  const forms: Form[] = [
    { probe: probeOf(key), source: sourceOf(key) },
    ...[...texts].flatMap(lettersOf).map((letters) => ({
      probe: probeOf(letters),
      // The letters at both ends have bits of the key, too.
      source: `[\\w+/-]?${sourceOf(letters)}(?:[\\w+/-]={0,2})?`,
    })),
  ];
  if (RECENT.size >= MAX_KEYS) RECENT.delete(RECENT.keys().next().value!);
  RECENT.set(key, forms);
  return forms;
}

/** Finds the longest letters and digits of a text: no encoding changes them. */
function probeOf(text: string): string {
  const runs = text.match(/[A-Za-z0-9]+/g) ?? [""];
  return runs.reduce((most, run) => run.length > most.length ? run : most);
}

/**
 * Lists the base64 letters that a text always has within a longer one, for each
 * of the three places at which it may begin there.
 */
function lettersOf(text: string): string[] {
  const bytes = new TextEncoder().encode(text);
  return [0, 1, 2].flatMap((before) => {
    const padded = new Uint8Array(before + bytes.length);
    padded.set(bytes, before);
    const letters = base64(padded).slice(
      Math.ceil(before * 8 / 6),
      Math.floor(padded.length * 8 / 6),
    );
    return letters.length < MIN_LETTERS ? [] : [letters];
  });
}

/** Makes the regular expression of a text whose signs may be encoded. */
function sourceOf(text: string): string {
  return text.replace(/\\+|[^A-Za-z0-9]/gu, signSource);
}

/** Other spellings of a sign: in HTML, in base64url, and in a form. */
const SPELLINGS: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
  "+": "-",
  "/": "_",
  " ": "\\+",
};

/**
 * Makes the regular expression of one sign, or of some backslashes. No text
 * makes it slow: the backslashes before a sign are few.
 */
function signSource(signs: string): string {
  const code = signs.codePointAt(0)!;
  const sign = String.fromCodePoint(code);
  const bytes = [...new TextEncoder().encode(sign)];
  const encoded = [
    bytes.map((byte) => `%(?:25)*${hexadecimal(byte, 2)}`).join(""),
    Array.from(
      { length: sign.length },
      (_, nth) => `\\\\{1,8}u${hexadecimal(sign.charCodeAt(nth), 4)}`,
    ).join(""),
    `&(?:amp;)*#(?:0*${code}|[xX]0*${hexadecimal(code, 1)});`,
    ...SPELLINGS[sign] ? [SPELLINGS[sign]] : [],
  ].join("|");
  if (sign !== "\\") {
    return `(?:\\\\{0,8}${
      sign.replace(/[\^$.*+?()[\]{}|/-]/, "\\$&")
    }|${encoded})`;
  }
  const count = signs.length;
  return count > MAX_BACKSLASHES
    ? `\\\\{${count}}`
    : `(?:\\\\{${count},${8 * count}}|(?:${encoded}){${count}})`;
}

/** Makes the expression of a hexadecimal number in upper and lower case. */
function hexadecimal(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0")
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** Lists the forms that a text may have: a quick look. */
function heldIn(text: string, keys: Forms): Form[] {
  const held: Form[] = [];
  for (const forms of keys.values()) {
    for (const form of forms) if (text.includes(form.probe)) held.push(form);
  }
  return held;
}

/** Hides keys in a text. */
function hide(text: string, keys: Forms): string {
  const held = heldIn(text, keys);
  if (held.length === 0) return text;
  // The longest first: a key may begin with another.
  const sources = held.map(({ source }) => source)
    .sort((a, b) => b.length - a.length);
  try {
    return text.replace(new RegExp(sources.join("|"), "g"), HIDDEN);
  } catch {
    // Too long for an expression, as a key of a thousand signs: hide it all.
    return HIDDEN;
  }
}

/** Gives an error without keys in place of one that holds one. */
function clean(thrown: unknown, keys: Forms): unknown {
  // A refusal has the engine's own words, not an author's.
  if (keys.size === 0 || isRefusal(thrown)) return thrown;
  let isClean = true;
  const hideIn = (text: string) => {
    const hidden = hide(text, keys);
    isClean &&= hidden === text;
    return hidden;
  };
  const copies = [thrown, ...reasonsOf(thrown)].map((error) => {
    const message = isError(error) ? wholeMessageOf(error) : textOf(error);
    const hidden = hideIn(message);
    const copy = isInstance(error, ToolError)
      ? new ToolError(hidden)
      : new Error(hidden);
    copy.name = hideIn(errorNameOf(error) ?? copy.name);
    copy.stack = `${copy.name}: ${hidden}\n${hideIn(framesOf(error))}`;
    return copy;
  });
  if (isClean) return thrown;
  copies.reduce((error, reason) => error.cause = reason);
  return copies[0];
}

/**
 * Takes the keys that were given last out of an error of an author's code whose
 * call is not known any more. A key of few letters or of many signs is passed
 * over: its person could hide the errors of all others.
 */
export function withoutRecentKeys(thrown: unknown): unknown {
  const keys = [...RECENT].filter(([, [{ probe, source }]]) =>
    probe.length >= MIN_CHARACTERS && source.length <= MAX_SOURCE
  );
  return clean(thrown, new Map(keys));
}

/** Gives the keys of an author's code, to which others are added. */
export function givenTo(code: { given?: GivenKeys }): GivenKeys {
  return code.given ??= new GivenKeys();
}

export class GivenKeys {
  readonly #all = new Map<string, readonly Form[]>();
  readonly #ofAccounts = new Map<string, readonly Form[]>();

  /** Notes the key of an account, or an access token there. */
  add(key: string): void {
    this.addToken(key);
    const forms = this.#all.get(key);
    if (forms) this.#ofAccounts.set(key, forms);
  }

  /**
   * Notes an access token of the sign-in provider. An author asks for it by name,
   * and may return it: it is hidden in errors alone.
   */
  addToken(token: string): void {
    if (token.length < MIN_CHARACTERS || this.#all.has(token)) return;
    this.#all.set(token, formsOf(token));
  }

  /** Gives an error without keys in place of one that holds one. */
  clean(thrown: unknown): unknown {
    return clean(thrown, this.#all);
  }

  /** Hides keys in a text. */
  hide(text: string): string {
    return hide(text, this.#all);
  }

  /** True for the key of an account. */
  isKey(value: unknown): boolean {
    return this.#ofAccounts.has(value as string);
  }

  /**
   * Hides the keys of accounts in data. Gives it back as it is if it has none, or
   * if JSON cannot express it.
   */
  cleanData<T>(value: T): T {
    if (this.#ofAccounts.size === 0) return value;
    let text: string | undefined;
    try {
      text = JSON.stringify(value);
    } catch {
      // It can be neither sent nor stored.
    }
    if (text === undefined) return value;
    const clean = this.cleanJson(text);
    return clean === text ? value : JSON.parse(clean);
  }

  /** Hides the keys of accounts in the data of a JSON text. */
  cleanJson(text: string): string {
    if (heldIn(text, this.#ofAccounts).length === 0) return text;
    const hidden = (text: string) => hide(text, this.#ofAccounts);
    const data = JSON.parse(text, (_name, member) => {
      if (typeof member === "string") return hidden(member);
      if (!isObject(member)) return member;
      return Object.fromEntries(
        Object.entries(member).map(([name, value]) => [hidden(name), value]),
      );
    });
    return JSON.stringify(data);
  }
}
