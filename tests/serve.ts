/**
 * A server of one's own definitions as a process, under the same settings as
 * `deno task start`.
 *
 * @module
 */
import { catalogueOf, createServer, type Server } from "../src/server.ts";
import { parseConfig } from "../src/config.ts";
import { configureLog } from "../src/log.ts";
import type { Definitions } from "../src/mcp/catalogue.ts";

/** Serves until the process is told to end, and prints where it listens. */
export async function serve(definitions: Definitions): Promise<Server> {
  const config = parseConfig(Deno.env.toObject());
  configureLog({ level: config.logLevel, terminal: Deno.stdout.isTerminal() });
  const kv = await Deno.openKv(config.kvPath);
  const app = createServer({
    config,
    kv,
    baseUrl: config.baseUrl ?? `http://${config.host}:${config.port}`,
    catalogue: catalogueOf(config, definitions),
  });
  const server = Deno.serve({
    hostname: config.host,
    port: config.port,
    onListen: ({ hostname, port }) => console.log(`http://${hostname}:${port}`),
  }, (request) => app.fetch(request));

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
