/**
 * Questions that a signed-in person answers on a page of this server instead of
 * in their client. The client then gets the answer by making the same call
 * again.
 *
 * @module
 */
import { DURABLE_SECONDS } from "../../authoring/durable.ts";
import { appOf, type Caller } from "../../core/caller.ts";
import type { ElicitationAnswer } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import { fingerprintOfLong } from "../../core/crypto/crypto.ts";
import { bestEffort, untilReachable } from "../../core/kv/operations.ts";
import type { TakenWait, Wait, WaitStore } from "./waits.ts";
import { idOfSubject } from "../../core/oauth/subject.ts";
import { canonicalJson, type JsonObject } from "../../core/json.ts";
import type { AskedQuestion } from "../../core/protocol/question.ts";
import type {
  AskingCall,
  AskingTask,
  Link,
  OpenPage,
  PersonPages,
  QuestionPages,
} from "../../core/mcp/exchange/work.ts";
import type { Links } from "./links.ts";

export interface WaitPages extends QuestionPages {
  waits: WaitStore;
  /**
   * The IDs of the providers at which people sign in here; subjects begin with
   * them.
   */
  providerIds: readonly string[];
  /** True in a test, which answers pages in place of people. */
  isTest?: boolean;
}

interface AnsweredPage {
  answer: ElicitationAnswer<undefined>;
}

interface WaitPage extends OpenPage {
  wait: Wait;
}

const OVER =
  "No one answered on the page in time, or the connection has ended: ask again if it is still wanted";

/** True if the caller is a person who can sign in to a page here. */
export function hasPage(
  { door, subject }: Caller,
  { providerIds }: Pick<WaitPages, "providerIds">,
): boolean {
  return (door === "oauth" || door === "token" || door === "jwt") &&
    idOfSubject(subject, providerIds) !== undefined;
}

export const addressOf = (
  { baseUrl }: Pick<WaitPages, "baseUrl">,
  id: string,
) => `${baseUrl}/wait/${id}`;

export function waitPagesOf(
  given: Pick<WaitPages, "waits" | "baseUrl" | "providerIds" | "isTest">,
): WaitPages {
  const pages: WaitPages = {
    ...given,
    questionsOf(call) {
      const { caller, message: { method, params } } = call;
      const { name, uri, arguments: sent = {} } = params;
      const asks = method === "tools/call" ? sent : { method, given: sent };
      return PageQuestions.of(pages, caller, String(name ?? uri), asks, call);
    },
    questionsOfTask: ({ taskId, caller, tool }) =>
      PageQuestions.of(pages, caller, tool, { taskId }),
    async show(call, link) {
      const { Links } = await import("./links.ts");
      return await new Links(call, () => Promise.resolve()).add(link);
    },
    addressOfTask: (taskId, caller) =>
      hasPage(caller, pages)
        ? `${pages.baseUrl}/account/work?task=${taskId}`
        : undefined,
  };
  return pages;
}

export const connectAddress = (
  { baseUrl }: Pick<WaitPages, "baseUrl">,
  service: string,
) => `${baseUrl}/connect/${service}`;

/** True if a text contains the link to a page that waits for a person. */
export function sendsToPage(
  text: string | undefined,
  pages: Pick<WaitPages, "baseUrl"> | undefined,
): boolean {
  return pages !== undefined && ["wait", "connect", "approve"]
    .some((page) => text?.includes(`${pages.baseUrl}/${page}/`));
}

/** The questions of one call or task that are asked on pages. */
export class PageQuestions implements PersonPages {
  #count = 0;
  #taken: TakenWait[] = [];
  /**
   * The waits whose answers were read by durable work and are not stored yet,
   * by key.
   */
  readonly #read = new Map<string, Wait>();
  #opening = new Set<Promise<unknown>>();
  #links?: Promise<Links>;

  /**
   * @param asker identifies the call with its arguments, or the task, so that a
   * repeat finds the same questions
   * @param call undefined for a task
   * @param task undefined for a call
   */
  constructor(
    readonly pages: WaitPages,
    private readonly caller: Caller,
    private readonly tool: string,
    private readonly asker: unknown,
    private readonly call?: AskingCall,
    private readonly task?: AskingTask,
  ) {}

  /**
   * Makes the questions of a caller. Undefined if the caller cannot sign in to
   * a page.
   */
  static of(
    ...[pages, caller, ...asked]: ConstructorParameters<typeof PageQuestions>
  ): PageQuestions | undefined {
    return hasPage(caller, pages)
      ? new PageQuestions(pages, caller, ...asked)
      : undefined;
  }

