/**
 * Everything a server offers, checked and compiled once at start-up, so that
 * a call costs the same among a thousand tools as alone.
 *
 * @module
 */
import type { Implementation } from "@modelcontextprotocol/server";
import type { Described } from "../authoring/context.ts";
import type { Prompt } from "../authoring/prompt.ts";
import type { Resource } from "../authoring/resource.ts";
import type { Skill } from "../authoring/skill.ts";
import type { Tool } from "../authoring/tool.ts";
import { limitComplaint } from "../authoring/tool_limit.ts";
import {
  type CacheHint,
  type Printer,
  sessionPrinter,
  statelessPrinter,
} from "./printer.ts";
import type { ParamHeader } from "./headers.ts";
import { paramHeadersOf } from "./json_schema.ts";
import type { JsonObject } from "../json.ts";
import {
  type ListedTool,
  listPrompt,
  listResource,
  listTemplate,
  listTool,
  withObjectOutput,
  withSecuritySchemes,
} from "./descriptions.ts";
import { type Pages, printPages } from "./pagination.ts";
import { REVISIONS } from "./revisions.ts";
import {
  type CompiledSkill,
  compileSkill,
  type Directory,
  SKILLS_EXTENSION,
  skillsPerPage,
} from "./skill_manifest.ts";
import {
  type CompiledView,
  compileView,
  viewMetaOf,
  VIEWS_EXTENSION,
} from "./view_resource.ts";
import {
  isTemplate,
  parseUriTemplate,
  type UriTemplate,
} from "./uri_template.ts";

/** What a server offers, as its authors wrote it. */
export interface Definitions {
  /** Functions that models call, in the order in which clients list them. */
  tools?: readonly Tool[];
  /** What clients read by its URI. */
  resources?: readonly Resource[];
  /** Conversation openers that people pick. */
  prompts?: readonly Prompt[];
  /** Instructions for tasks, from `skill()` of the package's `/skill`. */
  skills?: readonly Skill[];
}

/** How a catalogue presents itself. */
export interface CatalogueOptions {
  serverInfo: Implementation;
  instructions?: string;
  /** Items on a page of a list. Many clients read only the first page. */
  pageSize?: number;
  /** How long a 2026 client may keep lists and discovery; 300 by default. */
  listTtlSeconds?: number;
  /** Whether callers see different lists: then no shared cache may keep one. */
  listsVary?: boolean;
  /** Whether callers may be strangers, who sign in for some of the tools. */
  anonymous?: boolean;
}

/** A tool, ready to be called. */
export interface CompiledTool extends Tool {
  paramHeaders: readonly ParamHeader[];
  /** Whether 2025 clients, which know only objects, see structured results. */
  hasObjectOutput: boolean;
  compiledView?: CompiledView;
}

/** A family of resources, ready to be matched. */
export interface CompiledTemplate {
  template: UriTemplate;
  resource: Resource;
}

/** What one generation is told about the catalogue, printed beforehand. */
export interface Introduction {
  printer: Printer;
  capabilities: JsonObject;
  tools: Pages;
  resources: Pages;
  resourceTemplates: Pages;
  prompts: Pages;
  skills: Pages;
}

/** A compiled catalogue. */
export interface Catalogue {
  serverInfo: Implementation;
  instructions?: string;
  tools: ReadonlyMap<string, CompiledTool>;
  prompts: ReadonlyMap<string, Prompt>;
  /** Resources with one URI, by that URI. */
  resources: ReadonlyMap<string, Resource>;
  templates: readonly CompiledTemplate[];
  /** The views of tools, by the beginning of their addresses. */
  views: ReadonlyMap<string, Resource>;
  /** By the address of their `SKILL.md`. */
  skills: ReadonlyMap<string, CompiledSkill>;
  /** The directories of skills, by their addresses. */
  directories: ReadonlyMap<string, Directory>;
  /** Each scope and what needs it. */
  scopes: ReadonlyMap<string, readonly ScopeUse[]>;
  /** How long and by whom lists may be kept. */
  listCache: CacheHint;
  /** For the revisions with sessions. */
  session: Introduction;
  /** For 2026-07-28. */
  stateless: Introduction;
  /** The answer to `server/discover`, as JSON text. */
  discovery: string;
  /**
   * The catalogue as seen by a caller who can only ever hold these scopes: what
   * needs others is not in it. Everything without a ceiling.
   */
  within(ceiling: readonly string[] | undefined): Catalogue;
  /** Of a catalogue within a ceiling: the one with what it leaves out. */
  whole?: Catalogue;
}

