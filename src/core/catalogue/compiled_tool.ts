/**
 * Compiles tools once for all calls, and parses their arguments. Zod lists
 * every fault of a value, and ten thousand faults would block all other
 * requests for a while, so only the first ones are looked for.
 *
 * @module
 */
import * as z from "zod";
import type { Context } from "../../authoring/context.ts";
import type { Tool } from "../../authoring/tool.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { ParamHeader } from "../protocol/request_meta.ts";
import {
  namesInherited,
  paramHeadersOf,
  parseBy,
  type Parsed,
  withoutPrototype,
} from "../protocol/json_schema.ts";
import { TASK_CANCEL, TASK_STATUS } from "../protocol/not_yet.ts";
import {
  type ListedTool,
  toolEntry,
  withSecuritySchemes,
} from "./descriptions.ts";
import { MAX_ISSUES } from "../protocol/results.ts";

/** A tool whose context has the settings and services that it declared. */
export interface ProvidedTool extends Tool {
  /** The tool as its author declared it; undefined if nothing was added. */
  author?: Tool;
  /** Adds the tool's settings and services to a context, if it declares any. */
  provide?(context: Context): Context;
}

export interface CompiledTool extends ProvidedTool {
  author: Tool;
  /** The JSON Schema of its input, as lists show it. */
  inputSchema: JsonObject;
  paramHeaders: readonly ParamHeader[];
  /**
   * True if the output is an object, the only structured output in MCP 2025.
   */
  hasObjectOutput: boolean;
  /** The time after which a call becomes a task; 0 means never. */
  handOverMilliseconds: number;
  /** True if the tool's `task` or `handOver` declares that it may take long. */
  isDeclaredLong: boolean;
}

/** The options of a server that apply to its tools. */
export interface ToolDefaults {
  /**
   * True if some callers may be anonymous, and have to sign in for some tools.
   */
  anonymous: boolean;
  /** The default of `handOver`, in seconds. */
  handOver?: number;
}

/** Makes metadata for a tool's list entry; undefined for none. */
export type MetaOf = (tool: Tool, listed: ListedTool) => JsonObject | undefined;

/**
 * The default of `handOver`, because some clients end a call after a minute.
 */
const HAND_OVER_SECONDS = 45;

/**
 * Compiles a tool, and makes its entry in `tools/list`.
 * @throws {Error} for a wrong option, or a definition that clients would refuse
 */
export function compileTool(
  tool: ProvidedTool,
  defaults: ToolDefaults,
  metaOf: MetaOf,
): { compiled: CompiledTool; listed: ListedTool } {
  const handOver = tool.handOver ?? defaults.handOver;
  const own = toolEntry(tool);
  const meta = metaOf(tool, own);
  const plain = meta
    ? { ...own, _meta: { ...meta, ...own._meta as JsonObject | undefined } }
    : own;
  const listed = defaults.anonymous
    ? withSecuritySchemes(plain, tool.scopes)
    : plain;
  const { inputSchema } = listed;
  const compiled = {
    ...tool,
    author: tool.author ?? tool,
    inputSchema,
    paramHeaders: paramHeadersOf(inputSchema),
    hasObjectOutput: listed.outputSchema?.type === "object",
    handOverMilliseconds: (handOver ?? HAND_OVER_SECONDS) * 1000,
    isDeclaredLong: tool.task !== undefined || handOver !== undefined,
  };
  return { compiled, listed };
}

const ARGUMENTS = {
  type: "object",
  properties: {
    taskId: { type: "string", description: "The ID of the task." },
  },
  required: ["taskId"],
  additionalProperties: false,
};

const LISTED: readonly ListedTool[] = [
  {
    name: TASK_STATUS,
    title: "Task status",
    description:
      "Gives the result of a tool call that was answered with a task ID, " +
      "because it took long. Waits a while for the end of the task; if it " +
      "still works then, says how far it is: call this tool again.",
    inputSchema: ARGUMENTS,
    annotations: {
      readOnlyHint: true,
      destructiveHint: false,
      openWorldHint: false,
    },
  },
  {
    name: TASK_CANCEL,
    title: "Cancel a task",
    description: "Ends a tool call that was answered with a task ID, and " +
      "whose result is no longer wanted.",
    inputSchema: ARGUMENTS,
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      openWorldHint: false,
    },
  },
];

export const TASK_TOOLS: ReadonlySet<string> = new Set(
  LISTED.map(({ name }) => name),
);

export function listTaskTools(
  { anonymous }: { anonymous: boolean },
): readonly ListedTool[] {
  return anonymous ? LISTED.map((tool) => withSecuritySchemes(tool)) : LISTED;
}

