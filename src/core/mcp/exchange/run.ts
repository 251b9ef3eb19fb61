/**
 * The run of a call: its checks, its method, and its end. The first answer, or
 * an exception, becomes one response, one log line, one metric and one ledger
 * entry. The answer of a method that returns no promise is sent at once: a
 * promise for each step would make a quick call a fifth slower.
 *
 * @module
 */
import { isCountedResponse } from "../../http/outgoing_body.ts";
import { type Answer, type Ending, jsonResponse } from "./answer.ts";
import type { Call } from "./call.ts";
import { checkCall } from "./check.ts";
import { printAddress } from "../../net/address.ts";
import { clientAddress } from "../../http/client_address.ts";
import { newReference } from "../../log/log.ts";
import {
  printError,
  printResult,
  type RequestId,
} from "../../protocol/messages.ts";
import { STATELESS_REVISION } from "../../protocol/revisions.ts";
import type { AdmittedRequest, Engine } from "./engine.ts";
import { answerFailure, type Failure } from "./failure.ts";
import { unreadBudget } from "./unread_answers.ts";
import { aboutOf } from "./report.ts";
import { cutOffText } from "./running.ts";

/**
 * Answers a request of one MCP method. Throwing is the same as returning `{
 * error }`.
 */
export type Method<C extends Call = Call> = (
  call: C,
) => Answer | Promise<Answer>;

/** Runs a method, and returns the response as soon as it can begin. */
export function respond<C extends Call>(
  call: C,
  method: Method<C>,
): Response | Promise<Response> {
  const ending = runCall(call, method);
  if (!(ending instanceof Promise)) {
    if (ending.body !== undefined && !call.responseIfMade) {
      return jsonResponse(ending, call);
    }
    call.response.end(ending);
  } else if (call.execution.hasEnded) {
    ending.then((ending) => call.response.end(ending));
  } else {
    // Called at once, so that a long response is counted before the next call
    // is checked. It replaces the handler of `wait`, so that `ending` is never
    // resolved; no one else waits for it. Not written into the assignment: V8
    // would make it in the old generation, where it keeps the call in memory.
    const end = (ending: Ending) => call.response.end(ending);
    call.execution.onEnding = end;
  }
  return call.response.response;
}

/** Runs a method until its request has ended. Never rejects. */
export function runCall<C extends Call>(
  call: C,
  method: Method<C>,
): Ending | Promise<Ending> {
  call.admitted.operation?.take();
  try {
    const checking = checkCall(call);
    const answer = checking ? checking.then(() => method(call)) : method(call);
    if (answer instanceof Promise) return wait(call, answer);
    settleCall(call, answer);
  } catch (error) {
    settleCall(call, { error });
  }
  return call.execution.ending!;
}

/**
 * Waits for an answer. Meanwhile the call is listed as running, and can be
 * cancelled.
 */
function wait(call: Call, answer: Promise<Answer>): Promise<Ending> {
  const { execution, engine: { running } } = call;
  const ended = new Promise<Ending>((resolve) => {
    if (execution.ending) resolve(execution.ending);
    else execution.onEnding = resolve;
  });
  running.add(call);
  answer.then(
    (answer) => settleCall(call, answer),
    (error) => settleCall(call, { error }),
  ).then(() => {
    running.delete(call);
    call.stopIfInterrupted();
  });
  return ended;
}

/**
 * Ends a call with its first answer; later answers are dropped. Never throws.
 */
export function settleCall(call: Call, answer: Answer): void {
  const { execution } = call;
  if (execution.hasEnded) return;
  let ending: Ending;
  try {
    ending = endingOf(call, answer);
    checkLong(call, ending);
  } catch (error) {
    // A question may contain a value that JSON cannot express.
    ending = failedEnding(call, error);
  }
  if ("goesOn" in answer) execution.taskId = answer.taskId;
  execution.end(ending);
}

/** @throws {HttpError} if the caller leaves too many long responses unread */
function checkLong(call: Call, { body }: Ending): void {
  if (body === undefined || !isCountedResponse(body)) return;
  unreadBudget.check(call);
}

