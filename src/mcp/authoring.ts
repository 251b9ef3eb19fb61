/**
 * What the author of a tool, a resource or a prompt imports. One API for both
 * protocol generations: a tool never learns which one its client speaks.
 *
 * @module
 */
import type {
  Annotations,
  CallToolResult,
  ContentBlock,
  CreateMessageRequestParams,
  CreateMessageResult,
  Icon,
  Implementation,
  LoggingLevel,
  PromptMessage,
  Root,
  ToolAnnotations,
} from "@modelcontextprotocol/server";
import type * as z from "zod";
import type { Caller, Upstream } from "../caller.ts";

export type { Caller, Upstream } from "../caller.ts";
export type {
  CallToolResult,
  ContentBlock,
  PromptMessage,
} from "@modelcontextprotocol/server";

/**
 * A failure that the model should read: what went wrong and what to do
 * instead. Any other exception reaches the model as a reference only.
 */
export class ToolError extends Error {
  override name = "ToolError";
}

/** What a person said to {@linkcode Context.ask}. */
export type Answer<T> =
  | { action: "accept"; content: T }
  | { action: "decline" | "cancel" };

/** A question to the person behind the client, as a form or as a page to open. */
export type Question<S extends z.ZodObject = z.ZodObject> =
  & {
    message: string;
    /** Names the question within its call; its place does by default. */
    key?: string;
  }
  & (
    | { schema: S }
    /** A form's JSON Schema, for what Zod has no word for. */
    | { requestedSchema: Record<string, unknown> }
    | { url: string }
  );

/** What a question's answer holds: the form's values, nothing for a page. */
export type AnswerTo<Q> = Q extends { schema: infer S extends z.ZodType }
  ? Answer<z.output<S>>
  : Q extends { url: string } ? Answer<undefined>
  : Answer<Record<string, string | number | boolean | string[]>>;

/** What a client says it is and can do. Self-reported: never a reason to trust. */
export interface Client {
  info?: Implementation;
  capabilities: Readonly<Record<string, unknown>>;
  /** The protocol revision of this request, such as `2025-11-25`. */
  revision: string;
}

/** What can change under a client that listens. */
export type ChangingList = "tools" | "prompts" | "resources";

/**
 * Everything around one call. The members are safe to destructure.
 *
 * The one rule about `ask`, `sample` and `roots`: ask before you act. For some
 * clients the answer arrives with a second request, and the function then runs
 * again from its beginning with the answers at hand.
 */
export interface Context {
  /** Who the call is for. */
  readonly caller: Caller;
  /**
   * The provider's API as the caller.
   *
   * @throws {ToolError} when no provider stands behind the caller
   */
  readonly upstream: Upstream;
  /** Fires when the client cancels, ends its stream, or the server stops. */
  readonly signal: AbortSignal;
  /** Names this request in the log. */
  readonly requestId: string;
  readonly client: Client;
  /** The request's `_meta`, trace context (`traceparent`) included. */
  readonly meta: Readonly<Record<string, unknown>>;
  /**
   * Tells the client how far the work is. Values must grow; one that does not
   * is not sent. Does nothing for a client that did not ask for progress.
   */
  progress(done: number, total?: number, message?: string): Promise<void>;
  /** A log message for the client, sent if it asked for this level. */
  log(level: LoggingLevel, data: unknown, logger?: string): Promise<void>;
  /** Asks the person (elicitation). */
  ask<const Q extends Question>(question: Q): Promise<AnswerTo<Q>>;
  /** Asks the client's model for a completion (sampling). */
  sample(request: CreateMessageRequestParams): Promise<CreateMessageResult>;
  /** The client's root directories. */
  roots(): Promise<Root[]>;
  /** Tells everybody who listens that a resource has changed. */
  resourceUpdated(uri: string): Promise<void>;
  /** Tells everybody who listens that a list has changed. */
  listChanged(list: ChangingList): Promise<void>;
}

type MaybePromise<T> = T | Promise<T>;

/** What people read about a tool, a resource or a prompt. */
export interface Described {
  name: string;
  title?: string;
  description?: string;
  icons?: Icon[];
  /** Scopes a caller must have been granted. */
  scopes?: readonly string[];
  /** Passed through to the client as it stands. */
  _meta?: Record<string, unknown>;
}

/** A tool's answer without an `output` schema: text, blocks, or the whole result. */
export type ToolAnswer =
  | string
  | ContentBlock
  | ContentBlock[]
  | CallToolResult;

/** A function that models can call. */
export interface ToolDefinition<
  I extends z.ZodObject = z.ZodObject,
  O extends z.ZodType = z.ZodType,
