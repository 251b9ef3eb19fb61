/**
 * A server that runs, from its start to its end: its core, its sites, and the
 * router in front of them.
 *
 * @module
 */
import { durableOf } from "../authoring/durable.ts";
import type { ConnectionInfo } from "../http/client_address.ts";
import type { Logger } from "../log/log.ts";
import type { TaskRegistry } from "../mcp/work/task_registry.ts";
import type { AuthConfig } from "../settings/auth.ts";
import { ConfigError } from "../settings/complaint.ts";
import type { Database } from "../store/database.ts";
import { checkLayoutOf } from "../store/layout.ts";
import { ServerSites } from "./server_site.ts";
import type { Plan } from "./plan.ts";
import { failureResponse, Router } from "./router.ts";
import type { Server } from "./server_options.ts";
import {
  openCore,
  type ServerCore,
  type ServerDependencies,
} from "./server_core.ts";

/** A server that runs; the test kit uses more of it than {@linkcode Server}. */
export class ServerInstance implements Server {
  readonly #core: ServerCore;
  readonly #sites: ServerSites;
  readonly #router: Router;
  readonly #hasDurable: boolean;
  /** The log of all starts, in which a repeated failure is told once a second. */
  readonly #log: Logger;
  #closing?: Promise<void>;

  constructor(plan: Plan, given: ServerDependencies) {
    if (given.provider) checkSingleProvider(plan.config.auth);
    this.#core = openCore(plan, given, {
      at: (address) => {
        const { waitPages, gate } = this.#sites.at(address);
        return {
          waitPages,
          restore: async (caller) => await gate.restore(caller),
        };
      },
      addresses: () => this.#sites.addresses(),
    });
    const { catalogue, log } = this.#core.engine;
    this.#sites = new ServerSites(this.#core);
    this.#router = new Router(this.#sites, log, () => this.#notice());
    this.#log = plan.log.logger("start");
    this.#hasDurable = [...catalogue.tools.values()].some(durableOf);
  }

  fetch = (
    request: Request,
    info: ConnectionInfo = {},
  ): Response | Promise<Response> => {
    const { lifecycle } = this.#core.plan;
    if (lifecycle.hasStarted) return this.#router.answer(request, info);
    return lifecycle.start().then(
      () => this.#router.answer(request, info),
      (error) =>
        failureResponse(this.#log, error, 503, "temporarily_unavailable"),
    );
  };

  async start(): Promise<void> {
    const { plan, database } = this.#core;
    const { config: { auth, baseUrl }, options } = plan;
    await checkLayoutOf(database);
    await plan.lifecycle.start();
    plan.tellDoubts();
    this.#notice();
    if (auth.oauth && baseUrl !== undefined) {
      database.background(() => tellOfOldAddress(database, baseUrl, this.#log));
    }
    // Mistakes in the author's routes are reported now, not to the first
    // visitor.
    if (options.routes && this.#sites.home !== undefined) {
      await this.#sites.at().app();
    }
  }

  /** Looks for durable work, once the address of its callers is known. */
  #notice(): void {
    const isKnown = this.#hasDurable && this.#sites.home !== undefined;
    if (isKnown) this.tasks.poller.notice();
  }

  /** Takes up durable work that is due, and starts the services before it. */
  async wake(): Promise<void> {
    const { plan: { config: { auth }, lifecycle }, stopping } = this.#core;
    const needsAddress = auth.oauth !== undefined || auth.jwt !== undefined;
    const hasNone = needsAddress && this.#sites.home === undefined;
    if (stopping.signal.aborted || hasNone) return;
    await lifecycle.start();
    await this.tasks.wake();
  }

  get running(): number {
    const { running, taskRegistry } = this.#core.engine;
    return running.size + taskRegistry.size;
  }

  /** The tasks that it works on. */
  get tasks(): TaskRegistry {
    return this.#core.engine.taskRegistry;
  }

  endStreams(): void {
    const { stopping, engine } = this.#core;
    stopping.abort();
    engine.subscriptions.end();
    engine.taskRegistry.refuse();
  }

  stop(): void {
    const { engine } = this.#core;
    this.endStreams();
    engine.running.stop();
    engine.bodies.stop();
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    const { plan, database, engine } = this.#core;
    await engine.taskRegistry.stop();
    await engine.changes.close();
    await engine.ledger?.close();
    await this.#sites.close();
    await database.idle();
    await plan.lifecycle.stop();
    await plan.log.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.close();
  }
}

/** Warns of connections that were made at another `BASE_URL`. */
async function tellOfOldAddress(
  database: Database,
  baseUrl: string,
  log: Logger,
): Promise<void> {
  const { noteStart } = await import("../store/last_start.ts");
  const elsewhere = await noteStart(database, baseUrl);
  if (elsewhere === undefined) return;
  log.warning(
    "Connections were made at another BASE_URL, and are not good at this one: " +
      "their people connect again",
    {
      baseUrl,
      formerBaseUrl: elsewhere.baseUrl,
      connections: elsewhere.connections,
    },
  );
}

/**
 * Checks that an app's own provider takes the place of one provider at most.
 *
 * @throws {ConfigError}
 */
function checkSingleProvider({ oauth }: AuthConfig): void {
  const keys = oauth?.providers.map(({ key }) => key) ?? [];
  if (keys.length < 2) return;
  throw new ConfigError([{
    variable: "OAUTH_PROVIDER",
    got: keys.join(),
    wants: "one provider, because the app brings its own in its place",
    fix: "Leave `provider` out of the app's options, or list one",
  }]);
}
