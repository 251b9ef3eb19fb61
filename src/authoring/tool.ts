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
import type { AccountNeeds } from "./account.ts";
import { TOOL_APPROVAL, type ToolApproval } from "./approval.ts";
import { type CommonDefinition, type Context, DESCRIBED } from "./context.ts";
import { DURABLE, type DurableTask } from "./durable.ts";
import { NEEDS } from "./oauth_account.ts";
import * as kinds from "./options.ts";
import type { ResultWith } from "./result.ts";
import type { MaybePromise, Services } from "./service.ts";
import type { SettingSchemas } from "./setting.ts";
import { INPUT, OUTPUT, type SchemaOf, schemaOf, type Shape } from "./shape.ts";
import type { ToolView, ViewSample } from "./tool_view.ts";

export type {
  CallToolResult,
  ContentBlock,
  ToolAnnotations,
} from "@modelcontextprotocol/server";

/**
 * A failure that the model should read: what went wrong and what to do instead.
 * Of any other exception, the model gets only an error ID; the log has the
 * exception under that ID.
 */
export class ToolError extends Error {
  /** The name of the class. */
  override name = "ToolError";
}

/** The result of a tool without `output`: text, content blocks, or a result. */
export type ToolContent =
  | string
  | ContentBlock
  | ContentBlock[]
  | CallToolResult;

/** The type that `run` returns; an `output` schema `O` decides it. */
export type RunReturn<O> = [O] extends [z.ZodType | Shape]
  ? OutputReturn<z.input<SchemaOf<O>>>
  : MaybePromise<ToolContent>;

/**
 * The `output` data of a tool, alone or from `result()`, or a promise of it.
 */
export type OutputReturn<T> =
  | T
  | Promise<T>
  | ResultWith<T>
  | Promise<T | ResultWith<T>>;

/** A tool as its author writes it. */
export interface ToolDefinition<
  I extends z.ZodObject | Shape = z.ZodObject,
  O extends z.ZodType | Shape | undefined = z.ZodType | undefined,
  P = unknown,
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
  N extends AccountNeeds = AccountNeeds,
> extends CommonDefinition<S, V> {
  /** The arguments: `z.object({ … })`, or its members alone. */
  input?: I;
  /**
   * The output's schema. If absent, the result is text, content blocks, or a
   * whole result.
   */
  output?: O;
  /**
   * Services at which the tool uses the caller's own accounts. The person is
   * asked for missing accounts before anything runs.
   */
  needs?: N;
  /** The approval that a person gives on a page before the tool runs. */
  approval?: ToolApproval<z.output<SchemaOf<I>>>;
  /** Hints for clients, which need not trust them. */
  annotations?: ToolAnnotations;
  /**
   * Runs the tool as a task. For clients without tasks, `optional` runs in the
   * request; `required` begins a task, which the client can ask about (with
   * `handOver: 0` such clients are refused). `{ durable: true }` is `required`
   * for work that survives its process.
   */
  task?: "optional" | "required" | DurableTask;
  /**
   * The seconds after which a running call becomes a task; by default the
   * server's, or 45. With this or `task`, clients without tasks get the tools
   * `task_status` and `task_cancel`.
   */
  handOver?: number;
  /** Accepts each answer to `ask` once. */
  singleUse?: boolean;
  /** Limits the calls of one caller, within the caller's overall limit. */
  limit?: ToolLimit;
  /**
   * The intended callers: models, views (`app`), by default both. This protects
   * nothing: clients without MCP Apps ignore it.
   */
  visibility?: readonly ("model" | "app")[];
  /**
   * The view that clients with MCP Apps show: an HTML document, alone or with
   * the origins and permissions it needs. Requires `output`.
   */
  view?: undefined extends O ? undefined : string | ToolView;
  /** Calls with which the development page shows the view. */
  samples?: Readonly<
    Record<
      string,
      ViewSample<z.input<SchemaOf<I>>, z.input<SchemaOf<NonNullable<O>>>>
    >
  >;
  /**
   * Runs in the request, before a task begins, so it may still ask the client.
   * Returns JSON, which is passed to `run`.
   */
  prepare?(
    input: z.output<SchemaOf<I>>,
    context: Context<S, V, N>,
  ): MaybePromise<P>;
  /** Does the work; `prepared` is what `prepare` returned. */
  run(
    input: z.output<SchemaOf<I>>,
    context: Context<S, V, N>,
    prepared: P,
  ): RunReturn<O>;
}

/**
 * A tool that {@linkcode tool} made: `I` is the input that callers give, `O`
 * its output. Its type no longer names its settings and services.
 */
