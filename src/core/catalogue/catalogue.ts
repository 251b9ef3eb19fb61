/**
 * The catalogue: all tools, resources, prompts and skills of a server. It is
 * checked and compiled once at the start, so that a call costs the same with
 * one tool as with a thousand.
 *
 * @module
 */
import type { Implementation } from "@modelcontextprotocol/server";
import type { CommonDefinition } from "../../authoring/context.ts";
import type { Prompt } from "../../authoring/prompt.ts";
import type { Resource } from "../../authoring/resource.ts";
import type { JsonObject } from "../json.ts";
import { firstOf } from "../first_of.ts";
import { LatestMap } from "../cache.ts";
import {
  type CacheHint,
  type Printer,
  printPages,
  sessionPrinter,
  statelessPrinter,
} from "../protocol/results.ts";
import { REVISIONS } from "../protocol/revisions.ts";
import {
  capabilitiesOf,
  type PrintedLists,
  printLists,
} from "./printed_lists.ts";
import {
  type CatalogueFeature,
  compileDefinitions,
  type CompiledTemplate,
  type ServerDefinitions,
} from "./compiled_definitions.ts";
import {
  type CompiledTool,
  isAlwaysTask,
  listTaskTools,
  mayBecomeTask,
  TASK_TOOLS,
  wantsTaskTools,
} from "./compiled_tool.ts";
import {
  collectScopes,
  type ScopeUse,
  withObjectOutput,
} from "./descriptions.ts";
import { isTemplate } from "./uri_template.ts";

interface CatalogueOptions {
  serverInfo: Implementation;
  instructions?: string;
  /**
   * The seconds after which a running call becomes a task, for tools without a
   * `handOver` of their own. From the options of `serve`.
   */
  handOver?: number;
  /**
   * The number of items on a page of a list. Many clients read only the first
   * page.
   */
  pageSize?: number;
  /**
   * True if callers see different lists, so that no shared cache may store
   * them.
   */
  listsVary?: boolean;
  /**
   * True if some callers may be anonymous, and have to sign in for some tools.
   */
  anonymous?: boolean;
  /** The features that add to the catalogue, in their order. */
  features?: readonly CatalogueFeature[];
}

/**
 * The seconds for which clients may cache lists and discovery (MCP 2026-07-28).
 */
const LIST_TTL_SECONDS = 300;

/** The definitions that a caller may see, with their serialized lists. */
export interface Catalogue {
  serverInfo: Implementation;
  instructions?: string;
  tools: ReadonlyMap<string, CompiledTool>;
  /**
   * The names of the server's own task tools; empty unless a tool is declared
   * to take long.
   */
  taskTools: ReadonlySet<string>;
  prompts: ReadonlyMap<string, Prompt>;
  resources: ReadonlyMap<string, Resource>;
  templates: readonly CompiledTemplate[];
  /** Finds, by its URI, a feature's resource that is in no list. */
  findAdded(uri: string): Resource | undefined;
  /** Lists the scopes that a feature's method needs. */
  scopesForAdded(method: string, uri: string): readonly string[] | undefined;
  /**
   * Returns a feature's addition to this catalogue; undefined if it added
   * nothing.
   */
  part<Part>(of: CatalogueFeature<Part>): Part | undefined;
  /** True if the catalogue has neither tools nor resources nor prompts. */
  isEmpty: boolean;
  /** The scopes, each with the definitions that need it. */
  scopes: ReadonlyMap<string, readonly ScopeUse[]>;
  /** The time for which lists may be cached, and by which caches. */
  listCache: CacheHint;
  /** The lists in MCP 2025. */
  session: PrintedLists;
  /** The lists in MCP 2026-07-28. */
  stateless: PrintedLists;
  /** The result of `server/discover`, as JSON text. */
  discovery: string;
  /**
   * Returns the catalogue without definitions that need scopes outside the
   * ceiling, which the caller can never be granted. Without a ceiling, returns
   * the whole catalogue.
   */
  within(ceiling: readonly string[] | undefined): Catalogue;
  /** The whole catalogue, if this is a part of it. */
  whole?: Catalogue;
}

/**
 * Compiles a catalogue.
 *
 * @throws {CatalogueError} with every complaint at once
 */
export function compileCatalogue(
  definitions: ServerDefinitions,
  options: CatalogueOptions,
): Catalogue {
  const source = sourceOf(definitions, options);
  const { scopes } = source.common;
  const narrowed = new LatestMap<Catalogue>(MAX_NARROWED);

  function within(ceiling: readonly string[] | undefined): Catalogue {
    if (ceiling === undefined) return whole;
    const reachable = [...scopes.keys()].filter((it) => ceiling.includes(it));
    if (reachable.length === scopes.size) return whole;
    const key = reachable.join(" ");
    const isSeen: Test = ({ scopes = [] }) =>
      scopes.every((scope) => reachable.includes(scope));
    const seen = narrowed.get(key) ??
      { ...select(source, isSeen), within, whole };
    // Set again, so that the least recently used entry is dropped first.
    narrowed.set(key, seen);
    return seen;
  }

  const whole = { ...select(source, () => true), within };
  return whole;
}

