/**
 * The request or task that a context belongs to.
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
import type { LimitKey } from "./limits.ts";
import type { ElicitationAnswer } from "../../../authoring/context.ts";
import type { RpcRequest } from "../../protocol/messages.ts";
import type { PrintedLists } from "../../catalogue/printed_lists.ts";
import type { Answer } from "./answer.ts";

/** The members of a context that only durable work has. */
export interface DurableContext extends Pick<Context, "sleep"> {
  /** True while the run repeats steps of earlier runs. */
  readonly isReplay: boolean;
  /** True if an earlier run has asked for approval. */
  readonly hasApproval: boolean;
  /**
   * True if an earlier run has stored the approval, so that no one is asked.
   */
  readonly isKept: boolean;
  /** True if an earlier run has begun a step other than the approval. */
  readonly isUnderWay: boolean;
  /** @param ready awaited before the step runs */
  step<T>(
    id: string,
    run: (context: StepContext) => MaybePromise<T>,
    options?: StepOptions,
    ready?: () => Promise<void>,
  ): Promise<T>;
}

/** Parks durable work, so that no process needs to hold it while it waits. */
export interface WorkParking {
  /**
   * Runs a function that does work. Meanwhile durable work stays in this
   * process.
   */
  activity<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Runs a function that only waits. Meanwhile durable work may be stored and
   * leave this process.
   * @param waiting `until`: the epoch second at which the work continues
   * without an answer; `wait`: the key of the record for the answer
   */
  wait<T>(
    waiting: { until?: number; wait?: Deno.KvKey },
    work: () => Promise<T>,
  ): Promise<T>;
  /** Waits until a time. `waitsFor` is the reason, shown to the client. */
  waitUntil(until: number, how?: { waitsFor?: string }): Promise<void>;
  /**
   * The seconds between two checks for a missing account, or for fewer open
   * questions.
   */
  readonly againSeconds: number;
  /** Epoch seconds. */
  now(): number;
}

/** A page that a person has to open, and the reason in the author's words. */
export interface Link {
  address: string;
  message: string;
  /** True if other people than the caller answer on the page. */
  isForOthers?: boolean;
}

/** A call that asks on pages. */
export interface AskingCall extends Work {
  readonly message: RpcRequest;
  readonly printedLists: PrintedLists;
  /**
   * Ends this run and responds with `answer`; the client then starts the next
   * run.
   */
  suspend(answer: () => MaybePromise<Answer>): Promise<void>;
}

/** The pages on which people answer, at one base URL. */
export interface QuestionPages {
  readonly baseUrl: string;
  /**
   * Makes the {@linkcode PersonPages} of a call; undefined if its caller cannot
   * sign in to pages.
   */
  questionsOf(call: AskingCall): PersonPages | undefined;
  /**
   * Makes the {@linkcode PersonPages} of a task; undefined if its caller cannot
   * sign in to pages.
   */
  questionsOfTask(
    task: { taskId: string; caller: Caller; tool: string },
  ): PersonPages | undefined;
  /**
   * Ends the run of a call with a link to a page for other people than its
   * caller. The promise never settles.
   */
  show(call: AskingCall, link: Link): Promise<never>;
  /**
   * Returns the URL of a task's page; undefined if its caller cannot sign in.
   */
  addressOfTask(taskId: string, caller: Caller): string | undefined;
}

/** A task that asks on pages. */
export interface AskingTask {
  taskId: string;
  signal: AbortSignal;
  /** The base URL of the server that resumes durable work after the answer. */
  address?: string;
}

/** A page that is open for its person. */
export interface OpenPage {
  key: string;
  /** The key and id of the record for the answer. */
  wait: { key: Deno.KvKey; id?: string };
  address: string;
  /**
   * True for a page that connects an account, which a person can also connect
   * elsewhere.
   */
  connects: boolean;
  /** The text of the page; undefined if it is not stored. */
  message?: string;
  /** True if people other than the caller answer on the page. */
  isForOthers?: boolean;
  /**
   * The time at which the page expires, in epoch seconds; absent if it lasts as
   * long as the work.
   */
  until?: number;
}

