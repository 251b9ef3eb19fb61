/**
 * Calls that outlast their requests: calls whose tool runs as a task, and
 * repeats, which are the same calls made again to get the result.
 *
 * @module
 */
import { durableOf, type DurableTask } from "../../authoring/durable.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import {
  type CompiledTool,
  isAlwaysTask,
  mayBecomeTask,
  type ParsedInput,
  parseInput,
} from "../../core/catalogue/compiled_tool.ts";
import type { Answer } from "../../core/mcp/exchange/answer.ts";
import { andThen } from "../../core/mcp/exchange/author_code.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import type { GivenKeys } from "../../core/mcp/exchange/given_keys.ts";
import type {
  LongCalls,
  PreparedCall,
} from "../../core/mcp/methods/method_engine.ts";
import {
  findNeeds,
  printedResult,
  runAround,
} from "../../core/mcp/methods/tool_call.ts";
import type { ToolRun } from "../../core/mcp/exchange/engine.ts";
import { argumentsOf, invalidParams } from "../../core/protocol/messages.ts";
import { telemetry } from "../../core/telemetry/current.ts";
import type { LastingCall, TaskEngine } from "./task_engine.ts";
import {
  answerWithTask,
  checkKnowsTasks,
  hasTasks,
  resultOfTask,
  unknownTaskResult,
} from "./task_answer.ts";
import { isTerminal, TASK_SECONDS } from "./task_record.ts";
import { TaskRelay, waitAsCall } from "./task_wait.ts";
import type { Task } from "./tasks.ts";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { LimitError, StorageError } from "../../core/errors.ts";
import type { Call, CallWatch } from "../../core/mcp/exchange/call.ts";
import { settleCall } from "../../core/mcp/exchange/run.ts";
import { MARKED_BEFORE_MILLISECONDS } from "./call_repeats.ts";
import {
  type DurableWork,
  type FindRun,
  printProgress,
  type TaskOrigin,
} from "./task_work.ts";
import { ToolError } from "../../authoring/tool.ts";
import {
  type Authenticated,
  type Caller,
  missingScopes,
} from "../../core/caller.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Engine } from "../../core/mcp/exchange/engine.ts";
import { inputErrorText } from "../../core/protocol/results.ts";
import type { Claim, RunBeginning, RunRecord } from "./run_record.ts";
import { reportRun } from "../../core/mcp/exchange/report.ts";
import type { QuestionPages } from "../../core/mcp/exchange/work.ts";

/**
 * The handling of long calls. The casts are safe: every call here has the
 * {@linkcode TaskEngine}.
 */
export const taskCalls: LongCalls = {
  repeat(call, tool) {
    if (!isRepeatable(call, tool)) return undefined;
    const own = call as LastingCall;
    const long = own.engine.tasks.longTools(call.startedMilliseconds);
    const next = (tools: ReadonlySet<string>): MaybePromise<
      Answer | undefined
    > => tools.has(tool.name) ? repeat(own, tool) : undefined;
    return andThen(long, next);
  },

  taskOf(call, tool) {
    const own = call as LastingCall;
    if (tool.task !== undefined && hasTasks(call)) {
      return async (toolCall) =>
        answerWithTask(call, await startTask(toolCall, own));
    }
    if (!isAlwaysTask(tool)) return undefined;
    if (!mayBecomeTask(tool)) {
      if (!call.stateless) {
        throw invalidParams(
          `${tool.name} runs as a task, which this client does not support`,
        );
      }
      checkKnowsTasks(call.client);
    }
    return (toolCall) => runAsTask(toolCall, own);
  },

  watch(call, tool, running) {
    if (!mayBecomeTask(tool)) return;
    call.watch.onBeat = handOverInTime(call as LastingCall, tool, running);
  },

  needsTools: (call) => !hasTasks(call),
};

/**
 * Responds to a repeat with the task of the earlier call. Undefined if there is
 * none.
 */
async function repeat(
  call: LastingCall,
  tool: CompiledTool,
): Promise<Answer | undefined> {
  const { pickUp } = await import("./repeat.ts");
  const task = await pickUp(call, tool);
  return task && answerWith(call, task);
}

/**
 * Begins a task for a client without the tasks extension, and waits for its
 * end. If that takes too long for a call, responds that the task continues.
 */
async function runAsTask(
  toolCall: PreparedCall,
  call: LastingCall,
): Promise<Answer> {
  const { tool } = toolCall;
  const { progressToken } = call;
  if (progressToken !== undefined) {
    call.relayProgress = (progress) =>
      call.notify("notifications/progress", { ...progress, progressToken });
  }
  const task = await startTask(toolCall, call);
  call.execution.taskId = task.taskId;
  // A client of MCP 2026-07-28 gets no relay: it would answer the question with
  // a second call, which would begin another task.
  const relay = call.stateless
    ? undefined
    : new TaskRelay(call, tool.handOverMilliseconds);
  const seen = await waitAsCall(call, tool, task, relay);
  if (seen === undefined) return printedResult(call, unknownTaskResult());
  return answerWith(call, seen);
}

