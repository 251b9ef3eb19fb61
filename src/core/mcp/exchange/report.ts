/**
 * The reports of a call: to the log, to telemetry, and to the ledger of its
 * connection.
 *
 * @module
 */
import { shortClientId } from "../../oauth/client.ts";
import type { McpClient } from "../../../authoring/context.ts";
import type { Caller } from "../../caller.ts";
import type { JsonObject } from "../../json.ts";
import type { Properties } from "../../log/log_line.ts";
import { type Outcome, shortHash } from "../../log/log.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { RpcRequest } from "../../protocol/messages.ts";
import { metaOf, traceIdOf } from "../../protocol/request_meta.ts";
import type { Ending } from "./answer.ts";
import type { AuthorCode } from "./author_code.ts";
import type { AdmittedRequest, Engine } from "./engine.ts";

export interface ReportedCall {
  readonly engine: Pick<Engine, "log" | "clock" | "ledger">;
  readonly message: RpcRequest;
  readonly admitted: Pick<
    AdmittedRequest,
    "authenticated" | "catalogue" | "operation"
  >;
  readonly client: McpClient;
  readonly sessionId?: string;
  /** The author's code, if it was made; see {@linkcode Call.codeIfMade}. */
  readonly codeIfMade?: AuthorCode;
  readonly requestId: string;
  /** The time at which the call began, by `performance.now()`. */
  readonly startedMilliseconds: number;
}

/**
 * Reports the end of a call.
 * @param taskId the task that the call became, which reports its own end
 */
export function reportCall(
  call: ReportedCall,
  ending: Ending,
  taskId?: string,
): void {
  const { outcome, refusal, code, isToolError } = ending;
  if (taskId === undefined) note(call, outcome);
  const { admitted: { operation } } = call;
  const end = { task: taskId, outcome, refusal };
  if (!operation) return log(call, "Request", end);
  // The log line gets the call's span, whatever ended the call.
  operation.run(() => log(call, "Request", end));
  const { client: { revision }, requestId: reference } = call;
  operation.end({ outcome, code, isToolError, revision, reference });
}

/** Reports the end of a task that a call became. */
export function reportTask(
  call: ReportedCall,
  taskId: string,
  outcome: Outcome,
): void {
  note(call, outcome);
  log(call, "Task", { outcome }, taskId);
}

/** The stored members of durable work that its report uses. */
interface ReportedRun {
  caller: Caller;
  tool: string;
  createdMilliseconds: number;
}

export function reportRun(
  { ledger, log, clock }: ReportedCall["engine"],
  taskId: string,
  { caller, tool, createdMilliseconds }: ReportedRun,
  outcome: Outcome,
  meta: JsonObject = {},
): void {
  const { subject, clientId, grantId, door } = caller;
  const at = Math.floor(createdMilliseconds / 1000);
  if (grantId !== undefined) ledger?.note(grantId, { at, tool, outcome });
  log.info("Task", {
    reference: taskId,
    traceId: traceIdOf(meta),
    subject,
    clientId: clientId && shortClientId(clientId),
    grantId,
    door,
    method: "tools/call",
    tool,
    durationMilliseconds: Math.max(0, clock() - createdMilliseconds),
    outcome,
  });
}

/**
 * Returns the method of a call, and the tool or prompt that it names, for the
 * log.
 */
export function aboutOf(
  { message, admitted }: Pick<ReportedCall, "message" | "admitted">,
): { method: string; tool?: string; prompt?: string } {
  const { method } = message;
  const { prompts } = admitted.catalogue;
  const name = message.params.name as string;
  const tool = knownToolName(admitted.catalogue, name);
  return method === "prompts/get"
    ? { method, prompt: prompts.get(name)?.name }
    : { method, tool };
}

/**
 * Returns the name of a tool that is served. Undefined for any other name: it
 * is the client's text, and must not be logged.
 */
export function knownToolName(
  { tools, taskTools }: Pick<Catalogue, "tools" | "taskTools">,
  name: string,
): string | undefined {
  return tools.get(name)?.name ?? (taskTools.has(name) ? name : undefined);
}

/** The advice that each server has logged, with its tool or method. */
const ADVISED = new WeakMap<ReportedCall["engine"], Set<string>>();

/** Logs advice for the author, once for each tool or method of a server. */
export function advise(call: ReportedCall, message: string): void {
  const { method, tool = method } = aboutOf(call);
  const advice = `${tool} ${message}`;
  const advised = ADVISED.get(call.engine) ?? new Set();
  if (advised.has(advice)) return;
  ADVISED.set(call.engine, advised.add(advice));
  warn(call, message);
}

export function warn(call: ReportedCall, message: string): void {
  const { requestId: reference, engine: { log } } = call;
  log.warning(message, { reference, ...aboutOf(call) });
}

/** Adds a tool call under a grant to the ledger. */
function note(call: ReportedCall, outcome: Outcome): void {
  const { engine: { ledger, clock }, message, admitted } = call;
  const { grantId } = admitted.authenticated.caller;
  if (!ledger || grantId === undefined || message.method !== "tools/call") {
    return;
  }
  const { tool } = aboutOf(call);
  if (tool === undefined) return;
  const at = Math.floor((clock() - millisecondsSince(call)) / 1000);
  ledger.note(grantId, { at, tool, outcome });
}

function log(
  call: ReportedCall,
  line: "Request" | "Task",
  { task, outcome, refusal }: Properties,
  reference = call.requestId,
): void {
  const { log } = call.engine;
  if (!log.isEnabledFor("info")) return;
  const { admitted, message, sessionId } = call;
  const { subject, clientId, grantId, door } = admitted.authenticated.caller;
  const { method, tool, prompt } = aboutOf(call);
  log.info(line, {
    reference,
    traceId: traceIdOf(metaOf(message.params)),
    subject,
    clientId: clientId && shortClientId(clientId),
    grantId,
    door,
    session: sessionId && shortHash(sessionId),
    method,
    tool,
    prompt,
    task,
    durationMilliseconds: millisecondsSince(call),
    outcome,
    refusal,
  });
}

function millisecondsSince(
  { startedMilliseconds }: Pick<ReportedCall, "startedMilliseconds">,
): number {
  return Math.round(performance.now() - startedMilliseconds);
}
