/**
 * The choice of items to import: patterns on a command line, and a list to tick
 * in a terminal.
 *
 * @module
 */
import { countText, printCount } from "../doctor/list_cost.ts";
import { didYouMean, Failure, usageFailure } from "../call/failure.ts";
import { attempt, ImportError } from "./document.ts";
import type { ImportItem, ImportSource } from "./source.ts";

/** The maximum number of items that are imported unless the author chooses. */
export const MAX_UNCHOSEN_ITEMS = 40;

/** Lists an item's names at its source: only these match a pattern with `*`. */
const ownNamesOf = ({ id, aliases }: ImportItem) => [id, ...aliases];

/** Lists the names by which an item can be selected. */
const namesOf = (item: ImportItem) => [item.name, ...ownNamesOf(item)];

/**
 * Finds the items that patterns match: an ID, a name at the source or of the
 * tool; or, with `*`, an ID or a name at the source.
 *
 * @throws {Failure} for a pattern that matches no item
 */
export function findPicked<I extends ImportItem>(
  items: readonly I[],
  patterns: readonly string[],
): I[] {
  const found = new Set<I>();
  for (const pattern of patterns) {
    const isExact = !pattern.includes("*");
    const form = new RegExp(
      `^${pattern.split("*").map((it) => RegExp.escape(it)).join(".*")}$`,
      "i",
    );
    // The import may have added the service's name to that of a tool.
    const tried = isExact ? namesOf : ownNamesOf;
    const named = items.filter((item) =>
      (isExact || !item.isDeprecated) && tried(item).some((it) => form.test(it))
    );
    if (named.length === 0) {
      const names = new Set(items.flatMap(namesOf));
      const old = items.some((it) => tried(it).some((its) => form.test(its)));
      const guess = old
        ? ": what is deprecated wants its whole name."
        : didYouMean(pattern, [...names]) || ": --list shows what there is.";
      throw usageFailure(
        `--pick ${JSON.stringify(pattern)} names nothing${guess}`,
      );
    }
    for (const item of named) found.add(item);
  }
  return items.filter((item) => found.has(item));
}

/**
 * Estimates the tokens of an item's tool. Undefined if the item cannot become a
 * tool.
 */
const tokensOf = (item: ImportItem) => attempt(() => item.tokens());

/**
 * Describes the tokens that an item's tool costs, or why the tool cannot be
 * made.
 */
function costOrFault(item: ImportItem): string {
  try {
    return `${item.tokens()} tokens`;
  } catch (error) {
    if (error instanceof ImportError) return `no tool: ${error.message}`;
    throw error;
  }
}

/** Formats the number of tokens that several items cost. */
export function costOf(items: readonly ImportItem[]): string {
  return printCount(items.reduce((sum, it) => sum + (tokensOf(it) ?? 0), 0));
}

/**
 * Describes a source: its number of items, their groups, and the tokens of a
 * list.
 */
export function sourceSummary(
  { title, items, left, what = "operation" }: ImportSource,
): string {
  const groups = Map.groupBy(items, ({ group }) => group || "(no group)");
  const lines = groups.size === 1 && groups.has("(no group)") ? [] : [...groups]
    .map(([name, members]) =>
      `  ${name}: ${members.length}, about ${costOf(members)} tokens`
    );
  const deprecated = items.filter(({ isDeprecated }) => isDeprecated).length;
  const old = deprecated > 0 ? `, ${deprecated} of them deprecated` : "";
  return [
    `${title}: ${countText(items.length, what)}${old}. A list of all would ` +
    `cost about ${costOf(items)} tokens in each conversation.`,
    ...lines.slice(0, 60),
    ...lines.length > 60 ? [`  and ${lines.length - 60} more groups`] : [],
    ...left.length > 0
      ? [`Left out, as no tool can call these: ${left.slice(0, 5).join(", ")}`]
      : [],
  ].join("\n");
}

/**
 * Lists the items to choose from. If an import of all of them would leave an
 * item out, `tokens` of that item throws the reason.
 */
export function itemsToChoose(
  source: ImportSource,
  pick: readonly string[] | undefined,
  url: string | undefined,
): ImportItem[] {
  const items = pick ? findPicked(source.items, pick) : source.items;
  const names = { name: "api", variable: "api", url };
  const written = attempt(() => source.write(names, items));
  return items.map((item) => {
    try {
      written?.tool(item, item.name);
      return item;
    } catch (error) {
      const tokens = () => {
        throw error;
      };
      return { ...item, tokens };
    }
  });
}

/** Formats items with their numbers and tokens. */
export function printItems(
  items: readonly ImportItem[],
  ticked?: ReadonlySet<ImportItem>,
): string {
  const width = `${items.length}`.length;
  let group = "";
  return items.flatMap((item, index) => {
    const head = item.group === group ? [] : [item.group];
    group = item.group;
    const cost = costOrFault(item);
    const box = ticked ? ticked.has(item) ? "[x] " : "[ ] " : "";
    const number = ticked ? `${`${index + 1}`.padStart(width)} ` : "";
    const old = item.isDeprecated ? ", deprecated" : "";
    return [
      ...head,
      `  ${box}${number}${item.id}  ${item.name}, ${cost}${old}`,
    ];
  }).join("\n");
}

/**
 * Ticks the items that an answer names, or unticks them if they are ticked. An
 * answer has numbers and ranges such as `1-3 7`, or a pattern. Returns an error
 * message if the answer was not understood.
 */
export function toggleItems<I extends ImportItem>(
  items: readonly I[],
  ticked: Set<I>,
  answer: string,
): string | undefined {
  const named: I[] = [];
  if (/^[\d\s,-]+$/.test(answer)) {
    for (const part of answer.split(/[\s,]+/).filter(Boolean)) {
      const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
      const [first, last] = [Number(from), Number(to)];
      if (!(first >= 1 && last >= first && last <= items.length)) {
        return `There are numbers from 1 to ${items.length}: got ${part}.`;
      }
      named.push(...items.slice(first - 1, last));
    }
  } else {
    const inGroup = items.filter(({ group }) =>
      group.toLowerCase() === answer.toLowerCase()
    );
    try {
      named.push(...inGroup.length > 0 ? inGroup : findPicked(items, [answer]));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return `Nothing is named ${JSON.stringify(answer)}.`;
    }
  }
  const possible = named.filter((item) => tokensOf(item) !== undefined);
  const isTicked = possible.every((item) => ticked.has(item));
  for (const item of possible) {
    if (isTicked) ticked.delete(item);
    else ticked.add(item);
  }
  return undefined;
}
