/**
 * The third way to send a person to a page: a result whose text gives the model
 * the link, for clients that cannot open one.
 *
 * @module
 */
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import type { Link } from "./visits.ts";
import { errorResult } from "../wire/tool_result.ts";
import { suspend } from "./suspension.ts";

/** The member of a result's `_meta` that has the links. */
export const LINKS = "tool-server/links";

/** Tells a model of links. Short: models copy it letter by letter. */
export function linkText(links: readonly Link[], again: string): string {
  const some = links.map(({ message, address }) => `${message}\n${address}`);
  return [
    links.length === 1
      ? "The person has to open this link and answer there first:"
      : "The person has to open these links and answer there first:",
    ...some,
    again,
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
      setTimeout(() => this.#end(), 0);
    }
    return new Promise(() => {});
  }

  async #end(): Promise<void> {
    const { call } = this;
    await call.visits?.opened();
    await suspend(call, () => this.#answer());
  }

  #answer(): Answer {
    const { introduction: { printer }, params: { name } } = this.call;
    const text = linkText(
      this.#links,
      `Show them the link as it is. When they have answered, call ${name} again with the same arguments.`,
    );
    const links = this.#links.map(({ address: url, message }) => ({
      url,
      message,
    }));
    const result = { ...errorResult(text), _meta: { [LINKS]: links } };
    return { result: printer.result(result), outcome: "input_required" };
  }
}
