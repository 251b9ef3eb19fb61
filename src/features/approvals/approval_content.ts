/**
 * The content of an approval: the words for its page, and arguments that can be
 * stored.
 *
 * @module
 */
import type { ApprovalOffer, ApprovalShown } from "../../authoring/approval.ts";
import * as kinds from "../../authoring/options.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { ToolError } from "../../authoring/tool.ts";
import { withoutHidden } from "../../core/pages/names.tsx";
import { within } from "../../core/clock.ts";
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import type { ApprovalPayload, CallApproval } from "./approval_store.ts";
import type { ApprovalState } from "../questions/wait_record.ts";

/** The options of {@linkcode ApprovalShown}. */
const APPROVAL_SHOWN = {
  title: kinds.required(kinds.TEXT),
  facts: kinds.recordOf(
    kinds.like<string | number>(
      "text or a number",
      (it) => typeof it === "string" || Number.isFinite(it),
    ),
    "an object of texts and numbers by their names",
  ),
} satisfies kinds.Members<ApprovalShown>;

/** The options of {@linkcode ApprovalOffer}. */
const APPROVAL_OFFER = {
  key: kinds.required(kinds.TEXT),
  label: kinds.required(kinds.TEXT),
  seconds: kinds.required(kinds.numberFrom("60 to 86400 seconds", 60, 86_400)),
} satisfies kinds.Members<ApprovalOffer>;

/** The longest time that `when` and `show` may take. */
const AUTHOR_MILLISECONDS = 5_000;

/**
 * The maximum length in characters of a title, of a fact's name, and of all
 * facts.
 */
const MAX_TITLE_CHARACTERS = 200;
const MAX_NAME_CHARACTERS = 40;
const MAX_FACTS_CHARACTERS = 2400;

/**
 * The maximum number of facts that a page shows: facts may repeat a client's
 * words.
 */
const MAX_FACTS = 30;

/**
 * Turns a text into one line without hidden characters; if it is cut, it ends
 * with "…".
 */
function lineOf(text: string, most: number): string {
  const line = withoutHidden(text);
  const cut = line.length > most ? `${line.slice(0, most - 1)}…` : line;
  return cut.toWellFormed();
}

const isNumber = (name: string) => /^\d+$/.test(name);

/** Waits for an author's function, but not for ever. */
export async function inTime<T>(
  tool: string,
  member: string,
  call: () => MaybePromise<T>,
): Promise<T> {
  return await within(AUTHOR_MILLISECONDS, call(), () => {
    const seconds = AUTHOR_MILLISECONDS / 1000;
    const what = `tool ${tool}: approval.${member}`;
    throw new Error(`${what} took longer than ${seconds} seconds`);
  });
}

/**
 * Makes the title and the facts of the page.
 *
 * @throws {TypeError} for an invalid result of `show`
 */
export async function shownOf(
  tool: CompiledTool,
  input: JsonObject,
): Promise<Pick<ApprovalPayload, "title" | "facts">> {
  const { name, approval } = tool;
  const show = approval?.show;
  const shown: ApprovalShown = show
    ? await inTime(name, "show", () => show(input))
    : { title: tool.title ?? name };
  const path = `tool ${name}: approval.show`;
  const [fault] = kinds.faultsIn(APPROVAL_SHOWN, shown, path);
  if (fault) throw new TypeError(fault);
  const all = Object.entries(shown.facts ?? {})
    .filter(([, fact]) => fact !== undefined)
    // An object begins with its numbers, which are hardly the author's names.
    .sort(([one], [other]) => Number(isNumber(one)) - Number(isNumber(other)));
  const lines = all.slice(0, MAX_FACTS).map(([name, fact]) => [
    lineOf(isNumber(name) ? `#${name}` : name, MAX_NAME_CHARACTERS),
    lineOf(`${fact}`, MAX_FACTS_CHARACTERS),
  ]);
  const more = all.length - lines.length;
  if (more > 0) lines.push(["…", `and ${more} more facts`]);
  // Only the longest facts are cut, so that a long one displaces no other.
  let most = MAX_FACTS_CHARACTERS;
  const length = () =>
    lines.reduce((sum, [, fact]) => sum + Math.min(fact!.length, most), 0);
  const ofNames = lines.reduce((sum, [name]) => sum + name!.length, 0);
  while (ofNames + length() > MAX_FACTS_CHARACTERS) most--;
  const facts: Record<string, string> = Object.create(null);
  for (let [name, fact] of lines as [string, string][]) {
    while (name in facts) name += "…";
    facts[name] = lineOf(fact, most);
  }
  const words = { title: lineOf(shown.title, MAX_TITLE_CHARACTERS), facts };
  if (words.title !== "") return words;
  throw new TypeError(`${path} gave an empty title`);
}

