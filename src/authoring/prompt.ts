/**
 * Prompts: conversation openers that a person can pick.
 *
 * @module
 */
import type { PromptMessage } from "@modelcontextprotocol/server";
import type * as z from "zod";
import type { AccountNeeds } from "./account.ts";
import { type CommonDefinition, type Context, DESCRIBED } from "./context.ts";
import { NEEDS } from "./oauth_account.ts";
import * as kinds from "./options.ts";
import { COMPLETE, type Complete } from "./resource.ts";
import type { MaybePromise, Services } from "./service.ts";
import type { SettingSchemas } from "./setting.ts";
import { INPUT, type SchemaOf, schemaOf, type Shape } from "./shape.ts";

export type { PromptMessage } from "@modelcontextprotocol/server";

/** A prompt's result: one user message as text, or the messages. */
export type PromptAnswer = string | PromptMessage | PromptMessage[];

/** A conversation opener that a person can pick. */
export interface PromptDefinition<
  A extends z.ZodObject | Shape = z.ZodObject,
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
  N extends AccountNeeds = AccountNeeds,
> extends CommonDefinition<S, V> {
  /** `z.object({ … })`, or its members alone; clients send each as a string. */
  args?: A;
  /**
   * Services that the prompt reads with the caller's own accounts. A person who
   * has not connected one of them is asked to do so first.
   */
  needs?: N;
  /** Completions for the arguments. */
  complete?: { [K in keyof z.output<SchemaOf<A>>]?: Complete<S, V, N> };
  /** Returns the first messages of the conversation. */
  get(
    args: z.output<SchemaOf<A>>,
    context: Context<S, V, N>,
  ): MaybePromise<PromptAnswer>;
}

/**
 * A prompt that {@linkcode prompt} made. Its type no longer names its arguments,
 * settings and services.
 */
export interface Prompt extends CommonDefinition {
  /** Distinguishes a prompt from a tool and a resource. */
  readonly kind: "prompt";
  /** The arguments' schema. */
  args?: z.ZodObject;
  /** Services that the prompt reads with the caller's own accounts. */
  needs?: AccountNeeds;
  /** Completions for the arguments. */
  complete?: Readonly<Record<string, Complete | undefined>>;
  /** Returns the first messages of the conversation. */
  get(
    args: Record<string, unknown>,
    context: Context,
  ): MaybePromise<PromptAnswer>;
}

/**
 * Declares a prompt.
 *
 * @example
 * ```ts
 * import { prompt, z } from "@tool-server/tool-server";
 *
 * const explain = prompt({
 *   name: "explain",
 *   args: z.object({ topic: z.string() }),
 *   get: ({ topic }) => `Explain ${topic} in plain words.`,
 * });
 * ```
 */
export function prompt<
  A extends z.ZodObject | Shape = z.ZodObject<Record<never, never>>,
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
  N extends AccountNeeds = Record<never, never>,
>(definition: PromptDefinition<A, S, V, N>): Prompt {
  const members = kinds.membersOf(PROMPT, definition);
  const args = schemaOf(members.args);
  return { kind: "prompt", ...members, args } as unknown as Prompt;
}

/** The options of {@linkcode prompt}. */
export const PROMPT = {
  ...DESCRIBED,
  args: INPUT,
  needs: NEEDS,
  complete: COMPLETE,
  get: kinds.required(kinds.FUNCTION),
} satisfies kinds.Members<Omit<Prompt, "kind">>;
