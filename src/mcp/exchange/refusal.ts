/**
 * The answer that an exception becomes.
 *
 * @module
 */
import { ChallengeError, HttpError, RpcCode, RpcError } from "../../errors.ts";
import type { Gate } from "../../auth/doors/gate.ts";
import { sidOf } from "../../auth/doors/sid.ts";
import { ToolError } from "../../authoring/tool.ts";
import { wholeMessageOf } from "../../log/thrown.ts";
import type { Outcome } from "../../log/outcome.ts";
import {
  codeOfStatus,
  printError,
  type RequestId,
  shown,
} from "../wire/messages.ts";
import type { Ending } from "./pending_response.ts";

/** An answer that refuses a request. */
export interface Refusal extends Ending {
  outcome: Outcome;
  /** The refusal in words, for an answer whose HTTP status cannot tell it. */
  inWords?: string;
  /** The reason in a few words, for the log. */
  reason?: string;
}

/** The refused request. */
export interface Refused {
  id: RequestId | undefined;
  gate: Gate;
  request: Request;
  /** True if the client belongs to the generation without sessions. */
  stateless: boolean;
  /** True if HTTP has its status already: on a stream, or in a batch. */
  inBand?: boolean;
}

/**
 * Makes the refusal that an exception stands for; undefined for an unexpected
 * exception, of which the wire may show only a reference.
 */
export function refusalOf(
  error: unknown,
  { id, gate, request, stateless, inBand }: Refused,
): Refusal | undefined {
  if (error instanceof RpcError) {
    const { code, status } = error;
    const body = printError(id, error);
    return { body, code, status, ...refused(`error ${code}`) };
  }
  if (
    inBand && (error instanceof ChallengeError || error instanceof HttpError)
  ) {
    const message = inWords(error);
    return {
      body: printError(id, { code: RpcCode.internalError, message }),
      code: RpcCode.internalError,
      status: error.status,
      inWords: message,
      ...refused(reasonOf(error)),
    };
  }
  const printed = (status: number, message: string) => {
    const code = codeOfStatus(status, stateless);
    return { body: printError(id, { code, message }), code, status };
  };
  if (error instanceof ChallengeError) {
    return {
      ...printed(error.status, error.description),
      headers: { "www-authenticate": gate.challenge(error, sidOf(request)) },
      ...refused(reasonOf(error)),
    };
  }
  if (error instanceof HttpError) {
    const { message, status, headers, seen } = error;
    const words = seen === undefined
      ? message
      : `${message}, not ${shown(seen)}`;
    return {
      ...printed(status, words),
      headers,
      ...refused(reasonOf(error)),
    };
  }
  if (error instanceof ToolError) {
    const message = wholeMessageOf(error);
    const code = RpcCode.internalError;
    const body = printError(id, { code, message });
    // The tool's message may be the client's text.
    return { body, code, status: 200, outcome: "tool_error" };
  }
  return undefined;
}

function reasonOf(error: ChallengeError | HttpError): string {
  return error instanceof HttpError
    ? error.message
    : error.error ?? "unauthorized";
}

/** Adds to a refusal what its status and headers would have told the client. */
export function inWords(error: ChallengeError | HttpError): string {
  const { message } = error;
  if (error instanceof ChallengeError) {
    return `${message}. Send the request again by itself: the answer tells how to sign in`;
  }
  const seconds = error.headers["retry-after"];
  return seconds === undefined
    ? message
    : `${message}. Send the request again in ${seconds} s`;
}

function refused(reason: string): Pick<Refusal, "outcome" | "reason"> {
  return { outcome: "refused", reason };
}

/** Makes the answer for an unexpected exception. */
export function internalRefusal(
  reference: string,
  id: RequestId | undefined,
): Refusal {
  const message = `Internal error (reference ${reference})`;
  const code = RpcCode.internalError;
  return {
    body: printError(id, { code, message }),
    code,
    status: id === undefined ? 500 : 200,
    outcome: "internal_error",
  };
}
