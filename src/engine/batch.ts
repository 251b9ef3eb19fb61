/**
 * Batches of 2025-03-26: every request of an array is answered, as one array
 * if nothing precedes the results, else one by one on a stream.
 *
 * @module
 * @see MCP 2025-03-26, Transports, Sending Messages to the Server
 */
import type { Clock } from "../clock.ts";
import { emptyResponse, PendingResponse } from "./pending_response.ts";
import {
  parseMessage,
  type RpcMessage,
  salvageId,
} from "../protocol/messages.ts";
import type { Printed } from "./call.ts";
import type { Refuse } from "./refusal.ts";

/** The answer to one message of a batch, on its way into the whole. */
class Part extends PendingResponse {
  constructor(
    private readonly whole: PendingResponse,
    private readonly done: Printed[],
  ) {
    super();
  }

  override get isStream(): boolean {
    return this.whole.isStream;
  }

  override get lastSentMilliseconds(): number {
    return this.whole.lastSentMilliseconds;
  }

  override open(): void {
    this.whole.open();
  }

  override async send(message: Printed): Promise<void> {
    if (!this.hasEnded) await this.whole.send(message);
  }

  override comment(): void {
    this.whole.comment();
  }

  override end(message: Printed): void {
    if (this.hasEnded) return;
    if (this.isStream) this.whole.send(message);
    else this.done.push(message);
    super.end(message);
  }

  override abandon(): void {
    super.end("");
  }
}

/**
 * Serves the messages of a batch side by side; `serve` either throws or ends
 * the part it is given. 202 when nothing wants a response.
 */
export function answerBatch(
  values: readonly unknown[],
  refuse: Refuse,
  clock: Clock,
  serve: (message: RpcMessage, part: PendingResponse) => Promise<void>,
): Response | Promise<Response> {
  const whole = new PendingResponse(clock);
  const done: Printed[] = [];
  let expectsAnswer = false;

  async function serveOne(value: unknown): Promise<void> {
    const part = new Part(whole, done);
    try {
      await serve(parseMessage(value), part);
    } catch (error) {
      part.end(refuse(error, salvageId(value)).body);
    }
  }

  for (const value of values) expectsAnswer ||= wantsResponse(value);
  const all = Promise.all(values.map(serveOne));
  if (!expectsAnswer) return all.then(() => emptyResponse(202));
  all.then(async () => {
    if (!whole.isStream) return whole.end(`[${done.map(text).join(",")}]`);
    for (const message of done) await whole.send(message);
    whole.abandon();
  });
  return whole.response;
}

function text(message: Printed): string {
  return typeof message === "string"
    ? message
    : new TextDecoder().decode(message);
}

/** Anything but a notification or a response does: also what is broken. */
function wantsResponse(value: unknown): boolean {
  try {
    return parseMessage(value).kind === "request";
  } catch {
    return true;
  }
}
