/**
 * The floor of a cold start: a database is opened, Zod prints three schemas,
 * and a call is answered. It has no settings, sessions or log, and checks
 * nothing.
 *
 * @module
 */
import * as z from "zod";
import { port } from "../peers/health.mjs";
import { answer } from "./floor.ts";

const schemas = [
  z.object({ text: z.string() }),
  z.object({ steps: z.int(), intervalMilliseconds: z.int() }),
  z.object({
    status: z.literal("ok"),
    uptimeSeconds: z.number().nonnegative(),
    memory: z.object({ rss: z.int(), heapTotal: z.int(), heapUsed: z.int() }),
  }),
];
for (const schema of schemas) z.toJSONSchema(schema);
const kv = await Deno.openKv(Deno.env.get("KV_PATH"));
await kv.get(["session"]);
Deno.serve({ port, hostname: "127.0.0.1" }, answer);
