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
import { LatestMap } from "../latest_map.ts";
import {
  type CacheHint,
  sessionPrinter,
  statelessPrinter,
} from "../protocol/printer.ts";
import { REVISIONS } from "../protocol/revisions.ts";
import {
  capabilitiesOf,
  type PrintedLists,
  printLists,
} from "./printed_lists.ts";
import {
  compileDefinitions,
  type CompiledTemplate,
  type Definitions,
} from "./compiled_definitions.ts";
import {
  type CompiledTool,
  isAlwaysTask,
  listTaskTools,
  mayOutlast,
  TASK_TOOLS,
  wantsTaskTools,
} from "./compiled_tool.ts";
import {
  collectScopes,
  type ScopeUse,
  withObjectOutput,
} from "./descriptions.ts";
import type {
  CompiledSkill,
  Directory,
} from "../../features/skills/skill_manifest.ts";
import { isTemplate } from "./uri_template.ts";

interface CatalogueOptions {
  serverInfo: Implementation;
  instructions?: string;
  /** The seconds after which calls are handed over: the option of `serve`. */
  handOver?: number;
  /** Items on a page of a list. Many clients read only the first page. */
  pageSize?: number;
  /** True if callers see different lists, which no shared cache may store. */
  listsVary?: boolean;
  /** True if callers may be strangers, who sign in for some of the tools. */
  anonymous?: boolean;
}

/** The seconds for which a 2026 client may keep lists and discovery. */
const LIST_TTL_SECONDS = 300;

/** Everything that a caller may see. */
export interface Catalogue {
  serverInfo: Implementation;
  instructions?: string;
  tools: ReadonlyMap<string, CompiledTool>;
  /**
   * The names of the server's own tools. Empty unless an author's tool is
   * declared to take long.
   */
  taskTools: ReadonlySet<string>;
  prompts: ReadonlyMap<string, Prompt>;
  /** Resources with one URI, by that URI. */
  resources: ReadonlyMap<string, Resource>;
  templates: readonly CompiledTemplate[];
  /** The views of tools, by the prefix of their addresses. */
  views: ReadonlyMap<string, Resource>;
  /** Skills by the address of their `SKILL.md`. */
  skills: ReadonlyMap<string, CompiledSkill>;
  /** The directories of skills, by their addresses. */
  directories: ReadonlyMap<string, Directory>;
  /** True if the catalogue has neither tools nor resources nor prompts. */
  isEmpty: boolean;
  /** Each scope with the things that need it. */
  scopes: ReadonlyMap<string, readonly ScopeUse[]>;
  /** The time for which lists may be cached, and by which caches. */
  listCache: CacheHint;
  /** For the revisions with sessions. */
  session: PrintedLists;
  /** For 2026-07-28. */
  stateless: PrintedLists;
  /** The answer to `server/discover`, as JSON text. */
  discovery: string;
  /**
   * Returns the catalogue for a caller who can never be granted other scopes
   * than these: anything that needs others is left out. Without a ceiling,
   * returns everything.
   */
  within(ceiling: readonly string[] | undefined): Catalogue;
  /** For a catalogue within a ceiling: the catalogue with everything. */
  whole?: Catalogue;
}

/**
 * Compiles a catalogue.
 *
 * @throws {CatalogueError} with every complaint at once
 */
export function compileCatalogue(
  definitions: Definitions,
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
    // Set again: the scopes that were used last are dropped last.
    narrowed.set(key, seen);
    return seen;
  }

  const whole = { ...select(source, () => true), within };
  return whole;
}

/** The most sets of scopes whose printed lists are in memory. */
const MAX_NARROWED = 64;

/** Compiles everything that catalogues are selected from. */
function sourceOf(
  definitions: Definitions,
  {
    serverInfo,
    instructions,
    handOver,
    pageSize = 1000,
    listsVary = false,
    anonymous = false,
  }: CatalogueOptions,
) {
  const compiled = compileDefinitions(definitions, { anonymous, handOver });
  const capabilities = capabilitiesOf(definitions, {
    hasViews: compiled.views.size > 0,
    hasTasks: compiled.tools.some((tool) => tool.task || mayOutlast(tool)),
  });
  const printer = statelessPrinter(serverInfo);
  const listCache: CacheHint = {
    ttlMs: LIST_TTL_SECONDS * 1000,
    cacheScope: listsVary ? "private" : "public",
  };
  const { tools = [], resources = [], prompts = [] } = definitions;
  const needing = [...tools, ...resources, ...prompts, ...compiled.skills];
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
    /** The members that are the same for all callers. */
    common: {
      serverInfo,
      instructions,
      scopes: collectScopes(needing),
      listCache,
      discovery,
    },
  };
}

type Test = (item: Described) => boolean;

/** Makes the catalogue of the items that pass the test. */
function select(
  source: ReturnType<typeof sourceOf>,
  isSeen: Test,
): Omit<Catalogue, "within"> {
  const { lists } = source;
  const tools = source.tools.filter(isSeen);
  const prompts = source.prompts.filter(isSeen);
  const skills = source.skills.filter(isSeen);
  const templates = source.templates.filter(({ resource }) => isSeen(resource));
  const views = [...source.views.values()].filter((view) =>
    tools.some(({ compiledView }) => compiledView === view)
  );
  const resources = [
    ...source.resources.filter(isSeen),
    ...views.map(({ resource }) => resource),
    // Clients without skills would list the other files one by one.
    ...skills.map(({ resources: [manual] }) => manual),
  ];
  const files = skills.flatMap(({ resources: [, ...others] }) => others);
  const hasTaskTools = tools.some(wantsTaskTools);
  const listOf = (items: readonly Described[]) =>
    items.map((item) => source.listed.get(item)!);
  const entries = {
    tools: listOf(tools),
    taskTools: hasTaskTools ? listTaskTools(lists) : [],
    resources: listOf(resources),
    resourceTemplates: listOf(templates.map(({ resource }) => resource)),
    prompts: listOf(prompts),
    skills: skills.map(({ entry }) => entry),
  };
  // A 2025 client has no tasks, so it could not call the others.
  const forAll = tools.filter((tool) =>
    !isAlwaysTask(tool) || mayOutlast(tool)
  );
  return {
    ...source.common,
    tools: byName(tools),
    taskTools: hasTaskTools ? TASK_TOOLS : new Set(),
    prompts: byName(prompts),
    resources: new Map(
      [...resources, ...files].map((resource) => [resource.uri, resource]),
    ),
    templates,
    views: new Map(views.map(({ prefix, resource }) => [prefix, resource])),
    skills: new Map(skills.map((skill) => [skill.uri, skill])),
    directories: new Map(skills.flatMap(({ directories }) => [...directories])),
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

function byName<T extends Described>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}
