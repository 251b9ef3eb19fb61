/**
 * The answer of a method, the end of its request, and responses of `/mcp` that
 * are not streams.
 * @module
 */
import type { JsonObject } from "../../json.ts";
import type { Outcome } from "../../log/request.ts";
import {
  isCountedResponse,
  type ResponseSending,
  wholeResponse,
} from "../../http/outgoing_body.ts";
import { CORS_HEADERS } from "../../http/cors.ts";

export type Answer =
  | Result
  /** An exception of the method. */
  | { error: unknown }
  /** Questions for the client: an `InputRequiredResult`. */
  | { ask: JsonObject }
  /** A task that runs on after the request, and reports its own end. */
  | { taskId: string; goesOn: JsonObject };

/** A result as JSON text. */
export interface Result {
  result: string;
  /** True if it is a `CallToolResult` with `isError`. */
  isToolError?: boolean;
  /** The outcome; by default it follows from `isToolError`. */
  outcome?: Outcome;
}

/** The end of a request: the response as JSON, and the outcome for the log. */
export interface Ending extends JsonAnswer, Pick<Result, "isToolError"> {
  outcome: Outcome;
  /** The reason of a refusal, short, for the log. */
  refusal?: string;
  /** The JSON-RPC error code in the body. */
  code?: number;
}

const CORS = Object.entries(CORS_HEADERS);

/** A response as JSON text; `body` is undefined if it is empty. */
export interface JsonAnswer {
  body?: string;
  /**
   * The HTTP status of a response that is not sent on a stream; 200 by default.
   */
  status?: number;
  headers?: Readonly<Record<string, string>>;
}

/**
 * Makes an HTTP response with a JSON body. A long body is sent as the client
 * reads. `init` is passed only for a status other than 200, and without
 * headers: Deno is slow with both. Requests without an `Origin` get no CORS
 * headers, which cost time and bytes, too.
 */
export function jsonResponse(
  { body, status = 200, headers: extra }: JsonAnswer,
  call?: { readonly sending: ResponseSending | undefined; hasOrigin?: boolean },
): Response {
  const sending = isCountedResponse(body) ? call?.sending : undefined;
  const init = status === 200 ? undefined : { status };
  const response = wholeResponse(body, sending, init);
  const { headers } = response;
  headers.set("content-type", "application/json");
  if (call?.hasOrigin !== false) {
    for (const [name, value] of CORS) headers.set(name, value);
  }
  if (extra) {
    for (const [name, value] of Object.entries(extra)) headers.set(name, value);
  }
  return response;
}

export function emptyResponse(status: number): Response {
  return new Response(null, { status, headers: CORS_HEADERS });
}