/** Something that needs a scope, in its author's words. */
export interface ScopeUse {
  /** For people: its title, or its name. */
  title: string;
  /** What it does. */
  words: string;
  /** All the scopes it needs. */
  scopes: readonly string[];
}

/** Everything that is wrong with a set of definitions. */
export class CatalogueError extends Error {
  /** The name of the class. */
  override name = "CatalogueError";
  /** Tells every complaint, one to a line. */
  constructor(readonly complaints: readonly string[]) {
    super(["These definitions need fixing:", ...complaints].join("\n  "));
  }
}

/**
 * Compiles a catalogue.
 *
 * @throws {CatalogueError} with every complaint at once: names that stand
 * twice or have illegal characters, schemas JSON Schema cannot express,
 * templates that cannot be matched
 */
export function compileCatalogue(
  { tools = [], resources = [], prompts = [], skills = [] }: Definitions,
  {
    serverInfo,
    instructions,
    pageSize = 1000,
    listTtlSeconds = 300,
    listsVary = false,
    anonymous = false,
  }: CatalogueOptions,
): Catalogue {
  const complaints: string[] = [];
  /** Runs one step of the compilation and keeps what it complains about. */
  const attempt = <T>(what: string, step: () => T): T | undefined => {
    try {
      return step();
    } catch (error) {
      complaints.push(`${what}: ${(error as Error).message}`);
    }
  };
  checkUnique("tool", tools, complaints);
  checkUnique("prompt", prompts, complaints);
  checkUnique("resource", resources, complaints, ({ uri }) => uri);

  const compiledTools: CompiledTool[] = [];
  const compiledViews = new Map<Tool["view"], CompiledView>();
  const listed = new Map<Described, JsonObject>();
  for (const tool of tools) {
    attempt(`tool ${tool.name}`, () => {
      checkName(tool.name);
      const complaint = tool.limit && limitComplaint(tool.limit);
      if (complaint !== undefined) throw new Error(complaint);
      const compiledView = viewOf(tool);
      const plain = listTool(
        tool,
        viewMetaOf(tool, compiledView?.resource.uri),
      );
      const listedTool = anonymous
        ? withSecuritySchemes(plain, tool.scopes)
        : plain;
      const compiled = {
        ...tool,
        paramHeaders: paramHeadersOf(listedTool.inputSchema),
        hasObjectOutput: listedTool.outputSchema?.type === "object",
        compiledView,
      };
      if (compiledView && !compiled.hasObjectOutput) {
        throw new Error("a tool with a view must have an object as its output");
      }
      listed.set(compiled, listedTool);
      compiledTools.push(compiled);
    });
  }
  /** One view of several tools is one resource. */
  function viewOf(tool: Tool): CompiledView | undefined {
    if (tool.view === undefined) return undefined;
    let compiled = compiledViews.get(tool.view);
    if (compiled) return compiled;
    compiled = compileView(tool, tool.view);
    compiledViews.set(tool.view, compiled);
    listed.set(compiled.resource, listResource(compiled.resource));
    return compiled;
  }

  const templates: CompiledTemplate[] = [];
  for (const resource of resources) {
    attempt(`resource ${resource.uri}`, () => {
      if (isTemplate(resource.uri)) {
        templates.push({
          resource,
          template: parseUriTemplate(resource.uri),
        });
        listed.set(resource, listTemplate(resource));
      } else if (URL.canParse(resource.uri)) {
        listed.set(resource, listResource(resource));
      } else {
        throw new Error("is not a URI");
      }
    });
  }
  for (const prompt of prompts) {
    attempt(`prompt ${prompt.name}`, () => {
      checkName(prompt.name);
      listed.set(prompt, listPrompt(prompt));
    });
  }
  const compiledSkills = skills.flatMap((skill, index) =>
    attempt(`skill ${nameOf(skill) ?? index + 1}`, () => compileSkill(skill)) ??
      []
  );
  checkUnique("skill", compiledSkills, complaints);
  for (const { resources: files } of compiledSkills) {
    for (const file of files) {
      listed.set(file, listResource(file));
      if (resources.some(({ uri }) => uri === file.uri)) {
        complaints.push(`resource ${file.uri}: is a file of a skill`);
      }
    }
  }
  if (complaints.length > 0) throw new CatalogueError(complaints);

  const hasResources = resources.length > 0 || compiledViews.size > 0 ||
    skills.length > 0;
  const extensions = {
    ...(compiledViews.size > 0 && { [VIEWS_EXTENSION]: {} }),
    ...(skills.length > 0 && { [SKILLS_EXTENSION]: { directoryRead: true } }),
  };
  const served = {
    ...(tools.length > 0 && { tools: {} }),
    ...(hasResources && { resources: {} }),
    ...(prompts.length > 0 && { prompts: {} }),
    ...([...resources, ...prompts].some(({ complete }) => complete) &&
      { completions: {} }),
    logging: {},
    ...(Object.keys(extensions).length > 0 && { extensions }),
  };
  const statelessCapabilities = {
    ...served,
    ...(tools.length > 0 && { tools: { listChanged: true } }),
    ...(hasResources &&
      { resources: { subscribe: true, listChanged: true } }),
    ...(prompts.length > 0 && { prompts: { listChanged: true } }),
    ...(tools.some(({ task }) => task) &&
      { extensions: { ...extensions, "io.modelcontextprotocol/tasks": {} } }),
  };
  const printer = statelessPrinter(serverInfo);
  const ttlMs = listTtlSeconds * 1000;
  const listCache: CacheHint = {
    ttlMs,
    cacheScope: listsVary ? "private" : "public",
  };
  const discovery = printer.result({
    supportedVersions: REVISIONS,
    capabilities: statelessCapabilities,
    ...(instructions && { instructions }),
  }, { ttlMs, cacheScope: "public" });
  const scopes = collectScopes([
    ...tools,
    ...resources,
    ...prompts,
    ...compiledSkills,
  ]);
  const plain = resources.filter(({ uri }) => !isTemplate(uri));

  /** The catalogue of what passes; what all callers are told is the same. */
  function select(isSeen: (item: Described) => boolean): Catalogue {
    const seenTools = compiledTools.filter(isSeen);
    const seenViews = [...compiledViews.values()].filter((view) =>
      seenTools.some(({ compiledView }) => compiledView === view)
    );
    const seenSkills = compiledSkills.filter(isSeen);
    const seen = {
      tools: seenTools,
      resources: [
        ...plain.filter(isSeen),
        ...seenViews.map(({ resource }) => resource),
        // Clients without skills would show the other files one by one.
        ...seenSkills.map(({ resources: [manual] }) => manual),
      ],
      templates: templates.filter(({ resource }) => isSeen(resource)),
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
      ) =>
        printPages(
          member,
          items,
          size,
          (result) => printer.result(result, listCache),
        );
      const listOf = (items: readonly Described[]) =>
        items.map((item) => listed.get(item)!);
      return {
        printer,
        capabilities,
        tools: pages("tools", toolList),
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
    const skillList = seenSkills.map(({ entry }) => entry);
    const toolList = seen.tools.map((tool) => listed.get(tool) as ListedTool);
    return {
      serverInfo,
      instructions,
      tools: byName(seen.tools),
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
      scopes,
      listCache,
      session: introduce(
        sessionPrinter,
        // A 2025 client has no tasks, so it could not call the others.
        toolList
          .filter((_, index) => seen.tools[index].task !== "required")
          .map(withObjectOutput),
        served,
      ),
      stateless: introduce(printer, toolList, statelessCapabilities),
      discovery,
      within,
    };
  }

  const reaches = new Map<string, Catalogue>();
  const whole = select(() => true);

  function within(ceiling: readonly string[] | undefined): Catalogue {
    if (ceiling === undefined) return whole;
    const reachable = [...scopes.keys()].filter((it) => ceiling.includes(it));
    if (reachable.length === scopes.size) return whole;
    const key = reachable.join(" ");
    const reach = reaches.get(key) ?? {
      ...select(({ scopes = [] }) =>
        scopes.every((scope) => reachable.includes(scope))
      ),
      whole,
    };
    // The last one asked for is the last to go.
    reaches.delete(key);
    reaches.set(key, reach);
    if (reaches.size > REACHES) reaches.delete(reaches.keys().next().value!);
    return reach;
  }

  return whole;
}

/** How a skill calls itself, if that can be read. */
function nameOf({ frontmatter }: Skill): unknown {
  try {
    return frontmatter().name;
  } catch {
    return undefined;
  }
}

/** Sets of scopes whose lists are kept; more are printed again when needed. */
const REACHES = 64;

function byName<T extends Described>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.name, item]));
}

/** MCP 2026-07-28, Tools, Tool Names; prompts keep the same rule. */
function checkName(name: string): void {
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) {
    throw new Error(
      "a name must have 1 to 128 characters of A-Z, a-z, 0-9, _, - and .",
    );
  }
}

function checkUnique<T extends Described>(
  kind: string,
  items: readonly T[],
  complaints: string[],
  nameOf: (item: T) => string = ({ name }) => name,
): void {
  const seen = new Set<string>();
  for (const item of items) {
    const name = nameOf(item);
    if (seen.has(name)) complaints.push(`${kind} ${name}: duplicate name`);
    seen.add(name);
  }
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
