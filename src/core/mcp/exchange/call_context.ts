/**
 * The second argument of a tool (`Context`). It has the same interface for MCP
 * 2025 and 2026-07-28, which reach the client in different ways.
 * @module
 */
import type { Approved } from "../../../authoring/approval.ts";
import type {
  Context,
  FeatureMembers,
  McpClient,
} from "../../../authoring/context.ts";
import { notDurableError, STEP, WAIT } from "../../../authoring/durable.ts";
import * as kinds from "../../../authoring/options.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import { ToolError } from "../../../authoring/tool.ts";
import type { Caller, Upstream } from "../../caller.ts";
import type { JsonObject } from "../../json.ts";
import { LOGGING_LEVELS } from "../../protocol/request_meta.ts";
import { Asking } from "./asking.ts";
import { Acting, andThen, type AuthorCode } from "./author_code.ts";
import type { DurableContext, Work } from "./work.ts";

const STEP_CALL = {
  run: kinds.required(kinds.FUNCTION),
  options: kinds.object(STEP),
};

const LOG_CALL = { level: kinds.required(kinds.choice(...LOGGING_LEVELS)) };

/**
 * Functions that features add: each makes one member of a context at its first
 * read.
 */
export type ContextMembers = {
  readonly [N in keyof FeatureMembers]?: (
    context: Context,
  ) => FeatureMembers[N];
};

/**
 * Makes a subclass of {@linkcode CallContext} with the features' members;
 * undefined if no feature adds any.
 */
export function contextWith(
  lists: readonly ContextMembers[],
): typeof CallContext | undefined {
  if (lists.length === 0) return undefined;
  class FeatureContext extends CallContext {}
  for (const [name, make] of lists.flatMap((it) => Object.entries(it))) {
    Object.defineProperty(FeatureContext.prototype, name, {
      get(this: Context) {
        const value = (make as (context: Context) => unknown)(this);
        Object.defineProperty(this, name, { value });
        return value;
      },
    });
  }
  return FeatureContext;
}

export interface CallContext extends FeatureMembers {}

/**
 * {@linkcode Context} over {@linkcode Work}. Methods are arrow functions, so
 * that tools can destructure them. Each is made when first read, because most
 * calls need none.
 */
export class CallContext implements Context {
  /**
   * The settings and services that the definition declares, set before it runs.
   */
  settings: Readonly<Record<string, never>> = {};
  services: Readonly<Record<string, never>> = {};
  /** The accounts that the tool needs, set before it runs. */
  needs: Readonly<Record<never, never>> = {};
  declare approval?: Approved;
  #work: Work;
  #acting?: Acting;
  #upstream?: Upstream;
  #progress = -Infinity;
  #latest?: JsonObject;
  #asking?: Asking;
  #beforeStep?: () => Promise<void>;

  constructor(work: Work) {
    this.#work = work;
  }

  /**
   * Returns the author's code in a call; undefined if it cannot be interrupted.
   */
  static codeOf(context: Context): AuthorCode | undefined {
    return #work in context ? context.#work.authorCode : undefined;
  }

  /** Connects a context to the task that its call has become. */
  static moveToTask(context: Context, work: Work): void {
    if (!(#work in context)) return;
    context.#work = work;
    if (context.#asking) context.#asking.work = work;
  }

  static askingOf(context: Context): Asking {
    return (context as CallContext).#asker();
  }

  static actingOf(context: Context): Acting {
    return (context as CallContext).#actor();
  }

  /** Sets a function that every step of durable work awaits before it runs. */
  static beforeStep(context: Context, ready: () => Promise<void>): void {
    (context as CallContext).#beforeStep = ready;
  }

  /**
   * True while a question to a person, in the client or on a page, is
   * unanswered.
   */
  static isAsking(context: Context): boolean {
    return #work in context && context.#asking?.isOpen === true;
  }

  /** True if the call has asked a person or the client anything. */
  static hasAsked(context: Context): boolean {
    return #work in context && context.#asking !== undefined;
  }

  /** The latest progress; undefined if there was none. */
  static progressOf(context: Context): JsonObject | undefined {
    return #work in context ? context.#latest : undefined;
  }

  /**
   * Calls `next` with the result of an author's function. Rejects if that
   * function is interrupted first.
   */
  static andThen<T, R>(
    context: Context,
    value: T | PromiseLike<T>,
    next: (value: T) => MaybePromise<R>,
  ): MaybePromise<R> {
    return andThen(value, next, () => CallContext.codeOf(context));
  }

  get caller(): Caller {
    return this.#work.caller;
  }

  get upstream(): Upstream {
    const { upstream, lacksUpstream } = this.#work;
    if (upstream === undefined) {
      throw new ToolError(
        lacksUpstream ?? "This caller did not sign in with a provider.",
      );
    }
    return this.#upstream ??= this.#actor().through(upstream);
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
      const { progressToken, authorCode } = this.#work;
      const update = { progress, total, message };
      this.#latest = authorCode?.cleanData(update) ?? update;
      if (progressToken === undefined) return;
      await this.#work.notify("notifications/progress", {
        progressToken,
        ...this.#latest,
      });
    };
  }

  get log(): Context["log"] {
    return async (level, data, logger) => {
      kinds.checkOptions("log", LOG_CALL, { level });
      const { logLevel, authorCode } = this.#work;
      if (logLevel === undefined) return;
      const least = LOGGING_LEVELS.indexOf(logLevel);
      if (LOGGING_LEVELS.indexOf(level) < least) return;
      const message = { level, logger, data };
      const clean = authorCode?.cleanData(message) ?? message;
      await this.#work.notify("notifications/message", clean);
    };
  }

  get ask(): Context["ask"] {
    return (question) => this.#asker().ask(question);
  }

  get sample(): Context["sample"] {
    return (request) => this.#asker().sample(request);
  }

  get roots(): Context["roots"] {
    return () => this.#asker().roots();
  }

  get step(): Context["step"] {
    return (id, run, options) => {
      const durable = this.#durable("step");
      kinds.checkOptions("step", STEP_CALL, { run, options });
      return durable.step(id, run, options, this.#beforeStep);
    };
  }

  get sleep(): Context["sleep"] {
    return (id, until) => this.#durable("sleep").sleep(id, until);
  }

  get wait(): Context["wait"] {
    return (id, options) => {
      this.#durable("wait");
      kinds.checkOptions("wait", WAIT, options);
      return this.#work.wait!(id, options);
    };
  }

  get resourceUpdated(): Context["resourceUpdated"] {
    return (uri) => this.#work.changes.resourceUpdated(uri);
  }

  get listChanged(): Context["listChanged"] {
    return (list) => this.#work.changes.listChanged(list);
  }

  #actor(): Acting {
    return this.#acting ??= new Acting(() => this.#work);
  }

  #asker(): Asking {
    return this.#asking ??= new Asking(this.#work);
  }

  /**
   * @throws {TypeError} if the work is not durable. It throws instead of
   * rejecting, so that the author's first test shows it
   */
  #durable(member: string): DurableContext {
    const { durable } = this.#work;
    if (!durable) throw notDurableError(member);
    return durable;
  }
}
