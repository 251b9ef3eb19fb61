/**
 * Authors' definitions, checked and compiled one by one: for calls, and for
 * lists.
 *
 * @module
 */
import type { AccountNeeds } from "../../authoring/account.ts";
import type { Described } from "../../authoring/context.ts";
import * as kinds from "../../authoring/options.ts";
import { PROMPT, type Prompt } from "../../authoring/prompt.ts";
import { RESOURCE, type Resource } from "../../authoring/resource.ts";
import { SCOPES } from "../../authoring/scope.ts";
import type { Skill } from "../../authoring/skill.ts";
import { TOOL, type Tool } from "../../authoring/tool.ts";
import type { JsonObject } from "../json.ts";
import { messageOf } from "../thrown.ts";
import { checkArguments } from "../protocol/json_schema.ts";
import {
  checkResourceNeeds,
  withAccountArgument,
} from "../../features/accounts/account_needs.ts";
import {
  type CompiledTool,
  compileTool,
  TASK_TOOLS,
  type ToolDefaults,
  wantsTaskTools,
} from "./compiled_tool.ts";
import { listPrompt, listResource, listTemplate } from "./descriptions.ts";
import {
  type CompiledSkill,
  compileSkill,
} from "../../features/skills/skill_manifest.ts";
import {
  isTemplate,
  parseUriTemplate,
  type UriTemplate,
} from "./uri_template.ts";
import {
  type CompiledView,
  compileView,
} from "../../features/views/view_resource.ts";

/** The definitions of a server, as its authors wrote them. */
export interface Definitions {
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
  scopes: SCOPES,
} satisfies kinds.Members<Omit<Skill, "kind" | "frontmatter">>;

/** The options of {@linkcode Definitions}. */
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
} satisfies kinds.Members<Definitions>;

/** A family of resources, ready to be matched. */
export interface CompiledTemplate {
  template: UriTemplate;
  resource: Resource;
}

/** Thrown for a set of definitions with faults. */
export class CatalogueError extends Error {
  /** The name of the class. */
  override name = "CatalogueError";
  /** Makes the message from the complaints, one on each line. */
  constructor(readonly complaints: readonly string[]) {
    super(["These definitions need fixing:", ...complaints].join("\n  "));
  }
}

/**
 * Compiles definitions.
 *
 * @throws {CatalogueError} with every complaint at once: names that are there
 * twice or have illegal characters, schemas JSON Schema cannot express,
 * templates that cannot be matched
 */
export function compileDefinitions(
  { tools = [], resources = [], prompts = [], skills = [] }: Definitions,
  defaults: ToolDefaults,
): Compilation {
  const compilation = new Compilation(defaults);
  compilation.checkUnique("tool", tools);
  compilation.checkUnique("prompt", prompts);
  compilation.checkUnique("resource", resources, ({ uri }) => uri);
  compilation.checkServices([...tools, ...resources, ...prompts]);
  for (const tool of tools) compilation.addTool(tool);
  compilation.checkTaskTools();
  for (const resource of resources) compilation.addResource(resource);
  for (const prompt of prompts) compilation.addPrompt(prompt);
  skills.forEach((skill, index) => compilation.addSkill(skill, index + 1));
  compilation.checkUnique("skill", compilation.skills);
  compilation.checkSkillFiles(resources);
  const { complaints } = compilation;
  if (complaints.length > 0) throw new CatalogueError(complaints);
  return compilation;
}

/** Definitions, ready to be served, and all that is wrong with them. */
class Compilation {
  readonly complaints: string[] = [];
  readonly tools: CompiledTool[] = [];
  readonly templates: CompiledTemplate[] = [];
  readonly prompts: Prompt[] = [];
  readonly skills: CompiledSkill[] = [];
  /** The list entries by their item: compiled tool, prompt or resource. */
  readonly listed = new Map<Described, JsonObject>();
  readonly views = new Map<Tool["view"], CompiledView>();

  constructor(private readonly defaults: ToolDefaults) {}

