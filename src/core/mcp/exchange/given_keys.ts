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
import { LatestMap } from "../../latest_map.ts";
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

/** The most signs of a key that is looked for in mixed encodings. */
const MAX_SIGNS = 100;

/** The longest text of a thrown value that is no error and no text. */
const MAX_TEXT_CHARACTERS = 16_000;

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
  const inAddress = encodeURIComponent(key.toWellFormed());
  const texts = [...new Set([key, inAddress, inForm, inJson])];
  const forms: Form[] = [
    ...hasManySigns(key) ? texts.map(literally) : [
      { probe: probeOf(key), source: sourceOf(key) },
    ],
    ...texts.flatMap(lettersOf).map((letters) => {
      const { probe, source } = hasManySigns(letters)
        ? literally(letters)
        : { probe: probeOf(letters), source: sourceOf(letters) };
      // The letters at both ends have bits of the key, too.
      return { probe, source: `[\\w+/-]?${source}(?:[\\w+/-]={0,2})?` };
    }),
  ];
  if (RECENT.size >= MAX_KEYS) RECENT.delete(RECENT.keys().next().value!);
  RECENT.set(key, forms);
  return forms;
}

/** True for a text whose signs would make too long an expression. */
function hasManySigns(text: string): boolean {
  return text.replace(/[A-Za-z0-9]/g, "").length > MAX_SIGNS;
}

/** Makes the form of a text as it is. */
function literally(text: string): Form {
  const source = text.replace(/[\^$.*+?()[\]{}|/\\-]/g, "\\$&");
  return { probe: text, source };
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

/**
 * Makes the regular expression of a text whose signs may be encoded. A sign and
 * the backslashes before it are one part, which ends with the sign, so that no
 * text can be divided among the parts in more than one way.
 */
function sourceOf(text: string): string {
  return text.replace(
    /(\\*)([^A-Za-z0-9\\])|\\+/gu,
    (all, before: string | undefined, sign: string | undefined) =>
      sign === undefined
        ? backslashes(all.length, 0)
        : backslashes(before!.length, 8) + signSource(sign),
  );
}

/**
 * Makes the expression of some backslashes, each encoded or doubled.
 *
 * @param more the backslashes that an encoding may add for the sign behind them
 */
function backslashes(count: number, more: number): string {
  if (count > MAX_BACKSLASHES) return `\\\\{${count}}`;
  const plain = `\\\\{${count},${8 * count + more}}`;
  if (count === 0) return plain;
  const encoded = `(?:${encodings("\\")}|\\\\{1,8}u005[cC]){${count}}`;
  return `(?:${plain}|${encoded}\\\\{0,${more}})`;
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

/** Makes the expression of one sign, behind the backslashes of its encoding. */
function signSource(sign: string): string {
  const literal = sign.replace(/[\^$.*+?()[\]{}|/-]/, "\\$&");
  const units = Array.from(
    { length: sign.length },
    (_, nth) => `u${hexadecimal(sign.charCodeAt(nth), 4)}`,
  );
  return `(?:${literal}|${units.join("\\\\{1,8}")}|${encodings(sign)})`;
}

/** Makes the expression of a sign in addresses, HTML and other spellings. */
function encodings(sign: string): string {
  const code = sign.codePointAt(0)!;
  return [
    [...new TextEncoder().encode(sign)]
      .map((byte) => `%(?:25)*${hexadecimal(byte, 2)}`).join(""),
    `&(?:amp;)*#(?:0*${code}|[xX]0*${hexadecimal(code, 1)});`,
    ...SPELLINGS[sign] ? [SPELLINGS[sign]] : [],
  ].join("|");
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

/** The expressions that were used last: a result has many texts. */
const EXPRESSIONS = new LatestMap<RegExp>(100);

/** Hides keys in a text. */
function hide(text: string, keys: Forms): string {
  const held = heldIn(text, keys);
  if (held.length === 0) return text;
  // The longest first: a key may begin with another.
  const source = held.map(({ source }) => source)
    .sort((a, b) => b.length - a.length).join("|");
  const expression = EXPRESSIONS.get(source) ?? new RegExp(source, "g");
  EXPRESSIONS.set(source, expression);
  return text.replace(expression, HIDDEN);
}

/** Gives all of a text or a message; nothing of another value that is long. */
function wholeTextOf(thrown: unknown): string {
  if (isError(thrown)) return wholeMessageOf(thrown);
  if (typeof thrown === "string") return thrown;
  const text = textOf(thrown);
  return text.length < MAX_TEXT_CHARACTERS ? text : HIDDEN;
}

/** True if the own members of an error can be read, and hold no key. */
function isWithout(keys: Forms, error: Error): boolean {
  try {
    return heldIn(JSON.stringify({ ...error }), keys).length === 0;
  } catch {
    return false;
  }
}

/** Gives an error without keys in place of one that holds one. */
function clean(thrown: unknown, keys: Forms): unknown {
  // A refusal has the engine's own words, not an author's.
  if (keys.size === 0 || isRefusal(thrown)) return thrown;
  let isClean = true;
  const hideIn = (text: string) => {
    const hidden = hide(text, keys);
    isClean &&= hidden === text && text !== HIDDEN;
    return hidden;
  };
  const copies = [thrown, ...reasonsOf(thrown)].map((error) => {
    const hidden = hideIn(wholeTextOf(error));
    if (isError(error) && !isWithout(keys, error)) isClean = false;
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
 * call is not known any more. A key of few letters and digits, or of many signs, is
 * passed over: its person could hide the errors of all others.
 */
export function withoutRecentKeys(thrown: unknown): unknown {
  const keys = [...RECENT].filter(([key]) =>
    key.replace(/[^A-Za-z0-9]/g, "").length >= MIN_LETTERS && !hasManySigns(key)
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
      if (typeof member === "number") {
        return hidden(`${member}`) === `${member}` ? member : HIDDEN;
      }
      if (!isObject(member)) return member;
      return Object.fromEntries(
        Object.entries(member).map(([name, value]) => [hidden(name), value]),
      );
    });
    return JSON.stringify(data);
  }
}