  /** Makes the questions of the task that the call becomes. */
  within(task: AskingTask): PageQuestions {
    const { pages, caller, tool } = this;
    const { taskId } = task;
    const asker = { taskId };
    return new PageQuestions(pages, caller, tool, asker, undefined, task);
  }

  async show(link: Link): Promise<never> {
    const links = this.#links ??= import("./links.ts").then(({ Links }) =>
      new Links(this.call!, () => this.opened())
    );
    return await (await links).add(link);
  }

  /** Runs an operation. In a task, retries it until the database responds. */
  #do<T>(operation: () => Promise<T>): Promise<T> {
    return this.task ? untilReachable(operation, this.task) : operation();
  }

  /** Asks a question. If it was already answered, takes the answer. */
  async open(
    question: AskedQuestion,
    key = `page-${++this.#count}`,
  ): Promise<WaitPage | AnsweredPage> {
    const opening: Promise<WaitPage | AnsweredPage> = this.#open(question, key)
      .finally(() => this.#opening.delete(opening));
    this.#opening.add(opening);
    return await opening;
  }

  async #open(
    { fingerprint, params: { message, url, begun } }: AskedQuestion,
    key: string,
  ): Promise<WaitPage | AnsweredPage> {
    const { pages, caller, tool, task: { taskId, address } = {} } = this;
    const { subject, binding, clientId, grantId } = caller;
    const connects = `${url}`.startsWith(connectAddress(pages, ""));
    const isOfWork = address !== undefined;
    // All calls of a client share one wait for an account, and all its durable
    // work shares another.
    const asker = connects
      ? [url, message, begun, isOfWork]
      : [tool, this.asker, key];
    const waiting = {
      subject,
      kind: "page",
      tool,
      clientId,
      grantId,
      pageTask: taskId,
      ...isOfWork && { taskId, taskAddress: address },
      asker: await fingerprintOfLong(
        // In another client the same person is asked again.
        canonicalJson([binding, appOf(caller), ...asker]),
      ),
      question: fingerprint,
    } as const;
    const payload = { message, url, begun };
    const times = isOfWork ? { seconds: DURABLE_SECONDS } : {};
    for (;;) {
      const wait = await this.#do(() =>
        pages.waits.open(waiting, payload, times)
      );
      if (wait.state === "open") {
        const { id } = wait;
        const address = connects ? `${url}?w=${id}` : addressOf(pages, id!);
        return { key, wait, address, connects };
      }
      const answer = await this.#take(key, wait, connects);
      // No answer: another run took it, and this one opens the question again.
      if (answer) return { answer };
    }
  }

  /**
   * Takes an answer, once. Durable work only reads the answer here, and takes
   * it once it is stored: the work's process may die before that.
   */
  async #take(
    key: string,
    wait: Wait,
    connects: boolean,
  ): Promise<ElicitationAnswer<undefined> | undefined> {
    const { waits } = this.pages;
    let answer: JsonObject | null | undefined;
    if (this.task?.address !== undefined && !connects) {
      answer = await this.#do(() => waits.close(wait));
      this.#read.set(key, wait);
    } else {
      const taken = await this.#do(() => waits.take(wait));
      if (taken) this.#taken.push(taken);
      answer = taken?.answer;
    }
    if (!answer) return undefined;
    return answer.action === "accept"
      ? { action: "accept", content: undefined }
      : { action: "decline" };
  }

  /**
   * Waits for the answer, up to a time limit. Undefined if none came in time.
   *
   * @throws {ToolError} if the wait ended without an answer
   * @throws the reason of the signal, if it fires first
   */
  async waitFor(
    { key, wait, connects }: WaitPage,
    signal: AbortSignal,
    milliseconds?: number,
  ): Promise<ElicitationAnswer<undefined> | undefined> {
    const { waits } = this.pages;
    if (!await waits.settled(wait, signal, milliseconds)) return undefined;
    const answer = await this.#take(key, wait, connects);
    if (answer) return answer;
    if (connects) return { action: "cancel" };
    throw new ToolError(OVER);
  }

  /** Takes an answer, once durable work has stored it. */
  async kept(key: string): Promise<void> {
    const wait = this.#read.get(key);
    this.#read.delete(key);
    if (wait) await bestEffort(() => this.pages.waits.take(wait));
  }

  /** Ends a question that the client declined. */
  withdraw({ wait }: WaitPage): Promise<boolean> {
    return this.pages.waits.withdraw(wait);
  }

  /** Waits until no question is being created. */
  async opened(): Promise<void> {
    while (this.#opening.size > 0) await Promise.allSettled(this.#opening);
  }

  /** Puts used answers back, because the run will begin again. */
  async release(): Promise<void> {
    await Promise.all(this.#taken.splice(0).map((taken) => taken.release()));
  }
}
