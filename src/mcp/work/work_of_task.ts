/**
 * A task in place of the request that began it: client and tool meet in its
 * record.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { Durable, McpClient } from "../../authoring/context.ts";
import type { WaitOptions } from "../../authoring/durable.ts";
import type { Caller, Upstream } from "../../caller.ts";
import type { Clock } from "../../clock.ts";
import type { JsonObject } from "../../json.ts";
import type { Logger } from "../../log/log.ts";
import { tidy } from "../../store/persist.ts";
import type { TaskStore } from "../../store/tasks.ts";
import { AuthoredRun } from "../exchange/authored_run.ts";
import type { Work } from "../exchange/work.ts";
import type { CallerBound } from "../exchange/caller_bound.ts";
import type { CountedAs } from "../exchange/counted_as.ts";
import type { Running } from "../exchange/running.ts";
import type { DurableRun } from "./durable_run.ts";
import type { Link, Visits } from "../exchange/visits.ts";
import type { WaitStore } from "../../store/waits.ts";
import { shortened } from "../wire/messages.ts";
import { waitForMoment } from "./moments.ts";
import { messageOf, StatusMessage } from "./status_message.ts";

/** The most characters of a message that leads to a page. */
const LINK_CHARACTERS = 500;

/** A call that brought answers to questions. */
export interface Recalled {
  /** Finds the answer that it brought to a question. */
  recall(
    method: string,
    params: JsonObject,
    key?: string,
  ): JsonObject | undefined;
}

/** The surroundings of a task's work. */
export interface Surroundings {
  tasks: TaskStore;
  /** Open questions. */
  questions: CallerBound;
  signal: AbortSignal;
  clock: Clock;
  log: Logger;
  /** Notes that the task waits for a person; what it gives, that it does not. */
  wait(): () => void;
  /** The waits of durable work for a word from outside. */
  waits?: WaitStore;
  /** The tool of durable work. */
  tool?: string;
  /** The call that became the task while it ran. */
  begun?: Recalled & { readonly authored: AuthoredRun };
  /** The run of durable work. */
  durable?: DurableRun;
}

/** The work that a task's context speaks for. */
export class WorkOfTask implements Work {
  readonly stateless = true;
  readonly caller: Caller;
  readonly upstream?: Upstream;
  readonly client: McpClient;
  readonly meta: JsonObject;
  readonly changes: Work["changes"];
  readonly visits?: Visits;
  readonly signal: AbortSignal;
  readonly advise: (message: string) => void;
  readonly authored: AuthoredRun;
  readonly status: StatusMessage;
  readonly durable?: DurableRun;
  readonly lacksUpstream?: string;
  readonly keepAnswer?: Work["keepAnswer"];
  readonly #countedAs?: CountedAs;
  readonly #surroundings: Surroundings;
  #count = 0;
  #keys = new Set<string>();

  constructor(
    readonly requestId: string,
    request: Work & Pick<Running, "countedAs">,
    surroundings: Surroundings,
  ) {
    const { caller, countedAs, upstream, client, meta, changes } = request;
    const { tasks, clock, signal, log, begun, durable } = surroundings;
    this.durable = durable;
    if (durable) {
      this.keepAnswer = (key, ask) =>
        durable.question(this.#unusedKey(key ?? "page"), async (keep) => {
          await keep(JSON.stringify(await ask()));
        });
    }
    this.lacksUpstream = request.lacksUpstream;
    this.#countedAs = countedAs;
    this.#surroundings = surroundings;
    this.signal = signal;
    this.caller = caller;
    this.upstream = upstream;
    this.client = client;
    this.meta = meta;
    this.changes = changes;
    this.visits = request.visits?.within(requestId);
    this.advise = (message) => request.advise?.(message);
    this.authored = begun?.authored ??
      new AuthoredRun((message) =>
        log.warning(message, { reference: requestId })
      );
    this.status = new StatusMessage(
      // Only words: the work goes on without them.
      (message) => tidy(() => tasks.setMessage(requestId, message)),
      clock,
    );
  }

  get progressToken(): string {
    return this.requestId;
  }

  /** Tells the client in the status, which its model reads; the task goes on. */
  async showLink({ message, address }: Link): Promise<void> {
    // The status is cut where it is long, and the address must stay whole.
    const words = shortened(message, LINK_CHARACTERS);
    await this.status.tell(`${words}\n${address}`);
  }

  /** Waits in durable work for a word from outside. */
  async wait(
    durable: Durable,
    id: string,
    options: WaitOptions,
  ): Promise<unknown> {
    const { waits, tool = "", signal } = this.#surroundings;
    try {
      return await waitForMoment(
        durable,
        {
          waits: waits!,
          taskId: this.requestId,
          tool,
          caller: this.caller,
          isMany: this.#countedAs?.isMany === true,
          signal,
          tell: (message) => this.status.tell(message),
        },
        id,
        options,
      );
    } catch (error) {
      // The run has left its process, or is over: no author's code goes on.
      if (signal.aborted) return await new Promise(() => {});
      throw error;
    }
  }

  /** Tasks have no notifications; progress becomes the status. */
  async notify(method: string, params: JsonObject): Promise<void> {
    if (method !== "notifications/progress") return;
    // Its client has heard of this.
    if (this.durable?.isReplay) return;
    const message = messageOf(params);
    if (message !== undefined) await this.status.tell(message);
  }

  async request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject> {
    const { questions, tasks, signal, wait, begun } = this.#surroundings;
    const known = begun?.recall(method, params, key);
    if (known) return known;
    const { durable } = this;
    if (durable) return await this.#askOnce(durable, method, params, key);
    questions.take(this.#countedAs);
    const goOn = wait();
    try {
      return await tasks.ask(
        this.requestId,
        this.#unusedKey(key ?? method.split("/")[0]),
        { method, params },
        signal,
      );
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      goOn();
      questions.release(this.#countedAs);
    }
  }

  /** Asks in durable work: a question has the same key in every run. */
  async #askOnce(
    durable: DurableRun,
    method: string,
    params: JsonObject,
    name?: string,
  ): Promise<JsonObject> {
    const { tasks, signal } = this.#surroundings;
    const key = this.#unusedKey(name ?? method.split("/")[0]);
    return await durable.question(
      key,
      (keep) =>
        tasks.askOnce(this.requestId, key, { method, params }, {
          signal,
          keep,
        }),
    );
  }

  /** A key never stands for two questions of one task. */
  #unusedKey(name: string): string {
    let key = name;
    while (this.#keys.has(key)) key = `${name}-${++this.#count}`;
    this.#keys.add(key);
    return key;
  }
}
