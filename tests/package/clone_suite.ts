/**
 * A clone with its owner's changes: no samples, other packages.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Process } from "../kit/process.ts";
import { Clone } from "../process/clone.ts";
import { callBoth } from "./project.ts";

/** Tests of files that they read or start, besides those they import. */
const READERS = [
  "tests/architecture_test.ts",
  "tests/words_test.ts",
  "tests/core/settings/",
  "tests/package/mod_test.ts",
  "tests/interop/main_test.ts",
  "packages/create/",
];

const LISTS = {
  tools: "Tool",
  resources: "Resource",
  prompts: "Prompt",
} as const;

/** A tool that needs three packages which the server does not. */
const OWN_TOOL = `import ms from "ms";
import { nanoid } from "nanoid";
import { parse } from "yaml";
import { tool, z } from "../mod.ts";

export default tool({
  name: "own",
  input: z.object({ text: z.string() }),
  run: ({ text }) => \`\${nanoid(4).length} \${ms(60_000)} \${parse(text).a}\`,
});
`;

/** The flags by which git knows who commits. */
const OWNER = ["-c", "user.name=Owner", "-c", "user.email=owner@example.com"];

/** Removes the samples, with their tests. */
async function removeSamples({ path }: Clone): Promise<void> {
  for (const [folder, type] of Object.entries(LISTS)) {
    await Deno.remove(`${path}/src/${folder}`, { recursive: true });
    await Deno.mkdir(`${path}/src/${folder}`);
    await Deno.writeTextFile(
      `${path}/src/${folder}/mod.ts`,
      `import type { ${type} } from "../mod.ts";\n\n` +
        `export const ${folder}: ${type}[] = [];\n`,
    );
  }
}

/** Runs a command that must succeed, and gives its output. */
async function run(clone: Clone, ...command: string[]): Promise<string> {
  await using process = clone.run(command);
  assert.equal(await process.end(), 0, process.output.slice(-10_000));
  return process.output;
}

Deno.test("a clone without samples, with a tool and three packages of its own, passes its tests and serves", async () => {
  await using clone = await Clone.make();
  await run(clone, "deno", "add", "npm:ms", "npm:nanoid", "npm:yaml");
  await run(clone, "deno", "task", "ts", "settings");
  await run(clone, "deno", "task", "imports");
  // Its settings concern every test. All others are as they are here.
  await run(clone, "git", ...OWNER, "commit", "--quiet", "-am", "Add packages");
  await removeSamples(clone);
  await Deno.writeTextFile(`${clone.path}/src/tools/own.ts`, OWN_TOOL);
  await Deno.writeTextFile(
    `${clone.path}/src/tools/mod.ts`,
    'import type { Tool } from "../mod.ts";\nimport own from "./own.ts";\n\n' +
      "export const tools: Tool[] = [own];\n",
  );
  const all = ["deno", "test", "--config", "tests/deno.json", "--allow-all"];
  for (
    const tests of [["deno", "task", "test", "--changed"], [...all, ...READERS]]
  ) {
    assert.match(await run(clone, ...tests), /[1-9]\d* passed/);
  }
  await using server = clone.run(["deno", "task", "start"]);
  const answers = await callBoth(await server.url(), "own", { text: "a: 1" });
  assert.deepEqual(answers, ["4 1m 1", "4 1m 1"]);
  server.kill("SIGTERM");
  await server.end();
});

Deno.test("a definition is added to a clone as to a project, with a test that passes", async () => {
  await using clone = await Clone.make();
  const run = async (...args: string[]) => {
    await using process = new Process(args, { cwd: clone.path });
    assert.equal(await process.end(), 0, process.output);
    return process.output;
  };
  for (const [folder, type] of Object.entries(LISTS)) {
    const kind = type.toLowerCase();
    await run("run", "-A", "packages/cli/mod.ts", kind, "teaTime");
    const test = `src/${folder}/tea_time_test.ts`;
    await run("test", "--config", "tests/deno.json", "-A", test);
    const list = await Deno.readTextFile(`${clone.path}/src/${folder}/mod.ts`);
    assert.match(list, /import teaTime from ".\/tea_time.ts";[^]*\bteaTime\b/);
  }
  const changed = await run("fmt", "--check");
  assert.match(changed, /Checked/);
});
