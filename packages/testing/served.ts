/**
 * A test server on a real port.
 *
 * @module
 */
import type { Services } from "../../src/authoring/service.ts";
import type { SettingSchemas } from "../../src/authoring/setting.ts";
import { messageOf } from "../../src/core/thrown.ts";
import { type ProviderApi, TestApi } from "./provider_api.ts";
import { TestServer, type TestServerOptions } from "./test_server.ts";

/** A server that listens on a loopback address. `await using` ends it. */
export interface Served extends AsyncDisposable {
  /** The URL for clients: `http://127.0.0.1:49152/mcp`. */
  readonly url: string;
  /** The same server, in memory. */
  readonly server: TestServer;
}

/**
 * Starts a server on a port that the system picks, for clients of your own.
 * Such a client calls as an anonymous caller with every scope, or as anyone
 * else with the headers of {@linkcode TestServer.headersOf}.
 *
 * @example
 * ```ts ignore
 * await using served = await serveTest({ tools: [searchMail] });
 * const headers = served.server.headersOf({ subject: "ada" });
 * const transport = new StreamableHTTPClientTransport(new URL(served.url), {
 *   requestInit: { headers },
 * });
 * ```
 * @throws what `createServer` and its `start` throw
 */
export async function serveTest<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
>(options: TestServerOptions<S, V>): Promise<Served> {
  const started = Promise.withResolvers<TestServer>();
  const http = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request, info) => (await started.promise).answer(request, info),
  );
  const origin = `http://127.0.0.1:${http.addr.port}`;
  try {
    const server = await TestServer.start(options, origin);
    started.resolve(server);
    return {
      url: `${origin}/mcp`,
      server,
      async [Symbol.asyncDispose]() {
        server.stop();
        await http.shutdown();
        await server[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await http.shutdown();
    throw error;
  }
}

/** An API that listens on a loopback address. `await using` ends it. */
export interface ServedApi extends AsyncDisposable {
  /** The URL of the API: `http://127.0.0.1:49152`. */
  readonly url: string;
}

/**
 * Starts an API on a port that the system picks, for tools whose service gets
 * the address from a setting. A call after a request without a route, or after an
 * assertion in a route that failed, rejects with that error; so does the end.
 *
 * @example
 * ```ts ignore
 * await using api = serveApi({ "GET /rates": { EUR: 1 } });
 * await using server = await testServer({
 *   tools: [rates],
 *   env: { RATES_URL: api.url },
 * });
 * ```
 */
export function serveApi(routes: ProviderApi): ServedApi {
  const http: Deno.HttpServer<Deno.NetAddr> = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request): Promise<Response> =>
      api.answer(request).catch((error) =>
        new Response(messageOf(error), { status: 500 })
      ),
  );
  const url = `http://127.0.0.1:${http.addr.port}`;
  const api: TestApi = new TestApi(routes, "the API", url);
  TestApi.served.add(api);
  return {
    url,
    async [Symbol.asyncDispose]() {
      TestApi.served.delete(api);
      await http.shutdown();
      api.checkRoutes();
    },
  };
}
