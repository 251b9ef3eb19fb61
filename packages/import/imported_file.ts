/**
 * Imported files. The first line of each names the item that the file was made
 * of, and the fingerprint of the generated text.
 *
 * @module
 */
import { dirname, relative } from "node:path/posix";
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
}

/** The parts of a service that its author may rename. */
export interface ServicePlace {
  /** The path of its file. */
  path: string;
  /** The constant. */
  variable: string;
}

const LINE =
  /^\/\/ Imported: ([a-z][a-z0-9_]*) (\S.*) ([0-9a-f]{12})(?: of ([a-z][a-z0-9_]*))?(?: from (\S+))?(?: at (\S+))?\n/;

/** Returns a text without a byte order mark, and with the line ends of Unix. */
export const plainText = (text: string) =>
  text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");

/**
 * Reads an imported file with its first line. Undefined if it was not imported.
 */
export function parseImported(
  path: string,
  given: string,
): ImportedFile | undefined {
  const whole = plainText(given);
  const [line, service, id, fingerprint, source, own, url] = LINE.exec(whole) ??
    [];
  if (line === undefined) return undefined;
  const text = whole.slice(line.length);
  return { path, text, service, id, fingerprint, source, own, url };
}

/** Matches a first line that is at another place, or that is not whole. */
const MISPLACED =
  /^\/\/ Imported: [a-z]\w* (?:.* [0-9a-f]{12}\b|service|test of|[A-Z]+ \/)/m;

/** Matches a line with which Git marks a conflict. */
const CONFLICT = /^(?:<{7}|>{7}) /m;

/**
 * Returns the reason why a file stops the import: an imported file or a list has
 * marks of a conflict, or the line `// Imported:` is not the first.
 */
export function hindranceIn(path: string, given: string): string | undefined {
  const isImported = parseImported(path, given) !== undefined;
  const isMeant = isImported || MISPLACED.test(plainText(given));
  if (CONFLICT.test(given) && (isMeant || path.endsWith("/mod.ts"))) {
    return `${path} has the marks of a conflict in Git: resolve it first.`;
  }
  return isImported || !isMeant ? undefined : `${path} must begin with its ` +
    "line // Imported: … as it was written. Put it there, or delete it to " +
    "keep the file as your own.";
}

/** Returns the text of a file with its first line. */
export function printImported(
  { service, id, fingerprint, text, source, own, url }: Omit<
    ImportedFile,
    "path"
  >,
): string {
  const more = Object.entries({ of: source, from: own, at: url })
    .map(([word, it]) =>
      it && ` ${word} ${it.replaceAll(/\s/g, encodeURIComponent)}`
    ).join("");
  return `// Imported: ${service} ${id} ${fingerprint}${more}\n${text}`;
}

/**
 * Makes the fingerprint of a text, which does not change with its format, nor
 * with the names that its author may change: those of the tool, of its file and
 * of its constant in the test, and those of the service.
 */
