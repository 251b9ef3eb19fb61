/**
 * Links for a client that cannot open pages. A link ends the run of the call,
 * and the call's result gives the link to the model.
 *
 * @module
 */
import { RpcError } from "../../core/errors.ts";
import type { Answer } from "../../core/mcp/exchange/answer.ts";
import type { AskingCall, Link } from "../../core/mcp/exchange/work.ts";
import { codeOfStatus } from "../../core/protocol/messages.ts";
import { LINKS_META } from "../../core/protocol/not_yet.ts";
import { errorResult } from "../../core/protocol/results.ts";

function personText(links: readonly Link[]): string {
  return [
    "Open this first, then try again:",
    ...links.map(({ message, address }) => `${message}\n${address}`),
  ].join("\n\n");
}

/**
 * Formats links for a model. They are short, because models copy them letter by
 * letter.
 */
function linkText(links: readonly Link[], tool: unknown): string {
  const isForOthers = links.every(({ isForOthers }) => isForOthers);
  const link = links.length === 1 ? "this link" : "these links";
  return [
    isForOthers
      ? `This waits for someone else, who answers at ${link}:`
      : `The person has to open ${link} and answer there first:`,
    ...links.map(({ message, address }) => `${message}\n${address}`),
    `${
      isForOthers
        ? "Show the person the link as it is, to pass on. When it is answered"
        : "Show them the link as it is. When they have answered"
    }, call ${tool} again with the same arguments.`,
  ].join("\n\n");
}

/** The links that end one run together. */
export class Links {
  #links: Link[] = [];
  #ending = false;

  constructor(
    private readonly call: AskingCall,
    /** Waits until no question is being created. */
    private readonly opened: () => Promise<void>,
  ) {}

  /** Ends the run with a link. The promise never settles. */
  add(link: Link): Promise<never> {
    this.#links.push(link);
    if (!this.#ending) {
      this.#ending = true;
      // Questions that are asked at the same time are sent together.
      setTimeout(async () => {
        await this.opened();
        await this.call.suspend(() => this.#answer());
      }, 0);
    }
    return new Promise(() => {});
  }

  #answer(): Answer {
    const { printedLists: { printer }, stateless, message } = this.call;
    const { method, params: { name } } = message;
    if (method !== "tools/call") {
      const code = codeOfStatus(403, stateless);
      return { error: new RpcError(code, personText(this.#links)) };
    }
    const text = linkText(this.#links, name);
    const links = this.#links.map(({ address: url, message }) => ({
      url,
      message,
    }));
    const result = { ...errorResult(text), _meta: { [LINKS_META]: links } };
    return { result: printer.result(result), outcome: "input_required" };
  }
}
