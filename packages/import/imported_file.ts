/**
 * Written files, as they are found again: the first line says what a file was
 * made of, and with which text.
 *
 * @module
 */
import { digest } from "../../src/core/crypto/crypto.ts";
import { PACKAGE } from "../create/source.ts";

/** An imported file, by what it says of itself. */
export interface ImportedFile {
  path: string;
  /** Its text, without the line that says so. */
  text: string;
  service: string;
  /** The item's name at the source, with `test of` for a test. */
  id: string;
  /** The fingerprint of the text that was written. */
  fingerprint: string;
  /** Of a service: the name that its source has, and the author's `--url`. */
  source?: string;
  url?: string;
  /** True if the author has changed it since. */
  isChanged: boolean;
}

const LINE =
  /^\/\/ Imported: ([a-z][a-z0-9_]*) (\S.*) ([0-9a-f]{12})(?: of ([a-z][a-z0-9_]*))?(?: at (\S+))?\n/;

/** Reads what a file says of itself; undefined if it was not imported. */
export function parseImported(
  path: string,
  whole: string,
): ImportedFile | undefined {
  const [line, service, id, fingerprint, source, url] = LINE.exec(
    whole.replaceAll("\r\n", "\n"),
  ) ?? [];
  if (line === undefined) return undefined;
  const text = whole.replaceAll("\r\n", "\n").slice(line.length);
  const isChanged = fingerprintOf(text) !== fingerprint;
  return { path, text, service, id, fingerprint, source, url, isChanged };
}

/** Prints a file with the line that says what it was made of. */
export function printImported(
  { service, id, fingerprint, text, source, url }: Omit<
    ImportedFile,
    "path" | "isChanged"
  >,
): string {
  const of = source === undefined ? "" : ` of ${source}`;
  const at = url === undefined
    ? ""
    : ` at ${url.replaceAll(/\s/g, encodeURIComponent)}`;
  return `// Imported: ${service} ${id} ${fingerprint}${of}${at}\n${text}`;
}

/** Gives the fingerprint of a text. */
export function fingerprintOf(text: string): string {
  return digest(text).toHex().slice(0, 12);
}

/** The imports of a file in a clone, whose own folders are below `src/`. */
export function inClone(text: string): string {
  return text.replaceAll(`"${PACKAGE}/api"`, '"../api.ts"')
    .replaceAll(`"${PACKAGE}/testing"`, '"../../packages/testing/mod.ts"')
    .replaceAll(`"${PACKAGE}"`, '"../mod.ts"');
}

/** Prints the lines in which two texts differ, with two lines around each. */
export function diffOf(before: string, after: string): string {
  const [a, b] = [before.split("\n"), after.split("\n")];
  // The longest common lines: files of tools are short.
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
      lines.push(`  ${a[i++]}`);
      j++;
    } else if (
      j < b.length && (i === a.length || common[i][j + 1] > common[i + 1][j])
    ) {
      lines.push(`+ ${b[j++]}`);
    } else lines.push(`- ${a[i++]}`);
  }
  const isNear = (at: number) =>
    lines.slice(Math.max(0, at - 2), at + 3).some((it) => !it.startsWith("  "));
  return lines.filter((_, at) => isNear(at)).join("\n");
}
