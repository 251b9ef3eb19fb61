/**
 * This service: the package with a few sample tools in front.
 *
 * @module
 */
import { serve } from "./src/mod.ts";
import { prompts } from "./src/prompts/mod.ts";
import { resources } from "./src/resources/mod.ts";
import { tools } from "./src/tools/mod.ts";
import { VERSION } from "./src/version.ts";

await serve({
  name: "tool-server",
  title: "Tool Server",
  version: VERSION,
  tools,
  resources,
  prompts,
});
