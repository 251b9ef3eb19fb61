/**
 * A server for one's own socket or application.
 *
 * @module
 */
import { assemble } from "./server/assemble.ts";
import type { Services } from "./authoring/service.ts";
import type { SettingSchemas } from "./authoring/setting.ts";
import { planServer } from "./server/plan.ts";
import type { CreateServerOptions, Server } from "./server/server_options.ts";

/**
 * Builds a server.
 *
 * @example
 * ```ts
 * import { createServer, tool } from "@tool-server/tool-server";
 *
 * await using server = createServer({
 *   name: "greeter",
 *   version: "1.0.0",
 *   tools: [tool({ name: "greet", run: () => "Hello!" })],
 *   kv: await Deno.openKv(":memory:"),
 * });
 * const response = await server.fetch(new Request("http://localhost/health"));
 * ```
 * @throws {import("./settings/complaint.ts").ConfigError} with every complaint
 * about the settings
 * @throws {import("./mcp/catalogue/compiled_definitions.ts").CatalogueError} with every complaint about the definitions
 */
export function createServer<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
>(options: CreateServerOptions<S, V>): Server {
  return assemble(planServer(options, options.env ?? {}), options);
}
