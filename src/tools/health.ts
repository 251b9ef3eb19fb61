import * as z from "zod";
import { type Tool, tool } from "../mcp/authoring.ts";

/** The place where this process runs, as `main.ts` found it. */
export interface Runtime {
  /** Such as `Deno`. */
  name: string;
  version: string;
  /** What the platform calls this deployment. */
  deployment?: string;
  region?: string;
  /** Seconds since the process started. */
  uptimeSeconds(): number;
  /** Bytes in use, where the runtime tells. */
  memory?(): { rss: number; heapTotal: number; heapUsed: number };
}

const bytes = z.int().nonnegative();

/** How the server is, and where it runs: more than `GET /health` tells. */
export function health(runtime: Runtime): Tool {
  const { name, version, deployment, region } = runtime;
  return tool({
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
        .describe("Bytes in use by this process.").optional(),
    }),
    annotations: { readOnlyHint: true, openWorldHint: false },
    run: () => ({
      status: "ok" as const,
      timestamp: Date.now(),
      runtime: name,
      version,
      deployment,
      region,
      uptimeSeconds: runtime.uptimeSeconds(),
      memory: runtime.memory?.(),
    }),
  });
}
