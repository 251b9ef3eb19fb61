/**
 * Authors' definitions, checked and compiled one by one: for calls, and for
 * lists.
 *
 * @module
 */
import type { Context, Described } from "../../authoring/context.ts";
import { durableComplaint, durableOf } from "../../authoring/durable.ts";
import { messageOf } from "../../thrown.ts";
import type { Prompt } from "../../authoring/prompt.ts";
import type { Resource } from "../../authoring/resource.ts";
import type { Skill } from "../../authoring/skill.ts";
import type { Tool } from "../../authoring/tool.ts";
import {
  HAND_OVER_SECONDS,
  handOverComplaint,
} from "../../authoring/hand_over.ts";
import { limitComplaint } from "../../authoring/tool_limit.ts";
import type { JsonObject } from "../../json.ts";
import {
  listPrompt,
  listResource,
  listTemplate,
  listTool,
  withSecuritySchemes,
} from "./descriptions.ts";
import type { ParamHeader } from "../wire/headers.ts";
import { paramHeadersOf } from "../wire/json_schema.ts";
import { argumentComplaint } from "../wire/prompt_arguments.ts";
import { type CompiledSkill, compileSkill } from "./skill_manifest.ts";
import {
  isTemplate,
  parseUriTemplate,
  type UriTemplate,
} from "./uri_template.ts";
import { mayOutlast, TASK_TOOLS } from "./task_tools.ts";
import { type CompiledView, compileView, viewMetaOf } from "./view_resource.ts";

/** A tool that finds in its context what it declared it needs. */
export interface ProvidedTool extends Tool {
  /** The tool as its author declared it; absent: this one. */
  author?: Tool;
  /** Gives a context what the tool needs; absent: it needs nothing. */
  provide?(context: Context): Context;
}

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

/** A tool, ready to be called. */
export interface CompiledTool extends ProvidedTool {
  /** The tool as its author declared it. */
  author: Tool;
  /** The JSON Schema of its input, as lists show it. */
  inputSchema: JsonObject;
  paramHeaders: readonly ParamHeader[];
  /**
   * True if the output is an object: 2025 clients know no other structured
   * results.
   */
  hasObjectOutput: boolean;
  compiledView?: CompiledView;
  /** The time after which a call is handed over; 0: never. */
  handOverMilliseconds: number;
}

/** A family of resources, ready to be matched. */
export interface CompiledTemplate {
  template: UriTemplate;
  resource: Resource;
}

/** Definitions, ready to be served. */
export interface CompiledDefinitions {
  tools: readonly CompiledTool[];
  views: readonly CompiledView[];
  templates: readonly CompiledTemplate[];
  skills: readonly CompiledSkill[];
  /**
   * The entries of lists by definition; prompts and plain resources are their
   * own.
   */
  listed: ReadonlyMap<Described, JsonObject>;
}

/** The faults of a set of definitions. */
export class CatalogueError extends Error {
  /** The name of the class. */
  override name = "CatalogueError";
  /** Tells every complaint, one to a line. */
  constructor(readonly complaints: readonly string[]) {
    super(["These definitions need fixing:", ...complaints].join("\n  "));
  }
}

/**
 * Compiles definitions.
 *
 * @param options `anonymous`: true if callers may be strangers, who sign in for
 * some tools; `handOver`: the seconds of tools that name none
 * @throws {CatalogueError} with every complaint at once: names that are there
 * twice or have illegal characters, schemas JSON Schema cannot express,
 * templates that cannot be matched
 */
export function compileDefinitions(
  { tools = [], resources = [], prompts = [], skills = [] }: Definitions,
  { anonymous, handOver = HAND_OVER_SECONDS }: {
    anonymous: boolean;
    handOver?: number;
  },
): CompiledDefinitions {
  const complaints: string[] = [];
  const complaint = handOverComplaint(handOver);
  if (complaint !== undefined) complaints.push(complaint);
  /** Runs one step of the compilation and keeps what it complains about. */
  const attempt = <T>(what: string, step: () => T): T | undefined => {
    try {
      return step();
    } catch (error) {
      complaints.push(`${what}: ${messageOf(error)}`);
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
      const durable = durableOf(tool);
      const durableFault = durable && durableComplaint(durable);
      if (durableFault !== undefined) throw new Error(durableFault);
      const seconds = tool.handOver ?? handOver;
      const fault = handOverComplaint(seconds);
      if (tool.handOver !== undefined && fault) throw new Error(fault);
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
        author: (tool as ProvidedTool).author ?? tool,
        inputSchema: listedTool.inputSchema,
        paramHeaders: paramHeadersOf(listedTool.inputSchema),
        hasObjectOutput: listedTool.outputSchema?.type === "object",
        compiledView,
        handOverMilliseconds: seconds * 1000,
      };
      if (compiledView && !compiled.hasObjectOutput) {
        throw new Error("a tool with a view must have an object as its output");
      }
      listed.set(compiled, listedTool);
      compiledTools.push(compiled);
    });
  }
  /** Compiles a tool's view; a view of several tools is one resource. */
  function viewOf(tool: Tool): CompiledView | undefined {
    if (tool.view === undefined) return undefined;
    let compiled = compiledViews.get(tool.view);
    if (compiled) return compiled;
    compiled = compileView(tool, tool.view);
    compiledViews.set(tool.view, compiled);
    listed.set(compiled.resource, listResource(compiled.resource));
    return compiled;
  }

  for (const { name } of compiledTools) {
    if (TASK_TOOLS.has(name) && compiledTools.some(mayOutlast)) {
      complaints.push(
        `tool ${name}: is the name of a tool of the server, for calls that are handed over: choose another, or set handOver: 0 for the server and every tool`,
      );
    }
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
      const complaint = argumentComplaint(prompt);
      if (complaint !== undefined) throw new Error(complaint);
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
  return {
    tools: compiledTools,
    views: [...compiledViews.values()],
    templates,
    skills: compiledSkills,
    listed,
  };
}

/**
 * Reads the name of a skill from its front matter; undefined if that is
 * unreadable.
 */
function nameOf({ frontmatter }: Skill): unknown {
  try {
    return frontmatter().name;
  } catch {
    return undefined;
  }
}

/**
 * Checks a name by MCP 2026-07-28, Tools, Tool Names; prompts follow the same
 * rule.
 */
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
