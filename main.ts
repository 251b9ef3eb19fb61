/**
 * This service: the package with a few sample tools in front.
 *
 * @module
 */
import server from "./server.ts";
import { serve } from "./src/mod.ts";

await serve(server);
