/**
 * Questions that a signed-in person answers on a page of this server, not in
 * their client. The next run of the same call takes the answer.
 *
 * @module
 */
import type { Caller } from "../../core/caller.ts";
import type { Elicited } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import { fingerprintOfLong } from "../../core/crypto/crypto.ts";
import { DURABLE_SECONDS } from "../work/run_record.ts";
import type { TakenWait, Wait, WaitStore } from "./waits.ts";
import { idOfSubject } from "../../core/oauth/subject.ts";
import { canonicalJson } from "../../core/json.ts";
import { shown } from "../../core/protocol/messages.ts";
import type { AskedQuestion } from "../../core/protocol/question.ts";

export interface WaitPages {
  waits: WaitStore;
  baseUrl: string;
  /** The subject prefixes of the people who can sign in to these pages. */
  providerIds: readonly string[];
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
  /** The time after which an account is looked for again: it may have come. */
  againSeconds?: number;
}

interface AnsweredPage {
  answer: Elicited<undefined>;
}

/**
 * The least and half the longest time after which durable work looks again for
 * an account, in seconds: a process may die once it has kept one, and another
 * may have a key that opens it.
 */
const AGAIN_SECONDS = 240;

/** The most characters of an address: browsers may refuse longer ones. */
const MAX_URL_CHARACTERS = 8000;

const OVER =
  "No one answered on the page in time, or the connection has ended: ask again if it is still wanted";

/** True if the person behind a caller can sign in to a page here. */
function hasPage(
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

/** The questions of one call, or of one task, that have pages. */
export class PageQuestions {
  #count = 0;
  #taken: TakenWait[] = [];
  #opening = new Set<Promise<unknown>>();

  /**
   * @param asker identifies the call with its arguments, or the task: a repeat
   * of it finds the same questions
   * @param taskId the task; undefined for a call
   * @param address the server address of durable work, which an answer wakes
   */
  constructor(
    readonly pages: WaitPages,
    private readonly caller: Caller,
    private readonly tool: string,
    private readonly asker: unknown,
    private readonly taskId?: string,
    private readonly address?: string,
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
  within(taskId: string, address?: string): PageQuestions {
    const { pages, caller, tool } = this;
    return new PageQuestions(pages, caller, tool, { taskId }, taskId, address);
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
    const { pages, caller, tool, taskId, address } = this;
    const { subject, binding, clientId, grantId } = caller;
    const connects = `${url}`.startsWith(connectAddress(pages, ""));
    // All calls of a client wait for one account together.
    const asker = connects ? [url, message, begun] : [tool, this.asker, key];
    const isOfWork = address !== undefined && !connects;
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
      const wait = await pages.waits.open(waiting, payload, times);
      if (wait.state === "open") {
        const { id } = wait;
        if (!connects) return { key, wait, address: addressOf(pages, id!) };
        const againSeconds = AGAIN_SECONDS * (1 + Math.random());
        return { key, wait, address: `${url}?w=${id}`, againSeconds };
      }
      const answer = await this.#take(wait);
      // Undefined if another run took the answer: then this one opens the
      // question again.
      if (answer) return { answer };
    }
  }

  async #take(wait: Wait): Promise<Elicited<undefined> | undefined> {
    const taken = await this.pages.waits.take(wait);
    if (!taken) return undefined;
    this.#taken.push(taken);
    return taken.answer.action === "accept"
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
    { wait, againSeconds }: OpenPage,
    signal: AbortSignal,
    milliseconds?: number,
  ): Promise<Elicited<undefined> | undefined> {
    const { waits } = this.pages;
    if (!await waits.settled(wait, signal, milliseconds)) return undefined;
    const answer = await this.#take(wait);
    if (answer) return answer;
    if (againSeconds) return { action: "cancel" };
    throw new ToolError(OVER);
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
