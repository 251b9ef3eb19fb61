/**
 * Tools that record what reaches them, and when.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { Server } from "../../src/core/server/server_options.ts";
import type { Context } from "../../src/authoring/context.ts";
import { resource } from "../../src/authoring/resource.ts";
import { type Tool, tool } from "../../src/authoring/tool.ts";
import { fingerprint } from "../../src/core/crypto/crypto.ts";

/**
 * The times at which signals of tools in this process fired, by the name given.
 */
const fired = new Map<string, number>();
/** The outcomes of tools in this process, by name. */
const outcomes = new Map<string, string>();
/** The most names that a process remembers. */
const MAX_NAMES = 1000;

function remember<T>(map: Map<string, T>, name: string, value: T): void {
  map.set(name, value);
  if (map.size > MAX_NAMES) map.delete(map.keys().next().value!);
}

/** The server of this process. */
let measured: Server | undefined;

/** Sets the server whose vitals are measured. */
export function measure(app: Server): void {
  measured = app;
}

const named = z.object({ name: z.string() });

/** The answer to a question that carries a name. */
export const word = z.object({ word: z.string() });

async function askWord(name: string, { ask }: Context): Promise<string> {
  const answer = await ask({ message: name, schema: word });
  const resumedMilliseconds = Date.now();
  const said = answer.action === "accept" ? answer.content.word : null;
  const text = JSON.stringify({ name, said, resumedMilliseconds });
  remember(outcomes, name, text);
  return text;
}

async function holdOn(name: string, { progress, signal }: Context) {
  await progress(1, 2, "holding");
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  remember(fired, name, Date.now());
  return "let go";
}

/** The options of a tool, besides its name. */
type Manner = Pick<Tool, "singleUse" | "task">;

function asker(name: string, manner?: Manner): Tool {
  return tool({
    name,
    description: "Asks for a word.",
    ...manner,
    input: named,
    run: ({ name }, context) => askWord(name, context),
  });
}

function holder(name: string, manner?: Manner): Tool {
  return tool({
    name,
    description: "Works until it is cancelled.",
    ...manner,
    input: named,
    run: ({ name }, context) => holdOn(name, context),
  });
}

const sample = tool({
  name: "sample",
  description: "Tells what the client's model said.",
  input: named,
  async run({ name }, { sample }) {
    const { content } = await sample({
      messages: [{ role: "user", content: { type: "text", text: name } }],
      maxTokens: 100,
    });
    const [block] = [content].flat();
    const text = block?.type === "text" ? block.text : "";
    const { length } = text;
    return JSON.stringify({ name, length, fingerprint: fingerprint(text) });
  },
});

const count = tool({
  name: "count",
  description: "Counts, and gives its name back.",
  input: z.object({
    name: z.string(),
    steps: z.int(),
    pauseMilliseconds: z.int(),
  }),
  async run({ name, steps, pauseMilliseconds }, { progress, signal }) {
    for (let step = 1; step <= steps; step++) {
      await delay(pauseMilliseconds, undefined, { signal });
      await progress(step, steps);
    }
    remember(outcomes, name, "counted");
    return name;
  },
});

const touch = tool({
  name: "touch",
  description: "Says that a resource has changed.",
  input: z.object({ uri: z.string() }),
  async run({ uri }, { resourceUpdated }) {
    await resourceUpdated(uri);
    return String(Date.now());
  },
});

const relist = tool({
  name: "relist",
  description: "Says that a list has changed.",
  input: z.object({ list: z.enum(["tools", "prompts", "resources"]) }),
  async run({ list }, { listChanged }) {
    await listChanged(list);
    return String(Date.now());
  },
});

const look = tool({
  name: "look",
  description: "Tells what became of a tool in this process.",
  input: named,
  output: z.object({
    firedMilliseconds: z.number().nullable(),
    outcome: z.string().nullable(),
  }),
  run: ({ name }) => ({
    firedMilliseconds: fired.get(name) ?? null,
    outcome: outcomes.get(name) ?? null,
  }),
});

const vitals = tool({
  name: "vitals",
  description: "Measures this process.",
  output: z.object({
    pid: z.number(),
    running: z.number(),
    heapBytes: z.number(),
  }),
  run() {
    (globalThis as { gc?: () => void }).gc?.();
    const { heapUsed: heapBytes } = Deno.memoryUsage();
    return { pid: Deno.pid, running: measured!.running, heapBytes };
  },
});

const anything = resource({
  name: "anything",
  uri: "test://{name}",
  read: ({ name }) => name,
});

export const catalogue = {
  tools: [
    asker("ask"),
    asker("ask_once", { singleUse: true }),
    asker("ask_task", { task: "required" }),
    sample,
    holder("hold"),
    holder("hold_task", { task: "required" }),
    count,
    touch,
    relist,
    look,
    vitals,
  ],
  resources: [anything],
  prompts: [],
};
