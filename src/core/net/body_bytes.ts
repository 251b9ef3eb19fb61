/**
 * Limits on the size, the chunks and the duration of bodies, and on the memory
 * of all request bodies that are still arriving.
 *
 * @see RFC 9112 §7.1, Chunked Transfer Coding
 * @module
 */
import { HttpError } from "../errors.ts";
import { outsideTrace } from "../telemetry/current.ts";

/** Makes the error for a body that did not arrive completely. */
export function bodyNotArrived(cause: unknown): HttpError {
  return new HttpError(400, "The body did not arrive", { cause });
}

/** The sender and size of a body that counts against a shared limit. */
type CountedBody = { sender(): string; size: number };

/**
 * Chooses the bodies to drop when a shared limit is exceeded: the oldest ones
 * of the senders who have the most. So bodies that are held open on purpose
 * block no other sender. A body is ranked by its size plus that of its sender's
 * newer bodies.
 * @param bodies the oldest first
 */
function findBodiesToDrop<T>(
  bodies: Map<T, CountedBody>,
  most: number,
): T[] {
  const sums: Record<string, number> = Object.create(null);
  let total = 0;
  return [...bodies].reverse()
    .map(([body, { sender, size }]) => {
      const sum = sums[sender()] = (sums[sender()] ?? 0) + size;
      return { body, size, sum };
    })
    .sort((one, other) => one.sum - other.sum)
    .filter(({ size }) => (total += size) > most)
    .map(({ body }) => body);
}

/**
 * Reads the body of a response to this server.
 *
 * @param refuse makes the error that is thrown after more than `most` bytes
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

function bodyTooLarge(most: number): HttpError {
  return new HttpError(413, `The body must have at most ${most} bytes`);
}

/** Makes the error for a body that is dropped to make room for others. */
function bodyDropped(): HttpError {
  return new HttpError(503, "Too many bodies are arriving at once");
}

function bodyTooLate(seconds: number): HttpError {
  return new HttpError(408, `The body must arrive within ${seconds} s`);
}

/**
 * The seconds within which a whole body must arrive. At that limit, 4 MiB need
 * half a megabit per second.
 */
export const BODY_SECONDS = 60;
const CHECK_MILLISECONDS = 1000;

/**
 * The maximum number of bodies arriving at once. A burst may briefly have twice
 * as many. Each body costs up to 120 KB beyond its bytes until its connection
 * closes.
 */
export const MAX_ARRIVING_BODIES = 1000;
/**
 * The delay until bodies beyond the limit are dropped. It begins with the first
 * of them, so that later ones have less time to arrive, and ends once no more
 * bodies than the limit are arriving.
 */
const WHOLE_MILLISECONDS = 50;
/** The maximum time for which a sender in a burst is refused. */
const REST_MILLISECONDS = 5000;

/** The bodies that a clock times, the oldest first; their number is limited. */
const arriving = new Map<TimedBody, CountedBody>();
let thinning: ReturnType<typeof setTimeout> | undefined;
/** The senders in a burst, who are refused for some seconds. */
const resting = new Set<string>();
let restUntilMilliseconds = 0;

/** Drops the bodies beyond {@linkcode MAX_ARRIVING_BODIES}. */
function thinOut(isBurst = false): void {
  clearTimeout(thinning);
  thinning = undefined;
  const now = performance.now();
  if (now >= restUntilMilliseconds) {
    resting.clear();
    restUntilMilliseconds = now + REST_MILLISECONDS;
  }
  for (const body of findBodiesToDrop(arriving, MAX_ARRIVING_BODIES)) {
    if (isBurst) resting.add(arriving.get(body)!.sender());
    body.giveUp(bodyDropped());
  }
}

/**
 * True if a sender must pause: its bodies were just dropped in a burst, and the
 * limit is still reached. Refusing its next requests early saves memory,
 * because the memory of a dropped body is freed only by the garbage collector.
 */
export function mustPause(sender: () => string): boolean {
  return arriving.size >= MAX_ARRIVING_BODIES &&
    performance.now() < restUntilMilliseconds && resting.has(sender());
}

/** A body that must arrive, or make progress, within some seconds. */
export interface TimedBody {
  readonly seconds: number;
  /** The time of the first check, from which the seconds are counted. */
  seenMilliseconds?: number;
  /** Ends the body with an error, by default a time-out. */
  giveUp(error?: HttpError): void;
}

/** Time-outs for the request and response bodies of one server. */
export class BodyClock {
  #bodies = new Set<TimedBody>();
  #timer?: ReturnType<typeof setInterval>;
  #hasStopped = false;

