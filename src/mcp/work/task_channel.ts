/**
 * A task in place of the request that began it: client and tool meet in its
 * record.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { McpClient } from "../../authoring/context.ts";
import type { WaitOptions } from "../../authoring/durable.ts";
import type { Caller, Upstream } from "../../caller.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import { canonicalJson, type JsonObject } from "../../json.ts";
import type { Logger } from "../../log/log.ts";
import { tidy } from "../../store/persist.ts";
import type { TaskStore } from "../../store/tasks.ts";
import { AuthoredRun } from "../exchange/authored_run.ts";
import type { Work } from "../exchange/work.ts";
import type { CallerBound } from "../exchange/caller_bound.ts";
import type { DurableRun } from "./durable_run.ts";
import type { AskedQuestion } from "./step_order.ts";
import type { Link, Visits } from "../exchange/visits.ts";
import type { WaitStore } from "../../store/waits.ts";
import { shortened } from "../../protocol/messages.ts";
import { waitForMoment } from "./moments.ts";
import type { Parking } from "./parking.ts";
import { printProgress, StatusMessage } from "./task_state.ts";
import type { BegunCall, TaskOrigin } from "./task_work.ts";

/** The most characters of a message that leads to a page. */
const LINK_CHARACTERS = 500;

/** The surroundings of a task's work. */
interface Surroundings {
  tasks: TaskStore;
  /** The bound on questions of a plain task; durable work keeps its own. */
  questions: CallerBound;
  log: Logger;
  signal: AbortSignal;
  parking: Parking;
  call?: BegunCall;
  /** The run of durable work, and its waits for a word from outside. */
  durable?: {
    run: DurableRun;
    waits: WaitStore;
    tool: string;
    address: string;
  };
}

/** The work that a task's context speaks for. */
export class TaskChannel implements Work {
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
  readonly #origin: TaskOrigin;
  readonly #surroundings: Surroundings;
  #count = 0;
  #keys = new Set<string>();
  readonly #links = new Set<string>();

  constructor(
    readonly requestId: string,
    origin: TaskOrigin,
    surroundings: Surroundings,
  ) {
    const { tasks, signal, log, call } = surroundings;
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
    ({
      caller: this.caller,
      upstream: this.upstream,
      lacksUpstream: this.lacksUpstream,
      client: this.client,
      meta: this.meta,
      changes: this.changes,
    } = origin);
    this.#origin = origin;
    this.#surroundings = surroundings;
    this.signal = signal;
    this.visits = origin.visits?.within(requestId);
    this.advise = (message) => origin.advise?.(message);
    this.authored = call?.authored ??
      new AuthoredRun((message) =>
        log.warning(message, { reference: requestId })
      );
    this.status = new StatusMessage(
      // A status that cannot be written does not stop the work.
      (told) => tidy(() => tasks.setMessages(requestId, told)),
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
          countedAs: this.#origin.countedAs,
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
    await this.#surroundings.parking.activity(async () => {
      await this.#origin.relayProgress?.(params);
      const statusMessage = printProgress(params);
      if (statusMessage === undefined) return;
      await this.status.tell({ statusMessage, waitsFor: undefined });
    });
  }

  async request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject> {
    const { tasks, questions, signal, parking, call } = this.#surroundings;
    const { countedAs } = this.#origin;
    const known = call?.recall(method, params, key);
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
    questions.take(countedAs);
    try {
      const question = this.#unusedKey(name);
      return await parking.wait({ question }, () => ask(question));
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      questions.release(countedAs);
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
