/**
 * Runs a tool, in a request or in a task: calls the tool's function inside the
 * author's `around` hook, and makes a `CallToolResult` by the output schema.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Around } from "../../../authoring/around.ts";
import type { Context } from "../../../authoring/context.ts";
import { ResultWith } from "../../../authoring/result.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import { messageOf } from "../../thrown.ts";
import type { CompiledTool } from "../../catalogue/compiled_tool.ts";
import { follow } from "../exchange/author_code.ts";
import { CallContext } from "../exchange/call_context.ts";
import type { ToolRun } from "../exchange/engine.ts";
import type { ItemWithNeeds, NeedsMode } from "../exchange/needs.ts";
import { parseBy } from "../../protocol/json_schema.ts";
import {
  issueText,
  resultOf,
  structuredResult,
} from "../../protocol/tool_result.ts";

/** Finds a tool's needs, such as accounts, and adds them to a context. */
export function findNeeds(
  toolCall: ToolRun,
  context: Context,
  finding: NeedsMode,
): MaybePromise<void> {
  const { tool, input, call: { engine } } = toolCall;
  const item = tool as CompiledTool & ItemWithNeeds;
  return follow(engine.findNeeds(context, item, input, finding), (found) => {
    toolCall.found = found;
    toolCall.account = found.account;
    toolCall.input = found.own(input);
    found.bind(context);
  });
}

/**
 * Runs a tool's function inside the author's `around` hook, after the person's
 * approval if the tool needs it.
 */
export function runAround(
  toolCall: ToolRun,
  context: Context,
): MaybePromise<CallToolResult> {
  toolCall.found?.bind(context);
  const { tool, hasApproval, call: { engine } } = toolCall;
  const begin = () =>
    engine.around
      ? runInHook(engine.around, toolCall, context)
      : run(toolCall, context);
  const isGated = tool.approval || hasApproval;
  return isGated ? engine.approve!(toolCall, context, begin) : begin();
}

async function runInHook(
  around: Around,
  toolCall: ToolRun,
  context: Context,
): Promise<CallToolResult> {
  const { tool, input } = toolCall;
  tool.provide?.(context);
  const authorCode = CallContext.codeOf(context);
  const result = around({ tool: tool.author, input, context }, async () => {
    // The hook may run the tool again after a failure, but not after an
    // interruption.
    if (authorCode?.reason !== undefined) throw authorCode.reason;
    try {
      return await run(toolCall, context);
    } catch (error) {
      // The hook may log the error, so it must have no key.
      throw authorCode?.clean(error) ?? error;
    }
  });
  return await (authorCode ? authorCode.wait(result) : result);
}

function run(
  { tool, input, prepared, found, call }: ToolRun,
  context: Context,
): MaybePromise<CallToolResult> {
  return CallContext.follow(
    context,
    tool.run(input, context, prepared),
    (output) => {
      const result = toolResult(tool, output, call);
      return found?.sign ? follow(result, found.sign) : result;
    },
  );
}

function toolResult(
  { name, output: schema, hasObjectOutput }: CompiledTool,
  output: unknown,
  { stateless }: ToolRun["call"],
): MaybePromise<CallToolResult> {
  if (schema === undefined) {
    try {
      return resultOf(output);
    } catch (error) {
      throw new TypeError(`tool ${name} ${messageOf(error)}`);
    }
  }
  const { data, extra } = output instanceof ResultWith
    ? output
    : { data: output, extra: undefined };
  return follow(parseBy(schema, data), (parsed) => {
    if (parsed.success) {
      const asStructured = stateless || hasObjectOutput;
      return structuredResult(parsed.data, asStructured, extra);
    }
    const faults = issueText(parsed.error, "output");
    throw new Error(`tool ${name} broke its output schema:\n${faults}`);
  });
}
