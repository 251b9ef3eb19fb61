/**
 * One of each thing a server offers.
 *
 * @module
 */
import * as z from "zod";
import { prompt } from "../../../../src/authoring/prompt.ts";
import { resource } from "../../../../src/authoring/resource.ts";
import { tool, ToolError } from "../../../../src/authoring/tool.ts";

const greet = tool({
  name: "greet",
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}`,
});

const add = tool({
  name: "add",
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number() }),
  run: ({ a, b }) => Promise.resolve({ sum: a + b }),
});

const list = tool({
  name: "list",
  output: z.array(z.int()),
  run: () => [1, 2],
});

const lie = tool({
  name: "lie",
  output: z.object({ sum: z.number() }),
  run: () => ({ sum: "secret" as unknown as number }),
});

const fail = tool({
  name: "fail",
  run: () => {
    throw new ToolError("Try the other door.");
  },
});

const crash = tool({
  name: "crash",
  async run() {
    await Promise.resolve();
    throw new Error("secret");
  },
});

const report = tool({
  name: "report",
  async run(_input, { progress, log }) {
    await progress(1, 2);
    await log("debug", "small");
    await log("warning", "large");
    await progress(1, 2);
    await progress(2, 2);
    return "done";
  },
});

const route = tool({
  name: "route",
  input: z.object({
    region: z.string().meta({ "x-mcp-header": "Region" }),
    shard: z.int().meta({ "x-mcp-header": "Shard" }).optional(),
  }),
  run: ({ region }) => region,
});

export const CATALOGUE = {
  tools: [greet, add, list, lie, fail, crash, report, route],
  resources: [
    resource({
      uri: "notes://all",
      name: "all",
      ttlSeconds: 5,
      cacheScope: "public",
      read: () => "everything",
    }),
    resource({
      uri: "notes://{id}",
      name: "note",
      read: ({ id }) => id === "none" ? undefined : new Uint8Array([1, 2]),
    }),
  ],
  prompts: [
    prompt({
      name: "review",
      args: z.object({ code: z.string() }),
      complete: { code: (value) => [`${value}()`] },
      get: ({ code }) => `Review ${code}`,
    }),
    prompt({
      name: "crash",
      get: () => {
        throw new Error("secret");
      },
    }),
    prompt({
      name: "fail",
      get: () => Promise.reject(new ToolError("Try the other door.")),
    }),
  ],
};
