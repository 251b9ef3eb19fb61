/**
 * Calls of tools with durable work: begun by a request, or taken over.
 *
 * @module
 */
import { durableOf, type DurableTask } from "../../authoring/durable.ts";
import { ToolError } from "../../authoring/tool.ts";
import {
  type Authenticated,
  type Caller,
  missingScopes,
} from "../../core/caller.ts";
import { follow } from "../../core/mcp/exchange/author_code.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  type ParsedInput,
  parseInput,
} from "../../core/catalogue/parse_input.ts";
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import type { Engine } from "../../core/mcp/exchange/engine.ts";
import { telemetry } from "../../core/telemetry/current.ts";
import { inputErrorText } from "../../core/protocol/tool_result.ts";
import {
  findNeeds,
  runAround,
  type ToolRun,
} from "../../core/mcp/methods/tool_run.ts";
import type { TaskEngine } from "./task_engine.ts";
import type { Claim, RunBeginning, RunRecord } from "./run_record.ts";
import { reportRun } from "../../core/mcp/exchange/report.ts";
import type { QuestionPages } from "../../core/mcp/exchange/work.ts";
import type { DurableWork, Resume, TaskOrigin } from "./task_work.ts";

/** Makes the work of a tool. The tool's present schema parses the input. */
export function durableWorkOf(
  tool: CompiledTool,
  { version = 1 }: DurableTask,
  { input, prepared, begun }: Pick<
    RunBeginning,
    "input" | "prepared" | "begun"
  >,
  call: {
    engine: Pick<
      Engine,
      "approve" | "around" | "findNeeds" | "limits" | "waitPages"
    >;
    stateless: boolean;
  },
): DurableWork {
  const { name, scopes = [], needs } = tool;
  return {
    tool: name,
    scopes,
    needsAccounts: needs && true,
    version,
    enter: tool.limit?.callsAtOnce === undefined
      ? undefined
      : (limitKey) => call.engine.limits.tryEnter(tool, limitKey),
    async run(context) {
      const next = async (parsed: ParsedInput) => {
        if (!parsed.success) {
          // Not returned: a run that returns must have done its stored steps.
          throw new ToolError(inputErrorText(parsed.error, parsed.hasMore));
        }
        const input = parsed.data as JsonObject;
        const toolRun: ToolRun = { tool, input, prepared, call };
        if (tool.needs) await findNeeds(toolRun, context, { begun });
        return await runAround(toolRun, context);
      };
      const run = async () =>
        await (tool.input
          ? follow(parseInput(tool.input, input), next)
          : next({ success: true, data: input }));
      return await (telemetry ? telemetry.task(name, run) : run());
    },
  };
}

/**
 * Returns the server address that a caller's work belongs to: people are known
 * only at the address where they signed in. Empty for callers who are the same
 * at every address.
 */
export function addressOfWork(
  { door }: Pick<Caller, "door">,
  pages: QuestionPages | undefined,
): string {
  return door === "oauth" || door === "token" ? pages?.baseUrl ?? "" : "";
}

/** Makes the function that finds the present tool and caller of a run. */
export function resumeBy(
  engine: Omit<TaskEngine, "gate">,
  siteOf: (address: string) => Pick<Engine, "gate" | "waitPages">,
): Resume {
  /** Finds the caller by the grant of the call, or the last that used it. */
  async function findCaller(
    taskId: string,
    { caller, address }: Pick<RunRecord, "caller" | "address">,
  ): Promise<Authenticated | undefined> {
    const { gate } = siteOf(address);
    const found = await gate.restore(caller);
    if (found || caller.grantId === undefined) return found;
    const grantId = await engine.tasks.userOf(taskId, caller.binding);
    return grantId === undefined || grantId === caller.grantId
      ? undefined
      : await gate.restore({ ...caller, grantId });
  }

  return async (claim, beginning) => {
    const { taskId, run } = claim;
    const tool = engine.catalogue.tools.get(run.tool);
    const durable = tool && durableOf(tool);
    const found = await findCaller(taskId, run);
    const isKnown = found?.caller.binding === run.caller.binding;
    const authenticated = isKnown ? found : { caller: run.caller };
    const { caller } = authenticated;
    const [lacks]: readonly (string | undefined)[] = tool
      ? await engine.missingFor(tool)
      : [];
    const { waitPages } = siteOf(run.address);
    const here = { ...engine, waitPages };
    return {
      lacks,
      isConfigured: isKnown ||
        await siteOf(run.address).gate.isConfigured(run.caller),
      work: durable && lacks === undefined
        ? durableWorkOf(tool, durable, beginning, {
          engine: here,
          stateless: true,
        })
        : undefined,
      origin: restoredOrigin(here, claim, beginning, authenticated),
      isAllowed: isKnown &&
        engine.catalogue.within(caller.ceiling).tools.has(run.tool) &&
        missingScopes(caller, tool?.scopes ?? []).length === 0,
    };
  };
}

/** The reason, for the author, why work taken over has no `upstream`. */
export const LACKS_UPSTREAM =
  "The provider's API is out of reach: this work goes on without the request that began it, and so without its sign-in.";

/** Restores from the record what work needs of the call that began it. */
function restoredOrigin(
  engine: Omit<Engine, "gate">,
  { taskId, run }: Claim,
  { client, meta }: RunBeginning,
  authenticated: Authenticated,
): TaskOrigin {
  const { changes, waitPages } = engine;
  const { caller } = authenticated;
  const { tool, limitKey } = run;
  return {
    client,
    meta,
    changes,
    limitKey,
    authenticated,
    caller,
    lacksUpstream: LACKS_UPSTREAM,
    pageQuestions: waitPages?.questionsOfTask({ taskId, caller, tool }),
    endTask: (taskId, outcome) =>
      reportRun(engine, taskId, { ...run, caller }, outcome, meta),
  };
}