/** True if a call of the tool may become a task. */
export function mayBecomeTask(
  { handOverMilliseconds }: { handOverMilliseconds: number },
): boolean {
  return handOverMilliseconds > 0;
}

/** True if clients need the server's own task tools for this tool. */
export function wantsTaskTools(
  tool: Pick<CompiledTool, "handOverMilliseconds" | "isDeclaredLong">,
): boolean {
  return mayBecomeTask(tool) && tool.isDeclaredLong;
}

/**
 * True if models may call the tool. Other tools can only be called from a view.
 */
export function isForModels({ visibility }: Pick<Tool, "visibility">): boolean {
  return visibility?.includes("model") ?? true;
}

export function isAlwaysTask({ task }: Pick<Tool, "task">): boolean {
  return task !== undefined && task !== "optional";
}

/**
 * The maximum number of messages that Zod may make, which take a few
 * milliseconds.
 */
const MAX_MESSAGES = 1000;

export type ParsedInput = Parsed & {
  /** True if `error` does not list all faults of the value. */
  hasMore?: boolean;
};

type Issue = z.core.$ZodIssue;

/** Thrown to stop a parse. A symbol, because making an error takes time. */
const TOO_MANY = Symbol("too much is wrong");

/** Parses like `parseBy`, but stops after the first faults of a value. */
export function parseInput(
  schema: z.ZodType,
  value: unknown,
): ParsedInput | Promise<Parsed> {
  let left = MAX_MESSAGES;
  const count = () => {
    if (left-- === 0) throw TOO_MANY;
    return undefined;
  };
  try {
    const parsed = schema.safeParse(value, { error: count });
    if (parsed.success) return parsed;
    if (isObject(value) && "toString" in value && namesInherited(schema)) {
      return parseInput(schema, withoutPrototype(value));
    }
    // `error` is read inside `try`: at its first read Zod makes the messages,
    // which may throw.
    return { success: false, error: parsed.error };
  } catch (error) {
    const issues: Issue[] = [];
    if (error === TOO_MANY) collectFaults(schema, value, [], issues);
    // In nested unions, a fault may be reported although another option
    // matches.
    if (issues.length === 0) return parseBy(schema, value);
    const first = new z.ZodError(issues.slice(0, MAX_ISSUES));
    return { success: false, error: first, hasMore: true };
  }
}

/** Collects faults part by part, in Zod's order. */
function collectFaults(
  schema: z.core.$ZodType,
  value: unknown,
  path: readonly PropertyKey[],
  found: Issue[],
): void {
  for (const [name, part, item] of partsOf(schema, value)) {
    const here = name === undefined ? path : [...path, name];
    if (part !== schema) collectFaults(part, item, here, found);
    else found.push(...faultsOf(schema, value, path));
    if (found.length >= MAX_ISSUES) return;
  }
}

/**
 * The name, schema and value of a part of a value. Without a name, the whole
 * value with an inner schema.
 */
type Part = [name: PropertyKey | undefined, z.core.$ZodType, unknown];

/**
 * Yields the parts of a value by its schema; the whole value if the schema has
 * no known parts.
 */
function* partsOf(schema: z.core.$ZodType, value: unknown): Iterable<Part> {
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield [index, schema.element, item];
    }
  } else if (schema instanceof z.ZodObject && isObject(value)) {
    for (const [name, member] of Object.entries(schema.shape)) {
      yield [name, member, value[name]];
    }
  } else if (schema instanceof z.ZodRecord && isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      // Zod skips these keys, so they are no faults.
      const isKey = z.safeParse(schema.keyType, name).success;
      if (name === "__proto__" || !isKey) continue;
      yield [name, schema.valueType, item];
    }
  } else if (schema instanceof z.ZodPipe) {
    yield [undefined, schema.in, value];
  } else if (isWrapper(schema) && value !== undefined && value !== null) {
    yield [undefined, schema.unwrap(), value];
  } else {
    yield [undefined, schema, value];
  }
}

function isWrapper(schema: z.core.$ZodType) {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault || schema instanceof z.ZodReadonly ||
    schema instanceof z.ZodLazy;
}

function faultsOf(
  schema: z.core.$ZodType,
  value: unknown,
  path: readonly PropertyKey[],
): Issue[] {
  try {
    const { error } = z.safeParse(schema, value);
    return error?.issues.map((issue) => ({
      ...issue,
      path: [...path, ...issue.path],
    })) ?? [];
  } catch {
    // The schema is asynchronous, or throws: parsing the whole input shows
    // that.
    return [];
  }
}