function answerWith(call: Call, task: Task): Answer {
  return isTerminal(task.status)
    ? printedResult(call, resultOfTask(task, call))
    : answerWithTask(call, task);
}

/** Begins a task. It counts in the tool's limit `callsAtOnce` until it ends. */
async function startTask(
  toolCall: PreparedCall,
  call: LastingCall,
): Promise<Task> {
  const { tool, place } = toolCall;
  const durable = durableOf(tool);
  if (durable) return await startDurable(toolCall, call, durable);
  const { name, scopes, needs } = tool;
  const { given } = call.authorCode;
  const { task } = await call.engine.taskRegistry.start(call, {
    tool: name,
    scopes,
    needsAccounts: needs && true,
    async run(context) {
      // The prepared value may contain an account token, so this context hides
      // the tokens too.
      const code = CallContext.codeOf(context);
      if (code) code.given = given;
      const run = async () => await runAround(toolCall, context);
      try {
        return await (telemetry ? telemetry.task(name, run) : run());
      } finally {
        place?.leave();
      }
    },
  });
  toolCall.isInTask = true;
  return task;
}

/**
 * Returns the value of `prepare`, and removes account tokens from it.
 *
 * @throws {TypeError} if the value itself is such a token
 */
function keptWithout(given: GivenKeys | undefined, prepared: unknown): unknown {
  if (!given) return prepared;
  if (!given.isKey(prepared)) return given.cleanData(prepared);
  throw new TypeError(
    "What `prepare` gave cannot be kept: it is a secret: read it where it is used",
  );
}

/**
 * Begins durable work. It counts in the tool's limit `callsAtOnce` while this
 * process does it.
 */
async function startDurable(
  toolCall: PreparedCall,
  call: LastingCall,
  durable: DurableTask,
): Promise<Task> {
  const { tool, found, place } = toolCall;
  const { client, meta, params, engine } = call;
  const sent = argumentsOf(params);
  const input = found?.own(sent) ?? sent;
  const begun = found?.begun?.();
  const { given } = call.authorCode;
  const prepared = keptWithout(given, toolCall.prepared);
  const beginning = { input, prepared, begun, client, meta };
  const work = durableWorkOf(tool, durable, beginning, call, place);
  const { task, done } = await engine.taskRegistry.start(call, work, {
    keep: durable.keep ?? TASK_SECONDS,
    version: work.version,
    address: addressOfWork(call.caller, engine.waitPages),
    beginning,
  });
  toolCall.isInTask = true;
  if (place) done.then(() => place.leave());
  return task;
}

/** The time until a failed hand-over is tried again. */
const AGAIN_MILLISECONDS = 5000;

const UNDECLARED =
  "A call was answered before its tool had ended: give the tool `task` or `handOver`, so that clients are listed tools that ask for its result";

/**
 * Turns the call of a running tool into a task after `handOverMilliseconds`.
 *
 * @param result the result of the running tool
 * @returns a function to call repeatedly, which checks the time
 */
export function handOverInTime(
  call: LastingCall,
  tool: CompiledTool,
  result: Promise<CallToolResult>,
): NonNullable<CallWatch["onBeat"]> {
  const due = call.startedMilliseconds + tool.handOverMilliseconds;
  let isMarked = !isRepeatable(call, tool);
  let notBefore = isMarked ? due : due - MARKED_BEFORE_MILLISECONDS;

  /**
   * Marks the tool as long-running, so that all processes know it before a
   * client repeats the call.
   */
  async function mark(): Promise<void> {
    await call.engine.tasks.markLong(tool.name);
    isMarked = true;
    notBefore = Math.max(due, performance.now() + MARKED_BEFORE_MILLISECONDS);
  }

  return (nowMilliseconds) => {
    if (nowMilliseconds < notBefore || !isFree(call, tool)) return;
    notBefore = Infinity;
    const step = isMarked
      ? handOver(call, tool, result).then(() => void (notBefore = -Infinity))
      : mark();
    // If this fails, the call continues in its request.
    step.catch((error) => {
      if (error instanceof StorageError) {
        notBefore = nowMilliseconds + AGAIN_MILLISECONDS;
      } else complain(call, error);
    });
  };
}

/** Logs why a running call did not become a task. */
function complain(
  { engine: { log }, requestId: reference }: LastingCall,
  error: unknown,
): void {
  if (error instanceof LimitError) {
    log.info("A call was not handed over: its caller has too many tasks", {
      reference,
    });
  } else log.warning("A call could not be handed over", { reference, error });
}