export interface Tool<I = unknown, O = unknown> extends
  Omit<
    ToolDefinition,
    "input" | "output" | "view" | "samples" | "prepare" | "run" | "approval"
  > {
  /** Distinguishes a tool from a resource and a prompt. */
  readonly kind: "tool";
  /** Only for the compiler: the member never exists. */
  readonly _types?: { input: I; output: O };
  /** The arguments' schema. */
  input?: z.ZodObject;
  /** The schema of the result. */
  output?: z.ZodType;
  /** The approval that a person gives before the tool runs. */
  approval?: ToolApproval;
  /** The view that clients with MCP Apps show. */
  view?: string | ToolView;
  /** Calls with which the development page shows the view. */
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
  I extends z.ZodObject | Shape = z.ZodObject<Record<never, never>>,
  P = undefined,
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
  N extends AccountNeeds = Record<never, never>,
>(
  definition: ToolDefinition<I, undefined, P, S, V, N>,
): Tool<z.input<SchemaOf<I>>>;
/** Declares a tool whose result has a schema. */
export function tool<
  O extends z.ZodType | Shape,
  I extends z.ZodObject | Shape = z.ZodObject<Record<never, never>>,
  P = undefined,
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
  N extends AccountNeeds = Record<never, never>,
>(
  definition: ToolDefinition<I, O, P, S, V, N> & { output: O },
): Tool<z.input<SchemaOf<I>>, z.output<SchemaOf<O>>>;
export function tool(definition: ToolDefinition): Tool {
  const { input, output, ...members } = kinds.membersOf(TOOL, definition);
  return {
    kind: "tool",
    ...members,
    input: schemaOf(input),
    output: schemaOf(output),
  } as unknown as Tool;
}

/**
 * A limit on the calls of a tool by one caller, or with `shared` by all callers
 * together. A model that calls more often is told when to try again.
 */
export interface ToolLimit {
  /** The maximum number of calls per minute, which may all be made at once. */
  callsPerMinute?: number;
  /**
   * The maximum number of calls and running tasks at the same time in one
   * process.
   */
  callsAtOnce?: number;
  /** True if all callers share the limit. */
  shared?: boolean;
}

/** The options of {@linkcode ToolLimit}. */
export const TOOL_LIMIT = {
  callsPerMinute: kinds.countFrom(1),
  callsAtOnce: kinds.countFrom(1),
  shared: kinds.FLAG,
} satisfies kinds.Members<ToolLimit>;

/** The options of {@linkcode ToolAnnotations}. */
export const TOOL_ANNOTATIONS = {
  title: kinds.TEXT,
  readOnlyHint: kinds.FLAG,
  destructiveHint: kinds.FLAG,
  idempotentHint: kinds.FLAG,
  openWorldHint: kinds.FLAG,
} satisfies kinds.Members<ToolAnnotations>;

/** The seconds after which a call becomes a task. */
export const HAND_OVER: kinds.Kind<number> = kinds.numberFrom(
  "a number of seconds, or 0 for never",
  0,
);

const ORIGINS = kinds.list(kinds.TEXT, "origins");

/** The options of {@linkcode ToolView}. */
export const TOOL_VIEW = {
  html: kinds.required(kinds.TEXT),
  border: kinds.FLAG,
  connect: ORIGINS,
  load: ORIGINS,
  frames: ORIGINS,
  permissions: kinds.list(
    kinds.choice("camera", "microphone", "geolocation", "clipboard-write"),
    "permissions",
  ),
  domain: kinds.TEXT,
} satisfies kinds.Members<ToolView>;

/** The options of {@linkcode ViewSample}. */
export const VIEW_SAMPLE = {
  input: kinds.required(kinds.JSON_OBJECT),
  data: kinds.JSON_OBJECT,
  meta: kinds.JSON_OBJECT,
} satisfies kinds.Members<ViewSample>;

/** The options of {@linkcode tool}. */
export const TOOL = {
  ...DESCRIBED,
  input: INPUT,
  output: OUTPUT,
  needs: NEEDS,
  approval: kinds.object<ToolApproval>(TOOL_APPROVAL),
  annotations: kinds.object<ToolAnnotations>(TOOL_ANNOTATIONS),
  task: {
    ...kinds.either(
      kinds.choice("optional", "required"),
      kinds.object<DurableTask>(DURABLE),
    ),
    wants: '"optional", "required" or { durable: true }',
  },
  handOver: HAND_OVER,
  singleUse: kinds.FLAG,
  limit: kinds.object<ToolLimit>(TOOL_LIMIT),
  visibility: kinds.list(kinds.choice("model", "app"), '"model" and "app"'),
  view: kinds.either(kinds.TEXT, kinds.object<ToolView>(TOOL_VIEW)),
  samples: kinds.recordOf(
    kinds.object<ViewSample>(VIEW_SAMPLE),
    "an object of samples by their titles",
  ),
  prepare: kinds.FUNCTION,
  run: kinds.required(kinds.FUNCTION),
} satisfies kinds.Members<Omit<Tool, "kind" | "_types">>;
