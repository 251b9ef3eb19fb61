/**
 * One request of a test's client, with its questions, progress and logs.
 *
 * @module
 */
import { pause } from "../../src/core/clock.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { Client, type ServerError } from "../client/mod.ts";
import { TASKS_EXTENSION } from "../../src/core/catalogue/printed_lists.ts";
import {
  LINKS_META,
  parseNotYet,
  TASK_CANCEL,
  TASK_STATUS,
} from "../../src/core/protocol/not_yet.ts";
import { finalResult } from "../call/handed_over.ts";
import { durableOf } from "../../src/authoring/durable.ts";
import { checkOptions } from "../../src/authoring/options.ts";
import type { Catalogue } from "../../src/core/catalogue/catalogue.ts";
import { AnswerScript } from "./answers.ts";
import { TestApprovals } from "./test_approvals.ts";
import type { Crash, Followed } from "./test_cluster.ts";
import { TestApi, TestUpstream } from "./provider_api.ts";
import { TestAccounts } from "./test_accounts.ts";
import { type ExceptionLog, RefusedError, refusedWords } from "./failures.ts";
import {
  type LogMessage,
  type Progress,
  REQUEST_OPTIONS,
  type RequestOptions,
  type TestRevision,
} from "./test_request.ts";
import type { TestCaller, TestGate } from "./test_gate.ts";

/** The time for which a call or a task waits for a person to press. */
const PRESS_MILLISECONDS = 10_000;

/** The time within which a task asks for its approval, or runs. */
const ASK_MILLISECONDS = 5000;
const CHECK_MILLISECONDS = 5;

/** The server that receives the requests. */
export interface Target {
  /** The URL of the MCP endpoint. */
  readonly mcpUrl: string;
  readonly revision: TestRevision;
  readonly gate: TestGate;
  readonly exceptions: ExceptionLog;
  readonly catalogue: Catalogue;
  readonly crash: Crash;
  readonly followed: Set<Followed>;
  readonly approvals: TestApprovals;
  send(request: Request): Promise<Response>;
}

/** The capabilities of a client that supports everything. */
const CAPABILITIES: JsonObject = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
  extensions: { [TASKS_EXTENSION]: {} },
};

/** One request of a caller, with a client of its own. */
export class Conversation {
  readonly progress: Progress[] = [];
  readonly logs: LogMessage[] = [];
  readonly script: AnswerScript;
  readonly client: Client;
  readonly #upstream?: TestUpstream;
  readonly #accounts?: TestAccounts;
  readonly #keys = new Map<string, string>();
  #begun = Promise.withResolvers<void>();
  #isHandedOver = false;
  /** True once the tool itself runs, in a task. */
  isRunning = false;
  /** True if the test itself calls `approve()` while the task waits. */
  isPressedLater = false;
  /** Fires if the decision on a task's approval has failed. */
  readonly #failing = new AbortController();
  /** The decisions on a task's approvals, by the ID of the approval. */
  readonly #presses = new Map<string, Promise<unknown>>();
  /** True once the option `approval` has decided. */
  hasPressed = false;
  /** Ends the wait for an approval that no one has given. */
  #patience?: ReturnType<typeof setTimeout>;

