/**
 * Questions that a signed-in person answers on a page of this server, not in
 * their client. The next run of the same call takes the answer.
 *
 * @module
 */
import { DURABLE_SECONDS } from "../../authoring/durable.ts";
import type { Caller } from "../../core/caller.ts";
import type { ElicitationAnswer } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import { fingerprintOfLong } from "../../core/crypto/crypto.ts";
import { LimitError } from "../../core/errors.ts";
import { persist, tidy } from "../../core/kv/persist.ts";
import type { TakenWait, Wait, WaitStore } from "./waits.ts";
import { idOfSubject } from "../../core/oauth/subject.ts";
import { canonicalJson, type JsonObject } from "../../core/json.ts";
import { shown } from "../../core/protocol/messages.ts";
import type { AskedQuestion } from "../../core/protocol/question.ts";
import type { WorkParking } from "../../core/mcp/exchange/work.ts";

export interface WaitPages {
  waits: WaitStore;
  baseUrl: string;
  /** The subject prefixes of the people who can sign in to these pages. */
  providerIds: readonly string[];
  /** True in a test, which presses on pages in place of its callers. */
  isTest?: boolean;
}

/** A page that a person has to open, and the reason in the author's words. */
export interface Link {
  address: string;
  message: string;
}

export interface OpenPage {
  key: string;
  wait: Wait;
  address: string;
  /** True if an account is connected on it, which may come in other ways too. */
  connects: boolean;
  /** Its words, where they are kept with it. */
  message?: string;
  /** The end of the wait, in epoch seconds, if it has one before its work. */
  until?: number;
}

interface AnsweredPage<A = ElicitationAnswer<undefined>> {
  answer: A;
}

/** Questions on pages: those of an author, or of a feature. */
export interface PagesOf<A> {
  open(
    question: AskedQuestion,
    key?: string,
  ): Promise<OpenPage | AnsweredPage<A>>;
  /** Waits for the answer; undefined when the time is over. */
  waitFor(
    page: OpenPage,
    signal: AbortSignal,
    milliseconds?: number,
  ): Promise<A | { action: "cancel" } | undefined>;
  /** Ends a question that the client has turned down. */
  withdraw(page: OpenPage): Promise<void>;
}

/** A task that asks on pages. */
interface AskingTask {
  taskId: string;
  signal: AbortSignal;
  /** The server address of durable work, which an answer wakes. */
  address?: string;
}

/** The most characters of an address: browsers may refuse longer ones. */
const MAX_URL_CHARACTERS = 8000;

const OVER =
  "No one answered on the page in time, or the connection has ended: ask again if it is still wanted";

/** True if the person behind a caller can sign in to a page here. */
export function hasPage(
  { door, subject }: Caller,
  { providerIds }: WaitPages,
): boolean {
  return (door === "oauth" || door === "token" || door === "jwt") &&
    idOfSubject(subject, providerIds) !== undefined;
}

export const addressOf = (
  { baseUrl }: Pick<WaitPages, "baseUrl">,
  id: string,
) => `${baseUrl}/wait/${id}`;

/** Returns the page of a task; undefined if its caller cannot sign in to it. */
export function addressOfTask(
  { taskId }: { taskId: string },
  { caller, engine: { waitPages } }: {
    caller: Caller;
    engine: { waitPages?: WaitPages };
  },
): string | undefined {
  return waitPages && hasPage(caller, waitPages)
    ? `${waitPages.baseUrl}/account/work?task=${taskId}`
    : undefined;
}

/** Makes the address of the page on which people connect an account. */
export const connectAddress = ({ baseUrl }: WaitPages, service: string) =>
  `${baseUrl}/connect/${service}`;

/** True if a text sends a person to a page of a wait. */
export function sendsToPage(
  text: string | undefined,
  pages: WaitPages | undefined,
): boolean {
  return pages !== undefined && [addressOf, connectAddress]
    .some((addressIn) => text?.includes(addressIn(pages, "")));
}

const NO_ROOM = "The tool waits until other questions to you are answered";

/** Opens a wait. Where too many are open, durable work waits for its turn. */
export async function inTurn<T>(
  parking: WorkParking,
  open: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await parking.activity(open);
    } catch (error) {
      if (!(error instanceof LimitError)) throw error;
    }
    const until = parking.now() + parking.againSeconds;
    await parking.waitUntil(until, { waitsFor: NO_ROOM });
  }
}

