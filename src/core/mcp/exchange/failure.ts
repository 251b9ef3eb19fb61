/**
 * The failure that a client receives for an exception: a tool's result, or an
 * error of JSON-RPC.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { sidOf } from "../../oauth/resource.ts";
import type { Gate } from "../../auth/doors/gate.ts";
import { ToolError } from "../../../authoring/tool.ts";
import {
  ChallengeError,
  HttpError,
  LimitError,
  RpcCode,
  RpcError,
} from "../../errors.ts";
import { logFailure, type Logger } from "../../log/log.ts";
import type { Properties } from "../../log/log_line.ts";
import {
  askable,
  framesOf,
  reasonsOf,
  wholeMessageOf,
  wholeTextOf,
} from "../../thrown.ts";
import {
  codeOfStatus,
  type RpcErrorObject,
  shown,
} from "../../protocol/messages.ts";
import { errorResult } from "../../protocol/tool_result.ts";
import type { Ending } from "./answer.ts";

/** A failure: a result that a model reads, or an error of JSON-RPC. */
export interface Failure
  extends Pick<Ending, "outcome" | "refusal" | "status" | "headers"> {
  result?: CallToolResult;
  error?: RpcErrorObject;
}

interface FailedRequest {
  log: Logger;
  /** Names the failure in the log, and to the client. */
  reference: string;
  /** True in development: the client is given the cause of an internal error. */
  showsCauses?: boolean;
  /** The method and the tool, for the log. */
  about?: Properties;
  /** True if a model reads the result: for `tools/call`, and for tasks. */
  isTool: boolean;
  /**
   * True if the HTTP status was sent already, as on a stream, in a batch or for
   * a task. Then the error message itself has what status and headers would
   * have said.
   */
  inBand: boolean;
  /** The HTTP request; undefined for a task. */
  http?: {
    request: Request;
    gate: Gate;
    /** True if the client belongs to the generation without sessions. */
    stateless: boolean;
  };
  /** The reason for which the request was stopped, if it was. */
  stopped?: string;
}

/**
 * Makes an answer of any exception. One that cannot be read or printed becomes
 * an internal error. Never throws.
 */
export function answerFailure<T>(
  thrown: unknown,
  failed: FailedRequest,
  answer: (failure: Failure) => T,
): T {
  try {
    return answer(failureOf(askable(thrown), failed));
  } catch (cause) {
    const error = new Error("An error that cannot be told", { cause });
    return answer(failureOf(error, failed));
  }
}

/** Finds the failure for an exception. Logs it if this server is at fault. */
function failureOf(error: unknown, failed: FailedRequest): Failure {
  const { log, reference, about, isTool, showsCauses, stopped } = failed;
  if (error instanceof RpcError) {
    const { code, message, data, status } = error;
    const refusal = `error ${code}`;
    return {
      outcome: "refused",
      refusal,
      error: { code, message, data },
      status,
    };
  }
  if (error instanceof ChallengeError || error instanceof HttpError) {
    if (error.status >= 500) logFailure(log, error, { reference, ...about });
    return {
      ...refusalOf(error, failed),
      outcome: "refused",
      // Without `seen`, which is the client's text.
      refusal: error instanceof HttpError
        ? error.message
        : error.error ?? "unauthorized",
    };
  }
  if (error instanceof ToolError) {
    const outcome = stopped === undefined ? "tool_error" : "stopped";
    return { ...failureWith(wholeMessageOf(error), isTool), outcome };
  }
  // An exception of code that was stopped is no error.
  if (stopped !== undefined) {
    return { ...failureWith(stopped, isTool), outcome: "stopped" };
  }
  log.error("Internal error", { reference, ...about, error });
  const message = `Internal error (reference ${reference})` +
    (showsCauses ? `\n${forAuthor(error)}` : "");
  // A task whose end is a result would be `completed`, not `failed`.
  const { http } = failed;
  return {
    ...failureWith(message, isTool && http !== undefined),
    outcome: "internal_error",
  };
}

/** The folders of the engine's own code. */
const ENGINE = ["core", "features", "authoring"]
  .map((folder) => new URL(`../../../${folder}/`, import.meta.url).href);

/** Prints an error with the author's own line first. */
function forAuthor(error: unknown): string {
  const own = [error, ...reasonsOf(error)]
    .flatMap((reason) => framesOf(reason).split("\n"))
    .find((frame) =>
      frame.includes("file://") && !frame.includes("/node_modules/") &&
      !ENGINE.some((folder) => frame.includes(folder))
    );
  const whole = wholeTextOf(error);
  return own === undefined ? whole : `${own.trim()}\n${whole}`;
}

/** Puts a message into a result, for a model, or into an error. */
function failureWith(
  message: string,
  isTool: boolean,
): Pick<Failure, "result" | "error"> {
  return isTool
    ? { result: errorResult(message) }
    : { error: { code: RpcCode.internalError, message } };
}

/** Makes a refusal: by HTTP status and headers, or else in its message. */
function refusalOf(
  error: ChallengeError | HttpError,
  { isTool, inBand, http }: FailedRequest,
): Pick<Failure, "result" | "error" | "status" | "headers"> {
  // No client shows the model an HTTP status.
  if (isTool && error instanceof LimitError) {
    return failureWith(error.message, true);
  }
  const { status } = error;
  if (error instanceof ChallengeError && isTool && http) {
    const result = challengeResult(error, http);
    if (result) return { result };
  }
  if (inBand || !http) {
    return { ...failureWith(inBandMessage(error), isTool), status };
  }
  const { gate, request, stateless } = http;
  const code = codeOfStatus(status, stateless);
  if (error instanceof ChallengeError) {
    const headers = {
      "www-authenticate": gate.challenge(error, sidOf(request)),
    };
    return { error: { code, message: error.description }, status, headers };
  }
  const { seen, headers } = error;
  const message = seen === undefined
    ? error.message
    : `${error.message}, not ${shown(seen)}`;
  return { error: { code, message }, status, headers };
}

/** Adds to a message what the HTTP status and headers would have said. */
function inBandMessage(error: ChallengeError | HttpError): string {
  const { message } = error;
  if (error instanceof ChallengeError) {
    return `${message}. Send the request again by itself: the answer tells how to sign in`;
  }
  const seconds = error.headers["retry-after"];
  return seconds === undefined
    ? message
    : `${message}. Send the request again in ${seconds} s`;
}

/**
 * Makes a tool's result with a challenge for scopes, without which ChatGPT does
 * not ask people to sign in. Undefined for other clients, which read the HTTP
 * status.
 *
 * @see https://developers.openai.com/apps-sdk/build/auth
 */
function challengeResult(
  { description, error, scopes }: ChallengeError,
  { gate, request }: NonNullable<FailedRequest["http"]>,
): CallToolResult | undefined {
  if (error === "invalid_token") return undefined;
  const client = request.headers.get("user-agent");
  if (!client?.startsWith("openai-mcp/")) return undefined;
  // ChatGPT wants all of the parameters, also before anyone has signed in.
  const refusal = new ChallengeError(description, "insufficient_scope", scopes);
  const challenge = gate.challenge(refusal, sidOf(request));
  return {
    ...errorResult(description),
    _meta: { "mcp/www_authenticate": [challenge] },
  };
}
