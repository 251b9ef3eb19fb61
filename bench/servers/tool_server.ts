/**
 * This server with the catalogue of the benchmark.
 *
 * @module
 */
import { createServer, tool } from "../../src/mod.ts";
import { parseConfig } from "../../src/core/settings/config.ts";
import health from "../../health.ts";
import { count, echo, fillers, runCount } from "../peers/catalogue.mjs";
import { readHealth } from "../peers/health.mjs";

const env = Deno.env.toObject();
const { host, port, kvPath } = parseConfig(env);
const app = createServer({
  name: "bench",
  version: "1",
  tools: [
    // Read as the peers read it, so that only the servers differ.
    {
      ...health,
      run: readHealth,
    },
    tool({ ...echo, run: ({ text }) => text }),
    tool({
      ...count,
      async run(input, { progress }) {
        await runCount(input, progress);
        return "done";
      },
    }),
    ...fillers.map((filler) => tool({ ...filler, run: ({ query }) => query })),
  ],
  kv: await Deno.openKv(kvPath),
  env,
});
Deno.serve({ port, hostname: host }, app.fetch);