/**
 * Gets the author's offer to remember a call. @throws {TypeError} for an
 * invalid one
 */
export async function offerOf(
  { name, approval }: CompiledTool,
  input: JsonObject,
): Promise<ApprovalOffer | undefined> {
  const { remember } = approval ?? {};
  const offer = remember &&
    await inTime(name, "remember", () => remember(input));
  if (offer === undefined) return undefined;
  const path = `tool ${name}: approval.remember`;
  const [fault] = kinds.faultsIn(APPROVAL_OFFER, offer, path);
  if (fault) throw new TypeError(fault);
  const label = lineOf(offer.label, MAX_TITLE_CHARACTERS);
  if (label === "") throw new TypeError(`${path} gave an empty label`);
  return { ...offer, label };
}

const TOO_LARGE =
  "These arguments have a number that is too large to be kept for an approval. It was not run.";

/**
 * Checks that arguments are JSON as the author's schema has made them: they are
 * stored, and the run begins with what was stored.
 *
 * @throws {TypeError} for the author
 * @throws {ToolError} for the client
 */
export function checkJson(
  tool: string,
  value: unknown,
  at = "its input",
): void {
  if (value === null || /^(string|boolean)$/.test(typeof value)) return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  // `JSON.parse` makes `Infinity` of the client's 1e400.
  if (value === Infinity || value === -Infinity) throw new ToolError(TOO_LARGE);
  if (Array.isArray(value)) {
    return value.forEach((it, index) => checkJson(tool, it, `${at}[${index}]`));
  }
  if (isObject(value)) {
    const prototype = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      for (const [name, member] of Object.entries(value)) {
        if (member !== undefined) checkJson(tool, member, `${at}.${name}`);
      }
      return;
    }
  }
  throw new TypeError(
    `tool ${tool}: ${at} is no JSON once its schema has parsed it, so it cannot be kept for an approval: make it what you need in run`,
  );
}

/**
 * The message that tells the model that no one can approve a call of this
 * caller.
 */
export const NO_PAGE =
  "This waits for the approval of a person on a page of this server, to which this caller cannot sign in. It was not run.";

/** Returns the text that the model gets with the link. */
export function askingWords(
  { payload: { title }, approval: { scope } }: CallApproval,
): string {
  return scope === undefined
    ? `Approve: ${title}`
    : `Someone else, who has the permission ${scope}, has to approve: ${title}`;
}

/**
 * The log message that tells the operator why no call with approval can run.
 */
export const NO_SIGN_IN =
  "No one can approve calls, because no one can sign in here: use AUTH_STRATEGY=oauth";

/** Tells the model of a run of an equal call, whose end may not be known. */
export function unknownWords(
  tool: string,
  { begunAt, outcome }: { begunAt: number } & Pick<ApprovalState, "outcome">,
): string {
  const time = new Date(begunAt * 1000).toISOString();
  const begun =
    `A run of ${tool} with these arguments was approved and began at ${time}`;
  return outcome
    ? `${begun}. It has ended (${outcome}), and another call like this one got its result. It was not run again.`
    : `${begun}, and its end is not known. It was not run again: look first whether it has happened. The person can say on the page of the approval that it has not.`;
}

/**
 * Returns the message that tells the model of a refusal. A refusal ends a task.
 */
export function refusedWords(isTask: boolean, reason = ""): string {
  const why = reason && `, and said: ${JSON.stringify(reason)}`;
  const after = isTask
    ? "This task has ended: begin another only if they want it after all."
    : "If they want it after all, they can still approve it on the same page: call it again only then.";
  return `The person refused this${why}. It was not run. ${after}`;
}
