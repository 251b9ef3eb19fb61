/**
 * One command line of an operator, from its words to its text.
 *
 * @module
 */
import { ClientsCommand } from "./clients.ts";
import type { Operator } from "./command.ts";
import { parseCommandLine, UsageError } from "./command_line.ts";
import { PeopleCommand } from "./people.ts";

/** Carries out a command, and gives its text. @throws {UsageError} */
export async function runCommand(
  args: readonly string[],
  operator: Operator,
): Promise<string> {
  const line = parseCommandLine(args);
  switch (line.noun) {
    case "people":
      return await new PeopleCommand(line, operator).run();
    case "clients":
      return await new ClientsCommand(line, operator).run();
    default:
      throw new UsageError("Begin with people or clients");
  }
}