  /** Starts the time-out of a body, or restarts it. */
  begin(body: TimedBody): void {
    body.seenMilliseconds = undefined;
    this.#bodies.add(body);
    if (this.#hasStopped) return;
    this.#timer ??= outsideTrace(() =>
      setInterval(() => this.#check(), CHECK_MILLISECONDS)
    );
  }

  /**
   * Starts the time-out of a request's body. Beyond {@linkcode
   * MAX_ARRIVING_BODIES}, drops the oldest bodies of the senders who have the
   * most: a body held open on purpose is older than one that is arriving.
   *
   * @param sender returns the sender's name; called only beyond the limit
   * @throws {HttpError} 503 if the sender {@linkcode mustPause}
   */
  arrive(body: TimedBody, sender: () => string): void {
    if (mustPause(sender)) throw bodyDropped();
    this.begin(body);
    arriving.set(body, { sender, size: 1 });
    if (arriving.size <= MAX_ARRIVING_BODIES) return;
    // Drops bodies at once in a burst, because no timer fires during one.
    if (arriving.size >= 2 * MAX_ARRIVING_BODIES) return thinOut(true);
    thinning ??= outsideTrace(() => setTimeout(thinOut, WHOLE_MILLISECONDS));
  }

  /** @param isLast true to stop the timer when no body is left */
  end(body: TimedBody, isLast = false): void {
    this.#bodies.delete(body);
    arriving.delete(body);
    if (thinning !== undefined && arriving.size <= MAX_ARRIVING_BODIES) {
      clearTimeout(thinning);
      thinning = undefined;
    }
    if (isLast && this.#bodies.size === 0) this.#rest();
  }

  /**
   * Waits for `read`, with a time-out. After a time-out, Deno sends
   * `Connection: close` and lets the client disconnect.
   *
   * @param sender see {@linkcode arrive}
   * @throws {HttpError} 408 after {@linkcode BODY_SECONDS}; 503 if the body is
   * dropped
   */
  wait<T>(read: () => Promise<T>, sender: () => string): Promise<T> {
    return new Promise((resolve, reject) => {
      const body: TimedBody = {
        seconds: BODY_SECONDS,
        giveUp: (error = bodyTooLate(BODY_SECONDS)) => {
          this.end(body);
          reject(error);
        },
      };
      this.arrive(body, sender);
      read().then((it) => {
        this.end(body);
        resolve(it);
      }, body.giveUp);
    });
  }

  /** Stops the timer for good, when the server closes. */
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

/**
 * Returns the maximum number of chunks for `size` bytes. It is limited, because
 * even a tiny chunk costs as much time as a tool call.
 */
const mostChunks = (size: number) => 100 + size / 256;

/**
 * The long bodies still arriving, the oldest first; their bytes are limited.
 * Each key is the function that drops the body.
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
 * many chunks or does not arrive completely, 408 if a clock finds it late, 503
 * if it is dropped because too many bodies are arriving.
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
      /** Ends slow bodies. Needed if nothing else ends them in time. */
      clock?: BodyClock;
      /** Returns the sender's name, for the limit on arriving bodies. */
      sender(): string;
      /** Chunks allowed beyond {@linkcode mostChunks}. */
      moreChunks?: number;
      /**
       * Called when the whole body has arrived. An exception refuses the body.
       */
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

  /**
   * Raises the limits of this body. If the limit of all bodies' bytes is below
   * `most`, raises it, too, for good.
   */
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

/**
 * The maximum size of a body that is read in one step. Deno allocates
 * `Content-Length` bytes before the first byte arrives, and keeps them until
 * the client disconnects.
 */
const MAX_WHOLE_BYTES = 8 * 1024;

/**
 * Reads a body.
 *
 * @param sender returns the sender's name; called for a body that is long, or
 * of unknown length, because it counts against the limit on arriving bodies
 * @throws {HttpError} 413 as soon as there are more than `most` bytes; 400 if
 * there are too many chunks, or the body does not arrive completely
 */
export async function readBytes(
  request: Request,
  most: number,
  sender = () => "",
): Promise<Uint8Array> {
  const length = Number(request.headers.get("content-length") ?? Infinity);
  if (!(length <= Math.min(most, MAX_WHOLE_BYTES))) {
    const { stream } = new BoundedBody(request, { sender }, most);
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }
  try {
    // Deno's server reads no more than `Content-Length`. @hono/node-server has
    // no `bytes()`.
    return new Uint8Array(await request.arrayBuffer());
  } catch (cause) {
    throw bodyNotArrived(cause);
  }
}
