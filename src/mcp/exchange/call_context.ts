/**
 * The second argument of a tool: the same interface for both generations, over
 * either one's way back to the client.
 *
 * @module
 */
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  LoggingLevel,
  Root,
} from "@modelcontextprotocol/server";
import type { Caller, Upstream } from "../../caller.ts";
import { RpcCode, RpcError } from "../../errors.ts";
import type { ChangeStore } from "../../store/changes.ts";
import type {
  AnswerTo,
  Context,
  Durable,
  Elicited,
  McpClient,
  Question,
} from "../../authoring/context.ts";
import { notDurable } from "../../authoring/durable.ts";
import type { WaitOptions } from "../../authoring/durable.ts";
import { ToolError } from "../../authoring/tool.ts";
import {
  elicitationParams,
  FORM_ATTEMPTS,
  FormError,
  isEmptyForm,
  parseAnswer,
  QuestionError,
} from "../wire/elicitation.ts";
import { invalidParams, type RequestId } from "../wire/messages.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { LOGGING_LEVELS } from "../wire/request_meta.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { type AuthoredRun, follow, uncatchable } from "./authored_run.ts";
import { type AskingWork, askOnPage } from "./page_question.ts";
import type { Visits } from "./visits.ts";

const NO_PAGE =
  "This caller cannot sign in to a page of this server, on which a person says that it is done.";

const EMPTY_FORM =
  "A form without fields was answered: some clients accept those without asking anyone. Ask for something to fill in, such as z.object({ sure: z.boolean() })";

/**
 * The work that a context belongs to: a request, or a task that goes on after
 * it.
 */
export interface Work extends AskingWork {
  readonly caller: Caller;
  readonly upstream?: Upstream;
  readonly requestId: string;
  readonly client: McpClient;
  readonly meta: JsonObject;
  /** The token for progress; undefined if the client did not ask for it. */
  readonly progressToken?: RequestId;
  /** The least severe level the client wants; undefined: no messages at all. */
  readonly logLevel?: LoggingLevel;
  readonly changes: Pick<ChangeStore, "resourceUpdated" | "listChanged">;
  /** The author's code, which may have to end in the middle. */
  readonly authored?: AuthoredRun;
  /** Waits in durable work for a word from outside. */
  wait?(durable: Durable, id: string, options: WaitOptions): Promise<unknown>;
  /** Tells why there is no `upstream`; absent: its caller has none. */
  readonly lacksUpstream?: string;
  /** The steps of durable work. */
  readonly durable?: Durable;
  /**
   * Asks on a page once, and keeps the answer. Only of durable work, whose
   * client hears of the page by its status.
   */
  keepAnswer?<T>(key: string | undefined, ask: () => Promise<T>): Promise<T>;
  /** Questions on pages of ours; undefined: its caller has none. */
  readonly visits?: Visits;
  /** Tells the author, in the log and once, what to do better. */
  advise?(message: string): void;
  /**
   * Asks the client and gives its result. `key` names the question if the tool
   * gave it one; otherwise its position does.
   *
   * @throws {QuestionError} when the client answers with an error; anything
   * else that it throws means that no one has answered
   */
  request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject>;
}

/**
 * {@linkcode Context} over {@linkcode Work}. Its methods are arrow functions,
 * so that tools can destructure them, and are made only when used, because most
 * calls need none of them.
 */
export class CallContext implements Context {
  /** Settings and services, set before a definition with needs runs. */
  settings: Readonly<Record<string, never>> = {};
  services: Readonly<Record<string, never>> = {};
  #work: Work;
  #upstream?: Upstream;
  #progress = -Infinity;
  #latest?: JsonObject;
  /** The number of questions that wait for a person. */
  #asking = 0;

  constructor(work: Work) {
    this.#work = work;
  }

  /** The run that a context is for; undefined where nothing can cut it. */
  static runOf(context: Context): AuthoredRun | undefined {
    return #work in context ? context.#work.authored : undefined;
  }

