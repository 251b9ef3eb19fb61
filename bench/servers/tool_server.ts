/**
 * This server with the catalogue of the benchmark.
 *
 * @module
 */
import { catalogueOf, createServer } from "../../src/server.ts";
import { parseConfig } from "../../src/config.ts";
import { configureLog } from "../../src/log.ts";
import { tool } from "../../src/mcp/authoring.ts";
import { health } from "../../src/tools/health.ts";
import { count, echo, fillers, runCount } from "../peers/catalogue.mjs";
import { readHealth } from "../peers/health.mjs";

const config = parseConfig(Deno.env.toObject());
configureLog({ level: config.logLevel, terminal: false });
const kv = await Deno.openKv(config.kvPath);
const app = createServer({
  config,
  kv,
  baseUrl: `http://127.0.0.1:${config.port}`,
  catalogue: catalogueOf(config, {
    tools: [
      health({
        name: "Deno",
        version: Deno.version.deno,
        uptimeSeconds: () => readHealth().uptimeSeconds,
        memory: () => readHealth().memory,
      }),
      tool({ ...echo, run: ({ text }) => text }),
      tool({
        ...count,
        async run(input, { progress }) {
          await runCount(input, progress);
          return "done";
        },
      }),
      ...fillers.map((filler) =>
        tool({ ...filler, run: ({ query }) => query })
      ),
    ],
  }),
});
Deno.serve(
  { port: config.port, hostname: config.host },
  (request) => app.fetch(request),
);
