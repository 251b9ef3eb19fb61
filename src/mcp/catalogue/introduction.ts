/**
 * The lists and capabilities of a catalogue, printed beforehand for one
 * generation.
 *
 * @module
 */
import type { JsonObject } from "../../json.ts";
import { type Pages, printPages } from "../wire/pagination.ts";
import type { CacheHint, Printer } from "../wire/printer.ts";
import { skillsPerPage } from "./skill_manifest.ts";

export interface Introduction {
  printer: Printer;
  capabilities: JsonObject;
  /** The tools of authors. */
  tools: Pages;
  /** The same and, where they can be needed, the server's own. */
  allTools: Pages;
  resources: Pages;
  resourceTemplates: Pages;
  prompts: Pages;
  skills: Pages;
}

interface Entries {
  tools: readonly JsonObject[];
  /** The server's own tools, where they can be needed. */
  taskTools: readonly JsonObject[];
  resources: readonly JsonObject[];
  resourceTemplates: readonly JsonObject[];
  prompts: readonly JsonObject[];
  skills: readonly JsonObject[];
}

export function printLists(
  entries: Entries,
  { printer, capabilities }: Pick<Introduction, "printer" | "capabilities">,
  { listCache, pageSize }: { listCache: CacheHint; pageSize: number },
): Introduction {
  const { taskTools, skills } = entries;
  const hasOwn = taskTools.length > 0;
  // The client's own capabilities decide which list it is given.
  const toolCache: CacheHint = hasOwn
    ? { ...listCache, cacheScope: "private" }
    : listCache;
  const pages = (
    member: string,
    items: readonly JsonObject[],
    cache = listCache,
    size = pageSize,
  ) => printPages(member, items, size, (page) => printer.result(page, cache));
  const pagesOf = (list: "resources" | "resourceTemplates" | "prompts") =>
    pages(list, entries[list]);
  const tools = pages("tools", entries.tools, toolCache);
  const skillPage = Math.min(pageSize, skillsPerPage(skills));
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
    skills: pages("skills", skills, listCache, skillPage),
  };
}
