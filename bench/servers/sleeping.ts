/**
 * This server with a tool whose work sleeps.
 *
 * @module
 */
import * as z from "zod";
import { createServer, tool } from "../../src/mod.ts";
import { parseConfig } from "../../src/core/settings/config.ts";
import health from "../../health.ts";
import { echo } from "../peers/catalogue.mjs";
import { readHealth } from "../peers/health.mjs";

const env = Deno.env.toObject();
const { host, port, kvPath } = parseConfig(env);
const app = createServer({
  name: "bench",
  version: "1",
  tools: [
    { ...health, run: readHealth },
    tool({ ...echo, run: ({ text }) => text }),
    tool({
      name: "nap",
      task: { durable: true },
      input: z.object({ until: z.int() }),
      async run({ until }, { sleep }) {
        await sleep("nap", new Date(until * 1000));
        return "woken";
      },
    }),
  ],
  kv: await Deno.openKv(kvPath),
  env,
});
await app.start();
Deno.serve({ port, hostname: host }, app.fetch);
