/**
 * A whole server for a test.
 *
 * @module
 */
import { assemble } from "../../src/server/assemble.ts";
import type { Services } from "../../src/authoring/service.ts";
import type { SettingSchemas } from "../../src/authoring/setting.ts";
import { planServer } from "../../src/server/plan.ts";
import type {
  CreateServerOptions,
  Server,
} from "../../src/server/server_options.ts";
import type { ConnectionInfo } from "../../src/http/connection_info.ts";
import { CrashLog } from "./crash_log.ts";
import { type ProviderApi, TestUpstream } from "./provider_api.ts";
import { TestClient } from "./test_client.ts";
import { tellTaskProgress } from "./task_progress.ts";
import { type TestCaller, TestGate } from "./test_gate.ts";
import type { TestRevision } from "./request_options.ts";
import type { Target } from "./conversation.ts";

/** The options of a test's server; all have defaults. */
export interface TestServerOptions<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends Partial<CreateServerOptions<S, V>> {
  /** The protocol that clients speak by default: `2026-07-28`. */
  revision?: TestRevision;
}

/**
 * A server in memory, and a client of it: an anonymous caller with every
 * scope. `await using` ends it.
 */
export class TestServer extends TestClient implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: Target;
  readonly #kv?: Disposable;

  private constructor(server: Server, target: Target, kv?: Disposable) {
    super(target, {});
    this.#target = target;
    this.#server = server;
    this.#kv = kv;
  }

  /** Starts one. @throws as `createServer` and its `start` do */
  static async start(
    { name = "test", version = "0.0.0", kv, env = {}, revision, ...options }:
      TestServerOptions,
    origin = "http://localhost",
  ): Promise<TestServer> {
    const crashes = new CrashLog(options.log);
    const gate = new TestGate();
    const around = options.tools?.some(({ task }) => task)
      ? tellTaskProgress(gate, options.around)
      : options.around;
    const plan = planServer(
      { ...options, name, version, around, log: crashes },
      env,
    );
    const { memoryKv } = await import("../../src/store/memory_kv.ts");
    const own = kv ? undefined : memoryKv();
    const server = assemble(plan, {
      ...options,
      kv: kv ?? own!,
      origin,
      gate,
    });
    const baseUrl = plan.config.baseUrl ?? origin;
    const { host } = new URL(baseUrl);
    const started = new TestServer(server, {
      mcpUrl: `${baseUrl}/mcp`,
      revision: revision ?? "2026-07-28",
      gate,
      crashes,
      catalogue: plan.catalogue,
      async send(request) {
        request.headers.set("host", host);
        return await server.fetch(request);
      },
    }, own);
    try {
      await server.start();
    } catch (error) {
      await started[Symbol.asyncDispose]();
      throw error;
    }
    return started;
  }

  /** Makes a client of another caller. */
  as(caller: TestCaller): TestClient {
    return new TestClient(this.#target, caller);
  }

  /**
   * Gives the headers with which a client of your own calls as another caller,
   * with a provider behind them.
   */
  headersOf(
    caller: TestCaller,
    upstream?: ProviderApi,
  ): Record<string, string> {
    const api = upstream && new TestUpstream(upstream);
    return this.#target.gate.admit(caller, api);
  }

  /** Answers a request from a socket. */
  answer(request: Request, info: ConnectionInfo): Response | Promise<Response> {
    return this.#server.fetch(request, info);
  }

  /** Tells running calls and streams to end, as a process that stops does. */
  stop(): void {
    this.#server.stop();
  }

  /** Stops it and its services; its own database is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    this.#kv?.[Symbol.dispose]();
  }
}
