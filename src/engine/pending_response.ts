/**
 * The HTTP answer to a request that is not finished yet: one JSON object if
 * nothing precedes the result, a stream of server-sent events otherwise.
 *
 * @module
 * @see MCP 2025-11-25, Transports, Sending Messages to the Server
 */
import { type Clock, systemClock } from "../clock.ts";
import { CORS_HEADERS } from "../http/cors.ts";
import type { Printed } from "./call.ts";
import { printId, printResult, type RequestId } from "../protocol/messages.ts";

const JSON_HEADERS: [string, string][] = [
  ["content-type", "application/json"],
  ...Object.entries(CORS_HEADERS),
];

const STREAM_HEADERS: [string, string][] = [
  ["content-type", "text/event-stream"],
  ["cache-control", "no-cache, no-transform"],
  // Or a reverse proxy would hold the events back.
  ["x-accel-buffering", "no"],
  ...Object.entries(CORS_HEADERS),
];

const encoder = new TextEncoder();
const COMMENT = encoder.encode(":\n\n");

/**
 * A JSON answer. The constructor is given nothing that it need not have: Deno
 * takes its time over an `init`, and makes a native response with a finalizer
 * for headers in it.
 */
export function jsonResponse(
  body: Printed,
  status = 200,
  extra?: Readonly<Record<string, string>>,
): Response {
  const response = status === 200
    ? new Response(body)
    : new Response(body, { status });
  const { headers } = response;
  for (const [name, value] of JSON_HEADERS) headers.set(name, value);
  if (extra) {
    for (const [name, value] of Object.entries(extra)) headers.set(name, value);
  }
  return response;
}

/** An answer with a status and nothing else. */
export function emptyResponse(
  status: number,
  headers?: Readonly<Record<string, string>>,
): Response {
  return new Response(null, {
    status,
    headers: { ...CORS_HEADERS, ...headers },
  });
}

const RESULT_HEAD = encoder.encode('{"jsonrpc":"2.0","result":');

/** A result response; one printed beforehand is copied, not encoded again. */
export function resultBody(id: RequestId, result: Printed): Printed {
  if (typeof result === "string") return printResult(id, result);
  const tail = encoder.encode(`,"id":${printId(id)}}`);
  const body = new Uint8Array(
    RESULT_HEAD.length + result.length + tail.length,
  );
  body.set(RESULT_HEAD);
  body.set(result, RESULT_HEAD.length);
  body.set(tail, RESULT_HEAD.length + result.length);
  return body;
}

/** An answer that may still become either a JSON object or a stream. */
export class PendingResponse {
  /** Settles with the first byte: when the stream opens or the answer ends. */
  readonly response: Promise<Response>;
  /** Called when the client closes the stream before its end. */
  onGone: () => void = () => {};
  #resolve!: (response: Response) => void;
  #stream?: ReadableStreamDefaultController<Uint8Array>;
  #hasEnded = false;
  /** The client closed the stream: a write may be what finds that out. */
  #isGone = false;
  #lastSentMilliseconds = 0;
  #room?: PromiseWithResolvers<void>;

  constructor(private readonly clock: Clock = systemClock) {
    this.response = new Promise((resolve) => this.#resolve = resolve);
  }

  /** Whether the answer has become a stream. */
  get isStream(): boolean {
    return this.#stream !== undefined;
  }

  /** Whether nothing can be sent any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Epoch milliseconds of the last byte on the stream. */
  get lastSentMilliseconds(): number {
    return this.#lastSentMilliseconds;
  }

  /** Makes the answer a stream, if it is not one yet. */
  open(): void {
    if (this.#stream || this.#hasEnded) return;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#stream = controller;
      },
      pull: () => this.#freeRoom(),
      cancel: () => {
        this.#isGone = true;
        if (this.#hasEnded) return;
        this.#hasEnded = true;
        this.#freeRoom();
        this.onGone();
      },
    }, { highWaterMark: 16 });
    this.#resolve(new Response(body, { headers: STREAM_HEADERS }));
    this.comment();
  }

  /** Sends one message ahead of the result; resolves when there is room for more. */
  async send(message: Printed): Promise<void> {
    this.open();
    if (this.#hasEnded) return;
    this.#write(event(message));
    // A stream that is gone has no room and never will.
    if (!this.#isGone && this.#stream!.desiredSize! <= 0) {
      await (this.#room ??= Promise.withResolvers()).promise;
    }
  }

  /** A comment keeps intermediaries from closing a quiet stream. */
  comment(): void {
    if (!this.#stream || this.#hasEnded) return;
    // Comments do not pile up for a client that reads nothing.
    if (this.#stream.desiredSize! > 0) this.#write(COMMENT);
  }

  /** Ends the answer; without a stream, `status` and `headers` still count. */
  end(
    message: Printed,
    status?: number,
    headers?: Readonly<Record<string, string>>,
  ): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#stream) {
      this.#write(event(message));
      this.#close();
    } else {
      this.#resolve(jsonResponse(message, status, headers));
    }
  }

  /** Ends the answer as it is: the client wants no response any more. */
  abandon(): void {
    if (this.#hasEnded) return;
    this.open();
    this.#hasEnded = true;
    this.#close();
  }

  #close(): void {
    if (!this.#isGone) this.#stream!.close();
    this.#freeRoom();
  }

  #freeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #write(chunk: Uint8Array): void {
    this.#lastSentMilliseconds = this.clock();
    this.#stream!.enqueue(chunk);
  }
}

/** One server-sent event; JSON text has no line breaks to escape. */
function event(message: Printed): Uint8Array {
  const text = typeof message === "string"
    ? message
    : new TextDecoder().decode(message);
  return encoder.encode(`event: message\ndata: ${text}\n\n`);
}
