/** The words of the compiler for an author's slips. */
import assert from "node:assert/strict";

const HEAD = `
import { tool, z } from "${new URL("../../../src/mod.ts", import.meta.url)}";
const output = z.object({ title: z.string(), labels: z.array(z.string()) });
`;

/** Slips, and the words that name them. */
const SLIPS: Record<string, [code: string, ...words: RegExp[]]> = {
  "an async run misspells a member of its output": [
    `tool({ name: "a", output, async run() {
      return await Promise.resolve({ titel: "", labels: [] });
    } });`,
    /Property 'title' is missing in type '{ titel: string;/,
  ],
  "a run misspells a member of its output": [
    `tool({ name: "a", output, run: () => ({ titel: "", labels: [] }) });`,
    /Property 'title' is missing in type '{ titel: string;/,
  ],
  "an async run gives a member of another type": [
    `tool({ name: "a", output, async run() {
      return await Promise.resolve({ title: 3, labels: [] });
    } });`,
    /Types of property 'title' are incompatible/,
    /Type 'number' is not assignable to type 'string'/,
  ],
  "one of several answers lacks a member": [
    `tool({ name: "a", output, async run() {
      if (await Promise.resolve(true)) return { title: "", labels: [] };
      return { title: "" };
    } });`,
    /Types of property 'labels' are incompatible/,
  ],
  "an output of members alone is misspelt": [
    `tool({ name: "a", output: { title: z.string() }, async run() {
      return await Promise.resolve({ titel: "" });
    } });`,
    /Property 'title' is missing in type '{ titel: string;/,
  ],
  "data without an output schema": [
    `tool({ name: "a", async run() {
      return await Promise.resolve({ title: "" });
    } });`,
    /is not assignable to type 'ToolContent'/,
    /Property 'output' is missing/,
  ],
  "an input's member that is no schema": [
    `tool({ name: "a", input: { title: "text" }, run: () => "" });`,
    /Type 'string' is not assignable to type 'ZodType/,
  ],
};

Deno.test("tool() has words for every slip that name it", async () => {
  const modules = Object.values(SLIPS).map(([code]) => HEAD + code);
  const outputs = await check(modules);
  for (const [index, [slip, [, ...words]]] of Object.entries(SLIPS).entries()) {
    for (const word of words) assert.match(outputs[index], word, slip);
    // The schema of another package means nothing to an author.
    if (!words.some(({ source }) => source.includes("ToolContent"))) {
      assert.doesNotMatch(outputs[index], /'content' is missing/, slip);
    }
  }
});

/** Type-checks modules and gives the compiler's words for each. */
async function check(modules: readonly string[]): Promise<string[]> {
  const directory = await Deno.makeTempDir();
  try {
    const paths = modules.map((_, index) => `${directory}/slip_${index}.ts`);
    for (const [index, path] of paths.entries()) {
      await Deno.writeTextFile(path, modules[index]);
    }
    const config = new URL("../../../deno.json", import.meta.url).pathname;
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--config", config, ...paths],
      env: { NO_COLOR: "1" },
      stderr: "piped",
      stdout: "null",
    }).output();
    const errors = new TextDecoder().decode(stderr).split(/^(?=TS\d+ )/m);
    return paths.map((path) =>
      errors.filter((error) => error.includes(path)).join("\n")
    );
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
