/**
 * A whole server for a test.
 *
 * @module
 */
import type { Around } from "../../src/authoring/around.ts";
import type { Context, Question } from "../../src/authoring/context.ts";
import { durableOf } from "../../src/authoring/durable.ts";
import { faultsIn, type Members, TEXT } from "../../src/authoring/options.ts";
import type { Services } from "../../src/authoring/service.ts";
import type { SettingSchemas } from "../../src/authoring/setting.ts";
import {
  CREATE_SERVER_OPTIONS,
  type CreateServerOptions,
  PARTS,
  type ServerOptions,
} from "../../src/core/server/server_options.ts";
import { Plan } from "../../src/core/server/plan.ts";
import { FEATURES } from "../../src/features.ts";
import type { ConnectionInfo } from "../../src/core/http/client_address.ts";
import { knowsTasks } from "../../src/features/work/task_answer.ts";
import { ExceptionLog } from "./failures.ts";
import {
  type ProviderApi,
  type ServiceApis,
  TestUpstream,
} from "./provider_api.ts";
import { findTestAccounts, TestAccounts } from "./test_accounts.ts";
import { TestClient } from "./test_client.ts";
import { TestCluster } from "./test_cluster.ts";
import { type TestCaller, TestGate } from "./test_gate.ts";
import { REVISION, type TestRevision } from "./test_request.ts";
import type { Target } from "./conversation.ts";

/** The options of a test's server; all have defaults. */
export interface TestServerOptions<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends Partial<CreateServerOptions<S, V>> {
  /** The MCP revision of clients by default: `2026-07-28`. */
  revision?: TestRevision;
}

/** The options of {@linkcode TestServerOptions}. */
export const TEST_SERVER_OPTIONS = {
  ...CREATE_SERVER_OPTIONS,
  name: TEXT,
  version: TEXT,
  kv: PARTS.kv,
  revision: REVISION,
} satisfies Members<TestServerOptions>;

/** @throws {CatalogueError} with all errors, if options have any */
function checkTestOptions(given: TestServerOptions): void {
  const table = TEST_SERVER_OPTIONS;
  const call = "testServer";
  if (faultsIn(table, given).length === 0) return;
  const env = table.env.is(given?.env) ? given.env : {};
  new Plan(FEATURES, given as ServerOptions, env!, {}, [call, table]);
}

/**
 * A server in memory, and its client: an anonymous caller with every scope.
 * `await using` stops it.
 */
export class TestServer extends TestClient implements AsyncDisposable {
  readonly #cluster: TestCluster;
  readonly #kv?: Disposable;

  private constructor(cluster: TestCluster, target: Target, kv?: Disposable) {
    super(target, {});
    this.#cluster = cluster;
    this.#kv = kv;
  }

  /** Starts a server. @throws what `createServer` and its `start` throw */
  static async start(
    given: TestServerOptions,
    origin = "http://localhost",
  ): Promise<TestServer> {
    checkTestOptions(given);
    const { name = "test", version = "0.0.0", env = {}, kv, ...more } = given;
    const { revision, ...options } = more;
    const exceptions = new ExceptionLog(options.log);
    const gate = new TestGate();
    const { memoryKv } = await import("../../src/core/kv/memory_kv.ts");
    const own = kv ? undefined : memoryKv();
    let cluster: TestCluster;
    try {
      cluster = new TestCluster({
        ...options,
        name,
        version,
        env,
        kv: kv ?? own!,
        around: aroundTasks(gate, options.around),
        log: exceptions,
        origin,
        gate,
        findNeeds: findTestAccounts((caller) => gate.accountsOf(caller)),
      });
    } catch (error) {
      own?.[Symbol.dispose]();
      throw error;
    }
    const { config, catalogue } = cluster.process.plan;
    const baseUrl = config.baseUrl ?? origin;
    const { host } = new URL(baseUrl);
    const started = new TestServer(cluster, {
      mcpUrl: `${baseUrl}/mcp`,
      revision: revision ?? "2026-07-28",
      gate,
      exceptions,
      catalogue,
      crash: cluster.crash,
      followed: cluster.followed,
      approvals: cluster.approvals,
      async send(request) {
        request.headers.set("host", host);
        return await cluster.send(request);
      },
    }, own);
    try {
      await cluster.process.start();
    } catch (error) {
      await started[Symbol.asyncDispose]();
      throw error;
    }
    return started;
  }

  /** Makes the client of another caller. */
  as(caller: TestCaller): TestClient {
    return new TestClient(this.target, caller);
  }

  /**
   * Returns the headers with which your own client makes requests as another
   * caller, with the caller's provider and accounts.
   */
  headersOf(
    caller: TestCaller,
    upstream?: ProviderApi,
    needs?: ServiceApis,
  ): Record<string, string> {
    const api = upstream && new TestUpstream(upstream);
    const accounts = needs && new TestAccounts(needs);
    return this.target.gate.admit(caller, api, undefined, accounts);
  }

  /** Handles a request from a socket. */
  answer(request: Request, info: ConnectionInfo): Response | Promise<Response> {
    return this.#cluster.process.server.fetch(request, info);
  }

  /**
   * Moves the server's clock forward without waiting: sleeps, pauses between
   * tries, leases and time limits of waits end in their order, as far as the
   * work gets. Meanwhile a pending `result()` answers questions.
   *
   * @throws {Error} if a step is still running after 5 seconds
   */
  async advance(seconds: number): Promise<void> {
    if (!(seconds > 0 && seconds < Infinity)) {
      throw new RangeError("advance() takes a number of seconds above 0");
    }
    await this.#cluster.advance(seconds);
  }

  /** Tells running calls and streams to end, as a stopping process does. */
  stop(): void {
    this.#cluster.process.server.stop();
  }

  /**
   * Stops the server and its services. A database that the server made itself
   * is lost.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster[Symbol.asyncDispose]();
    this.#kv?.[Symbol.dispose]();
  }
}

/**
 * Makes the hook around tools, which calls the author's hook. It passes all
 * progress of a task to the test, because the task's status has only the last
 * message. It makes durable work wait until the test has the task.
 */
function aroundTasks(gate: TestGate, own?: Around): Around {
  return (call, next) => {
    const { tool, context } = call;
    const run = () => own ? own(call, next) : next();
    helpToAnswer(context, gate);
    if (!tool.task || !isTask(context)) return run();
    const listener = gate.listenerOf(context);
    if (!listener) return run();
    const { progress } = context;
    Object.defineProperty(context, "progress", {
      value: async (done: number, total?: number, message?: string) => {
        await progress(done, total, message);
        // A later run of durable work reports the same progress again.
        if (!(done > listener.last)) return;
        listener.last = done;
        listener.report({
          progress: done,
          ...(total !== undefined && { total }),
          ...(message !== undefined && { message }),
        });
      },
    });
    const begun = listener.begun();
    return durableOf(tool) ? begun.then(run) : run();
  };
}

/**
 * Lets a test answer questions. The test gets the key of each question. It also
 * answers questions for pages of the server, because a test server has none.
 */
function helpToAnswer(context: Context, gate: TestGate): void {
  const { ask } = context;
  Object.defineProperty(context, "ask", {
    value: (question: Question) => {
      const { key, message } = question;
      const keys = gate.listenerOf(context)?.keys;
      if (key === undefined) keys?.delete(message);
      else keys?.set(message, key);
      return "until" in question && question.until === "done"
        ? ask({ ...question, until: "opened" })
        : ask(question);
    },
  });
}

function isTask({ client }: Context): boolean {
  return client.revision === "2026-07-28" && knowsTasks(client);
}
