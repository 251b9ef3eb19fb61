/**
 * The needs of a tool, a resource or a prompt: what its context must have before
 * it runs, such as its caller's accounts at other services. A feature finds it.
 *
 * @module
 */
import type { AccountNeeds } from "../../../authoring/account.ts";
import type { Context } from "../../../authoring/context.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { CallToolResult } from "../../../authoring/tool.ts";
import type { JsonObject } from "../../json.ts";
import { CallContext } from "./call_context.ts";

/** A tool, a resource or a prompt with needs. */
export interface ItemWithNeeds {
  name: string;
  needs: AccountNeeds;
  /** The schema of a tool's output. */
  output?: unknown;
}

/**
 * The accounts that a call has begun with, by the names of their services:
 * durable work goes on with the same ones.
 */
export type BegunNeeds = Readonly<
  Record<string, {
    /** The time at which the call began, in epoch seconds. */
    at: number;
    label?: string;
    accountId?: string;
  }>
>;

/** The needs that were found for one call. */
export interface CallNeeds {
  /** The accounts of the call, so that work it begins acts with the same. */
  readonly begun?: BegunNeeds;
  /** The name that the call gives one of several accounts. */
  readonly account?: string;
  /** Puts what was found into a context of the call. */
  bind(context: Context): void;
  /** Returns the item's own arguments, out of all that were sent. */
  own<I extends JsonObject>(input: I): I;
  /** Adds to a result which account the tool has used, if there are several. */
  sign?(result: CallToolResult): CallToolResult;
}

/**
 * The way to find needs. `ask`: in a request, where a person who lacks an account
 * is asked to connect it. `look`: for proposals, which ask nothing. An object: in
 * durable work, which looks before each step, and stays with the accounts that
 * its call has begun with.
 */
export type Finding = "ask" | "look" | { begun?: BegunNeeds };

/**
 * Finds the needs of a call.
 *
 * @param input all arguments; one of them may choose among several accounts
 * @throws {ToolError} in words for the model
 * @throws {ChallengeError} when the caller has to sign in first
 */
export type FindNeeds = (
  context: Context,
  item: ItemWithNeeds,
  input: JsonObject,
  finding: Finding,
) => Promise<CallNeeds>;

/**
 * Gives the context of a call what an item needs, then reads the item.
 *
 * @param read receives the item's own arguments
 */
export function withNeeds<I extends JsonObject, R>(
  { engine, context }: {
    engine: { findNeeds: FindNeeds };
    context: Context;
  },
  { name, needs }: { name: string; needs?: AccountNeeds },
  input: I,
  finding: Finding,
  read: (own: I) => MaybePromise<R>,
): MaybePromise<R> {
  if (!needs) return read(input);
  return CallContext.follow(
    context,
    engine.findNeeds(context, { name, needs }, input, finding),
    (found) => {
      found.bind(context);
      return read(found.own(input));
    },
  );
}
