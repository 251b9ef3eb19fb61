/**
 * Compiles authors' definitions: checks them one by one, and makes their form
 * for calls and for lists.
 *
 * @module
 */
import type { CommonDefinition } from "../../authoring/context.ts";
import * as kinds from "../../authoring/options.ts";
import { PROMPT, type Prompt } from "../../authoring/prompt.ts";
import { RESOURCE, type Resource } from "../../authoring/resource.ts";
import { SCOPE_LIST } from "../../authoring/scope.ts";
import type { Skill } from "../../authoring/skill.ts";
import { TOOL, type Tool } from "../../authoring/tool.ts";
import type { JsonObject } from "../json.ts";
import { messageOf } from "../thrown.ts";
import type { ConfigError } from "../settings/complaint.ts";
import { checkArguments } from "../protocol/json_schema.ts";
import {
  type CompiledTool,
  compileTool,
  type MetaOf,
  TASK_TOOLS,
  type ToolDefaults,
  wantsTaskTools,
} from "./compiled_tool.ts";
import {
  type ListedTool,
  promptEntry,
  resourceEntry,
  templateEntry,
} from "./descriptions.ts";
import type { Pages } from "../protocol/results.ts";
import {
  isTemplate,
  parseUriTemplate,
  type UriTemplate,
} from "./uri_template.ts";

/** The definitions of a server, as its authors wrote them. */
export interface ServerDefinitions {
  /** Functions that models call, in the order in which clients list them. */
  tools?: readonly Tool[];
  /** Content that clients read by its URI. */
  resources?: readonly Resource[];
  /** Conversation openers that people pick. */
  prompts?: readonly Prompt[];
  /** Instructions for tasks, from `skill()` of the package's `/skill`. */
  skills?: readonly Skill[];
}

/** The options of `skill()`, and of what it returns. */
export const SKILL = {
  files: kinds.required(kinds.recordOf(
    kinds.like<string | Uint8Array>(
      "text or bytes",
      (it) => typeof it === "string" || it instanceof Uint8Array,
    ),
    "an object of files by their paths",
  )),
  scopes: SCOPE_LIST,
} satisfies kinds.Members<Omit<Skill, "kind" | "frontmatter">>;

/** The options of {@linkcode ServerDefinitions}. */
export const DEFINITIONS = {
  tools: kinds.list(
    kinds.definition<Tool>({ tool: () => TOOL }, "from tool()"),
    "tools from tool()",
  ),
  resources: kinds.list(
    kinds.definition<Resource>({ resource: () => RESOURCE }, "from resource()"),
    "resources from resource()",
  ),
  prompts: kinds.list(
    kinds.definition<Prompt>({ prompt: () => PROMPT }, "from prompt()"),
    "prompts from prompt()",
  ),
  skills: kinds.list(
    kinds.definition<Skill>({
      skill: () => ({ ...SKILL, frontmatter: kinds.FUNCTION }),
    }, "from skill()"),
    "skills from skill()",
  ),
} satisfies kinds.Members<ServerDefinitions>;

/** A resource template, ready to be matched. */
export interface CompiledTemplate {
  template: UriTemplate;
  resource: Resource;
}

/** A feature's part of a catalogue that is being compiled. */
export interface CatalogueAddition<Part = unknown> {
  /**
   * Checks the feature's options in a definition, and returns the definition to
   * compile.
   *
   * @throws {Error} that says what is wrong
   */
  prepare?<T extends Tool | Resource | Prompt>(item: T): T;
  /**
   * Compiles the feature's part of a tool, and makes the metadata for the
   * tool's list entry.
   *
   * @throws {Error} for a part that clients would refuse
   */
  addTool?(tool: Tool, listed: ListedTool): JsonObject | undefined;
  /** Compiles the feature's own definitions. */
  addDefinitions?(definitions: ServerDefinitions, complaints: Complaints): void;
  /**
   * The feature's members of the `extensions` capability; undefined if this
   * catalogue does not use them.
   */
  readonly extensions?: JsonObject;
  /** Definitions that may need scopes, besides tools, resources and prompts. */
  readonly items?: readonly CommonDefinition[];
  /** The resources that the feature adds. */
  readonly resources: readonly Resource[];
  /** Returns the part that a caller may see. */
  select(seen: {
    isSeen(item: CommonDefinition): boolean;
    tools: readonly Tool[];
    /**
     * Splits a list of the feature into pages. `pageSize` makes the pages
     * smaller than usual.
     */
    print(
      member: string,
      entries: readonly JsonObject[],
      pageSize?: number,
    ): Record<"session" | "stateless", Pages>;
  }): SelectedAddition<Part>;
}

