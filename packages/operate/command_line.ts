/**
 * The command line of operators.
 *
 * @module
 */
import { escaped } from "../../src/core/log/log_line.ts";
import { unknownWordFailure, usageFailure } from "../call/failure.ts";
import { parseOptions } from "../call/program.ts";

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
that only one person has. --json prints JSON. Write -- before a name that begins
with "-".`;

/** The verbs of each noun. */
const VERBS = {
  people: "list show end block unblock passkeys export erase blocked reseal",
  clients: "list end block unblock blocked",
};

export interface CommandLine {
  noun: keyof typeof VERBS;
  verb: string;
  /** The other words: a person, a client, a search. */
  named: string;
  after?: string;
  reason?: string;
  reset?: boolean;
  json?: boolean;
}

/** Parses a command line. @throws {UsageFailure} */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parseOptions(args, {
    json: { type: "boolean" },
    reset: { type: "boolean" },
    after: { type: "string" },
    reason: { type: "string" },
  });
  const [noun, verb = "list", ...others] = positionals;
  if (noun !== "people" && noun !== "clients") {
    throw usageFailure("Begin with people or clients");
  }
  const verbs = VERBS[noun].split(" ");
  if (!verbs.includes(verb)) throw unknownWordFailure(escaped(verb), verbs);
  const line: CommandLine = { ...values, noun, verb, named: others.join(" ") };
  checkParts(line);
  return line;
}

/**
 * The maximum length in characters of a name and of a reason, which a block
 * stores.
 */
const MAX_CHARACTERS = 4096;

/** Refuses superfluous options and long texts. @throws {UsageFailure} */
function checkParts(
  { noun, verb, named, after, reason, reset }: CommandLine,
): void {
  for (const { length } of [named, reason ?? ""]) {
    if (length <= MAX_CHARACTERS) continue;
    throw usageFailure(
      `A name or a reason has at most ${MAX_CHARACTERS} characters, not ${length}`,
    );
  }
  const isList = noun === "people" && verb === "list";
  if (after !== undefined && !isList) throw unknownWordFailure("--after");
  if (reason !== undefined && verb !== "block") {
    throw unknownWordFailure("--reason");
  }
  if (reset && verb !== "passkeys") throw unknownWordFailure("--reset");
  const isOfAll = /^(blocked|reseal|list)$/.test(verb) && !isList;
  if (isOfAll && named !== "") throw unknownWordFailure(escaped(named));
  if (!isOfAll && !isList && named === "") {
    throw usageFailure(`Name a ${noun === "people" ? "person" : "client"}`);
  }
}
