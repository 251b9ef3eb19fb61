/**
 * The HTTP response to a request that is not finished yet: one JSON object if
 * nothing precedes the result, a stream of server-sent events otherwise.
 *
 * @module
 * @see MCP 2025-11-25, Transports, Sending Messages to the Server
 */
import { type Clock, systemClock } from "../clock.ts";
import { CORS_HEADERS } from "../http/cors.ts";
import { jsonResponse } from "./response.ts";

const STREAM_HEADERS: [string, string][] = [
  ["content-type", "text/event-stream"],
  ["cache-control", "no-cache, no-transform"],
  // Or a reverse proxy would hold the events back.
  ["x-accel-buffering", "no"],
  ...Object.entries(CORS_HEADERS),
];

const encoder = new TextEncoder();
const COMMENT = encoder.encode(":\n\n");

/** Unread bytes beyond which a sender waits. */
const ROOM_BYTES = 64 * 1024;

/** Unread bytes beyond which a stream is cut instead of holding one more. */
const MOST_BYTES = 16 * 1024 * 1024;

/** A stream whose reader left that much, and took nothing for so long, is cut. */
const STALL_MILLISECONDS = 30_000;

/** The message that ends a response. */
export interface Ending {
  /** JSON text. */
  body: string;
  /** Of a response that is not a stream; 200 by default. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** The JSON-RPC error code in it. */
  code?: number;
  /** Whether it is a result by which a tool says that it failed. */
  isToolError?: boolean;
}

/** A response that may still become either a JSON object or a stream. */
export class PendingResponse {
  /** Settles with the first byte: when the stream opens or everything ends. */
  readonly response: Promise<Response>;
  /** Called when the client closes the stream before its end. */
  onGone: () => void = () => {};
  #resolve!: (response: Response) => void;
  #stream?: ReadableStreamDefaultController<Uint8Array>;
  #hasEnded = false;
  /** The client closed the stream: a write may be what finds that out. */
  #isGone = false;
  #isStalled = false;
  /** Whether the reader waits for a chunk. */
  #isWanted = false;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #stalling?: ReturnType<typeof setTimeout>;
  #lastSentMilliseconds = 0;
  #room?: PromiseWithResolvers<void>;

  constructor(private readonly clock: Clock = systemClock) {
    this.response = new Promise((resolve) => this.#resolve = resolve);
  }

  /** Whether it has become a stream. */
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

  /** Whether the client left too much unread for too long. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** Makes it a stream, if it is not one yet. */
  open(): void {
    if (this.#stream || this.#hasEnded) return;
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

  /** Sends one message ahead of the end; resolves when there is room for more. */
  async send(message: string): Promise<void> {
    this.open();
    if (this.#hasEnded) return;
    if (this.#queuedBytes > MOST_BYTES) return this.#cut();
    this.#write(event(message));
    if (this.#queuedBytes > ROOM_BYTES) {
      await (this.#room ??= Promise.withResolvers()).promise;
    }
  }

  /** A comment keeps intermediaries from closing a quiet stream. */
  comment(): void {
    if (!this.#stream || this.#hasEnded) return;
    // Comments do not pile up for a client that reads nothing.
    if (this.#queuedBytes < ROOM_BYTES) this.#write(COMMENT);
  }

  /** Ends it; without an ending there is no message, as a client that cancelled wants it. */
  end(ending?: Ending): void {
    if (this.#hasEnded) return;
    if (ending === undefined) this.open();
    if (!this.#stream) {
      this.#hasEnded = true;
      const { body, status, headers } = ending!;
      return this.#resolve(jsonResponse(body, status, headers));
    }
    this.#hasEnded = true;
    if (ending) this.#write(event(ending.body));
    this.#flow();
  }

  #write(chunk: Uint8Array): void {
    this.#lastSentMilliseconds = this.clock();
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    this.#flow();
    this.#expectReader();
  }

  /** Hands over the next chunk if it is wanted, and closes behind the last. */
  #flow(): void {
    const chunk = this.#isWanted ? this.#queue.shift() : undefined;
    if (chunk) {
      this.#isWanted = false;
      this.#queuedBytes -= chunk.length;
      // It reads: the rest may take as long again.
      this.#stopExpecting();
      if (this.#queuedBytes <= ROOM_BYTES) this.#freeRoom();
      else this.#expectReader();
      this.#stream!.enqueue(chunk);
    }
    if (this.#hasEnded && this.#queue.length === 0 && !this.#isGone) {
      this.#isGone = true;
      this.#stream!.close();
    }
  }

  /** The client closed the stream. */
  #leave(): void {
    const wasOpen = !this.#hasEnded;
    this.#drop();
    if (wasOpen) this.onGone();
  }

  /** The client reads nothing: what waits for it is given up. */
  #cut(): void {
    this.#isStalled = true;
    this.#stream!.error(new Error("The client stopped reading"));
    this.#leave();
  }

  /** Nothing is queued any more, so no one waits for room. */
  #drop(): void {
    this.#isGone = true;
    this.#hasEnded = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#freeRoom();
  }

  /** Gives a reader that left too much unread its time to go on. */
  #expectReader(): void {
    if (this.#queuedBytes <= ROOM_BYTES) return;
    this.#stalling ??= setTimeout(() => this.#cut(), STALL_MILLISECONDS);
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

/** One server-sent event; JSON text has no line breaks to escape. */
function event(message: string): Uint8Array {
  return encoder.encode(`event: message\ndata: ${message}\n\n`);
}
