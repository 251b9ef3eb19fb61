/**
 * The needs of a tool, a resource or a prompt: what its context must have
 * before it runs, such as the caller's accounts at other services. A feature
 * provides them.
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
 * The accounts that a call has begun with, by the names of their services.
 * Durable work goes on with the same accounts.
 */
export type BegunNeeds = Readonly<
  Record<string, {
    /** The time at which the call began, in epoch seconds. */
    at: number;
    label?: string;
    accountId?: string;
    /** The time at which the account was connected. */
    createdAt?: number;
  }>
>;

/** The needs of one call, found. */
export interface CallNeeds {
  /** The accounts of the call, for durable work that begins in it. */
  readonly begun?: BegunNeeds;
  /** The name of the account that the call has chosen, if there are several. */
  readonly account?: string;
  /**
   * Names the accounts for the approval of the call. From then on it acts with
   * no other, not even with one that its person uses in their place. No other
   * account has the same `id`.
   */
  approving?(): { service: string; name: string; id: unknown }[];
  /** @throws {ToolError} if one of the accounts is not connected any more */
  checkConnected?(): Promise<void>;
  /** Adds what was found to a context of the call. */
  bind(context: Context): void;
  /**
   * Returns the arguments that are the item's own, without the choice of an
   * account.
   */
  own<I extends JsonObject>(input: I): I;
  /**
   * Adds the account that the tool has used to a result, if there are several.
   */
  sign?(result: CallToolResult): CallToolResult;
}

/**
 * The way to find needs. `ask`: in a request; a person who lacks an account is
 * asked to connect it. `look`: for completion, which asks nothing. An object:
 * in durable work, which checks before each step, and stays with the accounts
 * that its call has begun with.
 */
export type Finding = "ask" | "look" | { begun?: BegunNeeds };

/**
 * Finds the needs of a call.
 *
 * @param input all arguments; one of them may choose among several accounts
 * @throws {ToolError} with a message for the model
 * @throws {ChallengeError} if the caller has to sign in first
 */
export type FindNeeds = (
  context: Context,
  item: ItemWithNeeds,
  input: JsonObject,
  finding: Finding,
) => MaybePromise<CallNeeds>;

/**
 * Gives a context what an item needs, then calls `read`.
 *
 * @param read gets the item's own arguments
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
