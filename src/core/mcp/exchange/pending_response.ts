/**
 * The HTTP response to a request that is not finished yet: one JSON object if
 * nothing is sent before the result, a stream of server-sent events otherwise.
 *
 * @module
 * @see MCP 2025-11-25, Transports, Sending Messages to the Server
 */
import { CORS_HEADERS } from "../../http/cors.ts";
import { encode, type JsonAnswer } from "./answer.ts";

const STREAM_HEADERS: [string, string][] = [
  ["content-type", "text/event-stream"],
  ["cache-control", "no-cache, no-transform"],
  // Otherwise a reverse proxy buffers the events.
  ["x-accel-buffering", "no"],
  ...Object.entries(CORS_HEADERS),
];

const encoder = new TextEncoder();
const COMMENT = encoder.encode(":\n\n");

/** The unread bytes beyond which a sender waits. */
const ROOM_BYTES = 64 * 1024;

/** The unread bytes beyond which a stream is abandoned. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The time after which a sender no longer waits for a stalled reader. */
const STALL_MILLISECONDS = 30_000;

/** A response that may still become either a JSON object or a stream. */
export class PendingResponse {
  /** Settles with the first byte: when the stream opens or everything ends. */
  readonly response: Promise<Response>;
  /** Called when the client closes the stream before its end. */
  onGone: () => void = () => {};
  /** The time of the last byte on the stream, by `performance.now()`. */
  lastSentMilliseconds = -Infinity;
  /** True if the client left too much unread for too long. */
  isStalled = false;
  /** True if nothing more can be sent. */
  hasEnded = false;
  #resolve!: (response: Response) => void;
  #stream?: ReadableStreamDefaultController<Uint8Array>;
  /** True once the stream is closed: by the client, or after its last chunk. */
  #isClosed = false;
  /** True if the reader waits for a chunk. */
  #isWanted = false;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #stalling?: ReturnType<typeof setTimeout>;
  #room?: PromiseWithResolvers<void>;

  /** @param isShared true for the requests of a batch */
  constructor(private readonly isShared = false) {
    this.response = new Promise((resolve) => this.#resolve = resolve);
  }

  get isStream(): boolean {
    return this.#stream !== undefined;
  }

  /** True if the HTTP status was sent already: on a stream, or for a batch. */
  get hasStatus(): boolean {
    return this.isShared || this.isStream;
  }

  /** Makes the response a stream, if it is not one yet. */
  open(): void {
    if (this.#stream || this.hasEnded) return;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#stream = controller;
      },
      pull: () => {
        this.#isWanted = true;
        this.#flow();
      },
      cancel: () => this.#leave(),
    }, { highWaterMark: 0 });
    this.#resolve(new Response(body, { headers: STREAM_HEADERS }));
    this.comment();
  }

  /** Sends a message before the end; resolves when there is room for more. */
  async send(message: string): Promise<void> {
    this.open();
    if (this.hasEnded) return;
    if (this.#queuedBytes > MAX_BYTES) return this.#abandon();
    this.#write(event(message));
    if (this.#queuedBytes > ROOM_BYTES) {
      await (this.#room ??= Promise.withResolvers()).promise;
    }
  }

  /** Sends a comment, so that intermediaries do not close a quiet stream. */
  comment(): void {
    if (!this.#stream || this.hasEnded) return;
    // Comments do not pile up for a client that reads nothing.
    if (this.#queuedBytes < ROOM_BYTES) this.#write(COMMENT);
  }

  /** Ends the response; without a body, for a client that cancelled. */
  end(answer: JsonAnswer = {}): void {
    if (this.hasEnded) return;
    const { body } = answer;
    if (body === undefined) this.open();
    this.hasEnded = true;
    if (!this.#stream) return this.#resolve(encode(answer));
    if (body !== undefined) this.#write(event(body));
    this.#flow();
  }

  #write(chunk: Uint8Array): void {
    this.lastSentMilliseconds = performance.now();
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    this.#flow();
    this.#expectReader();
  }

  /** Gives a reader that waits the next chunk. Closes after the last. */
  #flow(): void {
    const chunk = this.#isWanted ? this.#queue.shift() : undefined;
    if (chunk) {
      this.#isWanted = false;
      this.#queuedBytes -= chunk.length;
      // The client reads, so its time for the next chunk begins again.
      this.#stopExpecting();
      if (this.#queuedBytes <= ROOM_BYTES) this.#freeRoom();
      else this.#expectReader();
      this.#stream!.enqueue(chunk);
    }
    if (this.hasEnded && this.#queue.length === 0 && !this.#isClosed) {
      this.#isClosed = true;
      this.#stream!.close();
    }
  }

  /** Ends the response of a client that has left, and calls `onGone`. */
  #leave(): void {
    const wasOpen = !this.hasEnded;
    this.#drop();
    if (wasOpen) this.onGone();
  }

  /** Abandons the stream of a client that reads nothing; its queue is dropped. */
  #abandon(): void {
    this.isStalled = true;
    this.#stream!.error(new Error("The client stopped reading"));
    this.#leave();
  }

  /** Empties the queue, so that no sender waits for room. */
  #drop(): void {
    this.#isClosed = true;
    this.hasEnded = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#freeRoom();
  }

  /** Gives a reader that left too much unread some time to go on. */
  #expectReader(): void {
    if (this.#queuedBytes <= ROOM_BYTES) return;
    this.#stalling ??= setTimeout(() => this.#abandon(), STALL_MILLISECONDS);
  }

  #stopExpecting(): void {
    clearTimeout(this.#stalling);
    this.#stalling = undefined;
  }

  #freeRoom(): void {
    this.#stopExpecting();
    this.#room?.resolve();
    this.#room = undefined;
  }
}

/** Prints a server-sent event; JSON text has no line breaks to escape. */
function event(message: string): Uint8Array {
  return encoder.encode(`event: message\ndata: ${message}\n\n`);
}
