/**
 * Any exception as the answer it becomes.
 *
 * @module
 */
import { ChallengeError, HttpError, RpcCode, RpcError } from "../errors.ts";
import type { Gate } from "../gates/gate.ts";
import { ToolError } from "../authoring/tool.ts";
import {
  codeOfStatus,
  printError,
  type RequestId,
} from "../protocol/messages.ts";

/** An answer that refuses. */
export interface Refusal {
  body: string;
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** One word or two for the log. */
  outcome: string;
}

/** Turns any exception into a refusal, and reports what nobody meant to throw. */
export type Refuse = (error: unknown, id: RequestId | undefined) => Refusal;

/**
 * The refusal an exception stands for; undefined for one that nobody meant to
 * throw, which the wire may know only by a reference.
 */
export function refusalOf(
  error: unknown,
  id: RequestId | undefined,
  gate: Gate,
  stateless: boolean,
): Refusal | undefined {
  if (error instanceof RpcError) {
    const { code, status } = error;
    return { body: printError(id, error), status, outcome: `error ${code}` };
  }
  const body = (status: number, message: string) =>
    printError(id, { code: codeOfStatus(status, stateless), message });
  if (error instanceof ChallengeError) {
    return {
      body: body(error.status, error.description),
      status: error.status,
      headers: { "www-authenticate": gate.challenge(error) },
      outcome: error.error ?? "unauthorized",
    };
  }
  if (error instanceof HttpError) {
    const { message, status, headers } = error;
    return { body: body(status, message), status, headers, outcome: message };
  }
  if (error instanceof ToolError) {
    const { message } = error;
    const body = printError(id, { code: RpcCode.internalError, message });
    return { body, status: 200, outcome: message };
  }
  return undefined;
}

/** What the wire learns of an exception that nobody meant to throw. */
export function internalRefusal(
  reference: string,
  id: RequestId | undefined,
): Refusal {
  const message = `Internal error (reference ${reference})`;
  return {
    body: printError(id, { code: RpcCode.internalError, message }),
    status: id === undefined ? 500 : 200,
    outcome: "internal error",
  };
}
