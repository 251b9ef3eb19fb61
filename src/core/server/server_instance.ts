/**
 * A running server, from its start to its end.
 *
 * @module
 */
import type { ConnectionInfo } from "../http/client_address.ts";
import type { Logger } from "../log/log.ts";
import type { OpenedServer } from "../store/opened_server.ts";
import type { AuthConfig } from "../settings/auth.ts";
import { ConfigError } from "../settings/complaint.ts";
import { checkLayoutOf } from "../kv/layout.ts";
import { reuseConnections } from "../net/send_once.ts";
import type { Plan } from "./plan.ts";
import type { ServerCore, ServerDependencies } from "./server_core.ts";
import type { Server } from "./server_options.ts";
import { failureResponse, ServerSites } from "./server_sites.ts";

/** A running server. The test kit uses more of it than {@linkcode Server}. */
export class ServerInstance implements Server {
  readonly #sites: ServerSites;
  readonly #core: ServerCore;
  readonly #endReuse = reuseConnections();
  /**
   * The log of all starts, which logs a repeated failure at most once a second.
   */
  readonly #log: Logger;
  #closing?: Promise<void>;

  constructor(plan: Plan, given: ServerDependencies) {
    if (given.provider) checkSingleProvider(plan.config.auth);
    this.#sites = new ServerSites(plan, given);
    this.#core = this.#sites.core;
    this.#log = plan.log.logger("start");
  }

  fetch = (
    request: Request,
    info: ConnectionInfo = {},
  ): Response | Promise<Response> => {
    const { lifecycle } = this.#core.plan;
    if (lifecycle.hasStarted) return this.#sites.answer(request, info);
    return lifecycle.start().then(
      () => this.#sites.answer(request, info),
      (error) =>
        failureResponse(this.#log, error, 503, "temporarily_unavailable"),
    );
  };

  async start(): Promise<void> {
    const { plan, given, database } = this.#core;
    const { config: { auth, baseUrl }, options } = plan;
    await checkLayoutOf(database);
    await plan.lifecycle.start();
    const reports = () => import("./start_reports.ts");
    if (!plan.isReported && (options.scopes || plan.config.notes.length > 0)) {
      (await reports()).reportDoubts(plan);
    }
    if (!given.findNeeds) {
      for (const { warn } of this.#core.features) await warn?.(this.#log);
    }
    this.#sites.notice();
    if (auth.oauth && baseUrl !== undefined) {
      database.background(async () => {
        const { reportOldAddress } = await reports();
        await reportOldAddress(database, baseUrl, this.#log);
      });
    }
    // Makes the routes now, so that mistakes in the author's are reported at
    // the start.
    if (options.routes && this.#sites.hasHome) await this.#sites.site().app();
  }

  /** Starts the services, then does overdue revocations and durable work. */
  async wake(): Promise<void> {
    const { plan: { config: { auth }, lifecycle }, stopping } = this.#core;
    const needsAddress = auth.oauth !== undefined || auth.jwt !== undefined;
    const hasNone = needsAddress && !this.#sites.hasHome;
    if (stopping.signal.aborted || hasNone) return;
    await lifecycle.start();
    await Promise.all([...this.#core.features.map(({ wake }) => wake?.())]);
  }

  get running(): number {
    const { features, engine: { running } } = this.#core;
    return features.reduce((sum, { size = 0 }) => sum + size, running.size);
  }

  /** The server as features see it, for the test kit. */
  get opened(): OpenedServer {
    return this.#core.opened;
  }

  endStreams(): void {
    const { stopping, engine, features } = this.#core;
    stopping.abort();
    engine.subscriptions.end();
    for (const feature of features) feature.refuse?.();
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
    const { plan, database, engine, features } = this.#core;
    this.#endReuse();
    for (const feature of features) await feature.stop?.();
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

/**
 * Checks that the settings list at most one provider if the app has its own,
 * which then replaces the listed one.
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
