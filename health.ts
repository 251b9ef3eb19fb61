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
  run: (_input, { settings }) => ({
    status: "ok" as const,
    timestamp: Date.now(),
    runtime: "Deno",
    version: Deno.version.deno,
    deployment: settings.DENO_DEPLOYMENT_ID,
    region: settings.DENO_REGION,
    ...currentUsage(),
  }),
});

let usage: { uptimeSeconds: number; memory: Deno.MemoryUsage };
let usedMilliseconds = -Infinity;

/** Uptime and memory in use, at most a second old: reading costs half a call. */
function currentUsage(): typeof usage {
  const uptimeMilliseconds = performance.now();
  if (uptimeMilliseconds - usedMilliseconds >= 1000) {
    usedMilliseconds = uptimeMilliseconds;
    usage = {
      uptimeSeconds: Math.floor(uptimeMilliseconds / 1000),
      memory: Deno.memoryUsage(),
    };
  }
  return usage;
}