> extends Described {
  /** Arguments. Anything else is refused with words the model can act on. */
  input?: I;
  /** The result: checked, sent as `structuredContent` and as its JSON text. */
  output?: O;
  /** Hints for clients; none of them is trusted. */
  annotations?: ToolAnnotations;
  /**
   * Long work as a durable task: `required` refuses clients that know no
   * tasks, `optional` runs it in the request for them.
   */
  task?: "optional" | "required";
  /**
   * Runs in the request, before a task begins: the place to ask what must be
   * known first. `run` is given what it returns, which is JSON.
   */
  prepare?(input: z.output<I>, context: Context): MaybePromise<unknown>;
  /** Answers to `ask` may be used once only: for what must not be repeated. */
  singleUse?: boolean;
  run(
    input: z.output<I>,
    context: Context,
    prepared?: unknown,
  ): MaybePromise<unknown>;
}

/** A compiled-in tool, its types erased. */
export type Tool = { kind: "tool" } & ToolDefinition;

/** Declares a tool. Input and output are typed by their schemas. */
export function tool<
  I extends z.ZodObject = z.ZodObject<Record<never, never>>,
  P = undefined,
>(definition: Runnable<I, undefined, ToolAnswer, P>): Tool;
export function tool<
  O extends z.ZodType,
  I extends z.ZodObject = z.ZodObject<Record<never, never>>,
  P = undefined,
>(definition: Runnable<I, O, z.input<O>, P>): Tool;
export function tool(definition: unknown): Tool {
  return { kind: "tool", ...definition as ToolDefinition };
}

/** A definition whose functions are typed by its schemas. */
type Runnable<I extends z.ZodObject, O, A, P> =
  & Omit<ToolDefinition, "input" | "output" | "prepare" | "run">
  & {
    input?: I;
    prepare?(input: z.output<I>, context: Context): MaybePromise<P>;
    run(
      input: z.output<I>,
      context: Context,
      prepared: P,
    ): MaybePromise<A>;
  }
  & (O extends undefined ? { output?: undefined } : { output: O });

/** The variables of a URI template: `notes://{folder}/{id}` has two. */
export type Variables<U extends string> = U extends
  `${string}{${infer V}}${infer Rest}` ?
    & { readonly [K in Operand<V>]: string }
    & Variables<Rest>
  : unknown;

type Operand<V extends string> = V extends `+${infer Name}` ? Name : V;

/** One resource's content: text, bytes, or contents as the wire has them. */
export type ResourceAnswer = string | Uint8Array | ResourceContents[];

/** Contents as the wire has them; `blob` is base64. */
export interface ResourceContents {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  _meta?: Record<string, unknown>;
}

/** Proposes values for an argument, best first; `known` holds the others so far. */
export type Complete = (
  value: string,
  known: Readonly<Record<string, string>>,
) => MaybePromise<readonly string[]>;

/** Something a client can read by its URI. */
export interface ResourceDefinition<U extends string = string>
  extends Described {
  /** A URI, or an RFC 6570 template with `{name}` and `{+path}` variables. */
  uri: U;
  mimeType?: string;
  annotations?: Annotations;
  /** Size in bytes, where it is known beforehand. */
  size?: number;
  /** How long a client may keep what it read; 0 by default. */
  ttlSeconds?: number;
  /** `public`: the same for every caller. `private` by default. */
  cacheScope?: "public" | "private";
  complete?: { [K in keyof Variables<U>]?: Complete };
  /** Undefined means that there is no such resource. */
  read(
    variables: Variables<U>,
    context: Context,
  ): MaybePromise<ResourceAnswer | undefined>;
}

/** A compiled-in resource, its types erased. */
export type Resource =
  & { kind: "resource" }
  & Omit<ResourceDefinition, "complete" | "read">
  & {
    complete?: Readonly<Record<string, Complete>>;
    read(
      variables: Record<string, string>,
      context: Context,
    ): MaybePromise<ResourceAnswer | undefined>;
  };

/** Declares a resource or a family of them. */
export function resource<const U extends string>(
  definition: ResourceDefinition<U>,
): Resource {
  return { kind: "resource", ...definition } as unknown as Resource;
}

/** A prompt's answer: one user message as text, or the messages. */
export type PromptAnswer = string | PromptMessage | PromptMessage[];

/** A conversation opener that a person can pick. */
export interface PromptDefinition<A extends z.ZodObject = z.ZodObject>
  extends Described {
  /** Arguments; on the wire each is a string. */
  args?: A;
  complete?: { [K in keyof z.output<A>]?: Complete };
  get(args: z.output<A>, context: Context): MaybePromise<PromptAnswer>;
}

/** A compiled-in prompt, its types erased. */
export type Prompt = { kind: "prompt" } & PromptDefinition;

/** Declares a prompt. */
export function prompt<
  A extends z.ZodObject = z.ZodObject<Record<never, never>>,
>(definition: PromptDefinition<A>): Prompt {
  return { kind: "prompt", ...definition } as unknown as Prompt;
}
