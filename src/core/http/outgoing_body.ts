/**
 * Response bodies with limits on memory and time. Deno takes 64 KiB and one
 * chunk more than the client has read; the rest is queued here. The bytes count
 * against the caller's limit until the response was sent. A client that reads
 * nothing for a minute is cut off. Deno cannot close its connection, so its
 * last bytes count until the client disconnects.
 * @module
 */
import type { BodyClock, TimedBody } from "../net/body_bytes.ts";
import { CORS_HEADERS } from "./cors.ts";

/** The seconds after which a client that reads nothing is cut off. */
const STALL_SECONDS = 60;

const PIECE_BYTES = 32 * 1024;

/** The maximum number of bytes that Deno keeps besides the queue. */
const MAX_KEPT_BYTES = 512 * 1024;

/**
 * The maximum size of a response that does not count against the limit, because
 * Deno needs more memory for its request.
 */
const UNCOUNTED_BYTES = 2 * 1024;

/**
 * The maximum size of a response that may be sent without a stream. Deno does
 * not say when such a response was sent, but a stream would make its call a
 * third slower. So one of eight, at random, is a stream and counts eight times.
 */
const SHORT_ANSWER_BYTES = 16 * 1024;
const SAMPLED = 8;

/**
 * The bytes of memory for each byte of a short response, whose text Deno also
 * keeps.
 */
const KEPT_PER_BYTE = 2;

const encoder = new TextEncoder();

/** A client that does not read its response. */
export class StalledError extends Error {
  constructor() {
    super("The client stopped reading");
  }
}

/** A response body whose queue counts as unread. */
export type UnreadBody = Pick<OutgoingBody, "queuedBytes" | "abandon">;

/** The connection of a response, and the limit on its caller's unread bytes. */
export interface ResponseSending {
  readonly clock: BodyClock;
  /**
   * Settles when the response was sent, or cannot be sent. Undefined if the
   * runtime does not report it.
   */
  readonly completed?: Promise<unknown>;
  /**
   * Adds to the caller's unread bytes; a negative number subtracts. If they are
   * too many, older bodies are abandoned.
   */
  count(bytes: number, body: UnreadBody): void;
  /** True while the caller's unread bytes are within the limit. */
  hasRoom(): boolean;
}

/** A response body that is sent as fast as its client reads. */
export class OutgoingBody {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  queuedBytes = 0;
  hasEnded = false;
  #queue: Uint8Array<ArrayBuffer>[] = [];
  #takenBytes = 0;
  #countedBytes = 0;
  #isWanted = false;
  #isClosed = false;
  #isSent = false;
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  readonly #timed: TimedBody = {
    seconds: STALL_SECONDS,
    giveUp: () => this.abandon(),
  };

  constructor(
    private readonly sending: ResponseSending | undefined,
    private readonly on: {
      /** Called when the client reads and the queue is empty. */
      wanted?(): void;
      /** Called when the client has taken a chunk. */
      taken?(): void;
      /** Called if the client disconnects or stalls before the end. */
      gone?(isStalled: boolean): void;
    } = {},
    /** The number of bytes to count for each byte of the body. */
    private readonly weight = 1,
  ) {
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => {
        this.#isWanted = true;
        this.sending?.clock.end(this.#timed);
        this.#flow();
      },
      cancel: () => this.#leave(false),
    }, { highWaterMark: 0 });
    sending?.clock.begin(this.#timed);
    const onSent = () => {
      this.#isSent = true;
      this.#count();
    };
    sending?.completed?.then(onSent, onSent);
  }

  write(chunk: Uint8Array<ArrayBuffer>): void {
    if (this.hasEnded) return;
    this.#queue.push(chunk);
    this.queuedBytes += chunk.length;
    this.#flow();
  }

  end(): void {
    this.hasEnded = true;
    this.#flow();
  }

  /**
   * Discards the queue and aborts the response.
   * @param error says by default that the client does not read
   */
  abandon(error: unknown = new StalledError()): void {
    if (this.#isClosed) return;
    this.#controller.error(error);
    this.#leave(error instanceof StalledError);
  }

  /**
   * Sends the next chunk if the client is reading. Closes the stream after the
   * last one.
   */
  #flow(): void {
    if (this.#isWanted && this.#queue.length > 0) {
      const piece = this.#nextPiece();
      this.#isWanted = false;
      this.queuedBytes -= piece.length;
      this.#takenBytes += piece.length;
      this.sending?.clock.begin(this.#timed);
      this.on.taken?.();
      this.#controller.enqueue(piece);
    }
    if (this.hasEnded && this.#queue.length === 0 && !this.#isClosed) {
      this.#close();
      this.#controller.close();
    }
    this.#count();
    if (this.#isWanted && !this.hasEnded) this.on.wanted?.();
  }

  #nextPiece(): Uint8Array<ArrayBuffer> {
    const [first] = this.#queue;
    if (first.length <= PIECE_BYTES) this.#queue.shift();
    else this.#queue[0] = first.subarray(PIECE_BYTES);
    // Copied: a view would keep the whole buffer until Deno has sent the chunk.
    return first.buffer.byteLength <= PIECE_BYTES
      ? first
      : first.slice(0, PIECE_BYTES);
  }

  #leave(isStalled: boolean): void {
    const wasOpen = !this.hasEnded;
    this.hasEnded = true;
    this.#queue = [];
    this.queuedBytes = 0;
    this.#close();
    this.#count();
    if (wasOpen) this.on.gone?.(isStalled);
  }

  #close(): void {
    this.#isClosed = true;
    this.sending?.clock.end(this.#timed, true);
    if (!this.sending?.completed) this.#isSent = true;
  }

  #count(): void {
    const kept = this.#isClosed
      ? Math.min(this.#takenBytes, MAX_KEPT_BYTES)
      : 0;
    const bytes = this.#isSent ? 0 : (this.queuedBytes + kept) * this.weight;
    const more = bytes - this.#countedBytes;
    this.#countedBytes = bytes;
    if (more !== 0) this.sending?.count(more, this);
  }
}

