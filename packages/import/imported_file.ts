/**
 * Imported files. The first line of each names the item that the file was made
 * of, and the fingerprint of the generated text.
 *
 * @module
 */
import { digest } from "../../src/core/crypto/crypto.ts";
import { PACKAGE } from "../create/source.ts";

/** An imported file, with the facts from its first line. */
export interface ImportedFile {
  path: string;
  /** The text without the first line. */
  text: string;
  service: string;
  /** The source's name for the item; for a test, after `test of`. */
  id: string;
  /** The fingerprint of the generated text. */
  fingerprint: string;
  /**
   * For a service: the name of its source, the address that the source has
   * itself, and the author's `--url`.
   */
  source?: string;
  own?: string;
  url?: string;
  /** True if the author has changed the file since. */
  isChanged: boolean;
}

const LINE =
  /^\/\/ Imported: ([a-z][a-z0-9_]*) (\S.*) ([0-9a-f]{12})(?: of ([a-z][a-z0-9_]*))?(?: from (\S+))?(?: at (\S+))?\n/;

/**
 * Reads an imported file with its first line. Undefined if it was not imported.
 */
export function parseImported(
  path: string,
  whole: string,
): ImportedFile | undefined {
  const [line, service, id, fingerprint, source, own, url] = LINE.exec(
    whole.replaceAll("\r\n", "\n"),
  ) ?? [];
  if (line === undefined) return undefined;
  const text = whole.replaceAll("\r\n", "\n").slice(line.length);
  const isChanged = fingerprintOf(text) !== fingerprint;
  const from = { source, own, url };
  return { path, text, service, id, fingerprint, ...from, isChanged };
}

/** Returns the text of a file with its first line. */
export function printImported(
  { service, id, fingerprint, text, source, own, url }: Omit<
    ImportedFile,
    "path" | "isChanged"
  >,
): string {
  const more = Object.entries({ of: source, from: own, at: url })
    .map(([word, it]) =>
      it && ` ${word} ${it.replaceAll(/\s/g, encodeURIComponent)}`
    ).join("");
  return `// Imported: ${service} ${id} ${fingerprint}${more}\n${text}`;
}

/** Makes the fingerprint of a text, which does not change with its names. */
export const fingerprintOf = (text: string) =>
  digest(withoutNames(text)).toHex().slice(0, 12);

/** Matches the name of a tool in its file. */
const TOOL_NAME = /(?<=^export default tool\(\{\n {2}name: ")[\w.-]+(?=",$)/m;

/** Returns the name of the tool that a file declares. */
export const toolNameIn = (text: string) => TOOL_NAME.exec(text)?.[0];

/** Matches a string, or a space or a last comma outside of one. */
const SPACE =
  /((["'])(?:\\.|(?!\2)[^\\\n])*\2|`(?:\\[^]|[^`\\])*`)|\s+|,(?=\s*[)\]}])/g;

/**
 * Returns a text without the names that its author may change, which are those
 * of the tool, of its file and of its constant in the test, and without what
 * formatting changes with their lengths.
 */
function withoutNames(text: string): string {
  return text.replace(TOOL_NAME, "")
    .replace(/^import \w+ from "\.\/[\w-]+\.ts";$/m, "")
    .replaceAll(/(?<=\btools: \[|\.call\(\s*)\w+/g, "")
    .replace(/(?<=^Deno\.test\(\s*")[\w.-]+/m, "")
    .replaceAll(SPACE, "$1");
}

/** Adapts the imports of a file to a clone, whose own folders are in `src/`. */
export function inClone(text: string): string {
  return text.replaceAll(`"${PACKAGE}/api"`, '"../api.ts"')
    .replaceAll(`"${PACKAGE}/testing"`, '"../../packages/testing/mod.ts"')
    .replaceAll(`"${PACKAGE}"`, '"../mod.ts"');
}

/** The maximum number of pairs of lines that are compared. */
const MAX_PAIRS = 4_000_000;

/**
 * Returns the lines in which two texts differ, with two lines before and after.
 */
export function diffOf(before: string, after: string): string {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const least = Math.min(a.length, b.length);
  let begin = 0;
  while (begin < least && a[begin] === b[begin]) begin++;
  let end = 0;
  while (end < least - begin && a.at(-1 - end) === b.at(-1 - end)) end++;
  const lines = [
    ...a.slice(0, begin).map(same),
    ...changesOf(
      a.slice(begin, a.length - end),
      b.slice(begin, b.length - end),
    ),
    ...a.slice(a.length - end).map(same),
  ];
  const isNear = (at: number) =>
    lines.slice(Math.max(0, at - 2), at + 3).some((it) => !it.startsWith("  "));
  return lines.filter((_, at) => isNear(at)).join("\n");
}

const same = (line: string) => `  ${line}`;

/**
 * Compares lines, keeping as many common ones as possible; none if there are
 * too many lines.
 */
function changesOf(a: readonly string[], b: readonly string[]): string[] {
  if (a.length * b.length > MAX_PAIRS) {
    return [...a.map((it) => `- ${it}`), ...b.map((it) => `+ ${it}`)];
  }
  const common = Array.from(
    { length: a.length + 1 },
    () => new Uint16Array(b.length + 1),
  );
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] = a[i] === b[j]
        ? common[i + 1][j + 1] + 1
        : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const lines: string[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(same(a[i++]));
      j++;
    } else if (
      j < b.length && (i === a.length || common[i][j + 1] > common[i + 1][j])
    ) {
      lines.push(`+ ${b[j++]}`);
    } else lines.push(`- ${a[i++]}`);
  }
  return lines;
}
