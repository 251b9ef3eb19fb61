/**
 * The catalogue of both servers in the comparison: a little of everything.
 * @module
 */
import * as z from "zod";
import { prompt } from "../../src/authoring/prompt.ts";
import { resource } from "../../src/authoring/resource.ts";
import { tool, ToolError } from "../../src/authoring/tool.ts";

const echo = tool({
  name: "echo",
  description: "Says it again.",
  input: z.object({ text: z.string(), times: z.int().min(1).default(1) }),
  run: ({ text, times }) => text.repeat(times),
});

const add = tool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
});

const plain = tool({
  name: "plain",
  description: "Takes nothing.",
  run: () => "Nothing taken.",
});

const refuse = tool({
  name: "refuse",
  description: "Refuses to work.",
  run() {
    throw new ToolError("No.");
  },
});

const fall = tool({
  name: "fall",
  description: "Breaks.",
  run() {
    throw new Error("Something fell over");
  },
});

const route = tool({
  name: "route",
  description: "Has arguments that travel as headers too.",
  input: z.object({
    region: z.string().meta({ "x-mcp-header": "Region" }),
    size: z.int().optional().meta({ "x-mcp-header": "Size" }),
    dry: z.boolean().optional().meta({ "x-mcp-header": "Dry" }),
  }),
  run: ({ region }) => `Went to ${region}.`,
});

const confirm = tool({
  name: "confirm",
  description: "Asks first.",
  async run(_input, { ask }) {
    const schema = z.object({ sure: z.boolean() });
    const answer = await ask({ key: "sure", message: "Sure?", schema });
    return JSON.stringify(answer);
  },
});

const readme = resource({
  uri: "doc://readme",
  name: "readme",
  description: "A text.",
  mimeType: "text/plain",
  read: () => "Read me.",
});

const note = resource({
  uri: "note://{folder}/{id}",
  name: "note",
  description: "A note.",
  mimeType: "text/plain",
  complete: { folder: (value) => [`${value}1`, `${value}2`] },
  read: ({ folder, id }) => `${folder}: ${id}`,
});

const greeting = prompt({
  name: "greeting",
  description: "Greets.",
  get: () => "Hello.",
});

const review = prompt({
  name: "review",
  description: "Reviews a file.",
  args: z.object({ file: z.string(), tone: z.string().optional() }),
  complete: { file: (value) => [`${value}.ts`] },
  get: ({ file, tone }) => `Review ${file}, ${tone ?? "kindly"}.`,
});

export const catalogue = {
  tools: [echo, add, plain, refuse, fall, route, confirm],
  resources: [readme, note],
  prompts: [greeting, review],
};
