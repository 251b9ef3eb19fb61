/**
 * The hook around tool calls.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Context } from "./context.ts";
import type { MaybePromise } from "./service.ts";
import type { Tool } from "./tool.ts";

/** A tool call with its parsed arguments. */
export interface ToolCall {
  /** The tool that is called. */
  tool: Tool;
  /** The arguments, parsed by the tool's input schema. */
  input: Readonly<Record<string, unknown>>;
  /** The context that the tool is given. */
  context: Context;
}

/**
 * Runs around every tool call that passed sign-in, scopes and the input schema:
 * for audit, quotas, caching. `next` runs the tool and returns its result. The
 * hook returns that or another result, or throws a
 * {@linkcode import("./tool.ts").ToolError} to refuse. For a long task it runs
 * around the task's work; for durable work, around each of its runs. Refused
 * requests and unknown tools never reach it.
 *
 * If the tool asks a person whose answer comes with another request
 * (2026-07-28), `context.signal` fires and `next` rejects: release in `finally`
 * what the hook has taken. The hook's own result is then ignored. It runs again
 * with the answer.
 *
 * @example
 * ```ts
 * import type { Around } from "@tool-server/tool-server";
 *
 * const audit: Around = async ({ tool, context }, next) => {
 *   const result = await next();
 *   console.log(tool.name, context.caller.subject, result.isError ?? false);
 *   return result;
 * };
 * ```
 */
export type Around = (
  call: ToolCall,
  next: () => Promise<CallToolResult>,
) => MaybePromise<CallToolResult>;
