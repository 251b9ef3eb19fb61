/**
 * This service: the package with a few sample tools in front.
 *
 * @module
 */
import server from "./server.ts";
import { serve } from "./src/mod.ts";

// Durable tools on Deno Deploy, which sleeps between requests, need this line,
// and wake in the import. It wakes the app every minute.
// Deno.cron?.("work", "* * * * *", wake);

await serve(server);
