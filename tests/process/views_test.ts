import assert from "node:assert/strict";
import { Process, REPOSITORY, TemporaryDirectory } from "../kit/process.ts";

/** Writes a server with a view in a file of its own, as a person would. */
async function writeServer(directory: string): Promise<void> {
  await Deno.writeTextFile(
    `${directory}/main.ts`,
    `import { serve, tool, z } from "${REPOSITORY}src/mod.ts";
import html from "./chart.html" with { type: "text" };
const chart = tool({
  name: "chart",
  output: z.object({ n: z.number() }),
  view: html,
  run: () => ({ n: 1 }),
});
await serve({ name: "charts", version: "1.0.0", tools: [chart] });
`,
  );
  await writePage(directory, "First");
}

async function writePage(directory: string, title: string): Promise<void> {
  const html = `<!doctype html><title>${title}</title>`;
  await Deno.writeTextFile(`${directory}/chart.html`, html);
}

/** Runs it as `deno task dev` does: it may read `data` and nothing else. */
function run(
  directory: string,
  { flags = [], args = [], host = "127.0.0.1" }: {
    flags?: string[];
    args?: string[];
    host?: string;
  },
): Process {
  const config = `--config=${REPOSITORY.pathname}deno.json`;
  return new Process(
    ["run", "--quiet", config, "-P", "--no-prompt", ...flags, "main.ts"]
      .concat(args),
    { cwd: directory, env: { KV_PATH: ":memory:", HOST: host } },
  );
}

async function read(url: string): Promise<[status: number, text: string]> {
  const response = await fetch(url);
  return [response.status, await response.text()];
}

Deno.test("a view is shown under --views, and another when its file is saved", async () => {
  await using directory = new TemporaryDirectory();
  await writeServer(directory.path);
  await using server = run(directory.path, {
    flags: ["--watch", "--no-clear-screen"],
    args: ["--no-drain", "--views"],
  });
  const [, views] = await server.prints(/"views":"([^"]+)"/);
  const [status, page] = await read(`${views}/page/chart`);
  assert.equal(status, 200);
  assert.match(page, /<title>First/);
  await writePage(directory.path, "Second");
  const [, again] = await server.prints(
    /"views":"[^"]+"[\s\S]*"views":"([^"]+)"/,
  );
  assert.match((await read(`${again}/page/chart`))[1], /<title>Second/);
});

const HIDDEN: readonly (readonly [string, string[], string?])[] = [
  ["without --views", []],
  ["where others reach it", ["--views"], "0.0.0.0"],
];
for (const [what, args, host] of HIDDEN) {
  Deno.test(`no view is shown ${what}`, async () => {
    await using directory = new TemporaryDirectory();
    await writeServer(directory.path);
    await using server = run(directory.path, { args, host });
    const url = await server.url();
    await server.prints(/"Listening"/);
    assert.doesNotMatch(server.output, /"views":/);
    const [status] = await read(`${url.replace("0.0.0.0", "127.0.0.1")}/views`);
    assert.equal(status, 404);
  });
}

Deno.test("a view is in the bundle", async () => {
  await using directory = new TemporaryDirectory();
  await writeServer(directory.path);
  const config = `--config=${REPOSITORY.pathname}deno.json`;
  await using bundling = new Process(
    ["bundle", "--quiet", "--minify", config, "-o", "out/main.js", "main.ts"],
    { cwd: directory.path },
  );
  assert.equal(await bundling.end(), 0, bundling.output);
  await Deno.remove(`${directory.path}/chart.html`);
  await Deno.rename(
    `${directory.path}/out/main.js`,
    `${directory.path}/main.ts`,
  );
  await using server = run(directory.path, { args: ["--views"] });
  const [, views] = await server.prints(/"views":"([^"]+)"/);
  const [, page] = await read(`${views}/page/chart`);
  assert.match(page, /<title>First/);
  // The page's script was made from minified functions.
  const [, shown] = await read(views);
  const script = /<script>([^]*?)<\/script>/.exec(shown)![1];
  assert.match(script, /ui\/initialize/);
  new Function(script);
});
