/**
 * The work that a context belongs to: a request, or a task.
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
  /** True as long as the run repeats steps of earlier runs. */
  readonly isReplay: boolean;
  /** True if an earlier run has asked for its approval. */
  readonly hasApproval: boolean;
  /** True if an earlier run has got the answer, so that nothing is asked. */
  readonly isKept: boolean;
  /** True if an earlier run has begun a step, in any version. */
  readonly isUnderWay: boolean;
  /** @param ready awaited before the step runs */
  step<T>(
    id: string,
    run: (context: StepContext) => MaybePromise<T>,
    options?: StepOptions,
    ready?: () => Promise<void>,
  ): Promise<T>;
}

/** The parking of durable work: while it waits, no process holds it. */
export interface WorkParking {
  /**
   * Awaits a function that works: durable work stays in this process meanwhile.
   */
  activity<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Awaits a function that only waits: durable work may be parked meanwhile.
   *
   * @param waiting `until`: the epoch second at which the work goes on without
   * an answer; `wait`: the key of the wait whose answer it awaits
   */
  wait<T>(
    waiting: { until?: number; wait?: Deno.KvKey },
    work: () => Promise<T>,
  ): Promise<T>;
  /** Waits until a time. `waitsFor`: the reason, for the client. */
  waitUntil(until: number, how?: { waitsFor?: string }): Promise<void>;
  /**
   * The seconds after which the work checks again for an account, or for room
   * for a question.
   */
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
  /**
   * Ends the run, and its request with an answer after which the client starts
   * the next run.
   */
  suspend(answer: () => MaybePromise<Answer>): Promise<void>;
}

/** The pages on which people answer, at one address of the server. */
export interface QuestionPages {
  readonly baseUrl: string;
  /**
   * Makes the questions of a call; undefined if its caller cannot sign in to
   * pages.
   */
  questionsOf(call: AskingCall): PersonPages | undefined;
  /**
   * Makes the questions of a task; undefined if its caller cannot sign in to
   * pages.
   */
  questionsOfTask(
    task: { taskId: string; caller: Caller; tool: string },
  ): PersonPages | undefined;
  /**
   * Ends the run of a call with the link of a page that people other than its
   * caller open. Never settles.
   */
  show(call: AskingCall, link: Link): Promise<never>;
  /** Returns the URL of a task's page, if its caller can sign in to it. */
  addressOfTask(taskId: string, caller: Caller): string | undefined;
}

/** A task that asks on pages. */
export interface AskingTask {
  taskId: string;
  signal: AbortSignal;
  /**
   * The address of the server that durable work belongs to, which an answer
   * wakes.
   */
  address?: string;
}

/** A page that is open for its person. */
export interface OpenPage {
  key: string;
  /** The wait for the answer, by the key of its record. */
  wait: { key: Deno.KvKey; id?: string };
  address: string;
  /**
   * True for a page that connects an account: a person may also connect it
   * elsewhere.
   */
  connects: boolean;
  /** The text of the page, if it is stored with the wait. */
  message?: string;
  /**
   * The end of the wait in epoch seconds, if it comes before the end of the
   * work.
   */
  until?: number;
}

/** Questions on pages, asked by an author or by a feature. */
export interface PagesOf<A> {
  open(
    question: AskedQuestion,
    key?: string,
  ): Promise<OpenPage | { answer: A }>;
  /** Waits for the answer; undefined if the time is over first. */
  waitFor(
    page: OpenPage,
    signal: AbortSignal,
    milliseconds?: number,
  ): Promise<A | { action: "cancel" } | undefined>;
  /** Ends a question that the client has declined or cancelled. */
  withdraw(page: OpenPage): Promise<void>;
}

/** The questions of one call or task that are asked on pages. */
export interface PersonPages extends PagesOf<ElicitationAnswer<undefined>> {
  readonly pages: Pick<QuestionPages, "baseUrl">;
  /** Ends the run of a call with a link. Never settles. */
  show(link: Link): Promise<never>;
  /** Makes the questions of the task that the call becomes. */
  within(task: AskingTask): PersonPages;
  /** Deletes the answer to a question, once durable work has stored it. */
  kept(key: string): Promise<void>;
  /** Restores used answers, for the run that starts over. */
  release(): Promise<void>;
}

/** The work of a context: a request, or a task that goes on after it. */
export interface Work {
  /** True if the client belongs to the generation without sessions. */
  readonly stateless: boolean;
  readonly signal: AbortSignal;
  /**
   * Fires when the author's code may no longer act for the caller: the work was
   * cancelled or interrupted, or its permission has ended. Unlike `signal` it
   * does not fire when the server stops, because a call may still return a
   * result then.
   */
  readonly overSignal: AbortSignal;
  /** True if `overSignal` has fired; cheaper than making that signal. */
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
  /** The token for progress, if the client asked for progress. */
  readonly progressToken?: RequestId;
  /**
   * The least severe level that the client wants; undefined if it wants no log
   * messages.
   */
  readonly logLevel?: LoggingLevel;
  readonly changes: Pick<ChangeStore, "resourceUpdated" | "listChanged">;
  /** The author's code while it runs, which may be interrupted. */
  readonly authorCode?: AuthorCode;
  /** Waits for a webhook; undefined if the work is not durable. */
  wait?(id: string, options: WaitOptions): Promise<unknown>;
  /** The reason why `upstream` is missing, if the caller could have it. */
  readonly lacksUpstream?: string;
  readonly durable?: DurableContext;
  /** Undefined if the work is not durable. */
  readonly parking?: WorkParking;
  /** Asks on a page once, and stores the answer; only for durable work. */
  keepAnswer?<T>(
    question: AskedQuestion,
    ask: (key: string) => Promise<T>,
  ): Promise<T>;
  /** Questions on pages of this server, if the caller can sign in to them. */
  readonly pageQuestions?: PersonPages;
  /**
   * Set by a run that has used up an approval, for example; see {@linkcode
   * Call.putBack}.
   */
  putBack?: () => Promise<unknown>;
  /** Logs advice for the author, once. */
  advise?(message: string): void;
  /**
   * Asks the client and returns its result. A question without a key gets its
   * position as key.
   *
   * @throws {QuestionError} if the client responds with an error; any other
   * exception means that no one has answered
   * @param signal aborts a question of a 2025 request whose answer is no longer
   * needed
   */
  request(question: AskedQuestion, signal?: AbortSignal): Promise<JsonObject>;
  /**
   * Shows a link to the person of a client that cannot open links. A request
   * ends its run with a result that has the link; a task shows the link in its
   * status, and goes on.
   *
   * @returns a function that removes the link
   */
  showLink?(link: Link): Promise<() => Promise<void>>;
  /**
   * True if the question with this key may be asked once more. Undefined except
   * for 2026 requests, which cannot stay open as long as a person needs.
   */
  mayAskAgain?(key: string): boolean;
  /** Sends a notification that belongs to the request. */
  notify(method: string, params: JsonObject): Promise<void>;
}