export function fingerprintOf(
  { path, text }: Pick<ImportedFile, "path" | "text">,
  service: ServicePlace,
): string {
  const from = `from"${importPath(path, service.path)}"`;
  const code = plainCode(text)
    .replace(from, 'from"service"')
    .replace(/import \w+ from"\.[^"]*"/, "")
    .replace(/(?<=Deno\.test\(")[\w.-]+/, "")
    .replaceAll(
      new RegExp(
        `(${TOOL_NAME})|"(?:\\\\.|[^"\\\\])*"|${PATTERN}|` +
          `((?<=\\btools:\\[|\\.call\\()\\w+)|` +
          `\\b${service.variable}(?=(?:Keys|Open)?\\b)`,
        "g",
      ),
      (it, name, tool) =>
        name ? '""' : tool ? "" : it === service.variable ? "service" : it,
    );
  return digest(code).toHex().slice(0, 12);
}

/** The source of what matches a tool's name in quotes, in shortened code. */
const TOOL_NAME = String.raw`(?<=\btool\(\{name:)"[\w.-]+"`;

/** Returns the name of the tool that a file declares. */
export const toolNameIn = (text: string) =>
  new RegExp(TOOL_NAME).exec(shortened(text, true, false))?.[0]
    .slice(1, -1);

/** Returns the constant of the service that a file declares. */
export const serviceNameIn = (text: string) =>
  /\bexport const (\w+)=(?:account|mcpServer|personalKey|service)\(/
    .exec(bareCode(text))?.[1];

/**
 * True if the file of a tool gives it an `approval`. No text of the source is
 * taken for one, nor a member of the tool's input.
 */
export function hasApproval(text: string): boolean {
  const [, members = ""] =
    /\bexport default tool\(\{([^]*)/.exec(bareCode(text)) ?? [];
  let depth = 0;
  for (const [sign] of members.matchAll(/[([{]|[)\]}]|\bapproval:/g)) {
    if ("([{".includes(sign)) depth++;
    else if (sign.length === 1) depth--;
    else if (depth === 0) return true;
  }
  return false;
}

/** The source of what matches a regular expression in code. */
const PATTERN = String
  .raw`\/(?<=[(,=:[]\s*\/)(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*`;

/**
 * Matches the parts of code that {@linkcode plainCode} treats differently:
 * strings, templates, regular expressions, comments, and the signs that a
 * formatter may change.
 */
const TOKEN = new RegExp(
  String.raw`((["'])(?:\\.|(?!\2)[^\\\n])*\2)(?=(\s*:)?)|` +
    `(\`(?:\\\\[^]|[^\`\\\\])*\`|${PATTERN})|` +
    String.raw`(\/\/.*)|\/\*([^]*?)\*\/|` +
    String.raw`(?<=\w)([;\s]+)(?=\w)|[;\s]+|,(?=\s*[)\]}])`,
  "g",
);

/**
 * Returns code without what the options of a formatter change: spaces, quotes,
 * semicolons and last commas.
 */
const plainCode = (text: string) => shortened(text);

/** Returns plain code without comments, and without what is in texts. */
const bareCode = (text: string) => shortened(text, true);

/**
 * @param isBare without comments, templates and regular expressions
 * @param noTexts without what is in strings
 */
function shortened(text: string, isBare = false, noTexts = isBare): string {
  return text.replaceAll(
    TOKEN,
    (_, string, _quote, isKey, kept, comment, block, between) => {
      if (string !== undefined) {
        const inside = string.slice(1, -1).replaceAll(
          /\\([^])|"/g,
          (it: string, sign = it) =>
            sign === '"' ? '\\"' : sign === "'" ? sign : it,
        );
        if (isKey && /^[A-Za-z_$][\w$]*$/.test(inside)) return inside;
        return noTexts ? '""' : `"${inside}"`;
      }
      if (isBare && (kept ?? comment ?? block) !== undefined) {
        return kept === undefined ? "\n" : '""';
      }
      if (comment !== undefined) return `\n${comment.trim()}\n`;
      if (block !== undefined) return `/*${plainCode(block)}*/`;
      return kept ?? (between === undefined ? "" : " ");
    },
  );
}

/** Returns the path by which one module imports another. */
export function importPath(from: string, to: string): string {
  const path = relative(dirname(from), to);
  return path.startsWith(".") ? path : `./${path}`;
}

/** Adapts the imports of a file to a clone, whose own folders are in `src/`. */
export function inClone(text: string, path: string): string {
  const [source, root] = ["src/", ""]
    .map((it) => importPath(path, `${it}mod.ts`).replace(/mod\.ts$/, ""));
  return text.replaceAll(`"${PACKAGE}/api"`, `"${source}api.ts"`)
    .replaceAll(`"${PACKAGE}/testing"`, `"${root}packages/testing/mod.ts"`)
    .replaceAll(`"${PACKAGE}"`, `"${source}mod.ts"`);
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
