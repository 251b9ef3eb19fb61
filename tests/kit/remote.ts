/**
 * Processes on a denokv server of a test's own.
 *
 * @module
 */
import { BASE_URL } from "./server.ts";
import {
  type OpenIdProvider,
  startOpenIdProvider,
} from "./open_id_provider.ts";
import { Processes } from "./processes.ts";
import { ACCESS_TOKEN, Denokv, findDenokv } from "./denokv.ts";

const program = await findDenokv();

/** The surroundings of a test. */
export interface Setting {
  denokv: Denokv;
  provider: OpenIdProvider;
  /** Three processes, by default on denokv itself. */
  start(
    kvPath?: string,
    entry?: string,
    environment?: Record<string, string>,
  ): Promise<Processes>;
}

/** A test that is left out where there is no denokv. */
export function remoteTest(
  name: string,
  run: (setting: Setting) => Promise<void>,
): void {
  Deno.test({
    name: program
      ? name
      : `${name}, left out: no denokv, nor cargo to build it`,
    ignore: program === undefined,
    async fn() {
      await using denokv = await Denokv.start(program!);
      await using provider = await startOpenIdProvider(BASE_URL);
      await using stack = new AsyncDisposableStack();
      await run({
        denokv,
        provider,
        async start(kvPath = denokv.url, entry, more) {
          const environment = {
            ...provider.environment,
            ...more,
            DENO_KV_ACCESS_TOKEN: ACCESS_TOKEN,
          };
          const processes = stack.use(
            new Processes(environment, { kvPath, entry }),
          );
          await Promise.all([1, 2, 3].map(() => processes.start()));
          return processes;
        },
      });
    },
  });
}
