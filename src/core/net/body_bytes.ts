/**
 * Limits on the size and duration of bodies.
 *
 * @module
 * @see RFC 9112 §7.1, Chunked Transfer Coding
 */
import { HttpError } from "../errors.ts";
import { outsideTrace } from "../telemetry/current.ts";

/** Makes the error for a body that did not arrive completely. */
export function bodyNotArrived(cause: unknown): HttpError {
  return new HttpError(400, "The body did not arrive", { cause });
}

/** The sender and size of a body that counts against a shared limit. */
export type CountedBody = { sender(): string; size: number };

/**
 * Chooses the bodies to drop when a shared limit is exceeded: the oldest ones
 * of the senders who have the most. So bodies that are held open on purpose
 * block no other sender.
 * @param bodies the oldest first
 */
export function findBodiesToDrop<T>(
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

/** Makes the error for a body with too many bytes. */
export function bodyTooLarge(most: number): HttpError {
  return new HttpError(413, `The body must have at most ${most} bytes`);
}

/** Makes the error for a body that is dropped to make room for others. */
export function bodyDropped(): HttpError {
  return new HttpError(503, "Too many bodies are arriving at once");
}

/** Makes the error for a body that takes too long. */
export function bodyTooLate(seconds: number): HttpError {
  return new HttpError(408, `The body must arrive within ${seconds} s`);
}

/** The seconds for a whole body; 4 MiB then need half a megabit per second. */
export const BODY_SECONDS = 60;
const CHECK_MILLISECONDS = 1000;

/**
 * The maximum number of bodies arriving at once. A burst may briefly have twice
 * as many. Each costs up to 120 KB beyond its bytes until its connection
 * closes.
 */
export const MAX_ARRIVING_BODIES = 1000;
/** The time that a body has to arrive before it may be dropped. */
const WHOLE_MILLISECONDS = 50;
/** The maximum time for which a sender in a burst is refused. */
const REST_MILLISECONDS = 5000;

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
 * limit is still reached. Refusing early saves memory: the memory of a refused
 * body is only freed by the garbage collector.
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
    // No timer fires during a burst.
    if (arriving.size >= 2 * MAX_ARRIVING_BODIES) return thinOut(true);
    thinning ??= outsideTrace(() => setTimeout(thinOut, WHOLE_MILLISECONDS));
  }

  /** @param isLast true to stop the timer when no body is left */
  end(body: TimedBody, isLast = false): void {
    this.#bodies.delete(body);
    arriving.delete(body);
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
