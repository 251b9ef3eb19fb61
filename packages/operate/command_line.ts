/**
 * The command line of operators.
 *
 * @module
 */
import { didYouMean } from "../call/failure.ts";

export const USAGE = `deno task ts people list [SEARCH] [--after PLACE]
deno task ts people show|end|unblock|export|erase WHO
deno task ts people block WHO [--reason TEXT]
deno task ts people passkeys WHO [--reset]
deno task ts people blocked
deno task ts people reseal
deno task ts clients list
deno task ts clients end|unblock CLIENT
deno task ts clients block CLIENT [--reason TEXT]
deno task ts clients blocked
WHO is a subject (github:583231), or a whole name, short name or e-mail address
that only one person has. --json prints JSON.`;

/** The verbs of each noun. */
const VERBS = {
  people: "list show end block unblock passkeys export erase blocked reseal",
  clients: "list end block unblock blocked",
};

/** Thrown for a command line that cannot be carried out. */
export class UsageError extends Error {}

/**
 * Thrown for a command line that is well formed, but cannot be carried out now.
 */
export class RefusalError extends UsageError {}

/** Thrown for a command about a name that nothing is known about. */
export class UnknownNameError extends RefusalError {}

export interface CommandLine {
  noun: keyof typeof VERBS;
  verb: string;
  /** The other words: a person, a client, a search. */
  named: string;
  after?: string;
  reason?: string;
  /** True to delete the passkeys of a person. */
  reset?: boolean;
  json: boolean;
}

/** Parses a command line. @throws {UsageError} */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const words: string[] = [];
  const options: Pick<CommandLine, "after" | "reason" | "reset" | "json"> = {
    json: false,
  };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name, value] = /^--(after|reason)(?:=(.*))?$/s.exec(arg) ?? [];
    if (arg === "--json") options.json = true;
    else if (arg === "--reset") options.reset = true;
    else if (name !== undefined) {
      const text = value ?? rest.shift();
      if (!text) throw new UsageError(`--${name} needs a value`);
      options[name as "after" | "reason"] = text;
    } else if (arg.startsWith("-")) {
      throw notUnderstood(arg, USAGE.match(/--[a-z]+/g)!);
    } else words.push(arg);
  }
  const [noun, verb = "list", ...others] = words;
  if (noun !== "people" && noun !== "clients") {
    throw new UsageError("Begin with people or clients");
  }
  const verbs = VERBS[noun].split(" ");
  if (!verbs.includes(verb)) throw notUnderstood(verb, verbs);
  const line: CommandLine = { noun, verb, named: others.join(" "), ...options };
  checkParts(line);
  return line;
}

/** The longest name and reason, in characters: a block stores both. */
const MAX_CHARACTERS = 4096;

/** Refuses superfluous options and long texts. @throws {UsageError} */
function checkParts(
  { noun, verb, named, after, reason, reset }: CommandLine,
): void {
  for (const { length } of [named, reason ?? ""]) {
    if (length <= MAX_CHARACTERS) continue;
    throw new UsageError(
      `A name or a reason has at most ${MAX_CHARACTERS} characters, not ${length}`,
    );
  }
  const isList = noun === "people" && verb === "list";
  if (after !== undefined && !isList) throw notUnderstood("--after");
  if (reason !== undefined && verb !== "block") throw notUnderstood("--reason");
  if (reset && verb !== "passkeys") throw notUnderstood("--reset");
  const isOfAll = /^(blocked|reseal|list)$/.test(verb) && !isList;
  if (isOfAll && named !== "") throw notUnderstood(named);
  if (!isOfAll && !isList && named === "") {
    throw new UsageError(`Name a ${noun === "people" ? "person" : "client"}`);
  }
}

function notUnderstood(word: string, known: readonly string[] = []) {
  return new UsageError(`Not understood: ${word}${didYouMean(word, known)}`);
}