/**
 * True for a response that is long enough to count against the limit on unread
 * bytes.
 */
export function isCountedResponse(
  whole: { readonly length: number } | undefined,
): boolean {
  return whole !== undefined && whole.length > UNCOUNTED_BYTES;
}

/**
 * Makes a response from a complete body. A long body, and one of eight shorter
 * ones, is sent as a stream.
 */
export function wholeResponse(
  whole: string | Uint8Array<ArrayBuffer> | undefined,
  sending: ResponseSending | undefined,
  init?: ResponseInit,
): Response {
  if (!whole || !sending || !isCountedResponse(whole)) {
    return new Response(whole, init);
  }
  const isShort = whole.length <= SHORT_ANSWER_BYTES;
  if (isShort && Math.random() >= 1 / SAMPLED) return new Response(whole, init);
  const bytes = typeof whole === "string" ? encoder.encode(whole) : whole;
  const weight = isShort ? SAMPLED * KEPT_PER_BYTE : 1;
  const body = new OutgoingBody(sending, {}, weight);
  body.write(bytes);
  body.end();
  const response = new Response(body.stream, init);
  response.headers.set("content-length", String(bytes.length));
  return response;
}

/** Makes the response of a process that has no memory for a request. */
export function busyResponse(): Response {
  const headers = { ...CORS_HEADERS, "retry-after": "5" };
  return new Response(null, { status: 503, headers });
}

/**
 * Sends a route's response as a stream, unless its body is short and complete.
 *
 * @param sending returns undefined if there is no room for unread bytes; then
 * the response is replaced
 */
export async function streamedResponse(
  response: Response,
  sending: () => ResponseSending | undefined,
): Promise<Response> {
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  const init = { status, statusText, headers };
  const reader = response.body.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  let reading = reader.read();
  // The body of a `Response` made from a string has one piece.
  while (pieces.length < 2) {
    const found = await Promise.race([reading, aFewTurns()]);
    if (found === undefined) break;
    if (found.done) {
      const [bytes] = pieces;
      const isCounted = isCountedResponse(bytes);
      const counted = isCounted ? sending() : undefined;
      if (isCounted && !counted) return busyResponse();
      return wholeResponse(bytes, counted, init);
    }
    pieces.push(found.value);
    size += found.value.length;
    reading = reader.read();
  }
  const counted = sending();
  if (!counted) {
    reader.cancel().catch(() => {});
    return busyResponse();
  }
  const body = passedOn({ pieces, reading, reader }, counted);
  const streamed = new Response(body, init);
  if (headers.get("content-type")?.startsWith("text/event-stream")) {
    // Tells reverse proxies not to buffer the events.
    streamed.headers.set("x-accel-buffering", "no");
  }
  return streamed;
}

/**
 * Waits a few microtasks, so that a `Response` yields the bytes that it already
 * has.
 */
async function aFewTurns(): Promise<undefined> {
  for (let turn = 0; turn < 4; turn++) await undefined;
}

/**
 * Forwards a stream as fast as the client reads, with at most one chunk queued.
 */
function passedOn(
  { pieces, reading, reader }: {
    pieces: readonly Uint8Array<ArrayBuffer>[];
    /** The read in progress. */
    reading: Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>>;
    reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  },
  sending: ResponseSending,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let next: typeof reading | undefined = reading;
  let isReading = false;
  const body = new OutgoingBody(sending, {
    async wanted() {
      if (isReading) return;
      isReading = true;
      try {
        const { value, done } = await (next ?? reader.read());
        next = undefined;
        isReading = false;
        if (done) body.end();
        else body.write(value);
      } catch (error) {
        body.abandon(error);
      }
    },
    gone: () => void reader.cancel().catch(() => {}),
  });
  for (const piece of pieces) body.write(piece);
  return body.stream;
}
