/**
 * A task in place of the request that began it: client and tool meet in its
 * record.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { McpClient } from "../../authoring/context.ts";
import type { WaitOptions } from "../../authoring/durable.ts";
import type { Authenticated, Caller, Upstream } from "../../caller.ts";
import type { Clock } from "../../clock.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import { canonicalJson, type JsonObject } from "../../json.ts";
import type { Logger } from "../../log/log.ts";
import type { Outcome } from "../../log/request.ts";
import { tidy } from "../../store/persist.ts";
import type { TaskStore } from "../../store/tasks.ts";
import { AuthoredRun } from "../exchange/authored_run.ts";
import type { Call } from "../exchange/call.ts";
import type { Work } from "../exchange/work.ts";
import type { CallerBound } from "../exchange/caller_bound.ts";
import type { Running } from "../exchange/running.ts";
import type { DurableRun } from "./durable_run.ts";
import type { AskedQuestion } from "./step_order.ts";
import type { Link, Visits } from "../exchange/visits.ts";
import type { WaitStore } from "../../store/waits.ts";
import { shortened } from "../../protocol/messages.ts";
import { waitForMoment } from "./moments.ts";
import { printProgress, StatusMessage } from "./task_state.ts";

/** The most characters of a message that leads to a page. */
const LINK_CHARACTERS = 500;

/** A request that becomes a task. */
export interface TaskRequest extends Work, Pick<Running, "countedAs"> {
  readonly authenticated: Authenticated;
  /** True if its client, who knows no tasks, is told the progress. */
  readonly awaitsTask?: boolean;
  /** Records the end of the task in the log, and for its person. */
  endTask(taskId: string, outcome: Outcome): void;
}

/** The surroundings of a task's work. */
interface Surroundings {
  tasks: TaskStore;
  signal: AbortSignal;
  clock: Clock;
  log: Logger;
  /** The call that became the task while it ran. */
  begun?: Pick<Call, "authored" | "recall">;
  /** The bound on questions; durable work, which keeps them, has none. */
  asking?: {
    questions: CallerBound;
    /** Notes that the task waits for a person; what it gives, that it does not. */
    wait(): () => void;
  };
  /** The run of durable work, and its waits for a word from outside. */
  durable?: {
    run: DurableRun;
    waits: WaitStore;
    tool: string;
    address: string;
  };
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
  readonly #request: TaskRequest;
  readonly #surroundings: Surroundings;
  #count = 0;
  #keys = new Set<string>();
  readonly #links = new Set<string>();

  constructor(
    readonly requestId: string,
    request: TaskRequest,
    surroundings: Surroundings,
  ) {
    const { caller, upstream, client, meta, changes } = request;
    const { tasks, clock, signal, log, begun } = surroundings;
    const run = this.durable = surroundings.durable?.run;
    if (run) {
      this.keepAnswer = ({ key = "page", message, url }, ask) =>
        run.question(
          key,
          // An address often changes with every run, and the page opens the first.
          askedQuestion(message, [message, new URL(url).origin]),
          async (key, keep) => keep(JSON.stringify(await ask(key))),
          // Only this process sees an answer on a page: it goes on at once.
          { until: 0 },
        );
    }
    this.lacksUpstream = request.lacksUpstream;
    this.#request = request;
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
      // A status that cannot be written does not stop the work.
      (told) => tidy(() => tasks.setMessages(requestId, told)),
      clock,
    );
  }

  get progressToken(): string {
    return this.requestId;
  }

  /** Tells the client in the status, which its model reads; the task goes on. */
  async showLink({ message, address }: Link): Promise<() => Promise<void>> {
    // The status is cut where it is long, and the address must stay whole.
    const link = `${shortened(message, LINK_CHARACTERS)}\n${address}`;
    await this.status.tell({ waitsFor: link });
    this.#links.add(link);
    return async () => {
      this.#links.delete(link);
      await this.status.tell({ waitsFor: [...this.#links].at(-1) });
    };
  }

  async wait(id: string, options: WaitOptions): Promise<unknown> {
    const { durable: work, signal } = this.#surroundings;
    try {
      return await waitForMoment(
        this.durable!,
        {
          waits: work!.waits,
          taskId: this.requestId,
          tool: work!.tool,
          address: work!.address,
          caller: this.caller,
          countedAs: this.#request.countedAs,
          signal,
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

  /**
   * Progress becomes the status: tasks have no notifications. A call that waits
   * for its task has.
   */
  async notify(method: string, params: JsonObject): Promise<void> {
    if (method !== "notifications/progress") return;
    // Its client has heard of this.
    if (this.durable?.isReplay) return;
    const tell = async () => {
      const { awaitsTask, progressToken } = this.#request;
      if (awaitsTask && progressToken !== undefined) {
        await this.#request.notify(method, { ...params, progressToken });
      }
      const statusMessage = printProgress(params);
      if (statusMessage === undefined) return;
      await this.status.tell({ statusMessage, waitsFor: undefined });
    };
    await (this.durable ? this.durable.rest.activity(tell) : tell());
  }

  async request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject> {
    const { tasks, signal, asking, begun } = this.#surroundings;
    const known = begun?.recall(method, params, key);
    if (known) return known;
    const question = { method, params };
    const ask = (name: string, keep?: (answer: string) => Promise<void>) =>
      tasks.ask(this.requestId, name, question, { signal, keep });
    const name = key ?? method.split("/")[0];
    if (this.durable) {
      const { message = params } = params;
      const asked = askedQuestion(message, [method, params], method);
      return await this.durable.question(name, asked, ask);
    }
    asking!.questions.take(this.#request.countedAs);
    const goOn = asking!.wait();
    try {
      return await ask(this.#unusedKey(name));
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      goOn();
      asking!.questions.release(this.#request.countedAs);
    }
  }

  /** Makes a key that no other question of a task that is not durable has. */
  #unusedKey(name: string): string {
    let key = name;
    while (this.#keys.has(key)) key = `${name}-${++this.#count}`;
    this.#keys.add(key);
    return key;
  }
}

/** The most characters of a question in an error. */
const ASKED_CHARACTERS = 200;

function askedQuestion(
  message: unknown,
  content: readonly unknown[],
  method = "elicitation/create",
): AskedQuestion {
  return {
    fingerprint: fingerprint(canonicalJson(content)),
    text: shortened(JSON.stringify(message), ASKED_CHARACTERS),
    isForPerson: method === "elicitation/create",
  };
}
