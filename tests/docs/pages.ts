/**
 * The documents as their readers have them: text, headings, links and blocks of
 * code.
 *
 * @module
 */
import { REPOSITORY } from "../kit/process.ts";

/** A block of code on a page. */
export interface Block {
  /** The page it is on, from the root of the repository. */
  page: string;
  /** The line of its fence. */
  line: number;
  language: string;
  /** The name under which other blocks of the page import it: `file=NAME`. */
  file?: string;
  /** Everything else after the language. */
  words: readonly string[];
  text: string;
}

/** A Markdown page. */
export interface Page {
  /** From the root of the repository. */
  path: string;
  text: string;
  /** The text without its blocks of code. */
  prose: string;
  blocks: readonly Block[];
  /** The names by which links lead to its headings. */
  anchors: ReadonlySet<string>;
}

/** The pages of people who use the server, and the pages that prove them. */
const FOLDERS = ["docs", "contributing", "bench"];

/** Pages about the code itself: their blocks are parts of it, or of plans. */
const INNER = /^(bench\/|packages\/(?!testing\/)|contributing\/|CHANGELOG\.md)/;

/** True for a page of those who use the server, whose code anyone can run. */
export function isForUsers({ path }: Pick<Page, "path">): boolean {
  return !INNER.test(path);
}

/** Reads every page. */
export async function readPages(): Promise<Page[]> {
  const paths = ["README.md", "SECURITY.md", "CHANGELOG.md"];
  for (const folder of FOLDERS) {
    for await (const { name } of Deno.readDir(new URL(folder, REPOSITORY))) {
      if (name.endsWith(".md")) paths.push(`${folder}/${name}`);
    }
  }
  for await (const { name } of Deno.readDir(new URL("packages", REPOSITORY))) {
    paths.push(`packages/${name}/README.md`);
  }
  return await Promise.all(
    paths.sort().map(async (path) =>
      parsePage(path, await Deno.readTextFile(new URL(path, REPOSITORY)))
    ),
  );
}

/** Parses a page. */
export function parsePage(path: string, text: string): Page {
  const blocks: Block[] = [];
  const prose: string[] = [];
  let open: { line: number; info: string; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const info = /^```(.*)$/.exec(line)?.[1];
    if (info === undefined) {
      (open?.lines ?? prose).push(line);
    } else if (open === undefined) {
      open = { line: index + 1, info, lines: [] };
    } else {
      blocks.push(blockOf(path, open));
      open = undefined;
    }
  }
  const words = prose.join("\n");
  return { path, text, prose: words, blocks, anchors: anchorsOf(words) };
}

function blockOf(
  page: string,
  { line, info, lines }: { line: number; info: string; lines: string[] },
): Block {
  const [language = "", ...words] = info.trim().split(/\s+/);
  const file = words.find((word) => word.startsWith("file="))?.slice(5);
  const rest = words.filter((word) => !word.startsWith("file="));
  return {
    page,
    line,
    language,
    file,
    words: rest,
    text: lines.join("\n") + "\n",
  };
}

/** Lists the names of headings, as GitHub makes them. */
function anchorsOf(prose: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const name = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    let anchor = name;
    for (let count = 1; anchors.has(anchor); count++) {
      anchor = `${name}-${count}`;
    }
    anchors.add(anchor);
  }
  return anchors;
}

/** Lists the targets of a page's links and pictures. */
export function linksOf({ prose }: Page): string[] {
  const text = prose.replaceAll(/`[^`]*`/g, "");
  const inline = [...text.matchAll(/\]\(([^()\s]*(?:\([^()]*\))?[^()\s]*)\)/g)];
  const html = [...text.matchAll(/\b(?:src|srcset|href)="([^"]+)"/g)];
  return [...inline, ...html].map(([, target]) => target);
}

/** True if there is a file or a folder at a path from the root. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.stat(new URL(path, REPOSITORY));
    return true;
  } catch {
    return false;
  }
}