function endingOf(call: Call, answer: Answer): Ending {
  if ("error" in answer) return failedEnding(call, answer.error);
  const { message: { id }, printedLists: { printer } } = call;
  if ("ask" in answer) {
    const result = { resultType: "input_required", ...answer.ask };
    const body = printResult(id, printer.result(result));
    return { outcome: "input_required", body };
  }
  if ("goesOn" in answer) {
    const body = printResult(id, printer.result(answer.goesOn));
    return { outcome: "ok", body };
  }
  const { result, isToolError } = answer;
  const outcome = call.execution.isStopped
    ? "stopped"
    : answer.outcome ?? (isToolError ? "tool_error" : "ok");
  const clean = call.codeIfMade?.cleanJson(result) ?? result;
  return { outcome, body: printResult(id, clean), isToolError };
}

function failedEnding(call: Call, thrown: unknown): Ending {
  const { engine, message: { id, method }, admitted: { request } } = call;
  const { stateless, execution, printedLists: { printer } } = call;
  return answerFailure(call.codeIfMade?.clean(thrown) ?? thrown, {
    log: engine.log,
    showsCauses: engine.showsCauses,
    reference: call.requestId,
    about: aboutOf(call),
    isTool: method === "tools/call",
    isStatusSent: call.responseIfMade?.hasStatus === true,
    http: { request, gate: engine.gate, stateless },
    stopped: execution.isStopped
      ? cutOffText(execution.signal.reason.message, call.ifCut)
      : undefined,
  }, (failure) => {
    const { result, outcome, refusal } = failure;
    if (!result) return errorEnding(failure, id);
    const body = printResult(id, printer.result(result));
    return { outcome, refusal, body, isToolError: true };
  });
}

function errorEnding(
  { error, outcome, refusal, status, headers }: Failure,
  id: RequestId | undefined,
): Ending {
  const body = printError(id, error!);
  return { outcome, refusal, body, status, headers, code: error!.code };
}

/** An HTTP request whose message has not become a call. */
export interface Incoming
  extends Pick<AdmittedRequest, "request" | "info" | "operation"> {
  /** True in a batch, where the HTTP status is sent before the results. */
  readonly isStatusSent?: boolean;
  id?: RequestId;
}

/** Ends a request that was refused before it became a call. Never throws. */
export function refuseRequest(
  engine: Pick<Engine, "log" | "gate" | "trustedProxies">,
  thrown: unknown,
  incoming: Incoming,
): Ending {
  const { operation } = incoming;
  if (!operation) return refusalEnding(engine, thrown, incoming);
  // The log lines of the refusal get the request's span.
  const ending = operation.run(() => refusalEnding(engine, thrown, incoming));
  const { outcome, code } = ending;
  operation.end({ outcome, code });
  return ending;
}

function refusalEnding(
  { log, gate, trustedProxies }: Parameters<typeof refuseRequest>[0],
  thrown: unknown,
  { request, id, info, isStatusSent = false }: Incoming,
): Ending {
  const { headers, method } = request;
  const reference = newReference();
  const stateless = headers.get("mcp-protocol-version") === STATELESS_REVISION;
  const ending = answerFailure(thrown, {
    log,
    reference,
    isTool: false,
    isStatusSent,
    http: { request, gate, stateless },
  }, (failure) => errorEnding(failure, id));
  const { outcome, refusal } = ending;
  if (outcome === "internal_error") {
    if (id === undefined) ending.status = 500;
  } else if (log.isEnabledFor("debug")) {
    // Only for debugging: every client without a token is refused once, and
    // scanners all the time.
    const address = clientAddress(
      info?.remoteAddr?.hostname,
      headers,
      trustedProxies,
    );
    log.debug("Request", {
      reference,
      address: address && printAddress(address),
      method: `${method} /mcp`,
      status: ending.status ?? 200,
      outcome,
      refusal,
    });
  }
  return ending;
}