/** True if a running call may become a task now. */
function isFree(call: LastingCall, tool: CompiledTool): boolean {
  const { context, execution: { hasEnded, isStopped } } = call;
  if (hasEnded || isStopped || CallContext.isAsking(context)) return false;
  // The result may contain one person's answer, and many people may share this
  // caller.
  return !CallContext.hasAsked(context) || hasOneClient(call, tool);
}

/** True if the client needs a repeat to get the result of a long call. */
export function isRepeatable(call: Call, tool: CompiledTool): boolean {
  return call.catalogue.taskTools.size === 0 && mayBecomeTask(tool) &&
    !hasTasks(call);
}

/**
 * True if only this client can get the result of a call. If many people share a
 * credential or a network, only MCP sessions tell their calls apart.
 */
function hasOneClient(call: LastingCall, tool: CompiledTool): boolean {
  const { sessionId, limitKey } = call;
  return !isRepeatable(call, tool) || sessionId !== undefined ||
    !limitKey.isMany;
}

/** Makes the name by which repeats of a call find its task. */
async function nameOf(
  call: LastingCall,
  tool: CompiledTool,
): Promise<string> {
  const { repeatOf } = await import("./repeat.ts");
  return await repeatOf(call, tool);
}

async function handOver(
  call: LastingCall,
  tool: CompiledTool,
  result: Promise<CallToolResult>,
): Promise<void> {
  const { engine: { taskRegistry, running }, context } = call;
  await taskRegistry.handOver({
    repeat: isRepeatable(call, tool) ? await nameOf(call, tool) : undefined,
    mayAsk: hasOneClient(call, tool),
    request: call,
    result,
    get statusMessage() {
      const latest = CallContext.progressOf(context);
      return latest && printProgress(latest);
    },
    take(task, work) {
      if (!isFree(call, tool)) return false;
      CallContext.moveToTask(context, work);
      running.delete(call);
      settleCall(call, answerWithTask(call, task));
      if (!tool.isDeclaredLong) call.advise(UNDECLARED);
      return true;
    },
  }, tool);
}

/**
 * Makes the durable work of a tool. The stored input is parsed by the tool's
 * present schema.
 */
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
  place?: ToolRun["place"],
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
          // Thrown, not returned: a run that returns a result must have come to
          // all its stored steps.
          throw new ToolError(inputErrorText(parsed.error, parsed.hasMore));
        }
        const input = parsed.data as JsonObject;
        // An approval that an earlier run has asked for is still waited for.
        const { hasApproval } = CallContext.askingOf(context).work.durable!;
        const own = { tool, input, prepared, call, place };
        const toolRun: ToolRun = { ...own, hasApproval };
        if (tool.needs) await findNeeds(toolRun, context, { begun });
        return await runAround(toolRun, context);
      };
      const run = async () =>
        await (tool.input
          ? andThen(parseInput(tool.input, input), next)
          : next({ success: true, data: input }));
      return await (telemetry ? telemetry.task(name, run) : run());
    },
  };
}

/**
 * Returns the server address that a caller's work belongs to: the one at which
 * the person signed in. Empty if the caller is the same at every address.
 */
export function addressOfWork(
  { door }: Pick<Caller, "door">,
  pages: QuestionPages | undefined,
): string {
  return door === "oauth" || door === "token" ? pages?.baseUrl ?? "" : "";
}

/** Makes the function that finds a run's tool and caller as they are now. */
export function resumeBy(
  engine: Omit<TaskEngine, "gate">,
  siteOf: (address: string) => Pick<Engine, "gate" | "waitPages">,
): FindRun {
  /**
   * Finds the caller by the grant of the call. If that has ended or is paused,
   * by the last grant that used the task.
   */
  async function findCaller(
    taskId: string,
    { caller, address }: Pick<RunRecord, "caller" | "address">,
  ): Promise<Authenticated | undefined> {
    const { gate } = siteOf(address);
    const found = await gate.restore(caller);
    const isPaused = await found?.isLive?.() === "paused";
    if (found && !isPaused || caller.grantId === undefined) return found;
    const grantId = await engine.tasks.userOf(taskId, caller.binding);
    return grantId === undefined || grantId === caller.grantId ||
        isPaused && await found!.isLive!(grantId) !== true
      ? found
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
        missingScopes(caller, tool?.scopes ?? []).length === 0 &&
        (await found!.isLive?.() ?? true),
    };
  };
}

/** The reason, shown to the author, why resumed work has no `upstream`. */
export const LACKS_UPSTREAM =
  "The provider's API is out of reach: this work goes on without the request that began it, and so without its sign-in.";

/** Restores the call that began the work from the run's record. */
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
