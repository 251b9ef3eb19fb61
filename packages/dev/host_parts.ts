/**
 * The functions and classes of the development page's script. Their source
 * texts are put into the page, so none uses anything from outside.
 *
 * @module
 */
import { Client, SignIn } from "../client/mod.ts";
import { devClient } from "./dev_client.ts";
import { hostAnswers } from "./host_answers.ts";
import { hostView, type Loose } from "./host_view.ts";
import { messageLog } from "./message_log.ts";
import { pageMemory } from "./page_memory.ts";

/** Returns the initial arguments: defaults and examples. */
function firstInput({ inputSchema: { properties = {} } }: Loose): Loose {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]: Loose) => [
      name,
      schema.default ?? schema.examples?.[0] ?? schema.enum?.[0] ?? "",
    ]),
  );
}

/** The parts, by their names in the script. */
export const PARTS = {
  hostView,
  devClient,
  hostAnswers,
  messageLog,
  pageMemory,
  firstInput,
  Client,
  SignIn,
};

/**
 * Returns the source text of a part as an expression, with the classes that it
 * extends. The part may use nothing else of its module.
 */
export function partText(part: object): string {
  // The name is read from the source text, because a bundler may have renamed
  // the class.
  const base = /^class [^{]*\bextends ([\w$]+)/.exec(`${part}`)?.[1];
  return base === undefined
    ? `${part}`
    : `((${base}) => ${part})(${partText(Object.getPrototypeOf(part))})`;
}
