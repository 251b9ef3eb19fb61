/**
 * The spellings of a key in a text: as it is, encoded for a URL, JSON or HTML,
 * in base64, and broken into lines. The time of a search grows only with the
 * length of the text, because a person chooses their key, and often the text.
 * @module
 */
import { base64 } from "../../crypto/crypto.ts";
import { findPlace } from "../../find_place.ts";
import { MIN_PATTERN, type Range, TextSearch } from "./text_search.ts";

export const HIDDEN_TEXT = "(hidden)";

/**
 * The minimum length of a key that is hidden. A shorter text is no secret, and
 * occurs everywhere.
 */
export const MIN_CHARACTERS = MIN_PATTERN;

/** The maximum number of keys whose forms a process remembers. */
const MAX_KEYS = 1000;

/**
 * The maximum length of a spelling's beginning. A text is searched for the
 * beginnings first, so that a search for long keys begins quickly.
 */
const MAX_PROBE_CHARACTERS = 32;

/** One spelling of a key. */
interface Form {
  pattern: string;
  /** The pattern's beginning. */
  probe: string;
  /**
   * True for base64, where the letters before and after may also have bits of
   * the key.
   */
  isBase64: boolean;
}

/**
 * The spellings of a person's key that are hidden: `asItIs` in a text as
 * received, `read` in a text that `readText` has decoded.
 */
export interface KeyForms {
  asItIs: readonly Form[];
  read: readonly Form[];
}

/** The spellings of the latest keys. */
export const RECENT_KEYS = new Map<string, KeyForms>();

export function keyFormsOf(key: string): KeyForms {
  const known = RECENT_KEYS.get(key);
  if (known) return known;
  const inForm = new URLSearchParams([["", key]]).toString().slice(1);
  const inJson = JSON.stringify(key).slice(1, -1);
  const inAddress = encodeURIComponent(key.toWellFormed());
  const texts = [...new Set([key, inAddress, inForm, inJson])];
  const forms = (patterns: string[], isBase64: boolean) =>
    [...new Set(patterns)]
      .filter(({ length }) => length >= MIN_CHARACTERS)
      .map((pattern): Form => ({
        pattern,
        probe: pattern.slice(0, MAX_PROBE_CHARACTERS),
        isBase64,
      }));
  const read = readText(key).text;
  const letters = texts.flatMap(lettersOf);
  const plain = [read, base64urlOf(read), read.replaceAll(" ", "+")];
  const inBase64 = [...letters, ...letters.map(base64urlOf)];
  const all: KeyForms = {
    asItIs: forms([key], false),
    read: [...forms(plain, false), ...forms(inBase64, true)],
  };
  if (RECENT_KEYS.size >= MAX_KEYS) {
    RECENT_KEYS.delete(RECENT_KEYS.keys().next().value!);
  }
  RECENT_KEYS.set(key, all);
  return all;
}

function base64urlOf(text: string): string {
  return text.replaceAll("+", "-").replaceAll("/", "_");
}

/**
 * Returns the base64 letters that a text always produces within a longer text,
 * for each of its three possible alignments.
 */
function lettersOf(text: string): string[] {
  const bytes = new TextEncoder().encode(text);
  return [0, 1, 2].map((before) => {
    const padded = new Uint8Array(before + bytes.length);
    padded.set(bytes, before);
    return base64(padded).slice(
      Math.ceil(before * 8 / 6),
      Math.floor(padded.length * 8 / 6),
    );
  });
}

/** The names of ASCII characters in HTML, except `amp`, in lower case. */
const NAMED = new Map(
  Object.entries({
    excl: "!",
    quot: '"',
    num: "#",
    dollar: "$",
    percnt: "%",
    apos: "'",
    lpar: "(",
    rpar: ")",
    ast: "*",
    plus: "+",
    comma: ",",
    period: ".",
    sol: "/",
    colon: ":",
    semi: ";",
    lt: "<",
    equals: "=",
    gt: ">",
    quest: "?",
    commat: "@",
    lsqb: "[",
    rsqb: "]",
    hat: "^",
    lowbar: "_",
    grave: "`",
    lcub: "{",
    verbar: "|",
    rcub: "}",
  }).map(([name, sign]) => [name, sign.charCodeAt(0)]),
);

/** The length of the longest name in {@linkcode NAMED}. */
const MAX_NAME = 6;

/** The code of an encoding without a character, such as an escaped line end. */
const NOTHING = -1;

function codeOr(code: number): number {
  const isNothing = code === 0 || code === 10 || code === 13 || code === 92 ||
    code > 0x10ffff;
  return isNothing ? NOTHING : code;
}

/**
 * Reads one encoding of a text at a time. Regular expressions are
 * slower by far in a text that consists of encodings.
 */
class Reader {
  /** The end of what was read last. */
  end = 0;

  constructor(private readonly text: string) {}

