/**
 * The end of a run that begins again once its question has an answer; and, for
 * clients that open no pages, the result that gives the model a page's link.
 *
 * @module
 */
import type { MaybePromise } from "../../authoring/service.ts";
import { RpcError } from "../../core/errors.ts";
import { codeOfStatus } from "../../core/protocol/messages.ts";
import { Suspended } from "../../core/protocol/input_rounds.ts";
import { errorResult } from "../../core/protocol/tool_result.ts";
import type { Answer } from "../../core/mcp/exchange/answer.ts";
import type { Call } from "../../core/mcp/exchange/call.ts";
import { settle } from "../../core/mcp/exchange/run.ts";
import type { Link } from "./page_questions.ts";

/**
 * Interrupts the tool's run, and ends its request with an answer that leads to
 * the next run. Answers that were given on pages are put back for that run.
 *
 * @param onLate called instead if the call had ended before, without being
 * stopped
 */
export async function suspend(
  call: Call,
  answer: () => MaybePromise<Answer>,
  onLate: () => void = () => {},
): Promise<void> {
  const { authorCode, execution } = call;
  if (execution.hasEnded) {
    if (execution.isStopped) {
      return void authorCode.interrupt(execution.signal.reason);
    }
    return onLate();
  }
  const next = async () => {
    await call.pageQuestions?.release();
    await call.putBack?.();
    return await answer();
  };
  settle(call, await next().catch((error) => ({ error })));
  const suspended = new Suspended();
  // Parallel work ends with the question too.
  execution.interrupt(suspended.message);
  authorCode.interrupt(suspended);
}

/** The member of a result's `_meta` that has the links. */
export const LINKS = "tool-server/links";

/** Prints links for the person who has picked a prompt, or a resource. */
function personText(links: readonly Link[]): string {
  return [
    "Open this first, then try again:",
    ...links.map(({ message, address }) => `${message}\n${address}`),
  ].join("\n\n");
}

/** Prints links for a model. Short: models copy it letter by letter. */
function linkText(links: readonly Link[], tool: unknown): string {
  return [
    links.length === 1
      ? "The person has to open this link and answer there first:"
      : "The person has to open these links and answer there first:",
    ...links.map(({ message, address }) => `${message}\n${address}`),
    `Show them the link as it is. When they have answered, call ${tool} again with the same arguments.`,
  ].join("\n\n");
}

/** The links of one run, which end it together. */
export class Links {
  #links: Link[] = [];
  #ending = false;

  constructor(private readonly call: Call) {}

  /** Ends the run with a link. Never settles: the run ends there. */
  add(link: Link): Promise<never> {
    this.#links.push(link);
    if (!this.#ending) {
      this.#ending = true;
      // Questions asked side by side go out together.
      setTimeout(async () => {
        await this.call.pageQuestions?.opened();
        await suspend(this.call, () => this.#answer());
      }, 0);
    }
    return new Promise(() => {});
  }

  #answer(): Answer {
    const { printedLists: { printer }, params: { name } } = this.call;
    const { message: { method }, stateless } = this.call;
    if (method !== "tools/call") {
      const code = codeOfStatus(403, stateless);
      return { error: new RpcError(code, personText(this.#links)) };
    }
    const text = linkText(this.#links, name);
    const links = this.#links.map(({ address: url, message }) => ({
      url,
      message,
    }));
    const result = { ...errorResult(text), _meta: { [LINKS]: links } };
    return { result: printer.result(result), outcome: "input_required" };
  }
}
