/**
 * Reads bodies within limits on size, chunks and time; and bounds the time in
 * which a body must make progress.
 *
 * @module
 * @see RFC 9112 §7.1, Chunked Transfer Coding
 */
import { HttpError } from "../errors.ts";
import { outsideTrace } from "../telemetry/current.ts";

/**
 * Returns the maximum number of chunks for `size` bytes: each chunk, however
 * small, costs as much as a call.
 */
export const mostChunks = (size: number) => 100 + size / 256;

/**
 * The maximum size of a body that is read in one step. Deno allocates
 * `Content-Length` bytes before any byte has arrived, and keeps them until the
 * client disconnects.
 */
const MAX_WHOLE_BYTES = 8 * 1024;

/**
 * Reads a body.
 *
 * @param sender the limit key of the sender of a long body, for the bound on
 * unfinished ones
 * @throws {HttpError} 413 as soon as there are more than `most` bytes, 400 if
 * there are too many chunks, or the body does not arrive in full
 */
export async function readBytes(
  request: Request,
  most: number,
  sender = "",
): Promise<Uint8Array> {
  const announced = request.headers.get("content-length");
  const length = announced === null ? Infinity : Number(announced);
  if (announced !== null && length > most) throw tooLarge(most);
  try {
    // Deno's server reads no more than `Content-Length`. @hono/node-server has
    // no `bytes()`.
    return length <= MAX_WHOLE_BYTES
      ? new Uint8Array(await request.arrayBuffer())
      : await readChunks(request.body, most, sender);
  } catch (cause) {
    if (cause instanceof HttpError) throw cause;
    throw notArrived(cause);
  }
}

/** Makes the error for a body that did not arrive in full. */
export function notArrived(cause: unknown): HttpError {
  return new HttpError(400, "The body did not arrive", { cause });
}

/**
 * The maximum number of bytes of unfinished long bodies in this process; a
 * single body may be longer.
 */
const MAX_UNFINISHED_BYTES = 32 * 1024 * 1024;

/**
 * The long bodies that have not fully arrived in this process. If they have too
 * many bytes, the sender with the most bytes loses their oldest body, so that
 * bodies which are held open on purpose push out no one else's.
 */
class UnfinishedBodies {
  /** The bodies by the functions that drop them, the oldest first. */
  #bodies = new Map<() => void, { sender: string; bytes: number }>();
  #total = 0;
  #most = MAX_UNFINISHED_BYTES;

  /**
   * Raises the bound, if necessary, so that there is room for one body of a
   * length.
   */
  makeRoom(bytes: number): void {
    this.#most = Math.max(this.#most, bytes);
  }

  hold(giveUp: () => void, sender: string, bytes: number): void {
    this.#total += bytes - (this.#bodies.get(giveUp)?.bytes ?? 0);
    this.#bodies.set(giveUp, { sender, bytes });
    while (this.#total > this.#most) {
      const giveUpOther = this.#findOldestOfMost();
      this.release(giveUpOther);
      giveUpOther();
    }
  }

  release(giveUp: () => void): void {
    this.#total -= this.#bodies.get(giveUp)?.bytes ?? 0;
    this.#bodies.delete(giveUp);
  }

  /** Returns the oldest body of the sender with the most bytes. */
  #findOldestOfMost(): () => void {
    const senders = new Map<string, { total: number; oldest: () => void }>();
    for (const [giveUp, { sender, bytes }] of this.#bodies) {
      const { total, oldest } = senders.get(sender) ??
        { total: 0, oldest: giveUp };
      senders.set(sender, { total: total + bytes, oldest });
    }
    return [...senders.values()]
      .reduce((most, next) => next.total > most.total ? next : most).oldest;
  }
}

export const unfinished = new UnfinishedBodies();

/**
 * Reads a body chunk by chunk. `for await` would double the time of a call.
 *
 * @throws {HttpError} 413 as soon as there are more than `most` bytes, 400 if
 * there are too many chunks, 503 if the body is dropped to make room for others
 */
async function readChunks(
  body: ReadableStream<Uint8Array> | null,
  most: number,
  sender: string,
): Promise<Uint8Array> {
  let bytes = new Uint8Array(0);
  let size = 0;
  let isGivenUp = false;
  const reader = body?.getReader();
  const giveUp = () => {
    isGivenUp = true;
    reader!.cancel().catch(() => {});
  };
  try {
    for (let chunks = 1; reader; chunks++) {
      const { value: chunk, done } = await reader.read();
      if (isGivenUp) throw givenUp();
      if (done) break;
      const end = size + chunk.length;
      if (end > most || chunks > mostChunks(end)) {
        await reader.cancel();
        throw end > most ? tooLarge(most) : inPieces();
      }
      if (end > bytes.length) {
        const larger = new Uint8Array(Math.max(end, 2 * bytes.length));
        larger.set(bytes);
        bytes = larger;
        if (bytes.length > MAX_WHOLE_BYTES) {
          unfinished.hold(giveUp, sender, bytes.length);
        }
      }
      // Copied, because Deno keeps 64 KiB in memory for a chunk of one byte.
      bytes.set(chunk, size);
      size = end;
    }
    return bytes.subarray(0, size);
  } finally {
    unfinished.release(giveUp);
  }
}

