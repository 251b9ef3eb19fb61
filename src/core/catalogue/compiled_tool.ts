/**
 * Compiles tools once for all calls. Names the server's own two tools, by which
 * a client without support for tasks asks about a call that became a task.
 * @module
 */
import type { Context } from "../../authoring/context.ts";
import type { Tool } from "../../authoring/tool.ts";
import type { JsonObject } from "../json.ts";
import type { ParamHeader } from "../protocol/headers.ts";
import { paramHeadersOf } from "../protocol/json_schema.ts";
import { TASK_CANCEL, TASK_STATUS } from "../protocol/not_yet.ts";
import {
  type ListedTool,
  listTool,
  withSecuritySchemes,
} from "./descriptions.ts";

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
  const own = listTool(tool);
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
export function mayOutlast(
  { handOverMilliseconds }: { handOverMilliseconds: number },
): boolean {
  return handOverMilliseconds > 0;
}

/** True if clients need the server's own task tools for this tool. */
export function wantsTaskTools(
  tool: Pick<CompiledTool, "handOverMilliseconds" | "isDeclaredLong">,
): boolean {
  return mayOutlast(tool) && tool.isDeclaredLong;
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