  /** @param what the called tool, prompt or resource, for errors: `choose` */
  constructor(
    readonly target: Target,
    readonly what: string,
    private readonly caller: TestCaller,
    readonly options: RequestOptions = {},
  ) {
    checkOptions(what, REQUEST_OPTIONS, options);
    this.script = new AnswerScript(what, options.answers);
    this.#upstream = options.upstream && new TestUpstream(options.upstream);
    this.#accounts = options.needs && new TestAccounts(options.needs);
    const headers = target.gate.admit(
      caller,
      this.#upstream,
      {
        report: (progress) => this.#advance(progress),
        last: -Infinity,
        begun: () => {
          this.isRunning = true;
          return this.#begun.promise;
        },
        keys: this.#keys,
      },
      this.#accounts,
    );
    this.client = new Client({
      url: target.mcpUrl,
      revision: options.revision ?? target.revision,
      clientInfo: { name: "test", version: "1" },
      capabilities: options.capabilities ?? CAPABILITIES,
      logLevel: "debug",
      tools: [...target.catalogue.tools.values()],
      headers: () => headers,
      fetch: (request) => target.send(request),
      onQuestion: ({ method, params, key }) => {
        const approval = TestApprovals.idOf(params.url);
        if (approval !== undefined) return this.#press(approval);
        return this.script.answer(
          method,
          params,
          key ?? this.#keys.get(`${params.message}`),
        );
      },
      onNotification: (method, params) => this.#notice(method, params),
      onTask: ({ statusMessage }) => this.#pressFor(statusMessage),
      // The tool starts over, and sends these messages again.
      onRound: () => {
        if (!this.#isHandedOver) this.progress.length = this.logs.length = 0;
      },
    });
  }

  /**
   * Sends the request, answers its questions, and returns its result, which may
   * be a task.
   *
   * @throws {RefusedError} if the server refuses
   */
  run(
    method: string,
    params: JsonObject = {},
    { signal }: Pick<RequestOptions, "signal"> = this.options,
  ): Promise<JsonObject> {
    return this.attempt(() => this.client.begin(method, params, { signal }));
  }

  /**
   * Sends a call as {@linkcode run} does. If a client that opens no pages gets
   * the link of an approval, decides with the option, and calls again.
   *
   * @throws {Error} if no one answers its approval
   */
  async call(params: JsonObject): Promise<JsonObject> {
    const { options, caller, target: { approvals } } = this;
    const send = () =>
      this.#whilePressing(
        options.signal,
        (signal) => this.client.begin("tools/call", params, { signal }),
      );
    const answer = await send();
    const [link] = Object(Object(answer._meta)[LINKS_META] ?? []);
    const id = TestApprovals.idOf(link?.url);
    if (options.approval === undefined || id === undefined) return answer;
    const person = TestApprovals.approverOf(caller, []);
    if (!await approvals.findOpen(id, person)) return answer;
    await this.#press(id);
    return await send();
  }

