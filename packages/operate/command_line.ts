/**
 * The command line of operators.
 *
 * @module
 */

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

/** Thrown for a command line that cannot be carried out. */
export class UsageError extends Error {}

/**
 * Thrown for a command line that is well formed, and cannot be carried out as
 * it is.
 */
export class RefusalError extends UsageError {}

/** Thrown for a command about a name of which nothing is known. */
export class UnknownNameError extends RefusalError {}

export interface CommandLine {
  /** `people` or `clients`. */
  noun?: string;
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
    } else if (arg.startsWith("--")) throw notUnderstood(arg);
    else words.push(arg);
  }
  const [noun, verb = "list", ...others] = words;
  return { noun, verb, named: others.join(" "), ...options };
}

export function notUnderstood(word: string): UsageError {
  return new UsageError(`Not understood: ${word}`);
}
