/**
 * The answer of a method, the end of its request, and the responses of `/mcp`.
 * A response is one JSON object, unless something is sent before the result:
 * then it is a stream of server-sent events.
 *
 * @see MCP 2025-11-25, Transports, Sending Messages to the Server
 * @module
 */
import type { JsonObject } from "../../json.ts";
import type { Outcome } from "../../log/log.ts";
import {
  isCountedResponse,
  OutgoingBody,
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
interface JsonAnswer {
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

const STREAM_HEADERS: [string, string][] = [
  ["content-type", "text/event-stream"],
  ["cache-control", "no-cache, no-transform"],
  // Tells reverse proxies not to buffer the events.
  ["x-accel-buffering", "no"],
  ...Object.entries(CORS_HEADERS),
];

const encoder = new TextEncoder();
const COMMENT = encoder.encode(":\n\n");

/** The number of unread bytes above which a sender waits. */
const ROOM_BYTES = 64 * 1024;

/** The number of unread bytes above which a stream is aborted. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A response that becomes a JSON object or a stream. */
export class PendingResponse {
  /**
   * Resolves when the response begins: the stream opens, or the result is
   * complete.
   */
  readonly response: Promise<Response>;
  /** Called if the client closes the stream before its end. */
  onGone?: () => void;
  /** The time of the last byte on the stream, by `performance.now()`. */
  lastSentMilliseconds = -Infinity;
  /** True if the client left too many bytes unread, or some for too long. */
  isStalled = false;
  hasEnded = false;
  #resolve!: (response: Response) => void;
  #stream?: OutgoingBody;
  #room?: PromiseWithResolvers<void>;

  /**
   * @param isShared true for a batch, whose requests share the response
   * @param call the call, or the batch
   */
  constructor(
    private readonly isShared = false,
    private readonly call?: {
      readonly sending: ResponseSending;
      hasOrigin?: boolean;
    },
  ) {
    this.response = new Promise((resolve) => this.#resolve = resolve);
  }

  get isStream(): boolean {
    return this.#stream !== undefined;
  }

  /**
   * True if the HTTP status is already sent, as on a stream and for a batch.
   */
  get hasStatus(): boolean {
    return this.isShared || this.isStream;
  }

  /** Makes the response a stream, unless it already is one. */
  open(): void {
    if (this.#stream || this.hasEnded) return;
    this.#stream = new OutgoingBody(this.call?.sending, {
      taken: () => this.#freeRoom(),
      gone: (isStalled) => {
        this.isStalled ||= isStalled;
        const wasOpen = !this.hasEnded;
        this.hasEnded = true;
        this.#freeRoom();
        if (wasOpen) this.onGone?.();
      },
    });
    const headers = STREAM_HEADERS;
    this.#resolve(new Response(this.#stream.stream, { headers }));
    this.comment();
  }

  /**
   * Sends a message before the result; resolves when there is room for more.
   */
  async send(message: string): Promise<void> {
    this.open();
    if (this.hasEnded) return;
    const stream = this.#stream!;
    const { queuedBytes } = stream;
    const isOver = queuedBytes > ROOM_BYTES &&
      this.call?.sending.hasRoom() === false;
    if (queuedBytes > MAX_BYTES || isOver) return stream.abandon();
    this.#write(event(message));
    if (stream.queuedBytes > ROOM_BYTES) {
      await (this.#room ??= Promise.withResolvers()).promise;
    }
  }

  /** Sends a comment, so that proxies do not close a quiet stream. */
  comment(): void {
    if (!this.#stream || this.hasEnded) return;
    // Skipped if the client does not read, so that comments do not pile up.
    if (this.#stream.queuedBytes < ROOM_BYTES) this.#write(COMMENT);
  }

  /** Ends the response, without a body if the client cancelled. */
  end(answer: JsonAnswer = {}): void {
    if (this.hasEnded) return;
    const { body } = answer;
    if (body === undefined) this.open();
    this.hasEnded = true;
    if (!this.#stream) return this.#resolve(jsonResponse(answer, this.call));
    if (body !== undefined) this.#write(event(body));
    this.#stream.end();
  }

  #write(chunk: Uint8Array<ArrayBuffer>): void {
    this.lastSentMilliseconds = performance.now();
    this.#stream!.write(chunk);
  }

  /** Lets waiting senders continue if there is room. */
  #freeRoom(): void {
    if (!this.hasEnded && this.#stream!.queuedBytes > ROOM_BYTES) return;
    this.#room?.resolve();
    this.#room = undefined;
  }
}

/** Formats a server-sent event. JSON text has no line breaks. */
function event(message: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(`event: message\ndata: ${message}\n\n`);
}
