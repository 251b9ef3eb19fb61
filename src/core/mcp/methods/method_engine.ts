/**
 * The parts of a server that MCP methods use, including what features add.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { CompiledTool } from "../../catalogue/compiled_tool.ts";
import type { JsonObject } from "../../json.ts";
import type { Answer } from "../exchange/answer.ts";
import type { Call } from "../exchange/call.ts";
import type { Engine, ToolRun } from "../exchange/engine.ts";
import type { Method } from "../exchange/run.ts";

/** A tool call with checked arguments, ready to run. */
export interface PreparedCall extends ToolRun {
  readonly call: EngineCall;
  /** True once the call is a task, which then leaves `place` when it ends. */
  isInTask: boolean;
  /** Runs the tool in its request. */
  run(): MaybePromise<Answer>;
}

/** Handles calls that outlast their requests; a feature provides it. */
export interface LongCalls {
  /**
   * Answers a call that repeats an earlier one; undefined for any other call.
   */
  repeat(
    call: EngineCall,
    tool: CompiledTool,
  ): MaybePromise<Answer | undefined>;
  /**
   * Returns the function that runs a call in a task; undefined if the call runs
   * in its request.
   *
   * @throws {RpcError} for a tool that always runs in a task, if the client
   * does not support tasks
   */
  taskOf(
    call: EngineCall,
    tool: CompiledTool,
  ): ((toolCall: PreparedCall) => Promise<Answer>) | undefined;
  /**
   * Watches a tool that runs in its request, and may take longer than the
   * request.
   */
  watch(
    call: EngineCall,
    tool: CompiledTool,
    running: Promise<CallToolResult>,
  ): void;
  /** True if a client needs the server's own tools for tasks. */
  needsTools(call: Call): boolean;
}

/** The parts of a server that MCP methods use. */
export interface MethodEngine extends Engine {
  longCalls?: LongCalls;
  followed: readonly FollowedKind[];
  /** The server's own tools, keyed by name. */
  ownTools: ReadonlyMap<string, Method<EngineCall>>;
}

export type EngineCall = Call & { readonly engine: MethodEngine };

/** A kind of change, added by a feature, that clients can subscribe to. */
export interface FollowedKind {
  /** The member of a subscription's filter that lists the names to follow. */
  member: string;
  /** The maximum number of names. Each is polled. */
  most: number;
  /**
   * @throws {RpcError} if the client may not subscribe to this kind of change
   */
  check(call: Call): void;
  /**
   * Returns the names that the caller may follow, and a function that starts to
   * report changes.
   */
  follow(call: Call, names: readonly string[]): Promise<{
    names: readonly string[];
    begin(
      tell: (method: string, params: JsonObject) => void,
      fail: (reason: string) => void,
    ): void;
  }>;
}
