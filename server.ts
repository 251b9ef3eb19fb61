/**
 * What this service is and offers: `health`, and whatever is yours.
 *
 * @module
 */
import health from "./health.ts";
import { defineServer } from "./src/mod.ts";
import { prompts } from "./src/prompts/mod.ts";
import { resources } from "./src/resources/mod.ts";
import { tools } from "./src/tools/mod.ts";
import { VERSION } from "./src/core/version.ts";

export default defineServer({
  name: "tool-server",
  title: "Tool Server",
  version: VERSION,
  tools: [health, ...tools],
  resources,
  prompts,
});
