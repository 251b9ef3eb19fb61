/**
 * The questions of one tool run: to the person, in the client or on a page, and
 * to the client itself. A question that has no answer yet ends the run. It does
 * so without an exception that the author could catch.
 * @module
 */
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  Root,
} from "@modelcontextprotocol/server";
import {
  type ElicitationAnswer,
  parseQuestion,
  type Question,
  type QuestionAnswer,
  SAMPLE,
} from "../../../authoring/context.ts";
import { checkOptions } from "../../../authoring/options.ts";
import { ToolError } from "../../../authoring/tool.ts";
import { RpcCode, RpcError } from "../../errors.ts";
import { isObject, type JsonObject } from "../../json.ts";
import {
  checkUrl,
  elicitationParams,
  FormError,
  isEmptyForm,
  lackedFor,
  MAX_FORM_ATTEMPTS,
  parseAnswer,
  QuestionError,
} from "../../protocol/elicitation.ts";
import { invalidParams } from "../../protocol/messages.ts";
import { AskedQuestion } from "../../protocol/question.ts";
import { askInTurn } from "./in_turn.ts";
import type { PagesOf, Work } from "./work.ts";

const ELICITATION = "elicitation/create";

const NO_PAGE =
  "This caller cannot sign in to a page of this server, on which a person says that it is done.";

const EMPTY_FORM =
  "A form without fields was answered: some clients accept those without asking anyone. Ask for something to fill in, such as z.object({ sure: z.boolean() })";

/** `ask`, `sample` and `roots` of one tool run. */
export class Asking {
  #open = 0;

  /** @param work the request, or the task that the call has become */
  constructor(public work: Work) {}

  /** True while a question waits for its answer. */
  get isOpen(): boolean {
    return this.#open > 0;
  }

