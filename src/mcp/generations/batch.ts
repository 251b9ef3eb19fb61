/**
 * Batches of 2025-03-26: every request of an array is answered, in one array if
 * nothing has to be sent before the results, else one by one on a stream.
 *
 * @module
 * @see MCP 2025-03-26, Transports, Sending Messages to the Server
 */
import type { Clock } from "../../clock.ts";
import {
  parseMessage,
  type RequestId,
  type RpcMessage,
  salvageId,
} from "../wire/messages.ts";
import { type Ending, PendingResponse } from "../exchange/pending_response.ts";
import type { Refusal } from "../exchange/refusal.ts";
import { emptyResponse } from "../exchange/response.ts";

/** The functions that serve a batch. */
export interface BatchHandler {
  clock: Clock;
  /**
   * Serves one message; gives its answer, if it has one. Messages before the
   * answer go to `response`.
   */
  serve(
    message: RpcMessage,
    response: PendingResponse,
  ): Promise<Ending | undefined>;
  /** Turns an exception of `serve` into an answer. */
  refuse(error: unknown, id: RequestId | undefined): Refusal;
}

/**
 * Serves the messages of a batch concurrently. Answers 202 if none wants an
 * answer.
 */
export function answerBatch(
  values: readonly unknown[],
  { serve, refuse, clock }: BatchHandler,
): Promise<Response> {
  const response = new PendingResponse(clock);
  const done: string[] = [];

  async function serveOne(value: unknown): Promise<void> {
    let ending: Ending | undefined;
    try {
      ending = await serve(parseMessage(value), response);
    } catch (error) {
      ending = refuse(error, salvageId(value));
    }
    if (!ending) return;
    if (response.isStream) await response.send(ending.body);
    else done.push(ending.body);
  }

  const all = Promise.all(values.map(serveOne));
  if (!values.some(wantsResponse)) return all.then(() => emptyResponse(202));
  all.then(async () => {
    if (!response.isStream) {
      return response.end({ body: `[${done.join(",")}]` });
    }
    for (const message of done) await response.send(message);
    response.end();
  });
  return response.response;
}

/**
 * True unless the value is a notification or a response; broken messages are
 * answered too.
 */
function wantsResponse(value: unknown): boolean {
  try {
    return parseMessage(value).kind === "request";
  } catch {
    return true;
  }
}
