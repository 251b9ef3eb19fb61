/**
 * Everything a server offers, checked and compiled once at start-up, so that
 * a call costs the same among a thousand tools as alone.
 *
 * @module
 */
import type { Implementation } from "@modelcontextprotocol/server";
import type { Described } from "../../authoring/context.ts";
import type { Prompt } from "../../authoring/prompt.ts";
import type { Resource } from "../../authoring/resource.ts";
import type { JsonObject } from "../../json.ts";
import { capabilitiesOf } from "./capabilities.ts";
import {
  compileDefinitions,
  type CompiledTemplate,
  type CompiledTool,
  type Definitions,
} from "./compiled_definitions.ts";
import { type ListedTool, withObjectOutput } from "./descriptions.ts";
import { type Pages, printPages } from "../wire/pagination.ts";
import {
  type CacheHint,
  type Printer,
  sessionPrinter,
  statelessPrinter,
} from "../wire/printer.ts";
import { REVISIONS } from "../wire/revisions.ts";
import {
  type CompiledSkill,
  type Directory,
  skillsPerPage,
} from "./skill_manifest.ts";
import {
  isAlwaysTask,
  listTaskTools,
  mayOutlast,
  TASK_TOOLS,
} from "./task_tools.ts";
import { isTemplate } from "./uri_template.ts";

/** Settings of a catalogue's lists and introduction. */
export interface CatalogueOptions {
  serverInfo: Implementation;
  instructions?: string;
  /** The seconds after which calls are handed over; as of `serve`. */
  handOver?: number;
  /** Items on a page of a list. Many clients read only the first page. */
  pageSize?: number;
  /** True if callers see different lists: then no shared cache may keep one. */
  listsVary?: boolean;
  /** True if callers may be strangers, who sign in for some of the tools. */
  anonymous?: boolean;
}

/** The seconds for which a 2026 client may keep lists and discovery. */
const LIST_TTL_SECONDS = 300;

/** The description of the catalogue for one generation, printed beforehand. */
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

export interface Catalogue {
  serverInfo: Implementation;
  instructions?: string;
  tools: ReadonlyMap<string, CompiledTool>;
  /** The names of the server's own tools, where they can be needed. */
  taskTools: ReadonlySet<string>;
  prompts: ReadonlyMap<string, Prompt>;
  /** Resources with one URI, by that URI. */
  resources: ReadonlyMap<string, Resource>;
  templates: readonly CompiledTemplate[];
  /** The views of tools, by the beginning of their addresses. */
  views: ReadonlyMap<string, Resource>;
  /** Skills by the address of their `SKILL.md`. */
  skills: ReadonlyMap<string, CompiledSkill>;
  /** The directories of skills, by their addresses. */
  directories: ReadonlyMap<string, Directory>;
  /** True if it has neither tools nor resources nor prompts. */
  isEmpty: boolean;
  /** Each scope with the things that need it. */
  scopes: ReadonlyMap<string, readonly ScopeUse[]>;
  /** The time and the caches for which lists may be kept. */
  listCache: CacheHint;
  /** For the revisions with sessions. */
  session: Introduction;
  /** For 2026-07-28. */
  stateless: Introduction;
  /** The answer to `server/discover`, as JSON text. */
  discovery: string;
  /**
   * Gives the catalogue for a caller who can only ever hold these scopes:
   * anything that needs others is left out. Without a ceiling, gives
   * everything.
   */
  within(ceiling: readonly string[] | undefined): Catalogue;
  /** In a catalogue within a ceiling: the one with everything. */
  whole?: Catalogue;
}

/** An item that needs a scope, in its author's words. */
export interface ScopeUse {
  /** For people: its title, or its name. */
  title: string;
  /** A description of it. */
  words: string;
  /** All the scopes it needs. */
  scopes: readonly string[];
}

/**
 * Compiles a catalogue.
 *
 * @throws {import("./compiled_definitions.ts").CatalogueError} with every
 * complaint at once
 */