/** The part of a feature that a caller may see. */
export interface SelectedAddition<Part = unknown> {
  /**
   * The data for the methods and pages of the feature: see `Catalogue.part`.
   */
  part?: Part;
  /** The resources in `resources/list`. */
  listed: readonly Resource[];
  /** The resources that can be read, but are in no list. */
  unlisted?: readonly Resource[];
  /** Finds a resource by a URI that is in no list. */
  find?(uri: string): Resource | undefined;
  /** Lists the scopes that a method of the feature needs. */
  scopesFor?(method: string, uri: string): readonly string[] | undefined;
}

/** Starts to compile the part of a feature in one catalogue. */
export type CatalogueFeature<Part = unknown> = () => CatalogueAddition<Part>;

/** An error for definitions with faults. */
export class CatalogueError extends Error {
  /** The name of the class. */
  override name = "CatalogueError";
  /**
   * Makes the message from the complaints, one per line.
   *
   * @param settings the complaints about settings, if some are wrong, too
   */
  constructor(
    readonly complaints: readonly string[],
    readonly settings?: ConfigError,
  ) {
    const own = ["These definitions need fixing:", ...complaints].join("\n  ");
    super(settings ? `${own}\n${settings.message}` : own);
  }
}

function subjectOf(item: Tool | Resource | Prompt): string {
  return `${item.kind} ${kinds.nameOf(item)}`;
}

/** Sorts complaints in the order of their definitions. */
export function sortComplaints(
  definitions: ServerDefinitions,
  complaints: readonly string[],
): string[] {
  const { tools = [], resources = [], prompts = [] } = definitions;
  const subjects = [...tools, ...resources, ...prompts].map(subjectOf);
  // Any other complaint stays after the complaint before it.
  let at = -1;
  return complaints.map((text) => {
    const found = subjects.findIndex((subject) =>
      text.startsWith(`${subject}: `)
    );
    if (found >= 0) at = found;
    return { text, at };
  }).sort((a, b) => a.at - b.at).map(({ text }) => text);
}

/**
 * Compiles definitions.
 *
 * @throws {CatalogueError} with every complaint at once: duplicate or illegal
 * names, schemas that JSON Schema cannot express, URI templates that cannot be
 * matched
 */
export function compileDefinitions(
  definitions: ServerDefinitions,
  defaults: ToolDefaults,
  features: readonly CatalogueFeature[] = [],
): Compilation {
  const { tools = [], resources = [], prompts = [] } = definitions;
  const additions = new Map(features.map((begin) => [begin, begin()]));
  const compilation = new Compilation(defaults, additions);
  compilation.checkUnique([...tools, ...prompts, ...resources].map(subjectOf));
  for (const tool of tools) compilation.addTool(tool);
  compilation.checkTaskTools();
  for (const resource of resources) compilation.addResource(resource);
  for (const prompt of prompts) compilation.addPrompt(prompt);
  compilation.addAdditions(definitions);
  const { complaints } = compilation;
  if (complaints.length > 0) {
    throw new CatalogueError(sortComplaints(definitions, complaints));
  }
  return compilation;
}

/** Collects complaints about definitions. */
export class Complaints {
  readonly complaints: string[] = [];