/**
 * Reads the chunks of a response to a request of ours. Throws the error that
 * `refuse` makes if there are more than `most` bytes.
 */
export async function readAtMost(
  chunks: AsyncIterable<Uint8Array>,
  most: number,
  refuse: (description: string) => Error,
): Promise<Blob> {
  const read: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    // Throwing out of the loop closes the connection.
    if (bytes > most) throw refuse(`more than ${most} bytes`);
    read.push(chunk as Uint8Array<ArrayBuffer>);
  }
  return new Blob(read);
}

/** Makes the error for a body with too many bytes. */
export function tooLarge(most: number): HttpError {
  return new HttpError(413, `The body must have at most ${most} bytes`);
}

/** Makes the error for a body with too many chunks. */
export function inPieces(): HttpError {
  return new HttpError(400, "Send the body in larger chunks");
}

/** Makes the error for a body that is dropped to make room for others. */
export function givenUp(): HttpError {
  return new HttpError(503, "Too many bodies are arriving at once");
}

/** Makes the error for a body that takes too long. */
export function tooLate(seconds: number): HttpError {
  return new HttpError(408, `The body must arrive within ${seconds} s`);
}

/** The seconds for a whole body: 4 MiB need half a megabit per second. */
export const BODY_SECONDS = 60;
const CHECK_MILLISECONDS = 1000;

/**
 * The maximum number of bodies that arrive at a time: Deno keeps 100 to 200 KB
 * for each, until its connection, or that of a proxy, ends.
 */
export const MAX_ARRIVING = 2000;

/** The bodies that are arriving in this process, the oldest first. */
const arriving = new Set<TimedBody>();

/** A body that has to arrive, or to make progress, within some seconds. */
export interface TimedBody {
  readonly seconds: number;
  /** The time of the body's first check; a quick body is never checked. */
  seenMilliseconds?: number;
  /** Ends the body with an error, by default that its time is over. */
  giveUp(error?: HttpError): void;
}

/**
 * The bodies of one server, of requests and responses, whose time is bounded.
 */
export class BodyClock {
  #bodies = new Set<TimedBody>();
  #timer?: ReturnType<typeof setInterval>;
  #hasStopped = false;

  /** Starts the time of a body, or restarts it. */
  begin(body: TimedBody): void {
    body.seenMilliseconds = undefined;
    this.#bodies.add(body);
    if (this.#hasStopped) return;
    this.#timer ??= outsideTrace(() =>
      setInterval(() => this.#check(), CHECK_MILLISECONDS)
    );
  }

  /**
   * Starts the time of a request's body. If there are too many bodies, drops
   * the oldest: one that is held open on purpose is older than one that
   * arrives.
   */
  arrive(body: TimedBody): void {
    this.begin(body);
    arriving.add(body);
    if (arriving.size <= MAX_ARRIVING) return;
    const [oldest] = arriving;
    oldest.giveUp(givenUp());
  }

  /** @param isLast true to stop the timer if no other body is timed */
  end(body: TimedBody, isLast = false): void {
    this.#bodies.delete(body);
    arriving.delete(body);
    if (isLast && this.#bodies.size === 0) this.#rest();
  }

  /**
   * Waits for `reading`. On a time-out, Deno adds `Connection: close` to the
   * response and lets the client disconnect.
   *
   * @throws {HttpError} 408 if it takes longer than {@linkcode BODY_SECONDS}
   */
  wait<T>(reading: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const body: TimedBody = {
        seconds: BODY_SECONDS,
        giveUp: (error = tooLate(BODY_SECONDS)) => {
          this.end(body);
          reject(error);
        },
      };
      this.arrive(body);
      reading.then((read) => {
        this.end(body);
        resolve(read);
      }, (error) => {
        this.end(body);
        reject(error);
      });
    });
  }

  /** Stops the clock for good, with its server. */
  stop(): void {
    this.#hasStopped = true;
    this.#rest();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #check(): void {
    if (this.#bodies.size === 0) return this.#rest();
    const now = performance.now();
    for (const body of this.#bodies) {
      body.seenMilliseconds ??= now;
      if (now - body.seenMilliseconds < body.seconds * 1000) continue;
      this.#bodies.delete(body);
      body.giveUp();
    }
  }
}
