/**
 * The catalogue of every server of the benchmark: `health`, `echo`, `count`
 * and, with `TOOLS=1000` in the environment, fillers up to that number.
 *
 * Plain JavaScript, because the peer on Node reads it too.
 *
 * @module
 */
import { z } from "zod";

import { readSetting } from "./health.mjs";

export { echoResult, healthResult, port } from "./health.mjs";

export const info = { name: "bench", version: "1.0.0" };

export const health = {
  name: "health",
  description: "Says whether the server is well.",
  input: z.object({}),
  output: z.object({
    status: z.literal("ok"),
    timestamp: z.int(),
    runtime: z.string(),
    version: z.string(),
    uptimeSeconds: z.number(),
    memory: z.object({
      rss: z.int(),
      heapTotal: z.int(),
      heapUsed: z.int(),
    }),
  }),
};

export const echo = {
  name: "echo",
  description: "Says what it hears.",
  input: z.object({ text: z.string() }),
};

export const count = {
  name: "count",
  description: "Counts, telling its progress at every step.",
  input: z.object({ steps: z.int(), intervalMilliseconds: z.int() }),
};

/**
 * Runs `count`. `progress` sends one notification; its message is the time of
 * sending, so that the client can tell how late it arrives.
 */
export async function runCount({ steps, intervalMilliseconds }, progress) {
  for (let step = 1; step <= steps; step++) {
    await new Promise((resolve) => setTimeout(resolve, intervalMilliseconds));
    await progress(step, steps, String(Date.now()));
  }
  return { content: [{ type: "text", text: "done" }] };
}

/** The tools that only fill the list. */
export const fillers = Array.from(
  { length: Math.max(0, Number(readSetting("TOOLS") ?? 0) - 3) },
  (_, index) => ({
    name: `tool_${index}`,
    description: `Finds entries of the kind ${index}.`,
    input: z.object({
      query: z.string().describe("What to look for"),
      limit: z.int().max(50).default(10),
      tags: z.array(z.string()).optional(),
    }),
  }),
);

/** Makes the result of a filler. */
export function fillerResult({ query }) {
  return { content: [{ type: "text", text: query }] };
}
