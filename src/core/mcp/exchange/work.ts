/**
 * The work that a context belongs to.
 *
 * @module
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import type { Context, McpClient } from "../../../authoring/context.ts";
import type {
  StepContext,
  StepOptions,
  WaitOptions,
} from "../../../authoring/durable.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { Authenticated, Caller, Upstream } from "../../caller.ts";
import type { JsonObject } from "../../json.ts";
import type { ChangeStore } from "../../store/changes.ts";
import type { RequestId } from "../../protocol/messages.ts";
import type { AskedQuestion } from "../../protocol/question.ts";
import type { AuthorCode } from "./author_code.ts";
import type { LimitKey } from "./caller_bound.ts";
import type { ElicitationAnswer } from "../../../authoring/context.ts";
import type { RpcRequest } from "../../protocol/messages.ts";
import type { PrintedLists } from "../../catalogue/printed_lists.ts";
import type { Answer } from "./answer.ts";

/** The members of a context that only durable work has. */
export interface DurableContext extends Pick<Context, "sleep"> {
  /** @param ready awaited before the step is done */
  step<T>(
    id: string,
    run: (context: StepContext) => MaybePromise<T>,
    options?: StepOptions,
    ready?: () => Promise<void>,
  ): Promise<T>;
}

/** The parking of durable work, which leaves its process while it waits. */
export interface WorkParking {
  /**
   * Awaits a function that does something: meanwhile the work stays in this
   * process.
   */
  activity<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Awaits a function that only waits: meanwhile the work may leave this
   * process.
   *
   * @param waiting `until`: the time at which it goes on without an answer, in
   * epoch seconds; `wait`: the record of the wait whose answer it awaits
   */
  wait<T>(
    waiting: { until?: number; wait?: Deno.KvKey },
    work: () => Promise<T>,
  ): Promise<T>;
  /** Waits for a time. `waitsFor`: the reason, for the client. */
  waitUntil(until: number, how?: { waitsFor?: string }): Promise<void>;
  /** The seconds until the work checks again for something that it lacks. */
  readonly againSeconds: number;
  /** Epoch seconds. */
  now(): number;
}

/** A page that a person has to open, and the reason in the author's words. */
export interface Link {
  address: string;
  message: string;
}

/** A call that asks on pages. */
export interface AskingCall extends Work {
  readonly message: RpcRequest;
  readonly printedLists: PrintedLists;
  /** Ends the run, and the request with an answer that leads to the next run. */
  suspend(answer: () => MaybePromise<Answer>): Promise<void>;
}

/** The pages at one address on which people answer: those of a feature. */
export interface QuestionPages {
  readonly baseUrl: string;
  /** Makes the questions of a call; undefined if no one can sign in for it. */
  questionsOf(call: AskingCall): PersonPages | undefined;
  /** Makes the questions of a task; undefined if no one can sign in for it. */
  questionsOfTask(
    task: { taskId: string; caller: Caller; tool: string },
  ): PersonPages | undefined;
  /**
   * Ends the run of a call with a link to a page that other people than its
   * caller open. Never settles.
   */
  show(call: AskingCall, link: Link): Promise<never>;
  /** Returns the page of a caller's task, if they can sign in to it. */
  addressOfTask(taskId: string, caller: Caller): string | undefined;
}

/** A task that asks on pages. */
export interface AskingTask {
  taskId: string;
  signal: AbortSignal;
  /** The server address of durable work, which an answer wakes. */
  address?: string;
}

/** A page that is open for its person. */
export interface OpenPage {
  key: string;
  /** The wait for its answer, by the key of its record. */
  wait: { key: Deno.KvKey; id?: string };
  address: string;
  /**
   * True for a page that connects an account, which may also be connected
   * elsewhere.
   */
  connects: boolean;
  /** The page's text, if it is stored with the page. */
  message?: string;
  /**
   * The end of the wait, in epoch seconds, if it comes before the end of the
   * work.
   */
  until?: number;
}

