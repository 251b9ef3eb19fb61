/**
 * A request's body with limits on size, chunks and time; and the limit on all
 * bodies that are still arriving.
 *
 * @module
 */
import { HttpError } from "../errors.ts";
import {
  BODY_SECONDS,
  type BodyClock,
  bodyDropped,
  bodyNotArrived,
  bodyTooLarge,
  bodyTooLate,
  type CountedBody,
  findBodiesToDrop,
  type TimedBody,
} from "./body_bytes.ts";

/**
 * Returns the maximum number of chunks for `size` bytes. Even a tiny chunk
 * costs as much as a call.
 */
const mostChunks = (size: number) => 100 + size / 256;

/**
 * The bodies still arriving in this process, the oldest first. Each key is the
 * function that drops the body.
 */
const unfinished = new Map<() => void, CountedBody>();
let unfinishedBytes = 0;
/** The maximum of {@linkcode unfinishedBytes}. A single body may exceed it. */
let maxUnfinishedBytes = 32 * 1024 * 1024;

/** @param giveUp drops the body and its bytes */
function hold(giveUp: () => void, sender: () => string, size: number): void {
  unfinishedBytes += size - (unfinished.get(giveUp)?.size ?? 0);
  unfinished.set(giveUp, { sender, size });
  if (unfinishedBytes <= maxUnfinishedBytes) return;
  for (const end of findBodiesToDrop(unfinished, maxUnfinishedBytes)) end();
}

/**
 * The maximum size of a chunk. Deno would allocate 64 KiB for each, even before
 * it arrives.
 */
const CHUNK_BYTES = 8 * 1024;

function chunkReader(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // Not a byte stream: other runtimes and tests make such bodies.
    return body.getReader();
  }
  return {
    read: () => reader.read(new Uint8Array(CHUNK_BYTES)),
    cancel: () => reader.cancel(),
  };
}

/**
 * A request's body, read chunk by chunk as its reader asks for it. Reading
 * fails with an `HttpError`: 413 if the body is too long, 400 if it has too
 * many chunks or does not arrive completely, 408 if it is late, 503 if it is
 * dropped because too many bodies are arriving.
 */
export class BoundedBody {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  #size = 0;
  #hasEnded = false;
  #chunks = 0;
  #reader?: ReturnType<typeof chunkReader>;
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  readonly #giveUp = () => this.#fail(bodyDropped());
  #timed?: TimedBody;

  constructor(
    private readonly request: Request,
    private readonly parts: {
      /** Ends slow bodies which nothing else ends in time. */
      clock?: BodyClock;
      /** Returns the sender's name, for the limit on arriving bodies. */
      sender(): string;
      /** Chunks allowed beyond {@linkcode mostChunks}. */
      moreChunks?: number;
      /** Called when the whole body has arrived; refuses it by an exception. */
      onArrived?(size: number): void;
    },
    private most: number,
    private seconds = BODY_SECONDS,
  ) {
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#pull(),
      cancel: () => this.#end(),
    }, { highWaterMark: 0 });
  }

  allow(most: number, seconds: number): void {
    maxUnfinishedBytes = Math.max(maxUnfinishedBytes, most);
    this.most = most;
    this.seconds = seconds;
  }

  async #pull(): Promise<void> {
    const { most, parts: { sender, moreChunks = 0, onArrived } } = this;
    try {
      const { value: chunk, done } = await (this.#reader ?? this.#begin())
        .read();
      if (this.#hasEnded) return;
      if (done) {
        this.#reader = undefined;
        this.#end();
        onArrived?.(this.#size);
        return this.#controller.close();
      }
      this.#size += chunk.length;
      if (this.#size > most) throw bodyTooLarge(most);
      if (++this.#chunks > moreChunks + mostChunks(this.#size)) {
        throw new HttpError(400, "Send the body in larger chunks");
      }
      hold(this.#giveUp, sender, this.#size);
      // Copied: a chunk of one byte would keep its whole buffer.
      if (!this.#hasEnded) this.#controller.enqueue(chunk.slice());
    } catch (cause) {
      this.#fail(cause instanceof HttpError ? cause : bodyNotArrived(cause));
    }
  }

  /** Starts to read. @throws {HttpError} 413 if `Content-Length` is too large */
  #begin() {
    const { most, seconds, request: { headers, body }, parts } = this;
    if (Number(headers.get("content-length")) > most) throw bodyTooLarge(most);
    this.#timed = {
      seconds,
      giveUp: (error = bodyTooLate(seconds)) => this.#fail(error),
    };
    parts.clock?.arrive(this.#timed, parts.sender);
    return this.#reader = chunkReader(body ?? new Blob().stream());
  }

  #fail(error: HttpError): void {
    this.#end();
    this.#controller.error(error);
  }

  /** Stops reading. Deno then closes the connection after the response. */
  #end(): void {
    this.#hasEnded = true;
    unfinishedBytes -= unfinished.get(this.#giveUp)?.size ?? 0;
    unfinished.delete(this.#giveUp);
    if (this.#timed) this.parts.clock?.end(this.#timed);
    this.#reader?.cancel().catch(() => {});
  }
}