  /** Adds a complaint: what is wrong, and how to fix it. */
  add(complaint: string): void {
    this.complaints.push(complaint);
  }

  /** Runs one step; if it throws, adds its exception as a complaint. */
  attempt(what: string, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.add(`${what}: ${messageOf(error)}`);
    }
  }

  /** @param subjects kinds with names, such as `tool search` */
  checkUnique(subjects: readonly string[]): void {
    const seen = new Set<string>();
    for (const subject of subjects) {
      if (seen.has(subject)) this.add(`${subject}: duplicate name`);
      seen.add(subject);
    }
  }
}

/** The definitions while they are compiled. */
class Compilation extends Complaints {
  readonly tools: CompiledTool[] = [];
  readonly templates: CompiledTemplate[] = [];
  readonly prompts: Prompt[] = [];
  /** The list entries of compiled tools, prompts and resources. */
  readonly listed = new Map<CommonDefinition, JsonObject>();

  constructor(
    private readonly defaults: ToolDefaults,
    readonly additions: ReadonlyMap<CatalogueFeature, CatalogueAddition>,
  ) {
    super();
  }

  addTool(tool: Tool): void {
    this.attempt(`tool ${tool.name}`, () => {
      checkName(tool.name);
      const { compiled, listed } = compileTool(
        { author: tool, ...this.#prepared(tool) },
        this.defaults,
        this.#metaOf,
      );
      this.listed.set(compiled, listed);
      this.tools.push(compiled);
    });
  }

  /** Makes the metadata that features add to a tool's list entry. */
  readonly #metaOf: MetaOf = (tool, listed) =>
    [...this.additions.values()].reduce<JsonObject | undefined>(
      (meta, addition) => {
        const more = addition.addTool?.(tool, listed);
        return more ? { ...meta, ...more } : meta;
      },
      undefined,
    );

  /** Checks that no tool has the name of a task tool of the server. */
  checkTaskTools(): void {
    if (!this.tools.some(wantsTaskTools)) return;
    for (const { name } of this.tools) {
      if (!TASK_TOOLS.has(name)) continue;
      this.add(
        `tool ${name}: is a tool of the server, listed because of a task or a handOver: choose another name, or set handOver: 0 for the server and every tool`,
      );
    }
  }

  /** Returns a definition as the features prepare it. */
  #prepared<T extends Tool | Resource | Prompt>(item: T): T {
    return [...this.additions.values()].reduce(
      (it, addition) => addition.prepare?.(it) ?? it,
      item,
    );
  }

  addResource(given: Resource): void {
    const { uri } = given;
    this.attempt(`resource ${uri}`, () => {
      const resource = this.#prepared(given);
      if (isTemplate(uri)) {
        this.templates.push({ resource, template: parseUriTemplate(uri) });
        this.listed.set(resource, templateEntry(resource));
      } else if (URL.canParse(uri)) {
        this.listed.set(resource, resourceEntry(resource));
      } else {
        throw new Error("is not a URI");
      }
    });
  }

  addPrompt(given: Prompt): void {
    this.attempt(`prompt ${given.name}`, () => {
      checkName(given.name);
      const prompt = this.#prepared(given);
      this.prompts.push(prompt);
      checkArguments(prompt);
      this.listed.set(prompt, promptEntry(prompt));
    });
  }

  /**
   * Compiles the features' own definitions, and makes the list entries of their
   * resources.
   */
  addAdditions(definitions: ServerDefinitions): void {
    for (const addition of this.additions.values()) {
      addition.addDefinitions?.(definitions, this);
      for (const resource of addition.resources) {
        this.listed.set(resource, resourceEntry(resource));
      }
    }
  }
}

/** Checks the name of a tool or a prompt (MCP 2026-07-28, Tool Names). */
function checkName(name: string): void {
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) {
    throw new Error(
      "a name must have 1 to 128 characters of A-Z, a-z, 0-9, _, - and .",
    );
  }
}
