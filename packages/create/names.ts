/**
 * The names that a project and its tools may have.
 *
 * @module
 */
import { CreateError } from "./files.ts";

/**
 * Parses the name of a project, which is that of its directory.
 *
 * @throws {CreateError}
 */
export function parseProjectName(directory: string): string {
  const name = directory.replace(/[/\\]+$/, "").split(/[/\\]/).at(-1)!;
  if (/^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i.test(name)) return name;
  throw new CreateError(
    `A project's name must begin and end with a letter or a digit, with "-", ` +
      `"_" and "." between them, such as my-tools: got ${
        JSON.stringify(name)
      }.`,
  );
}

/**
 * Parses the name of a tool and turns it to snake case: `searchMail` and
 * `search-mail` become `search_mail`.
 *
 * @throws {CreateError}
 */
export function parseToolName(given: string): string {
  const name = given.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_").toLowerCase();
  if (/^[a-z][a-z0-9_]*$/.test(name)) return name;
  throw new CreateError(
    `A tool's name must be a word or several, such as search_mail: got ` +
      `${JSON.stringify(given)}.`,
  );
}

/** Prints `search_mail` as `Search mail`. */
export function titleOf(name: string): string {
  const words = name.replaceAll(/[-_.]+/g, " ");
  return words[0].toUpperCase() + words.slice(1);
}

/** Prints `search_mail` as `searchMail`. */
export function variableOf(name: string): string {
  return name.replaceAll(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}