/** The questions of one call, or of one task, that have pages. */
export class PageQuestions implements PagesOf<ElicitationAnswer<undefined>> {
  #count = 0;
  #taken: TakenWait[] = [];
  /** The waits whose answers are being kept by durable work, by key. */
  readonly #read = new Map<string, Wait>();
  #opening = new Set<Promise<unknown>>();

  /**
   * @param asker identifies the call with its arguments, or the task: a repeat
   * of it finds the same questions
   * @param task the task; undefined for a call
   */
  constructor(
    readonly pages: WaitPages,
    private readonly caller: Caller,
    private readonly tool: string,
    private readonly asker: unknown,
    private readonly task?: AskingTask,
  ) {}

  /** The questions of a caller; undefined if they cannot sign in to a page. */
  static of(
    ...[pages, caller, ...asked]: ConstructorParameters<typeof PageQuestions>
  ): PageQuestions | undefined {
    return hasPage(caller, pages)
      ? new PageQuestions(pages, caller, ...asked)
      : undefined;
  }

  /** The questions of the task that the call becomes. */
  within(task: AskingTask): PageQuestions {
    const { pages, caller, tool } = this;
    const { taskId } = task;
    return new PageQuestions(pages, caller, tool, { taskId }, task);
  }

  /** Does an operation, for a task again and again while the database is away. */
  #do<T>(operation: () => Promise<T>): Promise<T> {
    return this.task ? persist(operation, this.task) : operation();
  }

  /** Opens a question, or takes its answer if someone has answered it. */
  async open(
    question: AskedQuestion,
    key = `page-${++this.#count}`,
  ): Promise<OpenPage | AnsweredPage> {
    const opening: Promise<OpenPage | AnsweredPage> = this.#open(question, key)
      .finally(() => this.#opening.delete(opening));
    this.#opening.add(opening);
    return await opening;
  }

  async #open(
    { fingerprint, params: { message, url, begun } }: AskedQuestion,
    key: string,
  ): Promise<OpenPage | AnsweredPage> {
    const { pages, caller, tool, task: { taskId, address } = {} } = this;
    const { subject, binding, clientId, grantId } = caller;
    const connects = `${url}`.startsWith(connectAddress(pages, ""));
    const isOfWork = address !== undefined;
    // All calls of a client wait for one account together, and all its work.
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
        // The same person in another client is asked anew.
        canonicalJson([binding, clientId ?? grantId, ...asker]),
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
      // Undefined if another run took the answer: then this one opens the
      // question again.
      if (answer) return { answer };
    }
  }

  /**
   * Takes an answer, once. Durable work only reads it, and takes it when it is
   * kept: its process may die before that.
   */
  async #take(
    key: string,
    wait: Wait,
    connects: boolean,
  ): Promise<ElicitationAnswer<undefined> | undefined> {
    const { waits } = this.pages;
    let answer: JsonObject | undefined;
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
   * Waits for the answer, up to a time limit. Returns undefined when the time
   * is over.
   *
   * @throws {ToolError} when the wait ended without an answer
   * @throws the signal's reason when it fires first
   */
  async waitFor(
    { key, wait, connects }: OpenPage,
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

  /** Takes the answer to a question of durable work, which has kept it. */
  async kept(key: string): Promise<void> {
    const wait = this.#read.get(key);
    this.#read.delete(key);
    if (wait) await tidy(() => this.pages.waits.take(wait));
  }

  /** Ends a question that the client has turned down. */
  async withdraw({ wait }: OpenPage): Promise<void> {
    await this.pages.waits.withdraw(wait);
  }

  /** Waits until no question is being opened. */
  async opened(): Promise<void> {
    while (this.#opening.size > 0) await Promise.allSettled(this.#opening);
  }

  /** Puts taken answers back, for the run that begins again. */
  async release(): Promise<void> {
    await Promise.all(this.#taken.splice(0).map((taken) => taken.release()));
  }
}

/**
 * Checks an address before a person is sent there.
 *
 * @throws {TypeError} unless it is https or http
 */
export function checkUrl(url: string): void {
  const parsed = URL.parse(url);
  const isWeb = parsed?.protocol === "https:" || parsed?.protocol === "http:";
  if (isWeb && url.length <= MAX_URL_CHARACTERS) return;
  throw new TypeError(
    `ask: url must be an https or http address of at most ${MAX_URL_CHARACTERS} characters, not ${
      shown(url)
    }`,
  );
}
