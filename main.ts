/**
 * This service: the package with a few sample tools in front.
 *
 * @module
 */
import server from "./server.ts";
import { serve, wake } from "./src/mod.ts";

// For durable work on Deno Deploy, where a process sleeps between requests.
Deno.cron?.("work", "* * * * *", wake);

await serve(server);
