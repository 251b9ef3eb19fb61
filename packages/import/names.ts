/**
 * Names in imported files, made from names in a document. Only letters, digits
 * and `_` become code, and no name has another meaning in JavaScript or in the
 * file.
 *
 * @module
 */

import { escaped } from "../../src/core/log/log_line.ts";

const MAX_NAME = 64;

/** The maximum number of characters that a name is made from. */
const MAX_TEXT = 1000;

/**
 * Names that imported files already use, or that JavaScript or Windows
 * reserves.
 */
export const TAKEN_NAMES: ReadonlySet<string> = new Set(
  ("break case catch class const continue debugger default delete do else " +
    "enum export extends false finally for function if import in instanceof " +
    "new null return super switch this throw true try typeof var void while " +
    "with yield let static implements interface package private protected " +
    "public await async eval arguments undefined NaN Infinity Object Array " +
    "String Number Boolean Symbol Promise JSON Deno constructor prototype " +
    "assert testServer serveApi server answer env tool tools mod z callApi " +
    "styled service services settings secret personalKey account httpApi " +
    "needs signal api greet con prn aux nul").split(" "),
);

/** Matches names whose files `deno test` would run. */
export const TEST = /(^|_)test$/;

/** The Latin letters for letters that Unicode does not take apart. */
const LATIN = new Map(
  ("ß ss æ ae œ oe ø o đ d ð d þ th ł l ı i ħ h ŋ ng ŧ t " +
    "а a б b в v г g д d е e ж zh з z и i к k л l м m н n о o п p р r с s т t " +
    "у u ф f х kh ц ts ч ch ш sh щ shch ы y э e ю yu я ya і i є ye ґ g ђ dj ј j " +
    "љ lj њ nj ћ c џ dz ѕ dz " +
    "α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s " +
    "ς s τ t υ y φ f χ ch ψ ps ω o").matchAll(/(\S+) (\S+)/g)
    .map(([, letter, latin]): [string, string] => [letter, latin]),
).set("ъ", "").set("ь", "");

/** Splits a text into words in lower case, in Latin letters where possible. */
function latinWords(text: string): string {
  return text.slice(0, MAX_TEXT).normalize("NFKD").replaceAll(/\p{M}/gu, "")
    .replaceAll(/([\p{Ll}0-9])(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .replaceAll(/[^\0-\x7f]/gu, (letter) => LATIN.get(letter) ?? letter);
}

const wordsOf = (text: string) =>
  latinWords(text).split(/[^a-z0-9]+/).filter(Boolean);

/** True if a name lacks letters or digits of its text, as of Chinese ones. */
export const isLossy = (text: string) =>
  /(?=[^\0-\x7f])[\p{L}\p{N}]/u.test(latinWords(text)) ||
  snakeCase(text) === "";

/**
 * Converts a text to snake case (`search_mail`); empty if the text has no
 * letter.
 */
export function snakeCase(text: string, most = MAX_NAME): string {
  let words = wordsOf(text);
  while (words.length > 0 && /^\d/.test(words[0])) words = words.slice(1);
  const name = words.join("_");
  if (name.length <= most) return name;
  const cut = name.slice(0, most);
  const end = Math.max(cut.lastIndexOf("_"), most / 2);
  return cut.slice(0, end).replace(/_+$/, "");
}

/** Converts a text to camel case (`searchMail`), a name of JavaScript. */
export function camelCase(text: string, otherwise = "value"): string {
  const upper = (it: string) => it.slice(-1).toUpperCase();
  const name = snakeCase(text).replaceAll(/_+[a-z0-9]/g, upper);
  if (name === "") return otherwise;
  return TAKEN_NAMES.has(name) ? `${name}${capital(otherwise)}` : name;
}

/**
 * Makes the name of a tool's module in its test, which has a `text`, and may
 * have the constant of a service.
 */
export function toolVariable(name: string, service?: string): string {
  const own = camelCase(name, "tool");
  return own === "text" || own === service ? `${own}Tool` : own;
}

/** Capitalizes the first letter of a text. */
export const capital = (text: string) =>
  text.charAt(0).toUpperCase() + text.slice(1);

/** The last number that `uniqueName` put behind each name, by set. */
const COUNTS = new WeakMap<Set<string>, Map<string, number>>();

/** Makes a name that is new in a set, and adds it to the set. */
export function uniqueName(
  name: string,
  among: Set<string>,
  mark = "",
): string {
  const counts = COUNTS.get(among) ?? new Map<string, number>();
  COUNTS.set(among, counts);
  let found = name;
  let count = counts.get(name) ?? 1;
  while (among.has(found)) {
    const end = `${mark}${++count}`;
    found = name.slice(0, MAX_NAME - end.length) + end;
  }
  counts.set(name, count);
  among.add(found);
  return found;
}

/** Matches a text, a pattern that is an argument, or a bracket in code. */
const SIGNS =
  /"(?:[^"\\]|\\.)*"|(?<=\()\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+\/|[([{]|[)\]}]/g;

/** Counts the levels of brackets in code, outside texts and patterns. */
export function nestingOf(code: string): number {
  let depth = 0;
  let most = 0;
  for (const [sign] of code.matchAll(SIGNS)) {
    if ("([{".includes(sign)) most = Math.max(most, ++depth);
    else if (sign.length === 1) depth--;
  }
  return most;
}

/**
 * Returns a value as JavaScript: no text of a document can end a string or a
 * comment, and none is nested so deep that `deno fmt` takes very long.
 */
export function literal(value: unknown): string {
  const code = shallow(value);
  return nestingOf(code) < 9
    ? code
    : `JSON.parse(${literal(JSON.stringify(value))})`;
}

function shallow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shallow).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return objectCode(
      Object.entries(value).map(([name, member]) => [name, shallow(member)]),
    );
  }
  return escaped(JSON.stringify(value ?? null));
}

/** Returns the name of a member as code, quoted if necessary. */
export function memberName(name: string): string {
  if (name === "__proto__") return '["__proto__"]';
  return /^(?!(?:true|false|null)$)[A-Za-z_$][\w$]*$/.test(name)
    ? name
    : literal(name);
}

/**
 * Returns the code of a member of an object; `name` alone if the value is a
 * constant of that name.
 */
export function memberCode([name, code]: [string, string]): string {
  const own = memberName(name);
  return own === name && own === code ? own : `${own}: ${code}`;
}

/**
 * Returns the code of an object from that of its members: `{ a, "b-c": d }`.
 */
export function objectCode(members: Iterable<[string, string]>): string {
  const printed = [...members].map(memberCode);
  return printed.length === 0 ? "{}" : `{ ${printed.join(", ")} }`;
}
