/**
 * Turns an exception into a tool's result or a JSON-RPC error.
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
  reasonsOf,
  stackFramesOf,
  wholeMessageOf,
  wholeTextOf,
  withoutRevokedProxy,
} from "../../thrown.ts";
import {
  codeOfStatus,
  quoted,
  type RpcErrorObject,
} from "../../protocol/messages.ts";
import { errorResult } from "../../protocol/results.ts";
import type { Ending } from "./answer.ts";

/** The exception for a call that a person has refused. */
export class PersonRefusal extends ToolError {}

/**
 * The failure of a request: a tool error that a model reads, or a JSON-RPC
 * error.
 */
export interface Failure
  extends Pick<Ending, "outcome" | "refusal" | "status" | "headers"> {
  result?: CallToolResult;
  error?: RpcErrorObject;
}

interface FailedRequest {
  log: Logger;
  /** The reference of the request in the log, which the client gets, too. */
  reference: string;
  /** True in development: the client gets the cause of an internal error. */
  showsCauses?: boolean;
  /** The method and the tool, for the log. */
  about?: Properties;
  /** True if a model reads the failure: for `tools/call`, and for tasks. */
  isTool: boolean;
  /**
   * True if the HTTP status was already sent: on a stream, in a batch, or for a
   * task. Then the error message has to say what the status and the headers
   * would have said.
   */
  isStatusSent: boolean;
  /** The HTTP request; undefined for a task. */
  http?: {
    request: Request;
    gate: Gate;
    /** True for a client of MCP 2026-07-28. */
    stateless: boolean;
  };
  /** The reason why the request was stopped; undefined if it was not. */
  stopped?: string;
}

/**
 * Makes an answer from any exception. An exception that cannot be read or
 * formatted becomes an internal error. Never throws.
 */
export function answerFailure<T>(
  thrown: unknown,
  failed: FailedRequest,
  answer: (failure: Failure) => T,
): T {
  try {
    return answer(failureOf(withoutRevokedProxy(thrown), failed));
  } catch (cause) {
    const error = new Error("An error that cannot be told", { cause });
    return answer(failureOf(error, failed));
  }
}

/**
 * Makes the failure for an exception; logs the exception if the server is at
 * fault.
 */
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
      // Without `seen`, which is text from the client.
      refusal: error instanceof HttpError
        ? error.message
        : error.error ?? "unauthorized",
    };
  }
  if (error instanceof ToolError) {
    const own = error instanceof PersonRefusal ? "refused" : "tool_error";
    const outcome = stopped === undefined ? own : "stopped";
    return { ...failureWith(wholeMessageOf(error), isTool), outcome };
  }
  // Code that was stopped may throw: that is no internal error.
  if (stopped !== undefined) {
    return { ...failureWith(stopped, isTool), outcome: "stopped" };
  }
  log.error("Internal error", { reference, ...about, error });
  const message = `Internal error (reference ${reference})` +
    (showsCauses ? `\n${forAuthor(error)}` : "");
  // A task that ends with a result would be `completed`, so it gets an error,
  // and is `failed`.
  const { http } = failed;
  return {
    ...failureWith(message, isTool && http !== undefined),
    outcome: "internal_error",
  };
}

/** The folders of this project's code, as opposed to the author's. */
const ENGINE = ["core", "features", "authoring"]
  .map((folder) => new URL(`../../../${folder}/`, import.meta.url).href);

/** Formats an error for development, the author's own line first. */
function forAuthor(error: unknown): string {
  const own = [error, ...reasonsOf(error)]
    .flatMap((reason) => stackFramesOf(reason).split("\n"))
    .find((frame) =>
      frame.includes("file://") && !frame.includes("/node_modules/") &&
      !ENGINE.some((folder) => frame.includes(folder))
    );
  const whole = wholeTextOf(error);
  return own === undefined ? whole : `${own.trim()}\n${whole}`;
}

/** Makes a result with a message for a model, or a JSON-RPC error. */
function failureWith(
  message: string,
  isTool: boolean,
): Pick<Failure, "result" | "error"> {
  return isTool
    ? { result: errorResult(message) }
    : { error: { code: RpcCode.internalError, message } };
}

/**
 * Makes a refusal: by HTTP status and headers if they can still be sent, else
 * by the message.
 */
function refusalOf(
  error: ChallengeError | HttpError,
  { isTool, isStatusSent, http }: FailedRequest,
): Pick<Failure, "result" | "error" | "status" | "headers"> {
  // Clients do not show an HTTP status to the model.
  if (isTool && error instanceof LimitError) {
    return failureWith(error.message, true);
  }
  const { status } = error;
  if (error instanceof ChallengeError && isTool && http) {
    const result = challengeResult(error, http);
    if (result) return { result };
  }
  if (isStatusSent || !http) {
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
    : `${error.message}, not ${quoted(seen)}`;
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
 * Makes a tool's result with a challenge for scopes, which ChatGPT needs to ask
 * people to sign in. Undefined for other clients, which read the HTTP status.
 * @see https://developers.openai.com/apps-sdk/build/auth
 */
function challengeResult(
  { description, error, scopes }: ChallengeError,
  { gate, request }: NonNullable<FailedRequest["http"]>,
): CallToolResult | undefined {
  if (error === "invalid_token") return undefined;
  const client = request.headers.get("user-agent");
  if (!client?.startsWith("openai-mcp/")) return undefined;
  // ChatGPT needs all parameters, even before anyone has signed in.
  const refusal = new ChallengeError(description, "insufficient_scope", scopes);
  const challenge = gate.challenge(refusal, sidOf(request));
  return {
    ...errorResult(description),
    _meta: { "mcp/www_authenticate": [challenge] },
  };
}
