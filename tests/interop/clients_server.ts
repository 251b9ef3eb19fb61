/**
 * The server for clients in other languages: one tool for each thing that
 * clients do differently.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import { prompt } from "../../src/authoring/prompt.ts";
import { resource } from "../../src/authoring/resource.ts";
import { tool } from "../../src/authoring/tool.ts";
import { serve } from "../kit/serve.ts";

const greet = tool({
  name: "greet",
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}!`,
});

const bare = tool({ name: "bare", run: () => "without arguments" });

/**
 * A tool with a form of more fields than clients send back when one is left
 * empty.
 */
const fill = tool({
  name: "fill",
  async run(_input, { ask }) {
    const answer = await ask({
      message: "Who are you?",
      schema: z.object({ name: z.string(), age: z.int().optional() }),
    });
    return answer.action === "accept" ? answer.content.name : answer.action;
  },
});

const count = tool({
  name: "count",
  async run(_input, { progress }) {
    for (const step of [1, 2, 3]) await progress(step, 3);
    return "counted";
  },
});

/** Calls of `wait` that were cancelled on this process. */
const left = new Set<string>();

const wait = tool({
  name: "wait",
  input: z.object({ key: z.string() }),
  async run({ key }, { signal }) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    left.add(key);
    return "";
  },
});

const cancelled = tool({
  name: "cancelled",
  input: z.object({ key: z.string() }),
  run: ({ key }) => `${left.has(key)}`,
});

/** A text larger than Python's SDK accepts in one server-sent event. */
const LARGE = "x".repeat(2_000_000);

const large = tool({ name: "large", run: () => LARGE });

/** A tool that returns it after a 2026 call has become a stream. */
const late = tool({
  name: "late",
  async run(_input, { signal }) {
    await delay(1300, undefined, { signal });
    return LARGE;
  },
});

const guarded = tool({
  name: "guarded",
  scopes: ["notes:write"],
  run: (_input, { caller }) => caller.subject,
});

const open = tool({
  name: "open",
  scopes: ["notes:read"],
  run: (_input, { caller }) => caller.subject,
});

await serve({
  tools: [
    greet,
    bare,
    fill,
    count,
    wait,
    cancelled,
    large,
    late,
    open,
    guarded,
  ],
  resources: [
    resource({
      uri: "notes://{id}",
      name: "note",
      read: ({ id }) => `Note ${id}`,
    }),
  ],
  prompts: [
    prompt({
      name: "explain",
      args: z.object({ topic: z.string() }),
      get: ({ topic }) => `Explain ${topic}`,
    }),
  ],
});
