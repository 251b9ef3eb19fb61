/**
 * A clone with its owner's changes: no samples, other packages.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Clone } from "../process/clone.ts";
import { callBoth } from "./project.ts";

/** The time for the whole suite in the clone, on a slow machine too. */
const PATIENCE_MILLISECONDS = 10 * 60_000;

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

/** Runs a task that must succeed, and gives its output. */
async function runTask(clone: Clone, ...args: string[]): Promise<string> {
  await using task = clone.run(["deno", ...args]);
  const code = await task.end(PATIENCE_MILLISECONDS);
  assert.equal(code, 0, task.output.slice(-10_000));
  return task.output;
}

Deno.test("a clone without samples, with a tool and three packages of its own, passes its tests and serves", async () => {
  await using clone = await Clone.make();
  await removeSamples(clone);
  await Deno.writeTextFile(`${clone.path}/src/tools/own.ts`, OWN_TOOL);
  await Deno.writeTextFile(
    `${clone.path}/src/tools/mod.ts`,
    'import type { Tool } from "../mod.ts";\nimport own from "./own.ts";\n\n' +
      "export const tools: Tool[] = [own];\n",
  );
  await runTask(clone, "add", "npm:ms", "npm:nanoid", "npm:yaml");
  await runTask(clone, "task", "settings");
  const output = await runTask(clone, "task", "test");
  assert.match(output, /[1-9]\d* passed/);
  await using server = clone.run(["deno", "task", "start"]);
  const answers = await callBoth(await server.url(), "own", { text: "a: 1" });
  assert.deepEqual(answers, ["4 1m 1", "4 1m 1"]);
  server.kill("SIGTERM");
  await server.end();
});
