/**
 * One request of a test's client, and all that is said about it.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import { Client, type ServerError } from "../../packages/client/mod.ts";
import { TASKS_EXTENSION } from "../engine/tasks/task_methods.ts";
import type { Catalogue } from "../protocol/catalogue.ts";
import { AnswerScript } from "./answers.ts";
import type { CrashLog } from "./crash_log.ts";
import { TestUpstream } from "./provider_api.ts";
import { RefusedError, refusedWords } from "./refused.ts";
import type {
  LogMessage,
  Progress,
  RequestOptions,
  TestRevision,
} from "./request_options.ts";
import type { TestCaller, TestGate } from "./test_gate.ts";

/** The server that requests go to. */
export interface Target {
  /** The address of `/mcp`. */
  readonly mcpUrl: string;
  readonly revision: TestRevision;
  readonly gate: TestGate;
  readonly crashes: CrashLog;
  readonly catalogue: Catalogue;
  send(request: Request): Promise<Response>;
}

/** Everything a client can be able to do. */
const CAPABILITIES: JsonObject = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
  extensions: { [TASKS_EXTENSION]: {} },
};

/** One request of a caller, by a client of its own: no other depends on it. */
export class Conversation {
  readonly progress: Progress[] = [];
  readonly logs: LogMessage[] = [];
  readonly script: AnswerScript;
  readonly client: Client;
  readonly #upstream?: TestUpstream;

  /** @param what the name of the request's target, for errors: `choose` */
  constructor(
    readonly target: Target,
    readonly what: string,
    private readonly caller: TestCaller,
    readonly options: RequestOptions = {},
  ) {
    this.script = new AnswerScript(what, options.answers);
    this.#upstream = options.upstream && new TestUpstream(options.upstream);
    const headers = target.gate.admit(caller, this.#upstream);
    this.client = new Client({
      url: target.mcpUrl,
      revision: options.revision ?? target.revision,
      clientInfo: { name: "test", version: "1" },
      capabilities: options.capabilities ?? CAPABILITIES,
      logLevel: "debug",
      tools: [...target.catalogue.tools.values()],
      headers: () => headers,
      fetch: (request) => target.send(request),
      onQuestion: ({ method, params, key }) =>
        this.script.answer(method, params, key),
      onNotification: (method, params) => this.#notice(method, params),
      // The function begins again, and tells everything once more.
      onRound: () => this.progress.length = this.logs.length = 0,
    });
  }

  /**
   * Sends the request, answers what is asked, and gives its result, which may
   * be a task.
   *
   * @throws {RefusedError} when the server refuses
   */
  run(
    method: string,
    params: JsonObject = {},
    { signal }: Pick<RequestOptions, "signal"> = this.options,
  ): Promise<JsonObject> {
    return this.attempt(() => this.client.begin(method, params, { signal }));
  }

  /** Does a part of the conversation, and tells what goes wrong in its words. */
  async attempt<T>(part: () => Promise<T>): Promise<T> {
    try {
      return await part();
    } catch (error) {
      throw isServerError(error) ? this.refused(error) : error;
    } finally {
      this.#upstream?.checkRoutes();
    }
  }

  /** An error of the server. @throws {Error} what crashed, if that was it */
  refused(error: ServerError): RefusedError {
    const { target, what, caller } = this;
    target.crashes.rethrow(error.message, what);
    const { code, data, response } = error;
    const tools = [...target.catalogue.tools.keys()];
    const words = refusedWords(error, response, { what, caller, tools });
    return new RefusedError(words, response.status, code, data);
  }

  #notice(method: string, params: JsonObject): void {
    if (method === "notifications/message") {
      this.logs.push(params as unknown as LogMessage);
    } else if (method === "notifications/progress") {
      const { progressToken: _, ...progress } = params;
      this.progress.push(progress as unknown as Progress);
      this.options.onProgress?.(progress as unknown as Progress);
    }
  }
}

function isServerError(error: unknown): error is ServerError {
  return error instanceof Error && "response" in error;
}