/** Questions on pages: those of an author, or of a feature. */
export interface PagesOf<A> {
  open(
    question: AskedQuestion,
    key?: string,
  ): Promise<OpenPage | { answer: A }>;
  /** Waits for the answer; undefined when the time is over. */
  waitFor(
    page: OpenPage,
    signal: AbortSignal,
    milliseconds?: number,
  ): Promise<A | { action: "cancel" } | undefined>;
  /** Ends a question that the client has turned down. */
  withdraw(page: OpenPage): Promise<void>;
}

/** The questions of one call or task that have pages. */
export interface PersonPages extends PagesOf<ElicitationAnswer<undefined>> {
  readonly pages: Pick<QuestionPages, "baseUrl">;
  /** Ends the run of a call with a link. Never settles. */
  show(link: Link): Promise<never>;
  /** The questions of the task that the call becomes. */
  within(task: AskingTask): PersonPages;
  /** Removes the answer to a question once durable work has stored it. */
  kept(key: string): Promise<void>;
  /** Puts taken answers back, for the run that begins again. */
  release(): Promise<void>;
}

/** The work of a context: a request, or a task that goes on after it. */
export interface Work {
  /** True if the client belongs to the generation without sessions. */
  readonly stateless: boolean;
  readonly signal: AbortSignal;
  /**
   * Fires when the author's code may not act for the caller any more: the work
   * was cancelled or interrupted, or its permission has ended. Unlike `signal`
   * it stays quiet while the server stops, since a call may still answer then.
   */
  readonly overSignal: AbortSignal;
  /**
   * True once `overSignal` has fired, without the cost of making that signal.
   */
  isOver(): boolean;
  readonly limitKey?: LimitKey;
  readonly caller: Caller;
  /** Undefined for a task. */
  readonly authenticated?: Authenticated;
  readonly upstream?: Upstream;
  readonly requestId: string;
  /** The time at which the request began, by `performance.now()`. */
  readonly startedMilliseconds?: number;
  readonly client: McpClient;
  readonly meta: JsonObject;
  /** The token for progress; undefined if the client did not ask for it. */
  readonly progressToken?: RequestId;
  /** The least severe level that the client wants; undefined: no messages. */
  readonly logLevel?: LoggingLevel;
  readonly changes: Pick<ChangeStore, "resourceUpdated" | "listChanged">;
  /** The execution of the author's code, which may be interrupted. */
  readonly authorCode?: AuthorCode;
  /** Waits for a webhook. Undefined unless the work is durable. */
  wait?(id: string, options: WaitOptions): Promise<unknown>;
  /** The reason why `upstream` is missing, for a caller who can have one. */
  readonly lacksUpstream?: string;
  readonly durable?: DurableContext;
  /** Undefined unless the work is durable. */
  readonly parking?: WorkParking;
  /** Asks on a page once, and stores the answer. Only for durable work. */
  keepAnswer?<T>(
    question: AskedQuestion,
    ask: (key: string) => Promise<T>,
  ): Promise<T>;
  /** The questions on pages of this server, if the caller can sign in there. */
  readonly pageQuestions?: PersonPages;
  /** Set by a run that has used something up; see {@linkcode Call.putBack}. */
  putBack?: () => Promise<unknown>;
  /** Logs advice for the author, once. */
  advise?(message: string): void;
  /**
   * Asks the client and returns its result. A question without a key is named
   * by its position.
   *
   * @throws {QuestionError} when the client answers with an error; anything
   * else that it throws means that no one has answered
   * @param signal ends a question of a 2025 request that needs no answer
   */
  request(question: AskedQuestion, signal?: AbortSignal): Promise<JsonObject>;
  /**
   * Shows a link to a client that opens no pages. A request ends its run with a
   * result that has the link; a task shows it in its status, and goes on.
   *
   * @returns a function that removes the link again
   */
  showLink?(link: Link): Promise<() => Promise<void>>;
  /**
   * True if the question with this key may be asked once more. Undefined except
   * for 2026 requests, which cannot stay open for as long as a person needs.
   */
  mayAskAgain?(key: string): boolean;
  /** Sends a notification that belongs to the request. */
  notify(method: string, params: JsonObject): Promise<void>;
}
