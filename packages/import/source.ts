/**
 * A source of tools, such as an OpenAPI document or an MCP server. The source
 * lists items and generates their code. The command lets the author choose
 * items, and compares and writes files.
 *
 * @module
 */
import { reading } from "./document.ts";

/** An item of a source that can become a tool. */
export interface ImportItem {
  /** The name at the source, on one line: `GET /pets/{petId}`. */
  id: string;
  /** Other names by which the item can be selected. */
  aliases: readonly string[];
  /** The name of the item's tool, in snake case. */
  name: string;
  /** The name of the item's group; empty without one. */
  group: string;
  /** True if only an exact name selects it. */
  isDeprecated: boolean;
  /**
   * Estimates the number of tokens that the item's tool adds to a list of
   * tools.
   *
   * @throws {ImportError} if the item cannot become a tool
   */
  tokens(): number;
}

/** The names for a source in the files that are written. */
export interface ServiceNames {
  /** The name of the file and of the service: `pet_store`. */
  name: string;
  /** The name of the constant: `petStore`. */
  variable: string;
  /** The URL of the API, instead of the one in the document. */
  url?: string;
  /** True if the author has chosen the name, as of the second of one title. */
  isChosen?: boolean;
}

/** Makes the title of a service for people, who may see others of the same. */
export const titleFor = (title: string, { name, isChosen }: ServiceNames) =>
  isChosen ? `${title} (${name})` : title;

/** The files of one tool, without their first line, unformatted. */
export interface ToolFiles {
  tool: string;
  test: string;
  /** True if calls of the tool wait for a person's approval. */
  isApproved: boolean;
  /** Notes for the author, to follow the name of the item. */
  notes: readonly string[];
}

export interface ImportSource<I extends ImportItem = ImportItem> {
  /** The title, kind and version of the source, for people. */
  title: string;
  /** The name of the service, unless the author gives another. */
  name: string;
  /** The address of the API or server, if the source has it. */
  address?: string;
  /** True for an MCP server. */
  isServer?: boolean;
  items: readonly I[];
  /** The word for an item of the source; `operation` by default. */
  what?: string;
  /** Sentences about items that cannot become tools. */
  left: readonly string[];
  /**
   * Generates the service of the selected items, and makes the generator of
   * their tools.
   *
   * @throws {ImportError} for a source that cannot be reached
   */
  write(names: ServiceNames, picked: readonly I[]): WrittenService<I>;
}

/** The code of a service, and of its tools. */
export interface WrittenService<I extends ImportItem = ImportItem> {
  /** The text of the module that exports the constant. */
  service: string;
  /** Notes for the author, for example about a key that is sent in a URL. */
  notes: readonly string[];
  /** True if people connect their own accounts, which needs `SECRETS_KEYS`. */
  isPersonal: boolean;
  /**
   * Generates the files of one item.
   *
   * @throws {ImportError} if it cannot become a tool
   */
  tool(item: I, name: string): ToolFiles;
}

/**
 * Makes all functions of a source throw an {@linkcode ImportError} for what they
 * cannot read, see {@linkcode reading}.
 */
export function guarded<I extends ImportItem>(
  source: ImportSource<I>,
): ImportSource<I> {
  return {
    ...source,
    items: source.items.map((item) => ({
      ...item,
      tokens: () => reading(item.tokens),
    })),
    write(names, picked) {
      const written = reading(() => source.write(names, picked));
      return {
        ...written,
        tool: (item, name) => reading(() => written.tool(item, name)),
      };
    },
  };
}