  /** Reads an encoding. Returns its code, or {@linkcode NOTHING}. */
  read(at: number): number {
    const code = this.text.charCodeAt(at);
    this.end = at + 1;
    if (code === 0x5c) return this.#escape();
    if (code === 13 || code === 10) {
      while (this.#isAt("\r") || this.#isAt("\n")) this.end++;
      while (this.#isAt(" ") || this.#isAt("\t")) this.end++;
      return NOTHING;
    }
    return code === 0x25 ? this.#percent(at) : this.#entity();
  }

  /**
   * True if a word is next. The text may have any case, `word` is in lower
   * case.
   */
  #isAt(word: string): boolean {
    for (let nth = 0; nth < word.length; nth++) {
      const code = this.text.charCodeAt(this.end + nth);
      const lower = code >= 65 && code <= 90 ? code + 32 : code;
      if (lower !== word.charCodeAt(nth)) return false;
    }
    return true;
  }

  /** Returns the value of a hexadecimal digit, or NaN. */
  #digit(at: number): number {
    const code = this.text.charCodeAt(at);
    if (code >= 48 && code <= 57) return code - 48;
    const lower = code | 32;
    return lower >= 97 && lower <= 102 ? lower - 87 : NaN;
  }

  /** Reads behind a backslash. Backslashes and line breaks become nothing. */
  #escape(): number {
    while (this.#isAt("\\")) this.end++;
    if (this.#isAt("u")) {
      let unit = 0;
      for (let nth = 1; nth <= 4; nth++) {
        unit = unit * 16 + this.#digit(this.end + nth);
      }
      if (Number.isNaN(unit)) return NOTHING;
      this.end += 5;
      return codeOr(unit);
    }
    if (!this.#isAt("r") && !this.#isAt("n")) return NOTHING;
    this.end++;
    while (true) {
      if (this.#isAt(" ") || this.#isAt("\t")) this.end++;
      else if (this.#isAt("\\t")) this.end += 2;
      else return NOTHING;
    }
  }

  /** Reads `%XX`, whose `%` may be encoded again. Returns NaN for other text. */
  #byte(at: number): number {
    if (this.text.charCodeAt(at) !== 0x25) return NaN;
    this.end = at + 1;
    while (this.#isAt("25")) this.end += 2;
    const byte = this.#digit(this.end) * 16 + this.#digit(this.end + 1);
    if (!Number.isNaN(byte)) this.end += 2;
    return Number.isNaN(byte) && this.end > at + 1 ? 0x25 : byte;
  }

  /** Reads a character of UTF-8 in the encoding of URLs. */
  #percent(at: number): number {
    const first = this.#byte(at);
    if (Number.isNaN(first)) return 0x25;
    if (first < 0x80) return codeOr(first);
    const { end } = this;
    const more = first < 0xc2 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    let code = first & (0x3f >> more);
    for (let nth = 0; nth < more; nth++) {
      const byte = this.#byte(this.end);
      code = byte >> 6 === 2 ? code << 6 | byte & 0x3f : Infinity;
    }
    if (more > 0 && code <= 0x10ffff) return code;
    this.end = end;
    return 0xfffd;
  }

  /** Reads behind `&`, which may be encoded again. */
  #entity(): number {
    while (this.#isAt("amp;")) this.end += 4;
    const { end } = this;
    if (this.#isAt("#")) {
      this.end++;
      const base = this.#isAt("x") ? 16 : 10;
      if (base === 16) this.end++;
      const first = this.end;
      let code = 0;
      while (this.#digit(this.end) < base) {
        code = Math.min(code * base + this.#digit(this.end++), 0x1000000);
      }
      // A page may leave the semicolon out.
      const isCode = this.end > first &&
        code < (base === 16 ? 0x1000000 : 10_000_000);
      if (isCode) {
        if (this.#isAt(";")) this.end++;
        return codeOr(code);
      }
    }
    this.end = end;
    const word = this.text.slice(end, end + MAX_NAME + 1);
    const length = word.indexOf(";");
    const code = NAMED.get(word.slice(0, Math.max(length, 0)).toLowerCase());
    if (code === undefined) return 0x26;
    this.end += length + 1;
    return code;
  }
}

/** The number of decoded characters that become a text at once. */
const AT_ONCE = 8192;

/** The minimum number of characters that are copied at once. */
const MIN_SLICE = 32;

/** True for a character that begins no encoding. */
const isPlain = (code: number) =>
  code > 0x5c || code > 0x26 && code < 0x5c ||
  code !== 10 && code !== 13 && code < 0x25;

/** A decoded text, and the positions of its characters in the original. */
interface ReadText {
  text: string;
  /** Returns where a character begins or ends in the original text. */
  place(index: number, isEnd: boolean): number;
}

/** Decodes every encoding in a text. */
function readText(text: string): ReadText {
  /** The start of each encoding in the decoded text. */
  const from: number[] = [];
  /** The start of each encoding in the original text. */
  const began: number[] = [];
  /** The end of each encoding in the original text. */
  const ended: number[] = [];
  const reader = new Reader(text);
  /** The latest decoded characters, which are not in `read` yet. */
  const units = new Uint16Array(Math.min(text.length, AT_ONCE) + 2);
  let filled = 0;
  let read = "";
  const flush = () => {
    // deno-lint-ignore no-explicit-any
    read += String.fromCharCode.apply(null, units.subarray(0, filled) as any);
    filled = 0;
  };
  for (let at = 0; at < text.length;) {
    let end = at;
    while (end < text.length && isPlain(text.charCodeAt(end))) end++;
    if (end - at >= MIN_SLICE || filled + end - at > AT_ONCE) {
      flush();
      read += text.slice(at, end);
    } else {
      for (; at < end; at++) units[filled++] = text.charCodeAt(at);
    }
    if (end === text.length) break;
    const code = reader.read(end);
    from.push(read.length + filled);
    began.push(end);
    ended.push(at = reader.end);
    if (code > 0xffff) units[filled++] = 0xd800 + (code - 0x10000 >> 10);
    if (code > 0xffff) units[filled++] = 0xdc00 | code & 0x3ff;
    else if (code !== NOTHING) units[filled++] = code;
  }
  flush();
  const place = (index: number, isEnd: boolean) => {
    // Find the last encoding that begins at the character or before it.
    const nth = findPlace(from.length, (place) => from[place] <= index) - 1;
    if (nth < 0) return index + (isEnd ? 1 : 0);
    const next = from[nth + 1] ?? Infinity;
    const plain = next === Infinity
      ? read.length - (text.length - ended[nth])
      : next - (began[nth + 1] - ended[nth]);
    if (index < plain) return isEnd ? ended[nth] : began[nth];
    return ended[nth] + index - plain + (isEnd ? 1 : 0);
  };
  return { text: read, place };
}

/**
 * The number of characters, counted for each spelling, after which one pass for
 * all spellings is prepared. That takes longer than the search of a short text.
 */
const MAX_SIMPLE = 500_000;

/** Finds some spellings of keys in texts. */
class FormSearch {
  /** Finds the beginnings of the spellings in one pass. */
  #probes?: TextSearch;
  #simple = 0;

  constructor(private readonly forms: readonly Form[]) {}

  /** Lists the spellings whose beginnings are in a text. */
  #begunIn(text: string): Form[] {
    const { forms } = this;
    if (!this.#probes) {
      this.#simple += forms.length * text.length;
      if (this.#simple < MAX_SIMPLE) {
        return forms.filter(({ probe }) => text.includes(probe));
      }
      this.#probes = new TextSearch(forms.map(({ probe }) => probe));
    }
    const found = this.#probes.patternsIn(text);
    return found.size === 0
      ? []
      : forms.filter(({ probe }) => found.has(probe));
  }

  /** Lists the ranges of `text`, which may overlap. */
  rangesIn(text: string): Range[] {
    const forms = this.#begunIn(text);
    if (forms.length === 0) return [];
    const [inBase64, plain] = [true, false].map((isBase64) => {
      const those = forms.filter((form) => form.isBase64 === isBase64);
      return new TextSearch(those.map(({ pattern }) => pattern)).rangesIn(text);
    });
    for (const range of inBase64) {
      if (/[\w+/-]/.test(text[range[0] - 1] ?? "")) range[0]--;
      if (/[\w+/-]/.test(text[range[1]] ?? "")) range[1]++;
      while (text[range[1]] === "=") range[1]++;
    }
    return plain.concat(inBase64);
  }
}

/** Finds all spellings of keys in texts. */
export class KeySearch {
  /** Made when the first text with an encoding comes. */
  #asItIs?: FormSearch;
  readonly #read: FormSearch;

  constructor(private readonly keys: readonly KeyForms[]) {
    this.#read = new FormSearch(keys.flatMap(({ read }) => read));
  }

  /** Lists the ranges of a text that contain a spelling of a key. */
  #rangesIn(text: string): Range[] {
    if (this.keys.length === 0) return [];
    if (!/[\\\r\n%&]/.test(text)) return this.#read.rangesIn(text);
    const read = readText(text);
    const ranges = this.#read.rangesIn(read.text).map(([start, end]): Range => [
      read.place(start, false),
      read.place(end - 1, true),
    ]);
    this.#asItIs ??= new FormSearch(this.keys.flatMap(({ asItIs }) => asItIs));
    for (const range of this.#asItIs.rangesIn(text)) ranges.push(range);
    // Backslashes next to a match belong to the key, or to the way it is
    // encoded.
    for (const range of ranges) {
      while (text[range[0] - 1] === "\\") range[0]--;
      while (text[range[1]] === "\\") range[1]++;
    }
    return ranges;
  }

  isIn(text: string): boolean {
    return this.#rangesIn(text).length > 0;
  }

  hide(text: string): string {
    const ranges = this.#rangesIn(text).sort(([a], [b]) => a - b);
    if (ranges.length === 0) return text;
    let hidden = "";
    let end = 0;
    for (const [start, after] of ranges) {
      // Keys may overlap, or begin with another key.
      if (start >= end) hidden += text.slice(end, start) + HIDDEN_TEXT;
      end = Math.max(end, after);
    }
    return hidden + text.slice(end);
  }
}
