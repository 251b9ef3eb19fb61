/**
 * A source of tools, whatever it is: a document, or a server of another kind.
 * The command picks, compares and writes; a source lists and prints.
 *
 * @module
 */

/** Something of a source that can become a tool. */
export interface ImportItem {
  /** The name at the source, on one line: `GET /pets/{petId}`. */
  id: string;
  /** Other names by which it can be picked. */
  aliases: readonly string[];
  /** The name of its tool, in snake case. */
  name: string;
  /** The name of its group; empty without one. */
  group: string;
  /** A few words for a list. */
  title: string;
  /** True if only an exact name picks it. */
  isDeprecated: boolean;
  /** Estimates the tokens of its place in a list. @throws {ImportError} */
  tokens(): number;
}

/** The names that written files have for a source. */
export interface ServiceNames {
  /** The file's name, and that of the service: `pet_store`. */
  name: string;
  /** The constant: `petStore`. */
  variable: string;
  /** The address of the API, in place of the document's own. */
  url?: string;
}

/** The files of one tool, without their first line, unformatted. */
export interface ToolFiles {
  tool: string;
  test: string;
}

/** A source of tools. */
export interface ImportSource<I extends ImportItem = ImportItem> {
  /** Names it for people: its title, kind and version. */
  title: string;
  /** The name that its service has unless the author gives another. */
  name: string;
  items: readonly I[];
  /** The word for one of its items; `operation` by default. */
  what?: string;
  /** Words about what cannot become tools. */
  left: readonly string[];
  /**
   * Prints the service of picked items, and makes the printer of their tools.
   *
   * @throws {ImportError} for a source that cannot be reached
   */
  write(names: ServiceNames, picked: readonly I[]): WrittenService<I>;
}

/** A service of a source, in code. */
export interface WrittenService<I extends ImportItem = ImportItem> {
  /** The module, which exports the constant. */
  service: string;
  /** Words for the author: a key that goes into an address, and the like. */
  notes: readonly string[];
  /** Prints the files of one item. @throws {ImportError} if no tool can do it */
  tool(item: I, name: string): ToolFiles;
}
