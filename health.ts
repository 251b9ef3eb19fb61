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
  return {
    status: "ok" as const,
    timestamp: Date.now(),
    runtime: deno ? "Deno" : "Node.js",
    version: deno ?? node,
    deployment: DENO_DEPLOYMENT_ID,
    region: DENO_REGION,
    uptimeSeconds: Math.floor(process!.uptime()),
    memory: memoryOf(process!),
  };
}

let memory: NodeJS.MemoryUsage;
let readMilliseconds = -Infinity;

/** Memory in use, at most a second old: to read it costs as much as a call. */
function memoryOf(process: NodeJS.Process): NodeJS.MemoryUsage {
  if (Date.now() - readMilliseconds >= 1000) {
    memory = process.memoryUsage();
    readMilliseconds = Date.now();
  }
  return memory;
}
