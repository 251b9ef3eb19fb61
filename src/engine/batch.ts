/**
 * Batches of 2025-03-26: every request of an array is answered, as one array
 * if nothing precedes the results, else one by one on a stream.
 *
 * @module
 * @see MCP 2025-03-26, Transports, Sending Messages to the Server
 */
import type { Clock } from "../clock.ts";
import {
  parseMessage,
  type RequestId,
  type RpcMessage,
  salvageId,
} from "../protocol/messages.ts";
import { type Ending, PendingResponse } from "./pending_response.ts";
import type { Refusal } from "./refusal.ts";
import { emptyResponse } from "./response.ts";

/** What a batch is served with. */
export interface BatchHandler {
  clock: Clock;
  /**
   * Serves one message; gives what answers it, if anything does. Messages
   * ahead of that go to `response`.
   */
  serve(
    message: RpcMessage,
    response: PendingResponse,
  ): Promise<Ending | undefined>;
  /** Turns what `serve` throws into an answer. */
  refuse(error: unknown, id: RequestId | undefined): Refusal;
}

/** Serves the messages of a batch side by side. 202 when none wants an answer. */
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

/** Anything but a notification or a response does: also what is broken. */
function wantsResponse(value: unknown): boolean {
  try {
    return parseMessage(value).kind === "request";
  } catch {
    return true;
  }
}
