import assert from "node:assert/strict";
import * as z from "zod";
import { prompt } from "../../../src/authoring/prompt.ts";
import { resource } from "../../../src/authoring/resource.ts";
import { tool } from "../../../src/authoring/tool.ts";

Deno.test("tool() types its input and output by their schemas", () => {
  const made = tool({
    name: "repeat",
    input: z.object({ text: z.string(), times: z.int().default(3) }),
    output: z.object({ texts: z.array(z.string()) }),
    async run({ text, times }, { ask, progress }) {
      const answer = await ask({
        message: "Really?",
        schema: z.object({ sure: z.boolean() }),
      });
      const sure: boolean = answer.action === "accept" && answer.content.sure;
      await progress(1, 1);
      return { texts: Array(sure ? times : 0).fill(text) };
    },
  });
  assert.equal(made.kind, "tool");
});

Deno.test("tool() refuses at compile time what its schemas do not say", () => {
  const output = z.object({ s: z.string() });
  // @ts-expect-error: the output schema wants a string
  tool({ name: "a", output, run: () => ({ s: 3 }) });
  // @ts-expect-error: without an output schema, text or content blocks
  tool({ name: "b", run: () => 3 });
  const input = z.object({ a: z.string() });
  // @ts-expect-error: the input has no such member
  tool({ name: "c", input, run: ({ b }) => String(b) });
  // @ts-expect-error: progress is a number
  tool({ name: "d", run: (_, { progress }) => progress("1").then(() => "") });
});

Deno.test("tool() takes one content block as it stands", () => {
  tool({ name: "a", run: () => ({ type: "text", text: "a" }) });
  // @ts-expect-error: a text block has a text
  tool({ name: "b", run: () => ({ type: "text" }) });
});

Deno.test("tool() hands run() what prepare() returned", () => {
  tool({
    name: "a",
    input: z.object({ n: z.int() }),
    prepare: ({ n }) => ({ doubled: 2 * n }),
    run: ({ n }, _context, { doubled }) => String(n + doubled),
  });
  tool({
    name: "b",
    prepare: () => 1,
    // @ts-expect-error: the prepared value is a number
    run: (_input, _context, prepared) => prepared.length,
  });
});

Deno.test("resource() infers its variables from the template", () => {
  const made = resource({
    uri: "notes://{folder}/{+path}",
    name: "note",
    complete: { folder: (value) => [value] },
    read: ({ folder, path }) => folder + path,
  });
  assert.equal(made.uri, "notes://{folder}/{+path}");
  resource({
    uri: "notes://{folder}",
    name: "note",
    // @ts-expect-error: the template has no such variable
    read: ({ id }) => id,
  });
});

Deno.test("prompt() types its arguments and their completions", () => {
  const args = z.object({ topic: z.string() });
  const made = prompt({ name: "a", args, get: ({ topic }) => topic });
  assert.equal(made.kind, "prompt");
  // @ts-expect-error: there is no such argument to complete
  prompt({ name: "b", args, complete: { other: () => [] }, get: () => "" });
});
