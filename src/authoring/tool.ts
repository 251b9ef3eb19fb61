/**
 * Tools: functions that models can call.
 *
 * @module
 */
import type {
  CallToolResult,
  ContentBlock,
  ToolAnnotations,
} from "@modelcontextprotocol/server";
import type * as z from "zod";
import type { Context, Described } from "./context.ts";
import type { ResultWith } from "./result.ts";
import type { MaybePromise } from "./service.ts";
import type { Services } from "./service.ts";
import type { SettingSchemas } from "./setting.ts";
import type { ToolLimit } from "./tool_limit.ts";
import type { ToolView, ViewSample } from "./tool_view.ts";

export type {
  CallToolResult,
  ContentBlock,
  ToolAnnotations,
} from "@modelcontextprotocol/server";

/**
 * A failure that the model should read: what went wrong and what to do
 * instead. Of any other exception the model sees an error ID only; the log
 * has the rest under that ID.
 */
export class ToolError extends Error {
  /** The name of the class. */
  override name = "ToolError";
}

/** A tool's answer without an `output` schema: text, blocks, or the whole result. */
export type ToolAnswer =
  | string
  | ContentBlock
  | ContentBlock[]
  | CallToolResult;

/** The members of every tool definition. */
export interface ToolDescription<
  I extends z.ZodObject = z.ZodObject,
  P = unknown,
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends Described<S, V> {
  /** Arguments. Anything else is refused with words the model can act on. */
  input?: I;
  /** Hints for clients; none of them is trusted. */
  annotations?: ToolAnnotations;
  /**
   * Long work as a durable task: `required` refuses clients without support
   * for tasks, `optional` runs it in the request for them.
   */
  task?: "optional" | "required";
  /**
   * Accepts each answer to `ask` only once: for actions that must not be
   * repeated.
   */
  singleUse?: boolean;
  /**
   * The calls that one caller may make; by default only the caller's overall
   * limit applies.
   */
  limit?: ToolLimit;
  /**
   * The callers: models, views (`app`), by default both. A client without MCP
   * Apps ignores this, so it is no permission.
   */
  visibility?: readonly ("model" | "app")[];
  /**
   * Runs in the request, before a task begins: the place for questions whose
   * answers the task needs. `run` is given what it returns, which must be JSON.
   */
  prepare?(input: z.output<I>, context: Context<S, V>): MaybePromise<P>;
}

/** A tool that answers with text, blocks, or a whole result. */
export interface PlainTool<
  I extends z.ZodObject = z.ZodObject,
  P = unknown,
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends ToolDescription<I, P, S, V> {
  /** Absent: the answer has no schema. */
  output?: undefined;
  /** Absent: a view needs an `output`. */
  view?: undefined;
  /** Absent: samples belong to a view. */
  samples?: undefined;
  /** Does the work; `prepared` is what `prepare` returned. */
  run(
    input: z.output<I>,
    context: Context<S, V>,
    prepared: P,
  ): MaybePromise<ToolAnswer>;
}

/** A tool whose answer has a schema. */
export interface StructuredTool<
  I extends z.ZodObject = z.ZodObject,
  O extends z.ZodType = z.ZodType,
  P = unknown,
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends ToolDescription<I, P, S, V> {
  /** The result: checked, sent as `structuredContent` and as its JSON text. */
  output: O;
  /**
   * The view that clients with MCP Apps show: an HTML document, alone or with
   * the origins and permissions it needs.
   */
  view?: string | ToolView;
  /** Calls to look at while you write the view, by what people call them. */
  samples?: Readonly<Record<string, ViewSample<z.input<I>, z.input<O>>>>;
  /** Does the work; `prepared` is what `prepare` returned. */
  run(
    input: z.output<I>,
    context: Context<S, V>,
    prepared: P,
  ): MaybePromise<z.input<O> | ResultWith<z.input<O>>>;
}

/**
 * A declared tool: `I` is the input that callers give, `O` its output. The
 * types of its settings and services are erased.
 */
export interface Tool<I = unknown, O = unknown>
  extends Omit<ToolDescription, "prepare"> {
  /** Tells a tool from a resource and a prompt. */
  readonly kind: "tool";
  /** Only for the compiler: the member never exists. */
  readonly _types?: { input: I; output: O };
  /** The answer's schema. */
  output?: z.ZodType;
  /** The view that clients with MCP Apps show. */
  view?: string | ToolView;
  /** Calls to look at while the view is written. */
  samples?: Readonly<Record<string, ViewSample>>;
  /** Runs in the request, before a task begins. */
  prepare?(input: unknown, context: Context): unknown;
  /** Does the work. */
  run(input: unknown, context: Context, prepared?: unknown): unknown;
}

/**
 * Declares a tool. Input and output are typed by their schemas.
 *
 * @example
 * ```ts
 * import { tool, z } from "@tool-server/tool-server";
 *
 * const add = tool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => `${a + b}`,
 * });
 * ```
 */
export function tool<
  I extends z.ZodObject = z.ZodObject<Record<never, never>>,
  O extends z.ZodType = z.ZodType,
  P = undefined,
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
>(
  definition: PlainTool<I, P, S, V> | StructuredTool<I, O, P, S, V>,
): Tool<z.input<I>, z.output<O>> {
  return { kind: "tool", ...definition } as unknown as Tool<
    z.input<I>,
    z.output<O>
  >;
}
