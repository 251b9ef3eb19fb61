/**
 * The engine of calls as methods get it, with what features add to them.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { CompiledTool } from "../../catalogue/compiled_tool.ts";
import type { JsonObject } from "../../json.ts";
import type { Answer } from "../exchange/answer.ts";
import type { Call } from "../exchange/call.ts";
import type { Engine } from "../exchange/engine.ts";
import type { Method } from "../exchange/run.ts";
import type { ToolRun } from "./tool_run.ts";

/** A call of a tool that is ready to run. */
export interface PreparedCall extends ToolRun {
  readonly call: EngineCall;
  /** Frees the place of the call among those of a tool with a limit. */
  readonly leave?: () => void;
  /** Set by a task that keeps this place until its end. */
  isInTask: boolean;
  /** Runs the tool in its request. */
  run(): MaybePromise<Answer>;
}

/** Handles calls that outlast their requests, for a feature. */
export interface LongCalls {
  /** Answers a call that repeats an earlier one; undefined if it does not. */
  repeat(
    call: EngineCall,
    tool: CompiledTool,
  ): MaybePromise<Answer | undefined>;
  /**
   * Returns the function that does a call in a task; undefined if the call runs
   * in its request.
   *
   * @throws {RpcError} for a tool that is always a task, if the client knows no
   * tasks
   */
  taskOf(
    call: EngineCall,
    tool: CompiledTool,
  ): ((toolCall: PreparedCall) => Promise<Answer>) | undefined;
  /** Watches a tool that runs in its request: the call may outlast that. */
  watch(
    call: EngineCall,
    tool: CompiledTool,
    running: Promise<CallToolResult>,
  ): void;
  /** True if a client needs the server's own tools. */
  needsTools(call: Call): boolean;
}

/** The engine of calls, with what features add to their methods. */
export interface MethodEngine extends Engine {
  longCalls?: LongCalls;
  followed: readonly FollowedKind[];
  /** The server's own tools by their names. */
  ownTools: ReadonlyMap<string, Method<EngineCall>>;
}

/** A call as methods get it. */
export type EngineCall = Call & { readonly engine: MethodEngine };

/** A kind of changes that a feature adds to subscriptions. */
export interface FollowedKind {
  /** The member of a subscription's filter that lists the names to follow. */
  member: string;
  /** The most names: each is polled. */
  most: number;
  /** @throws {RpcError} if the client may not follow changes of this kind */
  check(call: Call): void;
  /**
   * Returns those of the names that the caller may follow, and a function that
   * begins to report their changes.
   */
  follow(call: Call, names: readonly string[]): Promise<{
    names: readonly string[];
    begin(
      tell: (method: string, params: JsonObject) => void,
      fail: (reason: string) => void,
    ): void;
  }>;
}
