/**
 * A tool, checked and compiled once for all of its calls.
 *
 * @module
 */
import type { Context } from "../../authoring/context.ts";
import { checkDurable, durableOf } from "../../authoring/durable.ts";
import type { Tool } from "../../authoring/tool.ts";
import { checkLimit } from "../../authoring/tool_limit.ts";
import type { JsonObject } from "../../json.ts";
import type { ParamHeader } from "../wire/headers.ts";
import { paramHeadersOf } from "../wire/json_schema.ts";
import {
  type ListedTool,
  listTool,
  withSecuritySchemes,
} from "./descriptions.ts";
import { type CompiledView, viewMetaOf } from "./view_resource.ts";

/** A tool that finds in its context what it declared it needs. */
export interface ProvidedTool extends Tool {
  /** The tool as its author declared it; absent: this one. */
  author?: Tool;
  /** Gives a context what the tool needs; absent: it needs nothing. */
  provide?(context: Context): Context;
}

/** A tool, ready to be called. */
export interface CompiledTool extends ProvidedTool {
  /** The tool as its author declared it. */
  author: Tool;
  /** The JSON Schema of its input, as lists show it. */
  inputSchema: JsonObject;
  paramHeaders: readonly ParamHeader[];
  /** True if the output is an object: 2025 clients know no other. */
  hasObjectOutput: boolean;
  compiledView?: CompiledView;
  /** The time after which a call is handed over; 0: never. */
  handOverMilliseconds: number;
}

/** The facts of a server by which its tools are compiled. */
export interface ToolDefaults {
  /** True if callers may be strangers, who sign in for some tools. */
  anonymous: boolean;
  /** The seconds after which a call of a tool that names none is handed over. */
  handOver: number;
}

/** The default in seconds: some clients end a call after a minute. */
export const HAND_OVER_SECONDS = 45;

/**
 * Compiles a tool, and makes its entry in `tools/list`.
 *
 * @throws {Error} for what clients would refuse, or an option that is wrong
 */
export function compileTool(
  tool: ProvidedTool,
  viewOf: () => CompiledView | undefined,
  defaults: ToolDefaults,
): { compiled: CompiledTool; listed: ListedTool } {
  if (tool.limit) checkLimit(tool.limit);
  const durable = durableOf(tool);
  if (durable) checkDurable(durable);
  if (tool.handOver !== undefined) checkHandOver(tool.handOver);
  const compiledView = viewOf();
  const viewMeta = viewMetaOf(tool, compiledView?.resource.uri);
  const plain = listTool(tool, viewMeta);
  const listed = defaults.anonymous
    ? withSecuritySchemes(plain, tool.scopes)
    : plain;
  const { inputSchema } = listed;
  const hasObjectOutput = listed.outputSchema?.type === "object";
  if (compiledView && !hasObjectOutput) {
    throw new Error("a tool with a view must have an object as its output");
  }
  const compiled = {
    ...tool,
    author: tool.author ?? tool,
    inputSchema,
    paramHeaders: paramHeadersOf(inputSchema),
    hasObjectOutput,
    compiledView,
    handOverMilliseconds: (tool.handOver ?? defaults.handOver) * 1000,
  };
  return { compiled, listed };
}

/** @throws {Error} unless it is a time after which a call may be handed over */
export function checkHandOver(seconds: number): void {
  if (Number.isFinite(seconds) && seconds >= 0) return;
  throw new Error("handOver must be a number of seconds, or 0 for never");
}
