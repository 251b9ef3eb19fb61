import * as z from "zod";
import { tool } from "./src/mod.ts";

const bytes = z.int().nonnegative();

/** How the server is, and where it runs: more than `GET /health` tells. */
export default tool({
  name: "health",
  title: "Health",
  description: "Tells whether the server is well, and where it runs.",
  output: z.object({
    status: z.literal("ok"),
    timestamp: z.int().describe("Epoch milliseconds."),
    runtime: z.string(),
    version: z.string().describe("The runtime's version."),
    deployment: z.string().optional(),
    region: z.string().optional(),
    uptimeSeconds: z.number().nonnegative(),
    memory: z.object({ rss: bytes, heapTotal: bytes, heapUsed: bytes })
      .describe("Bytes in use by this process."),
  }),
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    openWorldHint: false,
  },
  settings: {
    DENO_DEPLOYMENT_ID: z.string().optional(),
    DENO_REGION: z.string().optional(),
  },
  run: (_input, { settings }) =>
    process ? report(settings) : loadAndReport(settings),
});

interface Place {
  DENO_DEPLOYMENT_ID?: string;
  DENO_REGION?: string;
}

/** What only this tool needs is loaded with its first call. */
let process: NodeJS.Process | undefined;

async function loadAndReport(place: Place) {
  ({ default: process } = await import("node:process"));
  return report(place);
}

function report({ DENO_DEPLOYMENT_ID, DENO_REGION }: Place) {
  const { deno, node } = process!.versions as Record<string, string>;
  const timestamp = Date.now();
  return {
    status: "ok" as const,
    timestamp,
    runtime: deno ? "Deno" : "Node.js",
    version: deno ?? node,
    deployment: DENO_DEPLOYMENT_ID,
    region: DENO_REGION,
    ...usageAt(timestamp),
  };
}

let usage: { uptimeSeconds: number; memory: NodeJS.MemoryUsage };
let usedMilliseconds = -Infinity;

/** Uptime and memory in use, at most a second old: reading costs half a call. */
function usageAt(timestamp: number): typeof usage {
  if (timestamp - usedMilliseconds >= 1000) {
    usedMilliseconds = timestamp;
    usage = {
      uptimeSeconds: Math.floor(process!.uptime()),
      memory: process!.memoryUsage(),
    };
  }
  return usage;
}
