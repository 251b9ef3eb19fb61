/**
 * Calls of tools with durable work: begun by a request, or taken over.
 *
 * @module
 */
import { durableOf, type DurableTask } from "../../authoring/durable.ts";
import {
  type Authenticated,
  type Caller,
  missingScopes,
} from "../../caller.ts";
import { follow } from "../exchange/authored_run.ts";
import type { JsonObject } from "../../json.ts";
import type { TaskStore } from "../../store/tasks.ts";
import { TASK_SECONDS } from "../../store/task_record.ts";
import { type ParsedInput, parseInput } from "../catalogue/parse_input.ts";
import type { CompiledTool } from "../catalogue/compiled_tool.ts";
import type { Engine } from "../exchange/engine.ts";
import type { DurableRunner } from "../work/durable_runner.ts";
import type { DurableWork } from "../work/run_at_work.ts";
import { ResumedCall } from "../work/resumed_call.ts";
import { telemetry } from "../../telemetry/current.ts";
import { errorResult, inputErrorText } from "../wire/tool_result.ts";
import { runAround, type ToolRun } from "./tool_run.ts";

/** The parts of a server by which work is taken over. */
type Resuming =
  & Pick<
    Engine,
    | "catalogue"
    | "log"
    | "clock"
    | "ledger"
    | "changes"
    | "around"
  >
  & { tasks: Pick<TaskStore, "userOf"> };

/** The address at which work is taken over, as far as it is needed. */
export interface Home extends Pick<Engine, "waitPages"> {
  /** Finds a caller as they are known now. */
  restore(caller: Caller): Promise<Authenticated | undefined>;
}

/** Makes the work of a tool; its input is parsed by the tool of today. */
export function durableWorkOf(
  tool: CompiledTool,
  { keep = TASK_SECONDS, version = 1 }: DurableTask,
  call: ToolRun["call"],
): DurableWork {
  const { name, scopes = [] } = tool;
  return {
    tool: name,
    scopes,
    keep,
    version,
    async run({ input, prepared }, context) {
      const next = (parsed: ParsedInput) =>
        parsed.success
          ? runAround(
            { tool, input: parsed.data as JsonObject, prepared, call },
            context,
          )
          : errorResult(inputErrorText(parsed.error, parsed.hasMore));
      const run = async () =>
        await (tool.input
          ? follow(parseInput(tool.input, input), next)
          : next({ success: true, data: input }));
      return await (telemetry ? telemetry.task(name, run) : run());
    },
  };
}

/**
 * Makes the way to take work over: its tool as it is today, and its caller as
 * they are known today.
 */
export function resumeBy(
  engine: Resuming,
  home: () => Home,
): ConstructorParameters<typeof DurableRunner>[3] {
  /** Finds the caller by the grant of the call, or the one that uses it now. */
  async function findCaller(
    taskId: string,
    caller: Caller,
  ): Promise<Authenticated | undefined> {
    const { restore } = home();
    const found = await restore(caller);
    if (found || caller.grantId === undefined) return found;
    const grantId = await engine.tasks.userOf(taskId, caller.binding);
    return grantId === undefined || grantId === caller.grantId
      ? undefined
      : await restore({ ...caller, grantId });
  }

  return async (hold, beginning) => {
    const { taskId, run } = hold;
    const tool = engine.catalogue.tools.get(run.tool);
    const durable = tool && durableOf(tool);
    if (!durable) return undefined;
    const work = durableWorkOf(tool, durable, { engine, stateless: true });
    const authenticated = await findCaller(taskId, run.caller);
    if (authenticated?.caller.binding !== run.caller.binding) return { work };
    const { caller } = authenticated;
    const catalogue = engine.catalogue.within(caller.ceiling);
    const isAllowed = catalogue.tools.has(tool.name) &&
      missingScopes(caller, tool.scopes ?? []).length === 0;
    return {
      work,
      request: isAllowed
        ? new ResumedCall(
          { ...engine, waitPages: home().waitPages },
          hold,
          beginning,
          authenticated,
          catalogue,
        )
        : undefined,
    };
  };
}