/** Opens pages on which people answer an author or a feature. */
export interface PagesOf<A> {
  open(
    question: AskedQuestion,
    key?: string,
  ): Promise<OpenPage | { answer: A }>;
  /** Waits for the answer; undefined if the page expires first. */
  waitFor(
    page: OpenPage,
    signal: AbortSignal,
    milliseconds?: number,
  ): Promise<A | { action: "cancel" } | undefined>;
  /**
   * Withdraws a question that the client has declined or cancelled. Returns
   * false, and leaves the question, if its answer was already used.
   */
  withdraw(page: OpenPage): Promise<boolean>;
}

/** Asks on pages for one call or task. */
export interface PersonPages extends PagesOf<ElicitationAnswer<undefined>> {
  readonly pages: Pick<QuestionPages, "baseUrl">;
  /**
   * Ends the run of a call with a link to a page. The promise never settles.
   */
  show(link: Link): Promise<never>;
  /** Makes the {@linkcode PersonPages} of the task that the call becomes. */
  within(task: AskingTask): PersonPages;
  /** Deletes an answer that durable work has stored. */
  kept(key: string): Promise<void>;
  /** Makes used answers available to the next run. */
  release(): Promise<void>;
}

/** The request or task that a context belongs to. */
export interface Work {
  /** True for a client of MCP 2026-07-28, which has no sessions. */
  readonly stateless: boolean;
  readonly signal: AbortSignal;
  /**
   * Fires when the author's code may no longer act for the caller: the work was
   * cancelled or interrupted, or its permission has ended. It does not fire
   * when the server stops, because a call may still return a result then.
   */
  readonly overSignal: AbortSignal;
  /**
   * True if `overSignal` has fired. Cheaper, because it does not make the
   * signal.
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
  /** The token for progress; undefined if the client wants none. */
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
  /**
   * The reason why `upstream` is absent; undefined if the caller can never have
   * it.
   */
  readonly lacksUpstream?: string;
  readonly durable?: DurableContext;
  /** Undefined if the work is not durable. */
  readonly parking?: WorkParking;
  /** Asks on a page once, and stores the answer; only for durable work. */
  keepAnswer?<T>(
    question: AskedQuestion,
    ask: (key: string) => Promise<T>,
  ): Promise<T>;
  /**
   * Asks on pages of this server; undefined if the caller cannot sign in to
   * them.
   */
  readonly pageQuestions?: PersonPages;
  /**
   * Gives back approvals and answers that the run has used; see {@linkcode
   * Call.putBack}.
   */
  putBack?: () => Promise<unknown>;
  /** The text about an approval that the model also gets if work is cut off. */
  ifCut?: string;
  /** Logs advice for the author, once. */
  advise?(message: string): void;
  /**
   * Asks the client and returns its result. A question without a key gets its
   * position as key.
   * @throws {QuestionError} if the client responds with an error; any other
   * exception means that no one has answered
   * @param signal aborts a question, of MCP 2025 or a plain task, whose answer
   * is no longer needed
   */
  request(question: AskedQuestion, signal?: AbortSignal): Promise<JsonObject>;
  /**
   * Shows a link to the person of a client that cannot open links. A request
   * ends with a result that has the link. A task shows the link in its status,
   * and continues.
   * @returns a function that removes the link
   */
  showLink?(link: Link): Promise<() => Promise<void>>;
  /**
   * Shows in the status of a task what it waits for, in place of links.
   * @returns a function that removes the text
   */
  showWaiting?(words: string): Promise<() => Promise<void>>;
  /**
   * Returns the client's answer to the question with this key, if the request
   * contains it. Only in MCP 2026-07-28.
   */
  sentAnswer?(key: string): JsonObject | undefined;
  /**
   * True if the question with this key may be asked again. Only in MCP
   * 2026-07-28, whose requests cannot stay open until a person answers.
   */
  mayAskAgain?(key: string): boolean;
  notify(method: string, params: JsonObject): Promise<void>;
}
