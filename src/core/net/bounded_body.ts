/**
 * The body of a request within bounds of size, chunks and time, and the bound on
 * all unfinished ones.
 *
 * @module
 */
import { HttpError } from "../errors.ts";
import {
  BODY_SECONDS,
  type BodyClock,
  type Counted,
  findBeyond,
  givenUp,
  notArrived,
  type TimedBody,
  tooLarge,
  tooLate,
} from "./body_bytes.ts";

/**
 * Returns the maximum number of chunks for `size` bytes: each chunk, however
 * small, costs as much as a call.
 */
const mostChunks = (size: number) => 100 + size / 256;

/**
 * The bodies that have not fully arrived in this process, by the functions that
 * drop them, the oldest first.
 */
const unfinished = new Map<() => void, Counted>();
let unfinishedBytes = 0;
/** The maximum of {@linkcode unfinishedBytes}; a single body may be longer. */
let maxUnfinishedBytes = 32 * 1024 * 1024;

/** @param giveUp releases the body, too */
function hold(giveUp: () => void, sender: () => string, size: number): void {
  unfinishedBytes += size - (unfinished.get(giveUp)?.size ?? 0);
  unfinished.set(giveUp, { sender, size });
  if (unfinishedBytes <= maxUnfinishedBytes) return;
  for (const end of findBeyond(unfinished, maxUnfinishedBytes)) end();
}

/**
 * The most bytes of a chunk. Deno by itself sets 64 KiB aside for each, also for
 * one that never comes.
 */
const CHUNK_BYTES = 8 * 1024;

/** Reads a body in small chunks. */
function chunkReader(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // No stream of bytes, as tests and other runtimes make it.
    return body.getReader();
  }
  return {
    read: () => reader.read(new Uint8Array(CHUNK_BYTES)),
    cancel: () => reader.cancel(),
  };
}

/**
 * The body of a request. It is fetched chunk by chunk as its reader asks for it,
 * within bounds. Reading fails with an `HttpError`: 413 if the body is too long,
 * 400 if it has too many chunks or does not arrive in full, 408 if it is late,
 * 503 if it is dropped to make room for others.
 */
export class BoundedBody {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  #size = 0;
  #hasEnded = false;
  #chunks = 0;
  #reader?: ReturnType<typeof chunkReader>;
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  readonly #giveUp = () => this.#fail(givenUp());
  #timed?: TimedBody;

  constructor(
    private readonly request: Request,
    private readonly parts: {
      /** The clock of a body that is not timed elsewhere. */
      clock?: BodyClock;
      /** Names the sender, for the bounds on unfinished bodies. */
      sender(): string;
      /** The chunks that it may have beyond {@linkcode mostChunks}. */
      moreChunks?: number;
      /** Called when the whole body has arrived. @throws to refuse it */
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
      if (this.#size > most) throw tooLarge(most);
      if (++this.#chunks > moreChunks + mostChunks(this.#size)) {
        throw new HttpError(400, "Send the body in larger chunks");
      }
      hold(this.#giveUp, sender, this.#size);
      // A chunk of one byte keeps all that was set aside for it.
      if (!this.#hasEnded) this.#controller.enqueue(chunk.slice());
    } catch (cause) {
      this.#fail(cause instanceof HttpError ? cause : notArrived(cause));
    }
  }

  /** Starts to read. @throws {HttpError} 413 if `Content-Length` is too large */
  #begin() {
    const { most, seconds, request: { headers, body }, parts } = this;
    if (Number(headers.get("content-length")) > most) throw tooLarge(most);
    this.#timed = {
      seconds,
      giveUp: (error = tooLate(seconds)) => this.#fail(error),
    };
    parts.clock?.arrive(this.#timed, parts.sender);
    return this.#reader = chunkReader(body ?? new Blob().stream());
  }

  #fail(error: HttpError): void {
    this.#end();
    this.#controller.error(error);
  }

  /** Stops reading: Deno closes the connection after the response. */
  #end(): void {
    this.#hasEnded = true;
    unfinishedBytes -= unfinished.get(this.#giveUp)?.size ?? 0;
    unfinished.delete(this.#giveUp);
    if (this.#timed) this.parts.clock?.end(this.#timed);
    this.#reader?.cancel().catch(() => {});
  }
}