  /**
   * Returns the result of a call. If the result says in words that the call
   * continues as a task, asks for the task's result as a model does.
   */
  async resultOf(answer: JsonObject, input: unknown): Promise<JsonObject> {
    const mayAsk = this.target.catalogue.taskTools.has(TASK_STATUS);
    if (!mayAsk && !parseNotYet(answer)?.isRepeatable) return answer;
    const { what: name, client, options: { signal } } = this;
    let taskId: string | undefined;
    const onTask = (task: { taskId: string; statusMessage?: string }) => {
      this.#isHandedOver = true;
      taskId = task.taskId;
      this.#pressFor(task.statusMessage);
    };
    try {
      return await this.#whilePressing(signal, (signal) =>
        finalResult(
          answer,
          { name, arguments: input as JsonObject },
          client,
          { onTask },
          signal,
        ));
    } catch (error) {
      // The task may wait for a question that no one will answer.
      const params = { name: TASK_CANCEL, arguments: { taskId } };
      await this.run("tools/call", params, {}).catch(() => {});
      throw error;
    }
  }

  /** Waits for the end of a task, and answers its questions until then. */
  async follow(
    taskId: string,
    { signal }: Pick<RequestOptions, "signal">,
  ): Promise<JsonObject> {
    const followed = { taskId };
    this.target.followed.add(followed);
    try {
      return await this.#whilePressing(
        signal,
        (signal) => this.client.follow(followed, { signal }),
      );
    } finally {
      this.target.followed.delete(followed);
    }
  }

  /**
   * Waits for a call or a task, and for the decisions on its approvals.
   *
   * @throws {Error} if a decision fails, or no one decides in time
   */
  async #whilePressing<T>(
    given: AbortSignal | undefined,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { signal: failing } = this.#failing;
    const signal = given ? AbortSignal.any([given, failing]) : failing;
    try {
      return await this.attempt(() => wait(signal));
    } catch (error) {
      failing.throwIfAborted();
      throw error;
    } finally {
      await Promise.allSettled(this.#presses.values());
      clearTimeout(this.#patience);
      this.#patience = undefined;
      // The next wait expects its own press.
      if (this.options.approval === undefined) this.#presses.clear();
    }
  }

  /** Decides once on the approval whose link is in the status of a task. */
  #pressFor(state: string | undefined): void {
    const id = TestApprovals.idOf(state?.trimEnd());
    if (id === undefined || this.#presses.has(id)) return;
    const press = this.#press(id);
    this.#presses.set(id, press);
    press.catch((error) => this.#failing.abort(error));
  }

  /** Waits until a task has asked for its approval, runs, or has ended. */
  async asked(taskId: string): Promise<void> {
    const started = performance.now();
    while (
      !this.isRunning && performance.now() - started < ASK_MILLISECONDS
    ) {
      const { status, statusMessage } = await this.run(
        "tasks/get",
        { taskId },
        {},
      );
      const link = TestApprovals.idOf(`${statusMessage}`.trimEnd());
      if (status !== "working" || link !== undefined) return;
      await pause(CHECK_MILLISECONDS);
    }
  }

  /** Makes durable work wait until {@linkcode begin} is called. */
  hold(): void {
    this.#begun = Promise.withResolvers();
  }

  /** Lets durable work begin at once. */
  begin(): void {
    this.#begun.resolve();
  }

  /**
   * Lets durable work begin after the present turn of the event loop, so that
   * `crash()` may be called first.
   */
  beginSoon(): void {
    const tool = this.target.catalogue.tools.get(this.what);
    if (tool && durableOf(tool)) setTimeout(this.#begun.resolve);
  }

  /** Runs a part of the request, and explains refusals to the test's author. */
  async attempt<T>(part: () => Promise<T>): Promise<T> {
    try {
      return await part();
    } catch (error) {
      throw isServerError(error) ? this.refused(error) : error;
    } finally {
      this.#upstream?.checkRoutes();
      this.#accounts?.checkRoutes();
      for (const api of TestApi.served) api.checkRoutes();
    }
  }

  /**
   * Makes the error for a refusal.
   *
   * @throws {Error} the tool's exception, if there was one
   */
  refused(error: ServerError): RefusedError {
    const { target, what, caller } = this;
    target.exceptions.rethrow(error.message, what);
    const { code, data, response } = error;
    const tools = [...target.catalogue.tools.keys()];
    const words = refusedWords(error, response, { what, caller, tools });
    return new RefusedError(words, response.status, code, data);
  }

  /** Decides an approval on its page, as the caller. */
  async #press(id: string): Promise<JsonObject> {
    const { what, caller, options, target: { approvals, catalogue } } = this;
    if (options.approval === undefined) {
      const { approval: { by, passkey } = {} } = catalogue.tools.get(what) ??
        {};
      // The page stays open: the test presses with approve().
      if (this.isPressedLater || typeof by === "object") {
        this.#patience ??= setTimeout(
          () => this.#expectPress(id),
          PRESS_MILLISECONDS,
        );
        return { action: "accept" };
      }
      const press = passkey === "required" ? "passkey" : "approve";
      throw new Error(
        `${what} waits for an approval, which the test does not give. Give it with the option approval: "${press}" or { refuse: "why" }`,
      );
    }
    const person = TestApprovals.approverOf(caller, catalogue.tools.values());
    await approvals.press(id, person, options.approval);
    this.hasPressed = true;
    return { action: "accept" };
  }

  /**
   * Ends the wait for a call or a task with an error, if no one has answered its
   * approval.
   */
  async #expectPress(id: string): Promise<void> {
    this.#patience = undefined;
    const { what, caller, target: { approvals } } = this;
    const person = TestApprovals.approverOf(caller, []);
    const open = await approvals.findOpen(id, person);
    if (!open) return;
    const { scope } = open.approval;
    const whom = scope === undefined
      ? person.subject
      : `someone else with the scope ${scope}`;
    this.#failing.abort(
      new Error(
        `${what} waits for the approval of ${whom}, which the test does not give. Call approve() or refuse() of that person while it waits`,
      ),
    );
  }

  #notice(method: string, params: JsonObject): void {
    if (method === "notifications/message") {
      this.logs.push(params as unknown as LogMessage);
    } else if (method === "notifications/progress") {
      const { progressToken: _, ...progress } = params;
      this.#advance(progress as unknown as Progress);
    }
  }

  #advance(progress: Progress): void {
    this.progress.push(progress);
    this.options.onProgress?.(progress);
  }
}

function isServerError(error: unknown): error is ServerError {
  return error instanceof Error && "response" in error;
}
