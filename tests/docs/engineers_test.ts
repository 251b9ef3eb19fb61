/**
 * The code words of the pages for engineers, looked up in the tree: a name or a
 * path that is gone fails with its page and line. A file that moves is found
 * again wherever it is, as long as the page's path is the end of its own.
 *
 * @module
 */
import assert from "node:assert/strict";
import { REPOSITORY } from "../kit/process.ts";
import { type Page, parsePage } from "./pages.ts";

/** The folders, and the files beside them, whose code has the words. */
const CODE = ["src", "packages", "tests", "scripts", "examples", "bench"];
const FILES = [
  "main.ts",
  "server.ts",
  "health.ts",
  "deno.json",
  ".env.example",
];

/** The paths of the tree, and the words of its code without its comments. */
interface Tree {
  paths: readonly string[];
  words: ReadonlySet<string>;
}

/** A word of code: a name, or a part of one with hyphens. */
const WORD = /[A-Za-z_$][\w$]*/g;

/** A path: of a folder, or of a file with an ending that the tree has. */
const PATH = /^[\w.@*-]+(?:\/[\w.@*-]+)*(?:\/|\.(?:tsx?|md|json|html))$/;

async function readTree(): Promise<Tree> {
  const paths: string[] = [];
  const words = new Set<string>();
  const read = async (path: string) => {
    paths.push(path);
    // The fixtures below name what is not there.
    if (!/\.(tsx?|json|mjs|example)$/.test(path) || path.includes("/docs/")) {
      return;
    }
    const text = await Deno.readTextFile(new URL(path, REPOSITORY));
    const code = text.replaceAll(/\/\*\*[^]*?\*\/|(?<=^|\s)\/\/ .*$/gm, "");
    for (const [word] of code.matchAll(WORD)) words.add(word);
  };
  const walk = async (folder: string) => {
    paths.push(`${folder}/`);
    for await (const entry of Deno.readDir(new URL(folder, REPOSITORY))) {
      const path = `${folder}/${entry.name}`;
      if (entry.name === "node_modules") continue;
      await (entry.isDirectory ? walk(path) : read(path));
    }
  };
  await Promise.all([...CODE, "contributing", "docs", "deploy"].map(walk));
  await Promise.all(FILES.map(read));
  paths.push("README.md", "AGENTS.md", "CHANGELOG.md", "Dockerfile");
  return { paths, words };
}

/** Reads the pages for engineers. */
async function readEngineersPages(): Promise<Page[]> {
  const paths = [
    "AGENTS.md",
    "contributing/architecture.md",
    "contributing/extending.md",
    "contributing/glossary.md",
  ];
  const decisions = new URL("contributing/decisions/", REPOSITORY);
  for await (const { name } of Deno.readDir(decisions)) {
    paths.push(`contributing/decisions/${name}`);
  }
  return await Promise.all(
    paths.sort().map(async (path) =>
      parsePage(path, await Deno.readTextFile(new URL(path, REPOSITORY)))
    ),
  );
}

/** Lists the code words of a text that the tree does not have. */
function missing(text: string, { paths, words }: Tree): string[] {
  return text.split(/[\s,]+/).flatMap((part) => {
    if (PATH.test(part)) {
      const isThere = /\*|\/NAME\//.test(part) ||
        paths.some((path) => path === part || path.endsWith(`/${part}`));
      return isThere ? [] : [part];
    }
    return (part.match(WORD) ?? []).filter((word) => !words.has(word));
  });
}

/** A name that an example declares, or a member of an object or a type. */
const MADE = /\b(?:const|function|class|interface) (\w+)|^ *(\w+)\??:/gm;

/** Forms that names have, and names that an example's reader chooses. */
const FORMS = ["parseX", "checkX", "isX", "thingStore", "ThePage"];

/** Finds what a page names and the tree does not have, with its line. */
function strangers({ path, text, blocks }: Page, tree: Tree): string[] {
  // An example makes names, of which the text speaks.
  const made = blocks.flatMap(({ text }) =>
    [...text.matchAll(MADE)].map(([, name, member]) => name ?? member)
  );
  const known = { ...tree, words: new Set([...tree.words, ...made, ...FORMS]) };
  const found: string[] = [];
  let language: string | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^```(\w*)/.exec(line);
    if (fence) {
      language = language === undefined ? fence[1] : undefined;
      continue;
    }
    for (const code of codeOf(line, language)) {
      for (const word of missing(code, known)) {
        found.push(`${path}:${index + 1} ${word}`);
      }
    }
  }
  return found;
}

/** Lists the pieces of code in a line, by the language of its block, if any. */
function codeOf(line: string, language?: string): string[] {
  switch (language) {
    case undefined:
      return [...line.matchAll(/`([^`]+)`/g)].map(([, code]) => code);
    case "mermaid":
      return line.match(/\b[\w/]+\/[\w.]*/g) ?? [];
    default:
      // The place of an example: "// src/core/oauth/client.ts, in parse()"; else
      // names, without texts.
      return /^\/\/ /.test(line) ? line.match(/\b\w+(?=\(\))/g) ?? [] : [
        line.replaceAll(
          /"[^"]*"|`[^`]*`|\/\/.*|\/\*\*.*|<.*>|\[_\w+\].*/g,
          "",
        ),
      ];
  }
}

Deno.test("strangers() finds a name, a path, and the place of an example that are gone", () => {
  const tree = {
    paths: ["src/a.ts", "src/b/"],
    words: new Set(["const", "known", "parseKnown"]),
  };
  const page = parsePage(
    "docs/a.md",
    "`known()` of `src/a.ts`, in `b/`\n\n`parseGone()` of `src/gone.ts`\n" +
      "```ts\n// src/a.ts, in parseKnown() and goneToo()\nconst made = alsoGone();\n```\n" +
      "`made` here\n```mermaid\nparticipant A as b/\nparticipant B as c/\n```\n",
  );
  assert.deepEqual(strangers(page, tree), [
    "docs/a.md:3 parseGone",
    "docs/a.md:3 src/gone.ts",
    "docs/a.md:5 goneToo",
    "docs/a.md:6 alsoGone",
    "docs/a.md:11 c/",
  ]);
});

Deno.test("every code word of the pages for engineers is in the tree", async () => {
  const tree = await readTree();
  const pages = await readEngineersPages();
  const found = pages.flatMap((page) => strangers(page, tree));
  assert.deepEqual(
    found,
    [],
    "A page names what the tree does not have: write its name of today",
  );
});
