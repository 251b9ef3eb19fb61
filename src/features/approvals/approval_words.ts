/**
 * The texts about an approved call, for its page and its receipt. Each has a
 * maximum length and is on one line.
 *
 * @module
 */
import { withoutHidden } from "../../core/pages/names.tsx";
import type { JsonObject } from "../../core/json.ts";
import type { ReceiptWords } from "./receipts.ts";

/** The call that is approved or refused. */
interface Act {
  title: string;
  facts: Readonly<Record<string, string>>;
  input: JsonObject;
  /** The services and names of the accounts. */
  accounts: readonly (readonly [service: string, name: string])[];
  caller: { name: string };
}

type Decision =
  & { passkey?: string }
  & ({ action: "accept" } | { action: "decline"; reason: string });

export const MAX_TITLE_CHARACTERS = 200;
const MAX_NAME_CHARACTERS = 40;
const MAX_FACTS_CHARACTERS = 2400;

/** The maximum number of facts on a page, which may contain a client's text. */
const MAX_FACTS = 30;

/**
 * Turns a text into one line without hidden characters. If it is cut, it ends
 * with "…".
 */
export function lineOf(text: string, most: number): string {
  const line = withoutHidden(text);
  const cut = line.length > most ? `${line.slice(0, most - 1)}…` : line;
  return cut.toWellFormed();
}

const isNumber = (name: string) => /^\d+$/.test(name);

/**
 * Returns the texts about the call. If the author gave no facts, the arguments
 * take their place.
 */
export function callTexts(
  { title, facts, input, accounts, caller }: Act,
): Pick<ReceiptWords, "title" | "facts" | "caller"> {
  const told = Object.keys(facts).length > 0 ? { ...facts } : factsOf(input);
  for (const [service, name] of accounts) told[`Account at ${service}`] = name;
  return { title, facts: told, caller: caller.name };
}

export function receiptWords(
  payload: Act,
  pressed: Decision,
  approver: string,
): ReceiptWords {
  const { passkey } = pressed;
  return {
    ...callTexts(payload),
    approver,
    passkey,
    ...pressed.action === "decline" && { reason: pressed.reason },
  };
}

/** Formats the author's facts, or arguments, for people. */
export function factsOf(given: JsonObject): Record<string, string> {
  const all = Object.entries(given)
    .filter(([, fact]) => fact !== undefined)
    // JavaScript lists numeric names first, but the author's names matter more.
    .sort(([one], [other]) => Number(isNumber(one)) - Number(isNumber(other)));
  const lines = all.slice(0, MAX_FACTS).map(([name, fact]) => [
    lineOf(isNumber(name) ? `#${name}` : name, MAX_NAME_CHARACTERS),
    lineOf(
      typeof fact === "object" ? JSON.stringify(fact) : `${fact}`,
      MAX_FACTS_CHARACTERS,
    ) || "–",
  ]);
  const more = all.length - lines.length;
  if (more > 0) {
    lines.push(["…", `and ${more} more ${more === 1 ? "fact" : "facts"}`]);
  }
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
  return facts;
}
