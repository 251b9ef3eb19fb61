/**
 * A server's options, typed, and a server for one's own socket or application.
 *
 * @module
 */
import { ServerInstance } from "./core/server/server_instance.ts";
import type { Services } from "./authoring/service.ts";
import type { SettingSchemas } from "./authoring/setting.ts";
import { FEATURES } from "./features.ts";
import { Plan } from "./core/server/plan.ts";
import {
  CREATE_SERVER_OPTIONS,
  type CreateServerOptions,
  type Server,
  type ServerOptions,
} from "./core/server/server_options.ts";

/**
 * Types the options of a server, for `serve`, `createServer` and `testServer`.
 * The services and settings of its `routes` have the types that the options
 * declare.
 *
 * @example
 * ```ts
 * import { defineServer, serve, service } from "@tool-server/tool-server";
 *
 * const inbox = service({ name: "inbox", start: (): string[] => [] });
 *
 * const server = defineServer({
 *   name: "deliveries",
 *   version: "1.0.0",
 *   services: { inbox },
 *   routes(app, { services }) {
 *     app.post("/webhook", async (c) => {
 *       services.inbox.push(await c.req.text());
 *       return c.body(null, 204);
 *     });
 *   },
 * });
 *
 * await serve(server);
 * ```
 */
export function defineServer<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
>(options: ServerOptions<S, V>): ServerOptions<S, V> {
  return options;
}

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
 * @throws {import("./core/settings/complaint.ts").ConfigError} with every complaint
 * if only settings are wrong
 * @throws {import("./core/catalogue/compiled_definitions.ts").CatalogueError} with every complaint, those about settings too
 */
export function createServer<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
>(options: CreateServerOptions<S, V>): Server {
  const { env } = Object(options);
  const table = CREATE_SERVER_OPTIONS;
  return new ServerInstance(
    new Plan(FEATURES, options, table.env.is(env) ? env : {}, {}, [
      "createServer",
      table,
    ]),
    options,
  );
}
