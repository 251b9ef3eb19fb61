/**
 * The lists and capabilities of a catalogue, serialized as JSON for MCP 2025 or
 * 2026-07-28.
 * @module
 */
import type { JsonObject } from "../json.ts";
import {
  type CacheHint,
  type Pages,
  type Printer,
  printPages,
} from "../protocol/results.ts";
import type {
  CatalogueAddition,
  ServerDefinitions,
} from "./compiled_definitions.ts";

export interface PrintedLists {
  printer: Printer;
  capabilities: JsonObject;
  /** The author's tools. */
  tools: Pages;
  /** The author's tools and the built-in ones, if any. */
  allTools: Pages;
  resources: Pages;
  resourceTemplates: Pages;
  prompts: Pages;
}

type List = "resources" | "resourceTemplates" | "prompts";

export function printLists(
  entries: Record<"tools" | "taskTools" | List, readonly JsonObject[]>,
  { printer, capabilities }: Pick<PrintedLists, "printer" | "capabilities">,
  { listCache, pageSize }: { listCache: CacheHint; pageSize: number },
): PrintedLists {
  const { taskTools } = entries;
  const hasOwn = taskTools.length > 0;
  // The list depends on the client's capabilities, so no shared cache may store
  // it.
  const toolCache: CacheHint = hasOwn
    ? { ...listCache, cacheScope: "private" }
    : listCache;
  const pages = (
    member: string,
    items: readonly JsonObject[],
    cache = listCache,
  ) =>
    printPages(member, items, pageSize, (page) => printer.result(page, cache));
  const pagesOf = (list: List) => pages(list, entries[list]);

  const tools = pages("tools", entries.tools, toolCache);
  return {
    printer,
    capabilities,
    tools,
    allTools: hasOwn
      ? pages("tools", [...entries.tools, ...taskTools], toolCache)
      : tools,
    resources: pagesOf("resources"),
    resourceTemplates: pagesOf("resourceTemplates"),
    prompts: pagesOf("prompts"),
  };
}

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/**
 * Returns the capabilities of each revision. Those of 2025 have no
 * subscriptions and no tasks.
 */
export function capabilitiesOf(
  { tools = [], resources = [], prompts = [] }: ServerDefinitions,
  { added, hasTasks }: {
    added: readonly Pick<CatalogueAddition, "extensions" | "resources">[];
    hasTasks: boolean;
  },
): { session: JsonObject; stateless: JsonObject } {
  const hasResources = resources.length > 0 ||
    added.some(({ resources }) => resources.length > 0);
  const extensions: JsonObject = Object.assign(
    {},
    ...added.map(({ extensions }) => extensions),
  );
  const session = {
    ...(tools.length > 0 && { tools: {} }),
    ...(hasResources && { resources: {} }),
    ...(prompts.length > 0 && { prompts: {} }),
    ...([...resources, ...prompts].some(({ complete }) => complete) &&
      { completions: {} }),
    logging: {},
    ...(Object.keys(extensions).length > 0 && { extensions }),
  };
  const stateless = {
    ...session,
    ...(tools.length > 0 && { tools: { listChanged: true } }),
    ...(hasResources &&
      { resources: { subscribe: true, listChanged: true } }),
    ...(prompts.length > 0 && { prompts: { listChanged: true } }),
    ...(hasTasks &&
      { extensions: { ...extensions, [TASKS_EXTENSION]: {} } }),
  };
  return { session, stateless };
}
