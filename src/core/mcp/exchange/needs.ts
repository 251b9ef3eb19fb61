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

export interface ItemWithNeeds {
  name: string;
  needs: AccountNeeds;
  output?: unknown;
}

/**
 * The accounts with which a call began, keyed by service name. Durable work
 * uses no others.
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

/** The accounts and other needs that were found for one call. */
export interface CallNeeds {
  /** Returns the accounts of the call, for durable work that it begins. */
  begun?(): BegunNeeds | undefined;
  /**
   * The account that the call has chosen; undefined if the person has only one.
   */
  readonly account?: string;
  /**
   * Returns the accounts for the approval of the call, each with a unique `id`.
   * After that the call uses no other account, even if the person replaces one.
   */
  approving?(): { service: string; name: string; id: unknown }[];
  /** @throws {ToolError} if an account was disconnected */
  checkConnected?(): Promise<void>;
  /** Adds the found needs to a context of the call. */
  bind(context: Context): void;
  /**
   * Returns the item's own arguments, without `account`, which chooses an
   * account.
   */
  own<I extends JsonObject>(input: I): I;
  /**
   * Adds to a result which account the tool used, if the person has several.
   */
  sign?(result: CallToolResult): CallToolResult;
}

/**
 * The mode in which needs are found.
 * - `ask`: in a request; a person who lacks an account is asked to connect it.
 * - `look`: for completion, which asks nothing.
 * - An object: in durable work, which checks before each step, and uses the
 * accounts with which its call began.
 */
export type NeedsMode = "ask" | "look" | { begun?: BegunNeeds };

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
  finding: NeedsMode,
) => MaybePromise<CallNeeds>;

/**
 * Gives a context an item's needs, then calls `read`.
 *
 * @param read gets the item's own arguments
 */
export function callWithNeeds<I extends JsonObject, R>(
  { engine, context }: {
    engine: { findNeeds: FindNeeds };
    context: Context;
  },
  { name, needs }: { name: string; needs?: AccountNeeds },
  input: I,
  finding: NeedsMode,
  read: (own: I) => MaybePromise<R>,
): MaybePromise<R> {
  if (!needs) return read(input);
  return CallContext.andThen(
    context,
    engine.findNeeds(context, { name, needs }, input, finding),
    (found) => {
      found.bind(context);
      return read(found.own(input));
    },
  );
}
