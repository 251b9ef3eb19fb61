/**
 * Names that a client or a person chose for themselves.
 *
 * @module
 */

const MAX_LETTERS = 80;

/**
 * Control and direction characters, and white space. Zero-width joiners stay
 * where they hold an emoji together or shape a letter of Arabic or of an
 * Indian script (RFC 5892, appendix A.1); elsewhere they only hide something.
 */
const UNWANTED =
  /(?:(?!(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D(?=\p{Extended_Pictographic})|(?<=\p{sc=Arab}|(?!\p{sc=Zinh})\p{M})[\u200C\u200D](?=\p{L}))[\p{C}\p{Z}\s])+/gu;

/**
 * Marks piled on one letter, which would cover the lines around it; no language
 * needs five.
 */
const PILE = /(\p{M}{4})\p{M}+/gu;

const LETTERS = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * Makes a name harmless to read: one line, no character that hides or reorders
 * others, 80 letters at most. A page shows it in `<bdi>`, so that its direction
 * stays its own.
 */
export function displayName(name: string): string {
  const plain = name.replaceAll(UNWANTED, " ").replaceAll(PILE, "$1").trim();
  const letters = Array.from(LETTERS.segment(plain), ({ segment }) => segment);
  return letters.length > MAX_LETTERS
    ? `${letters.slice(0, MAX_LETTERS - 1).join("")}…`
    : plain || "An app without a name";
}