/**
 * The maximum number of serialized parts of the catalogue in memory, one for
 * each set of scopes.
 */
const MAX_NARROWED = 64;

/** Compiles all definitions. Each catalogue is a selection of them. */
function sourceOf(
  definitions: ServerDefinitions,
  {
    serverInfo,
    instructions,
    handOver,
    pageSize = 1000,
    listsVary = false,
    anonymous = false,
    features,
  }: CatalogueOptions,
) {
  const defaults = { anonymous, handOver };
  const compiled = compileDefinitions(definitions, defaults, features);
  const added = [...compiled.additions.values()];
  const capabilities = capabilitiesOf(definitions, {
    added,
    hasTasks: compiled.tools.some((tool) => tool.task || mayBecomeTask(tool)),
  });
  const printer = statelessPrinter(serverInfo);
  const listCache: CacheHint = {
    ttlMs: LIST_TTL_SECONDS * 1000,
    cacheScope: listsVary ? "private" : "public",
  };
  const { tools = [], resources = [], prompts = [] } = definitions;
  const needing = [
    ...tools,
    ...resources,
    ...prompts,
    ...added.flatMap(({ items = [] }) => items),
  ];
  const discovery = printer.result({
    supportedVersions: REVISIONS,
    capabilities: capabilities.stateless,
    ...(instructions && { instructions }),
  }, { ...listCache, cacheScope: "public" });
  return {
    ...compiled,
    resources: resources.filter(({ uri }) => !isTemplate(uri)),
    lists: { listCache, pageSize, anonymous },
    session: { printer: sessionPrinter, capabilities: capabilities.session },
    stateless: { printer, capabilities: capabilities.stateless },
    /** The members that all callers share. */
    common: {
      serverInfo,
      instructions,
      scopes: collectScopes(needing),
      listCache,
      discovery,
    },
  };
}

type Test = (item: CommonDefinition) => boolean;

/** Makes the catalogue of the definitions that pass a test. */
function select(
  source: ReturnType<typeof sourceOf>,
  isSeen: Test,
): Omit<Catalogue, "within"> {
  const { lists } = source;
  const { listCache, pageSize } = lists;
  const tools = source.tools.filter(isSeen);
  const prompts = source.prompts.filter(isSeen);
  const templates = source.templates.filter(({ resource }) => isSeen(resource));
  const print = (
    member: string,
    entries: readonly JsonObject[],
    size = pageSize,
  ) => {
    const pages = ({ printer }: { printer: Printer }) =>
      printPages(
        member,
        entries,
        Math.min(size, pageSize),
        (page) => printer.result(page, listCache),
      );
    return {
      session: pages(source.session),
      stateless: pages(source.stateless),
    };
  };
  const selected = new Map(
    [...source.additions].map(([feature, addition]) =>
      [feature, addition.select({ isSeen, tools, print })] as const
    ),
  );
  const added = [...selected.values()];
  const resources = [
    ...source.resources.filter(isSeen),
    ...added.flatMap(({ listed }) => listed),
  ];
  const unlisted = added.flatMap(({ unlisted = [] }) => unlisted);
  const hasTaskTools = tools.some(wantsTaskTools);
  const listOf = (items: readonly CommonDefinition[]) =>
    items.map((item) => source.listed.get(item)!);
  const entries = {
    tools: listOf(tools),
    taskTools: hasTaskTools ? listTaskTools(lists) : [],
    resources: listOf(resources),
    resourceTemplates: listOf(templates.map(({ resource }) => resource)),
    prompts: listOf(prompts),
  };
  // Tools that always run in a task are left out for MCP 2025 clients, which do
  // not support tasks.
  const forAll = tools.filter((tool) =>
    !isAlwaysTask(tool) || mayBecomeTask(tool)
  );
  return {
    ...source.common,
    tools: byName(tools),
    taskTools: hasTaskTools ? TASK_TOOLS : new Set(),
    prompts: byName(prompts),
    resources: new Map(
      [...resources, ...unlisted].map((resource) => [resource.uri, resource]),
    ),
    templates,
    findAdded: (uri) => firstOf(added, ({ find }) => find?.(uri)),
    scopesForAdded: (method, uri) =>
      firstOf(added, ({ scopesFor }) => scopesFor?.(method, uri)),
    part: <Part>(of: CatalogueFeature<Part>) =>
      selected.get(of)?.part as Part | undefined,
    isEmpty: tools.length + resources.length + templates.length +
        prompts.length === 0,
    session: printLists(
      { ...entries, tools: listOf(forAll).map(withObjectOutput) },
      source.session,
      lists,
    ),
    stateless: printLists(entries, source.stateless, lists),
  };
}

function byName<T extends CommonDefinition>(
  items: readonly T[],
): Map<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}