  async ask<const Q extends Question>(given: Q): Promise<QuestionAnswer<Q>> {
    const question = parseQuestion(given);
    if ("url" in question) {
      const answer = await this.#askOnPage(question);
      if (answer) return answer as QuestionAnswer<Q>;
    }
    const mode = "url" in question ? "url" : "form";
    this.#checkCapability(new AskedQuestion(ELICITATION, { mode }));
    let mistake: FormError | undefined;
    for (let attempt = 1;; attempt++) {
      const { key } = question;
      const params = this.#clean(
        elicitationParams(question, this.work, mistake),
      );
      const own = key && attempt > 1 ? `${key}#${attempt}` : key;
      const result = await this.#request(
        new AskedQuestion(ELICITATION, params, own),
      );
      if (isEmptyForm(question)) this.work.advise?.(EMPTY_FORM);
      try {
        return parseAnswer(question, result) as QuestionAnswer<Q>;
      } catch (error) {
        if (!(error instanceof FormError)) return await this.#interrupt(error);
        if (attempt === MAX_FORM_ATTEMPTS) throw error;
        mistake = error;
      }
    }
  }

  async sample(
    request: CreateMessageRequestParams,
  ): Promise<CreateMessageResult> {
    checkOptions("sample", SAMPLE, request);
    const params = request as unknown as JsonObject;
    const result = await this.#askClient("sampling/createMessage", params);
    if (typeof result.model !== "string" || result.content === undefined) {
      return await this.#interrupt(
        invalidParams("A sampling result must have a model and content"),
      );
    }
    return result as unknown as CreateMessageResult;
  }

  async roots(): Promise<Root[]> {
    const { roots } = await this.#askClient("roots/list", {});
    if (!Array.isArray(roots)) {
      return await this.#interrupt(
        invalidParams("A roots result must have an array of roots"),
      );
    }
    return roots as Root[];
  }

  /**
   * Asks the person on a page.
   *
   * @param isKept false if durable work must not store the answer
   */
  async onPage<A extends { action: string }>(
    pages: PagesOf<A>,
    question: AskedQuestion,
    isKept = true,
  ): Promise<A | { action: "decline" | "cancel" }> {
    const { keepAnswer } = this.work;
    const wait = (viaClient: boolean, key?: string) =>
      this.#waitForPage(pages, question, viaClient, key);
    return await this.#orInterrupt(() =>
      isKept && keepAnswer
        ? keepAnswer(question, (key) => wait(false, key))
        : wait(!keepAnswer && this.#opensPages)
    );
  }

  /**
   * True if the client shows links of pages to its person (elicitation in URL
   * mode).
   */
  get #opensPages(): boolean {
    const { elicitation } = this.work.client.capabilities;
    return isObject(elicitation) && "url" in elicitation;
  }

  /**
   * Asks on a page of this server, if the question has `until: "done"` or the
   * client cannot open links. Returns undefined if the client opens the link
   * itself, or if the caller cannot sign in to a page.
   */
  async #askOnPage(
    question: Extract<Question, { url: string }>,
  ): Promise<ElicitationAnswer<undefined> | undefined> {
    const { pageQuestions } = this.work;
    checkUrl(question.url);
    const opensPages = this.#opensPages;
    if (opensPages && question.until !== "done") return undefined;
    if (!pageQuestions) {
      if (opensPages) throw new ToolError(NO_PAGE);
      return undefined;
    }
    const asked = AskedQuestion.onPage(this.#clean(question));
    return await this.onPage(pageQuestions, asked);
  }

  /**
   * Waits for the answer on a page.
   *
   * @param viaClient true if the client shows the link to the person; false if
   * the model or the task's status does
   */
  async #waitForPage<A extends { action: string }>(
    pages: PagesOf<A>,
    question: AskedQuestion,
    viaClient: boolean,
    key = question.key,
  ): Promise<A | { action: "decline" | "cancel" }> {
    const { work, work: { signal, parking } } = this;
    const open = () => pages.open(question, key);
    const page = await (parking ? askInTurn(parking, open) : open());
    if ("answer" in page) return page.answer;
    const { message = String(question.params.message) } = page;
    if (viaClient) {
      const { askViaClient } = await import("./client_page.ts");
      const answer = await askViaClient(work, pages, page, message);
      if (answer) return answer;
    }
    const { address, connects, isForOthers, wait: { key: wait } } = page;
    const takeBack = await work.showLink!({ address, message, isForOthers });
    const again = connects ? parking?.againSeconds : undefined;
    const until = page.until ?? (again && parking!.now() + again);
    const answered = () => pages.waitFor(page, signal, again && again * 1000);
    const waiting = parking?.wait({ until, wait }, answered) ?? answered();
    return await waiting.finally(takeBack) ?? { action: "cancel" };
  }

  /** Sends a request to the client, if it has the capability to answer it. */
  async #askClient(method: string, params: JsonObject): Promise<JsonObject> {
    const question = new AskedQuestion(method, this.#clean(params));
    this.#checkCapability(question);
    return await this.#request(question);
  }

  /**
   * Removes from a question the keys and tokens that the author's code has
   * received.
   */
  #clean<T>(asked: T): T {
    return this.work.authorCode?.cleanData(asked) ?? asked;
  }

  /**
   * Sends the question to the client. @throws {QuestionError} if the client
   * refuses
   */
  async #request(question: AskedQuestion): Promise<JsonObject> {
    return await this.#orInterrupt(() => this.work.request(question));
  }

  /**
   * Waits for an answer. If the client refuses, the author's code gets the
   * error. Any other failure interrupts the run.
   */
  async #orInterrupt<T>(ask: () => Promise<T>): Promise<T> {
    const { authorCode } = this.work;
    if (authorCode?.reason !== undefined) {
      authorCode.goesOn();
      // Never settles: a run that was interrupted gets no more answers.
      return await new Promise(() => {});
    }
    this.#open++;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof QuestionError) throw error;
      return await this.#interrupt(error);
    } finally {
      this.#open--;
    }
  }

  /** Interrupts the run with an error that the author's code never sees. */
  async #interrupt(error: unknown): Promise<never> {
    const { authorCode } = this.work;
    if (!authorCode) throw error;
    return await authorCode.interrupt(error);
  }

  #checkCapability(question: AskedQuestion): void {
    const lacked = lackedFor(question, this.work.client);
    if (!lacked) return;
    const [[name, parts]] = Object.entries(lacked);
    const path = [name, ...Object.keys(parts as JsonObject)].join(".");
    const message = `The client does not support ${path}`;
    // MCP 2025 has no error code for a missing capability. The model can react
    // to a tool error.
    if (!this.work.stateless) throw new ToolError(message);
    throw new RpcError(
      RpcCode.missingCapability,
      message,
      { status: 400, data: { requiredCapabilities: lacked } },
    );
  }
}