  /** Runs one step, and adds its exception to the complaints. */
  attempt(what: string, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.complaints.push(`${what}: ${messageOf(error)}`);
    }
  }

  /** Checks that a name of a service means one service everywhere. */
  checkServices(items: readonly { needs?: AccountNeeds }[]): void {
    const needs = items.flatMap(({ needs }) => Object.values(needs ?? {}));
    for (const need of new Set(needs)) {
      if (needs.find(({ name }) => name === need.name) === need) continue;
      this.complaints.push(
        `the service "${need.name}" is declared twice. Declare it once, in a ` +
          "file that both import",
      );
    }
  }

  checkUnique<T extends Described>(
    kind: string,
    items: readonly T[],
    nameOf: (item: T) => string = ({ name }) => name,
  ): void {
    const seen = new Set<string>();
    for (const item of items) {
      const name = nameOf(item);
      if (seen.has(name)) {
        this.complaints.push(`${kind} ${name}: duplicate name`);
      }
      seen.add(name);
    }
  }

  addTool(tool: Tool): void {
    this.attempt(`tool ${tool.name}`, () => {
      checkName(tool.name);
      const { compiled, listed } = compileTool(
        tool,
        () => this.#viewOf(tool),
        this.defaults,
      );
      this.listed.set(compiled, listed);
      this.tools.push(compiled);
    });
  }

  /** Compiles a tool's view. Tools with the same view share one resource. */
  #viewOf(tool: Tool): CompiledView | undefined {
    if (tool.view === undefined) return undefined;
    let compiled = this.views.get(tool.view);
    if (compiled) return compiled;
    compiled = compileView(tool, tool.view);
    this.views.set(tool.view, compiled);
    this.listed.set(compiled.resource, listResource(compiled.resource));
    return compiled;
  }

  /** Checks that no tool takes the place of one of the server's own. */
  checkTaskTools(): void {
    if (!this.tools.some(wantsTaskTools)) return;
    for (const { name } of this.tools) {
      if (!TASK_TOOLS.has(name)) continue;
      this.complaints.push(
        `tool ${name}: is a tool of the server, listed because of a task or a handOver: choose another name, or set handOver: 0 for the server and every tool`,
      );
    }
  }

  addResource(resource: Resource): void {
    const { uri } = resource;
    this.attempt(`resource ${uri}`, () => {
      checkResourceNeeds(resource);
      if (isTemplate(uri)) {
        this.templates.push({ resource, template: parseUriTemplate(uri) });
        this.listed.set(resource, listTemplate(resource));
      } else if (URL.canParse(uri)) {
        this.listed.set(resource, listResource(resource));
      } else {
        throw new Error("is not a URI");
      }
    });
  }

  addPrompt(given: Prompt): void {
    this.attempt(`prompt ${given.name}`, () => {
      checkName(given.name);
      const args = withAccountArgument(given.needs, given.args);
      const prompt = { ...given, args };
      this.prompts.push(prompt);
      checkArguments(prompt);
      this.listed.set(prompt, listPrompt(prompt));
    });
  }

  addSkill(skill: Skill, position: number): void {
    this.attempt(`skill ${nameOf(skill) ?? position}`, () => {
      this.skills.push(compileSkill(skill));
    });
  }

  /** Makes the list entries of the files of skills: URIs of their own. */
  checkSkillFiles(resources: readonly Resource[]): void {
    for (const file of this.skills.flatMap(({ resources }) => resources)) {
      this.listed.set(file, listResource(file));
      if (resources.some(({ uri }) => uri === file.uri)) {
        this.complaints.push(`resource ${file.uri}: is a file of a skill`);
      }
    }
  }
}

/** Reads the name of a skill; undefined if its front matter is unreadable. */
function nameOf({ frontmatter }: Skill): unknown {
  try {
    return frontmatter().name;
  } catch {
    return undefined;
  }
}

/** Checks the name of a tool (MCP 2026-07-28, Tool Names) or a prompt. */
function checkName(name: string): void {
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) {
    throw new Error(
      "a name must have 1 to 128 characters of A-Z, a-z, 0-9, _, - and .",
    );
  }
}
