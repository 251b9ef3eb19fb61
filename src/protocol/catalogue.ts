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
import type { Tool } from "../authoring/tool.ts";
import { type Printer, sessionPrinter, statelessPrinter } from "./printer.ts";
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
} from "./descriptions.ts";
import { type Pages, printPages } from "./pagination.ts";
import { REVISIONS } from "./revisions.ts";
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
}

/** How a catalogue presents itself. */
export interface CatalogueOptions {
  serverInfo: Implementation;
  instructions?: string;
  /** Items on a page of a list. Many clients read only the first page. */
  pageSize?: number;
  /** How long a 2026 client may keep lists and discovery; 300 by default. */
  listTtlSeconds?: number;
}

/** A tool, ready to be called. */
export interface CompiledTool extends Tool {
  paramHeaders: readonly ParamHeader[];
  /** Whether 2025 clients, which know only objects, see structured results. */
  hasObjectOutput: boolean;
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
}

/** What needs a scope, in its author's words, and all the scopes it needs. */
export interface ScopeUse {
  words: string;
  scopes: readonly string[];
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
  /** Each scope and, in their authors' words, what needs it. */
  scopes: ReadonlyMap<string, readonly ScopeUse[]>;
  /** For the revisions with sessions. */
  session: Introduction;
  /** For 2026-07-28. */
  stateless: Introduction;
  /** The answer to `server/discover`, as JSON text. */
  discovery: string;
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
  { tools = [], resources = [], prompts = [] }: Definitions,
  { serverInfo, instructions, pageSize = 1000, listTtlSeconds = 300 }:
    CatalogueOptions,
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

  const compiledTools = new Map<string, CompiledTool>();
  const listedTools: ListedTool[] = [];
  for (const tool of tools) {
    attempt(`tool ${tool.name}`, () => {
      checkName(tool.name);
      const listed = listTool(tool);
      listedTools.push(listed);
      compiledTools.set(tool.name, {
        ...tool,
        paramHeaders: paramHeadersOf(listed.inputSchema),
        hasObjectOutput: listed.outputSchema?.type === "object",
      });
    });
  }
  const templates: CompiledTemplate[] = [];
  for (const resource of resources) {
    attempt(`resource ${resource.uri}`, () => {
      if (isTemplate(resource.uri)) {
        templates.push({
          resource,
          template: parseUriTemplate(resource.uri),
        });
      } else if (!URL.canParse(resource.uri)) {
        throw new Error("is not a URI");
      }
    });
  }
  const listedPrompts: JsonObject[] = [];
  for (const prompt of prompts) {
    attempt(`prompt ${prompt.name}`, () => {
      checkName(prompt.name);
      listedPrompts.push(listPrompt(prompt));
    });
  }
  if (complaints.length > 0) throw new CatalogueError(complaints);

  const plain = resources.filter(({ uri }) => !isTemplate(uri));
  const listCache = {
    ttlMs: listTtlSeconds * 1000,
    cacheScope: "public",
  } as const;
  const introduce = (
    printer: Printer,
    toolList: readonly JsonObject[],
    capabilities: JsonObject,
  ): Introduction => {
    const pages = (member: string, items: readonly JsonObject[]) =>
      printPages(
        member,
        items,
        pageSize,
        (result) => printer.result(result, listCache),
      );
    return {
      printer,
      capabilities,
      tools: pages("tools", toolList),
      resources: pages("resources", plain.map(listResource)),
      resourceTemplates: pages(
        "resourceTemplates",
        templates.map(({ resource }) => listTemplate(resource)),
      ),
      prompts: pages("prompts", listedPrompts),
    };
  };
  const served = {
    ...(tools.length > 0 && { tools: {} }),
    ...(resources.length > 0 && { resources: {} }),
    ...(prompts.length > 0 && { prompts: {} }),
    ...([...resources, ...prompts].some(({ complete }) => complete) &&
      { completions: {} }),
    logging: {},
  };
  const printer = statelessPrinter(serverInfo);
  const stateless = introduce(printer, listedTools, {
    ...served,
    ...(tools.length > 0 && { tools: { listChanged: true } }),
    ...(resources.length > 0 &&
      { resources: { subscribe: true, listChanged: true } }),
    ...(prompts.length > 0 && { prompts: { listChanged: true } }),
    ...(tools.some(({ task }) => task) &&
      { extensions: { "io.modelcontextprotocol/tasks": {} } }),
  });
  return {
    serverInfo,
    instructions,
    tools: compiledTools,
    prompts: new Map(prompts.map((prompt) => [prompt.name, prompt])),
    resources: new Map(plain.map((resource) => [resource.uri, resource])),
    templates,
    scopes: collectScopes([...tools, ...resources, ...prompts]),
    session: introduce(
      sessionPrinter,
      // A 2025 client has no tasks, so it could not call the others.
      listedTools
        .filter(({ name }) => compiledTools.get(name)?.task !== "required")
        .map(withObjectOutput),
      served,
    ),
    stateless,
    discovery: printer.result({
      supportedVersions: REVISIONS,
      capabilities: stateless.capabilities,
      ...(instructions && { instructions }),
    }, listCache),
  };
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
  for (const { scopes: needed = [], title, description, name } of items) {
    for (const scope of needed) {
      const uses = scopes.get(scope) ?? [];
      uses.push({ words: description ?? title ?? name, scopes: needed });
      scopes.set(scope, uses);
    }
  }
  return scopes;
}
