/**
 * The TypeScript of the documents, in a project that has the package under its
 * published name: all of it is checked, tests run, and servers start.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Process, REPOSITORY, TemporaryDirectory } from "../kit/process.ts";
import { type Block, isForUsers, readPages } from "./pages.ts";

/** Blocks that are files, by their language. */
const FILES = ["ts", "tsx", "html", "md"];

/** Prints the configuration of a project that has the package by its name. */
async function configuration(): Promise<string> {
  const read = async (path: string) =>
    JSON.parse(await Deno.readTextFile(new URL(path, REPOSITORY)));
  const { name, exports } = await read("deno.json");
  const { imports, unstable } = await read("tests/deno.json");
  const own = Object.entries<string>(exports).map(([entry, path]) => [
    name + entry.slice(1),
    new URL(path, REPOSITORY).href,
  ]);
  return JSON.stringify({
    imports: {
      ...imports,
      hono: imports["@hono/hono"],
      "hono/": imports["@hono/hono/"],
      ...Object.fromEntries(own),
    },
    unstable,
  });
}

/** The path of a block's file: a folder a page. */
function pathOf({ page, line, language, file }: Block): string {
  const folder = page.replaceAll(/\W+/g, "_").toLowerCase();
  return `${folder}/${file ?? `line_${line}.${language}`}`;
}

/** Writes the blocks of all pages, and gives those of TypeScript. */
async function writeBlocks(directory: string): Promise<Block[]> {
  const pages = await readPages();
  const blocks = pages.filter(isForUsers).flatMap(({ blocks }) => blocks);
  const code = blocks.filter(({ language }) => /^tsx?$/.test(language));
  await Deno.writeTextFile(`${directory}/deno.json`, await configuration());
  // Nothing is downloaded that the other tests do not have.
  const lock = new URL("tests/deno.lock", REPOSITORY);
  await Deno.copyFile(lock, `${directory}/deno.lock`);
  for (const block of blocks) {
    const isFile = code.includes(block) ||
      block.file !== undefined && FILES.includes(block.language);
    if (!isFile) continue;
    const path = `${directory}/${pathOf(block)}`;
    await Deno.mkdir(path.replace(/[^/]*$/, ""), { recursive: true });
    // Two blocks of one page must not have one name.
    await Deno.writeTextFile(path, block.text, { createNew: true });
  }
  return code;
}

Deno.test("a block of code installs what it imports, and begins with the name by which others import it", async () => {
  const faults: string[] = [];
  for (const page of (await readPages()).filter(isForUsers)) {
    const scripts = page.blocks.filter(({ language }) => language === "sh")
      .map(({ text }) => text).join("") + page.prose;
    const installed = new Set(
      [...scripts.matchAll(/deno add npm:(\S+?)[`\s]|npm install (.*)/g)]
        .flatMap(([, name, names]) => name ? [name] : names.split(/\s+/)),
    );
    for (const { line, language, file, text } of page.blocks) {
      const place = `${page.path}:${line}`;
      if (!/^(tsx?|js)$/.test(language)) continue;
      for (const [, name] of text.matchAll(/ from "([^."][^":]*)"/g)) {
        const [, own] = /^((?:@[^/]+\/)?[^/]+)/.exec(name)!;
        if (own === "@tool-server/tool-server" || installed.has(own)) continue;
        faults.push(`${place} imports ${own}`);
      }
      if (file !== undefined && !text.startsWith(`// ${file}\n`)) {
        faults.push(`${place} is ${file}`);
      }
    }
  }
  assert.deepEqual(faults, []);
});

/** Runs `deno` to its end, which must be a good one. */
async function succeed(cwd: string, ...args: string[]): Promise<string> {
  await using process = new Process(args, { cwd });
  assert.equal(await process.end(), 0, process.output);
  return process.output;
}

Deno.test("the TypeScript of the documents compiles, its tests pass, its servers start", async () => {
  await using directory = new TemporaryDirectory();
  const { path: cwd } = directory;
  const code = await writeBlocks(cwd);
  assert.deepEqual(code.filter(({ words }) => words.length > 0), []);
  await succeed(cwd, "check", "--quiet", ...code.map(pathOf));

  const tests = code.filter(({ text }) => text.includes("Deno.test("));
  assert(tests.length > 0);
  const run = ["test", "--no-check", "--quiet", "--allow-all"];
  const output = await succeed(cwd, ...run, ...tests.map(pathOf));
  assert.match(output, /\b[1-9]\d* passed/);

  const servers = code.filter(({ text }) =>
    /^(await serve\(|(const \w+ = )?Deno\.serve\()/m.test(text)
  );
  assert(servers.length > 0);
  for (const server of servers) {
    const file = `${cwd}/${pathOf(server)}`;
    await using process = new Process(
      ["run", "--no-check", "--allow-all", file],
      {
        cwd: file.replace(/[^/]*$/, ""),
        env: {
          KV_PATH: ":memory:",
          DENO_SERVE_ADDRESS: "tcp:127.0.0.1:0",
          STATS_PASSWORD: "sixteen or longer",
        },
      },
    );
    await process.prints(/http:\/\/[\w.]+:\d+/);
  }
});
