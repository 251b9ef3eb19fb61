/**
 * The spellings of a key in a text: as it is, encoded for a URL, JSON or HTML,
 * in base64, and broken into lines. The time of a search grows only with the
 * length of the text, because a person chooses their key, and often the text.
 * @module
 */
import { base64 } from "../../crypto/crypto.ts";
import { findPlace } from "../../find_place.ts";

export const HIDDEN = "(hidden)";

/**
 * The minimum length of a key that is hidden. A shorter text is no secret, and
 * occurs everywhere.
 */
export const MIN_CHARACTERS = 4;

/** The maximum number of keys whose forms a process remembers. */
const MAX_KEYS = 1000;

/**
 * The number of a spelling's characters that a text is first searched for,
 * which is quick.
 */
const MAX_PROBE_CHARACTERS = 32;

/** One spelling of a key. */
interface Form {
  pattern: string;
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
export interface Forms {
  asItIs: readonly Form[];
  read: readonly Form[];
}

export type FormsOfKeys = ReadonlyMap<string, Forms>;

/** The spellings of the latest keys. */
export const RECENT = new Map<string, Forms>();

export function keyFormsOf(key: string): Forms {
  const known = RECENT.get(key);
  if (known) return known;
  const inForm = new URLSearchParams([["", key]]).toString().slice(1);
  const inJson = JSON.stringify(key).slice(1, -1);
  const inAddress = encodeURIComponent(key.toWellFormed());
  const texts = [...new Set([key, inAddress, inForm, inJson])];
  const forms = (patterns: string[], isBase64: boolean) =>
    [...new Set(patterns)]
      .filter(({ length }) => length >= MIN_CHARACTERS)
      .map((pattern): Form => ({ pattern, isBase64 }));
  const read = readText(key).text;
  const letters = texts.flatMap(lettersOf);
  const plain = [read, base64urlOf(read), read.replaceAll(" ", "+")];
  const inBase64 = [...letters, ...letters.map(base64urlOf)];
  const all: Forms = {
    asItIs: forms([key], false),
    read: [...forms(plain, false), ...forms(inBase64, true)],
  };
  if (RECENT.size >= MAX_KEYS) RECENT.delete(RECENT.keys().next().value!);
  RECENT.set(key, all);
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

/**
 * Matches encoded characters, backslashes and line breaks. No two alternatives
 * match the same characters, and no character is matched twice, so that the
 * time grows only with the length of the text.
 */
const ENCODED =
  /\\+(?:u([\da-f]{4})|[rn](?:[ \t]|\\t)*)?|[\r\n]+[ \t]*|%(?:25)*([0-7][\da-f])|(?:%(?:25)*[89a-f][\da-f])+|&(?:amp;)*(?:#0*(\d{1,7})|#x0*([\da-f]{1,6})|(amp|lt|gt|quot|apos));/gi;

const NAMED = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Decodes one match of {@linkcode ENCODED}. Backslashes and line breaks become
 * nothing.
 */
function decode(
  all: string,
  unit?: string,
  byte?: string,
  decimal?: string,
  hexadecimal?: string,
  name?: string,
): string {
  if (name) return NAMED[name.toLowerCase() as keyof typeof NAMED];
  if (decimal === undefined && all[0] === "%" && byte === undefined) {
    const bytes = all.match(/[\da-f]{2}(?=%|$)/gi)!;
    return UTF8.decode(Uint8Array.from(bytes, (byte) => parseInt(byte, 16)));
  }
  const code = decimal !== undefined
    ? Number(decimal)
    : parseInt(unit ?? byte ?? hexadecimal ?? "0", 16);
  const isNothing = [0, 10, 13, 92].includes(code) || code > 0x10ffff;
  return isNothing ? "" : String.fromCodePoint(code);
}

/** A decoded text, and the positions of its characters in the original. */
interface ReadText {
  text: string;
  /** Returns where a character begins or ends in the original text. */
  place(index: number, isEnd: boolean): number;
}

/** Decodes every encoding of {@linkcode ENCODED} in a text. */
function readText(text: string): ReadText {
  /** The start of each encoding in the decoded text. */
  const from: number[] = [];
  /** The start of each encoding in the original text. */
  const began: number[] = [];
  /** The end of each encoding in the original text. */
  const ended: number[] = [];
  let moved = 0;
  const read = text.replace(ENCODED, (...match) => {
    const [all] = match;
    const offset = match.at(-2) as number;
    const plain = decode(...match as Parameters<typeof decode>);
    from.push(offset - moved);
    began.push(offset);
    ended.push(offset + all.length);
    moved += all.length - plain.length;
    return plain;
  });
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
 * Finds a pattern in a text by the Knuth-Morris-Pratt algorithm, which reads
 * each character of both at most twice.
 */
export function occurrences(
  text: Pick<string, "length" | "charCodeAt">,
  pattern: string,
): number[] {
  const found: number[] = [];
  const back = new Uint32Array(pattern.length);
  for (let at = 1, same = 0; at < pattern.length; at++) {
    const unit = pattern.charCodeAt(at);
    while (same > 0 && pattern.charCodeAt(same) !== unit) same = back[same - 1];
    if (pattern.charCodeAt(same) === unit) same++;
    back[at] = same;
  }
  for (let at = 0, same = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    while (same > 0 && pattern.charCodeAt(same) !== unit) same = back[same - 1];
    if (pattern.charCodeAt(same) === unit) same++;
    if (same < pattern.length) continue;
    found.push(at + 1 - same);
    same = 0;
  }
  return found;
}

/** Lists the ranges of a text that contain a spelling of a key. */
export function placesIn(all: string, keys: FormsOfKeys): [number, number][] {
  const places: [number, number][] = [];
  if (keys.size === 0) return places;
  const place: ReadText["place"] = (at, isEnd) => at + (isEnd ? 1 : 0);
  const asItIs: ReadText = { text: all, place };
  const isPlain = !/[\\\r\n%&]/.test(all);
  const read = isPlain ? asItIs : readText(all);
  const find = (forms: readonly Form[], { text, place }: ReadText) => {
    for (const { pattern, isBase64 } of forms) {
      // Most texts do not even contain the beginning of a spelling.
      if (!text.includes(pattern.slice(0, MAX_PROBE_CHARACTERS))) continue;
      for (const start of occurrences(text, pattern)) {
        let first = start;
        let last = start + pattern.length - 1;
        if (isBase64) {
          if (/[\w+/-]/.test(text[first - 1] ?? "")) first--;
          if (/[\w+/-]/.test(text[last + 1] ?? "")) last++;
          while (text[last + 1] === "=") last++;
        }
        let begin = place(first, false);
        let end = place(last, true);
        // Backslashes next to a match belong to the key, or to the way it is
        // encoded.
        while (all[begin - 1] === "\\") begin--;
        while (all[end] === "\\") end++;
        places.push([begin, end]);
      }
    }
  };
  for (const forms of keys.values()) {
    find(forms.read, read);
    if (!isPlain) find(forms.asItIs, asItIs);
  }
  return places;
}

export function hide(text: string, keys: FormsOfKeys): string {
  const places = placesIn(text, keys).sort(([a], [b]) => a - b);
  if (places.length === 0) return text;
  let hidden = "";
  let end = 0;
  for (const [start, after] of places) {
    // Keys may overlap, or begin with another key.
    if (start >= end) hidden += text.slice(end, start) + HIDDEN;
    end = Math.max(end, after);
  }
  return hidden + text.slice(end);
}
