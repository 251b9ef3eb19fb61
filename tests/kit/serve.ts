/**
 * A server of your own definitions as a process, under the same settings as
 * `deno task start`.
 *
 * @module
 */
import { parseConfig } from "../../src/core/settings/config.ts";
import type { ServerDefinitions } from "../../src/core/catalogue/compiled_definitions.ts";
import { ServerInstance } from "../../src/core/server/server_instance.ts";
import { FEATURES } from "../../src/features.ts";
import { Plan } from "../../src/core/server/plan.ts";
import type { Server } from "../../src/core/server/server_options.ts";
import { openKv } from "../../src/core/process/kv.ts";
import { silentLogger } from "./log.ts";
import { IMPLEMENTATION } from "./server.ts";

/** Serves until the process is told to end, and prints its address. */
export async function serve(definitions: ServerDefinitions): Promise<Server> {
  const env = Deno.env.toObject();
  const config = parseConfig(env);
  const { host, port } = config;
  const kv = await openKv(config, silentLogger);
  const server = Deno.serve({
    hostname: host,
    port,
    onListen: ({ hostname, port }) => console.log(`http://${hostname}:${port}`),
  }, (request, info) => app.fetch(request, info));
  const app: ServerInstance = new ServerInstance(
    new Plan(FEATURES, { ...IMPLEMENTATION, ...definitions }, env),
    { kv, origin: `http://${host}:${server.addr.port}` },
  );

  /** Ends calls and streams, then the process. */
  async function shutDown(): Promise<void> {
    app.stop();
    await server.shutdown();
    await app.close();
    kv.close();
  }

  Deno.addSignalListener("SIGINT", shutDown);
  Deno.addSignalListener("SIGTERM", shutDown);
  return app;
}