  /** Lets a context speak for other work: for the task that its call becomes. */
  static speakFor(context: Context, work: Work): void {
    if (#work in context) context.#work = work;
  }

  /** True while a person is asked something, by the client or on a page. */
  static isAsking(context: Context): boolean {
    return #work in context && context.#asking > 0;
  }

  /** The last progress that was told; undefined: none was. */
  static latestOf(context: Context): JsonObject | undefined {
    return #work in context ? context.#latest : undefined;
  }

  /**
   * Goes on with what an author's function gives, at once if it is here.
   * Rejects with the reason when its run is cut first.
   */
  static follow<T, R>(
    context: Context,
    value: T | PromiseLike<T>,
    next: (value: T) => MaybePromise<R>,
  ): MaybePromise<R> {
    return follow(value, next, () => CallContext.runOf(context));
  }

  get caller(): Caller {
    return this.#work.caller;
  }

  get upstream(): Upstream {
    const { upstream, authored, lacksUpstream } = this.#work;
    if (upstream === undefined) {
      throw new ToolError(
        lacksUpstream ?? "This caller did not sign in with a provider.",
      );
    }
    return this.#upstream ??= authored
      ? uncatchable(upstream, authored)
      : upstream;
  }

  get signal(): AbortSignal {
    return this.#work.signal;
  }

  get requestId(): string {
    return this.#work.requestId;
  }

  get client(): McpClient {
    return this.#work.client;
  }

  get meta(): JsonObject {
    return this.#work.meta;
  }

  get progress(): Context["progress"] {
    return async (progress, total, message) => {
      if (!(progress > this.#progress)) return;
      this.#progress = progress;
      const told = {
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      };
      this.#latest = told;
      const { progressToken } = this.#work;
      if (progressToken === undefined) return;
      await this.#work.notify("notifications/progress", {
        progressToken,
        ...told,
      });
    };
  }

  get log(): Context["log"] {
    return async (level, data, logger) => {
      const { logLevel } = this.#work;
      if (logLevel === undefined || isBelow(level, logLevel)) return;
      await this.#work.notify("notifications/message", {
        level,
        ...(logger !== undefined && { logger }),
        data,
      });
    };
  }

  get ask(): Context["ask"] {
    return async <const Q extends Question>(question: Q) => {
      if ("url" in question) {
        const answer = await this.#askOnPage(question);
        if (answer) return answer as AnswerTo<Q>;
      }
      this.#requireElicitation("url" in question);
      let mistake: FormError | undefined;
      for (let attempt = 1;; attempt++) {
        const { key } = question;
        const result = await this.#request(
          "elicitation/create",
          elicitationParams(question, this.#work, mistake),
          key && attempt > 1 ? `${key}#${attempt}` : key,
        );
        if (isEmptyForm(question)) this.#work.advise?.(EMPTY_FORM);
        try {
          return parseAnswer(question, result) as AnswerTo<Q>;
        } catch (error) {
          if (!(error instanceof FormError)) return await this.#cut(error);
          if (attempt === FORM_ATTEMPTS) throw error;
          mistake = error;
        }
      }
    };
  }

  /**
   * Asks on a page of ours: what has to be done there, and what a client cannot
   * show. Undefined where the client opens the address itself, or no page is
   * the caller's.
   */
  async #askOnPage(
    question: Extract<Question, { url: string }>,
  ): Promise<Elicited<undefined> | undefined> {
    const work = this.#work;
    const { visits, client: { capabilities: { elicitation } } } = work;
    const isOpener = isObject(elicitation) && "url" in elicitation;
    const mustBeDone = question.until === "done";
    if (isOpener && !mustBeDone) return undefined;
    if (!visits) {
      if (mustBeDone && isOpener) throw new ToolError(NO_PAGE);
      return undefined;
    }
    const asks = isOpener && !work.keepAnswer;
    const ask = () =>
      askOnPage(
        work,
        visits,
        question,
        asks
          ? (params, key) => this.#request("elicitation/create", params, key)
          : undefined,
      );
    return await this.#orCut(() =>
      work.keepAnswer ? work.keepAnswer(question.key, ask) : ask()
    );
  }

  /** Checks that the client asks in the form that is needed. */
  #requireElicitation(url: boolean): void {
    this.#requireCapability(
      "elicitation",
      (elicitation) =>
        url
          ? "url" in elicitation
          : !("url" in elicitation) || "form" in elicitation,
      { [url ? "url" : "form"]: {} },
    );
  }

  get sample(): Context["sample"] {
    return async (request: CreateMessageRequestParams) => {
      const withTools = request.tools !== undefined;
      this.#requireCapability(
        "sampling",
        (sampling) => !withTools || "tools" in sampling,
        withTools ? { tools: {} } : {},
      );
      const result = await this.#request(
        "sampling/createMessage",
        request as unknown as JsonObject,
      );
      if (typeof result.model !== "string" || result.content === undefined) {
        return await this.#cut(
          invalidParams("A sampling result must have a model and content"),
        );
      }
      return result as unknown as CreateMessageResult;
    };
  }

  get roots(): Context["roots"] {
    return async () => {
      this.#requireCapability("roots", () => true, {});
      const { roots } = await this.#request("roots/list", {});
      if (!Array.isArray(roots)) {
        return await this.#cut(
          invalidParams("A roots result must have an array of roots"),
        );
      }
      return roots as Root[];
    };
  }

  get step(): Context["step"] {
    return (id, run, options) => this.#durable("step").step(id, run, options);
  }

  get sleep(): Context["sleep"] {
    return (id, until) => this.#durable("sleep").sleep(id, until);
  }

  get wait(): Context["wait"] {
    return (id, options) =>
      this.#work.wait!(this.#durable("wait"), id, options);
  }

  get resourceUpdated(): Context["resourceUpdated"] {
    return (uri) => this.#work.changes.resourceUpdated(uri);
  }

  get listChanged(): Context["listChanged"] {
    return (list) => this.#work.changes.listChanged(list);
  }

  /** @throws {TypeError} at once, so that the first test shows it */
  #durable(member: string): Durable {
    const { durable } = this.#work;
    if (!durable) throw notDurable(member);
    return durable;
  }

  /** Asks the client, whose refusal is the only thing that it throws. */
  async #request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject> {
    return await this.#orCut(() => this.#work.request(method, params, key));
  }

  /** Waits for the person, unless the run has ended. */
  async #orCut<T>(ask: () => Promise<T>): Promise<T> {
    const { authored } = this.#work;
    if (authored?.reason !== undefined) {
      authored.goesOn();
      // Never settled: nothing that a run asks after its end is wanted.
      return await new Promise(() => {});
    }
    this.#asking++;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof QuestionError) throw error;
      return await this.#cut(error);
    } finally {
      this.#asking--;
    }
  }

  /**
   * Ends the run with an error. No answer is no answer: what the author does
   * without one is not wanted.
   */
  async #cut(error: unknown): Promise<never> {
    const { authored } = this.#work;
    if (!authored) throw error;
    return await authored.cut(error);
  }

  /**
   * Checks that the client declared a capability (MCP 2026-07-28, Base
   * Protocol).
   */
  #requireCapability(
    name: string,
    isEnough: (capability: JsonObject) => boolean,
    needed: JsonObject,
  ): void {
    const capability = this.#work.client.capabilities[name];
    if (isObject(capability) && isEnough(capability)) return;
    const message =
      `The client does not support ${name} in the form that is needed`;
    // 2025 has no code for this. As a tool error, the model can try another
    // way.
    if (!this.#work.stateless) throw new ToolError(message);
    throw new RpcError(
      RpcCode.missingCapability,
      message,
      { status: 400, data: { requiredCapabilities: { [name]: needed } } },
    );
  }
}

function isBelow(level: LoggingLevel, least: LoggingLevel): boolean {
  return LOGGING_LEVELS.indexOf(level) < LOGGING_LEVELS.indexOf(least);
}