export function compileCatalogue(
  definitions: Definitions,
  {
    serverInfo,
    instructions,
    handOver,
    pageSize = 1000,
    listsVary = false,
    anonymous = false,
  }: CatalogueOptions,
): Catalogue {
  const compiled = compileDefinitions(definitions, { anonymous, handOver });
  const { listed } = compiled;
  const capabilities = capabilitiesOf(definitions, {
    hasViews: compiled.views.length > 0,
    hasTasks: compiled.tools.some((tool) => tool.task || mayOutlast(tool)),
  });
  const printer = statelessPrinter(serverInfo);
  const listCache: CacheHint = {
    ttlMs: LIST_TTL_SECONDS * 1000,
    cacheScope: listsVary ? "private" : "public",
  };
  const discovery = printer.result({
    supportedVersions: REVISIONS,
    capabilities: capabilities.stateless,
    ...(instructions && { instructions }),
  }, { ...listCache, cacheScope: "public" });
  const { tools = [], resources = [], prompts = [] } = definitions;
  const scopes = collectScopes([
    ...tools,
    ...resources,
    ...prompts,
    ...compiled.skills,
  ]);
  const plain = resources.filter(({ uri }) => !isTemplate(uri));

  /**
   * Makes the catalogue of the items that pass the test; the introduction is
   * the same for all callers.
   */
  function select(isSeen: (item: Described) => boolean): Catalogue {
    const seenTools = compiled.tools.filter(isSeen);
    const seenViews = compiled.views.filter((view) =>
      seenTools.some(({ compiledView }) => compiledView === view)
    );
    const seenSkills = compiled.skills.filter(isSeen);
    const seen = {
      tools: seenTools,
      resources: [
        ...plain.filter(isSeen),
        ...seenViews.map(({ resource }) => resource),
        // Clients without skills would list the other files one by one.
        ...seenSkills.map(({ resources: [manual] }) => manual),
      ],
      templates: compiled.templates.filter(({ resource }) => isSeen(resource)),
      prompts: prompts.filter(isSeen),
    };
    const introduce = (
      printer: Printer,
      toolList: readonly JsonObject[],
      capabilities: JsonObject,
    ): Introduction => {
      const pages = (
        member: string,
        items: readonly JsonObject[],
        size = pageSize,
        cache = listCache,
      ) =>
        printPages(
          member,
          items,
          size,
          (result) => printer.result(result, cache),
        );
      const tools = pages("tools", toolList, pageSize, toolCache);
      const listOf = (items: readonly Described[]) =>
        items.map((item) => listed.get(item)!);
      return {
        printer,
        capabilities,
        tools,
        allTools: taskTools.length === 0
          ? tools
          : pages("tools", [...toolList, ...taskTools], pageSize, toolCache),
        resources: pages("resources", listOf(seen.resources)),
        resourceTemplates: pages(
          "resourceTemplates",
          listOf(seen.templates.map(({ resource }) => resource)),
        ),
        prompts: pages("prompts", listOf(seen.prompts)),
        skills: pages(
          "skills",
          skillList,
          Math.min(pageSize, skillsPerPage(skillList)),
        ),
      };
    };
    const taskTools = seenTools.some(mayOutlast)
      ? listTaskTools({ anonymous })
      : [];
    // The client's own capabilities decide which list it is given.
    const toolCache: CacheHint = taskTools.length === 0
      ? listCache
      : { ...listCache, cacheScope: "private" };
    const skillList = seenSkills.map(({ entry }) => entry);
    const toolList = seen.tools.map((tool) => listed.get(tool) as ListedTool);
    return {
      serverInfo,
      instructions,
      tools: byName(seen.tools),
      taskTools: taskTools.length === 0 ? NONE : TASK_TOOLS,
      prompts: byName(seen.prompts),
      resources: new Map(
        [
          ...seen.resources,
          ...seenSkills.flatMap(({ resources: [, ...others] }) => others),
        ].map((resource) => [resource.uri, resource]),
      ),
      templates: seen.templates,
      views: new Map(seenViews.map(({ home, resource }) => [home, resource])),
      skills: new Map(seenSkills.map((skill) => [skill.uri, skill])),
      directories: new Map(
        seenSkills.flatMap(({ directories }) => [...directories]),
      ),
      isEmpty: Object.values(seen).every(({ length }) => length === 0),
      scopes,
      listCache,
      session: introduce(
        sessionPrinter,
        // A 2025 client has no tasks, so it could not call the others.
        toolList
          .filter((_, index) => isForAll(seen.tools[index]))
          .map(withObjectOutput),
        capabilities.session,
      ),
      stateless: introduce(printer, toolList, capabilities.stateless),
      discovery,
      within,
    };
  }

  const narrowed = new Map<string, Catalogue>();
  const whole = select(() => true);

  function within(ceiling: readonly string[] | undefined): Catalogue {
    if (ceiling === undefined) return whole;
    const reachable = [...scopes.keys()].filter((it) => ceiling.includes(it));
    if (reachable.length === scopes.size) return whole;
    const key = reachable.join(" ");
    const seen = narrowed.get(key) ?? {
      ...select(({ scopes = [] }) =>
        scopes.every((scope) => reachable.includes(scope))
      ),
      whole,
    };
    // The set asked for last is the last one to be dropped.
    narrowed.delete(key);
    narrowed.set(key, seen);
    if (narrowed.size > MOST_NARROWED) {
      narrowed.delete(narrowed.keys().next().value!);
    }
    return seen;
  }

  return whole;
}

/**
 * The most sets of scopes whose printed lists are kept; others are printed
 * again when needed.
 */
const MOST_NARROWED = 64;

const NONE: ReadonlySet<string> = new Set();

/** True for a tool that clients without tasks can call. */
function isForAll(tool: CompiledTool): boolean {
  return !isAlwaysTask(tool) || mayOutlast(tool);
}

function byName<T extends Described>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}

function collectScopes(
  items: readonly Described[],
): ReadonlyMap<string, readonly ScopeUse[]> {
  const scopes = new Map<string, ScopeUse[]>();
  for (
    const { scopes: needed = [], name, title = name, description } of items
  ) {
    for (const scope of needed) {
      const uses = scopes.get(scope) ?? [];
      uses.push({ title, words: description ?? title, scopes: needed });
      scopes.set(scope, uses);
    }
  }
  return scopes;
}
