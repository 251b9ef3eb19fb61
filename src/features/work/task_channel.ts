/**
 * A task's channel to its client once the original request has ended. Progress,
 * questions and answers are stored in the task's record.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { McpClient } from "../../authoring/context.ts";
import type { WaitOptions } from "../../authoring/durable.ts";
import { ToolError } from "../../authoring/tool.ts";
import type { Caller, Upstream } from "../../core/caller.ts";
import type { JsonObject } from "../../core/json.ts";
import { bestEffort, untilReachable } from "../../core/kv/operations.ts";
import type { NewRun } from "./run_record.ts";
import { AuthorCode } from "../../core/mcp/exchange/author_code.ts";
import type { Link, PersonPages, Work } from "../../core/mcp/exchange/work.ts";
import { type AskedQuestion, unusedKey } from "../../core/protocol/question.ts";
import type { DurableSteps } from "./durable_steps.ts";
import type { WaitStore } from "../questions/waits.ts";
import { shortened } from "../../core/protocol/messages.ts";
import type { Parking } from "./parking.ts";
import {
  type OriginCall,
  printProgress,
  StatusMessage,
  type TaskOrigin,
  type TaskParts,
} from "./task_work.ts";
import { waitForWebhook } from "./webhook_wait.ts";

/** The maximum length in characters of a message that is shown with a link. */
const MAX_LINK_CHARACTERS = 500;

const NO_ONE =
  "No one can be asked any more: the result may be read by someone else";

interface Surroundings extends Pick<TaskParts, "tasks" | "questions" | "log"> {
  signal: AbortSignal;
  parking: Parking;
  call?: OriginCall;
  /** False if the task must not ask questions. */
  mayAsk: boolean;
  /** The steps of durable work, and its webhook waits. */
  durable?: {
    steps: DurableSteps;
    waits: WaitStore;
    run: Pick<NewRun, "tool" | "address">;
  };
}

export class TaskChannel implements Work {
  readonly stateless = true;
  readonly caller: Caller;
  readonly upstream?: Upstream;
  readonly client: McpClient;
  readonly meta: JsonObject;
  readonly changes: Work["changes"];
  readonly pageQuestions?: PersonPages;
  readonly signal: AbortSignal;
  readonly advise: (message: string) => void;
  readonly authorCode: AuthorCode;
  readonly status: StatusMessage;
  readonly durable?: DurableSteps;
  readonly lacksUpstream?: string;
  readonly keepAnswer?: Work["keepAnswer"];
  readonly parking?: Work["parking"];
  ifCut?: string;
  /** The keys of a plain task's questions. */
  readonly #keys = new Set<string>();
  readonly #links = new Set<string>();

  constructor(
    readonly requestId: string,
    private readonly origin: TaskOrigin,
    private readonly surroundings: Surroundings,
  ) {
    const { tasks, signal, log, call } = surroundings;
    const { steps } = surroundings.durable ?? {};
    this.durable = steps;
    this.keepAnswer = steps && ((question, ask) =>
      steps.question(
        question,
        async (key, keep) => {
          await keep(JSON.stringify(await ask(key)));
          await this.pageQuestions?.kept(key);
        },
        { isOnPage: true },
      ));
    this.parking = steps && surroundings.parking;
    ({
      caller: this.caller,
      upstream: this.upstream,
      lacksUpstream: this.lacksUpstream,
      client: this.client,
      meta: this.meta,
    } = origin);
    const { changes } = origin;
    const tell = (change: () => Promise<void>) =>
      surroundings.parking.activity(() => untilReachable(change, { signal }));
    this.changes = steps
      ? {
        resourceUpdated: (uri) => tell(() => changes.resourceUpdated(uri)),
        listChanged: (list) => tell(() => changes.listChanged(list)),
      }
      : changes;
    this.signal = signal;
    this.ifCut = call?.ifCut;
    this.pageQuestions = origin.pageQuestions?.within({
      taskId: requestId,
      signal,
      address: surroundings.durable?.run.address,
    });
    this.advise = (message) => origin.advise?.(message);
    this.authorCode = call?.authorCode ??
      new AuthorCode((message) =>
        log.warning(message, { reference: requestId })
      );
    this.status = new StatusMessage(
      // A status that cannot be written does not stop the work.
      (messages) => bestEffort(() => tasks.setMessages(requestId, messages)),
    );
  }

  /** Fires when nothing can use the task's result any more. */
  get overSignal(): AbortSignal {
    return this.signal;
  }
  isOver(): boolean {
    return this.signal.aborted;
  }

  get limitKey() {
    return this.origin.limitKey;
  }

  get progressToken(): string {
    return this.requestId;
  }

  /**
   * Shows a link in the task's status, for the model, without waiting for the
   * person. Returns a function that removes the link.
   */
  showLink({ message, address }: Link): Promise<() => Promise<void>> {
    // A long status is cut, but the address must stay whole.
    const words = shortened(message, MAX_LINK_CHARACTERS);
    return this.showWaiting(`${words}\n${address}`);
  }

  async showWaiting(link: string): Promise<() => Promise<void>> {
    await this.status.report({ waitsFor: link });
    this.#links.add(link);
    return async () => {
      this.#links.delete(link);
      await this.status.report({ waitsFor: this.link });
    };
  }

  /** The link in the task's status, if any. */
  get link(): string | undefined {
    return [...this.#links].at(-1);
  }

  async wait(id: string, options: WaitOptions): Promise<unknown> {
    const { signal, parking, durable } = this.surroundings;
    const { steps, waits, run: { tool, address } } = durable!;
    const { requestId: taskId, caller } = this;
    const { limitKey } = this;
    try {
      return await waitForWebhook(
        steps,
        { waits, taskId, tool, address, caller, limitKey, signal, parking },
        id,
        options,
      );
    } catch (error) {
      // The run is parked or over: the author's code must not continue.
      if (signal.aborted) return await new Promise(() => {});
      throw error;
    }
  }

  /**
   * Writes progress into the task's status, because a task sends no
   * notifications. Also sends it to a call that waits for the task.
   */
  async notify(method: string, params: JsonObject): Promise<void> {
    if (method !== "notifications/progress") return;
    // An earlier run has already sent this progress.
    if (this.durable?.isReplay) return;
    await this.surroundings.parking.activity(async () => {
      await this.origin.relayProgress?.(params);
      const statusMessage = printProgress(params);
      if (statusMessage === undefined) return;
      const news = { statusMessage, progress: Number(params.progress) };
      await this.status.report({ ...news, waitsFor: undefined });
    });
  }

  async request(
    question: AskedQuestion,
    unneeded?: AbortSignal,
  ): Promise<JsonObject> {
    const { tasks, questions, signal, parking, call, mayAsk } =
      this.surroundings;
    const { limitKey } = this;
    const known = call?.recall(question);
    if (known) return known;
    const { requestId } = this;
    const waiting = unneeded ? AbortSignal.any([signal, unneeded]) : signal;
    const ask = (key: string, keep?: (answer: string) => Promise<void>) =>
      tasks.ask(requestId, key, question, { signal: waiting, keep });
    if (this.durable) return await this.durable.question(question, ask);
    if (!mayAsk) throw new ToolError(NO_ONE);
    questions.take(limitKey);
    const key = unusedKey(question.key ?? question.kind, this.#keys);
    try {
      return await parking.wait({ question: key }, () => ask(key));
    } catch (error) {
      if (unneeded?.aborted) {
        await untilReachable(() => tasks.withdrawQuestion(requestId, key), {
          signal,
        });
      }
      throw signal.aborted ? signal.reason : error;
    } finally {
      questions.release(limitKey);
    }
  }
}
