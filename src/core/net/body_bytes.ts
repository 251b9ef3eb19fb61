/**
 * Reads bodies within limits on size, chunks and time; and bounds the time in
 * which a body must make progress.
 *
 * @module
 * @see RFC 9112 §7.1, Chunked Transfer Coding
 */
import { HttpError } from "../errors.ts";
import { outsideTrace } from "../telemetry/current.ts";

/** Makes the error for a body that did not arrive in full. */
export function notArrived(cause: unknown): HttpError {
  return new HttpError(400, "The body did not arrive", { cause });
}

/** A body, as it counts for a bound that senders share. */
export type Counted = { sender(): string; size: number };

/**
 * Finds the bodies beyond a bound: the oldest ones of the senders who have the
 * most. So bodies that are held open on purpose keep out no one else's.
 *
 * @param bodies the oldest first
 */
export function findBeyond<T>(bodies: Map<T, Counted>, most: number): T[] {
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
 * The maximum number of bodies that arrive at a time, and twice as many in a
 * burst: each takes up to 120 KB besides its bytes, until its connection, or
 * that of a proxy, ends.
 */
export const MAX_ARRIVING = 1000;
/** The time that a body has to come whole before it counts among too many. */
const WHOLE_MILLISECONDS = 50;
/** The longest rest of a sender whose bodies were dropped in a burst. */
const REST_MILLISECONDS = 5000;

/** The bodies that are arriving in this process, the oldest first. */
const arriving = new Map<TimedBody, Counted>();
let thinning: ReturnType<typeof setTimeout> | undefined;
/** The senders of a burst, who add no body until a time. */
const resting = new Set<string>();
let restUntilMilliseconds = 0;

/** Gives up the bodies beyond {@linkcode MAX_ARRIVING}. */
function thinOut(isBurst = false): void {
  clearTimeout(thinning);
  thinning = undefined;
  const now = performance.now();
  if (now >= restUntilMilliseconds) {
    resting.clear();
    restUntilMilliseconds = now + REST_MILLISECONDS;
  }
  for (const body of findBeyond(arriving, MAX_ARRIVING)) {
    if (isBurst) resting.add(arriving.get(body)!.sender());
    body.giveUp(givenUp());
  }
}

/**
 * True if a sender may add no body now: some of theirs were just dropped in a
 * burst, and there is still no room. The memory of a refused request is free
 * only when it is collected, so requests of a burst are refused before they
 * take any.
 */
export function mustRest(sender: () => string): boolean {
  return arriving.size >= MAX_ARRIVING &&
    performance.now() < restUntilMilliseconds && resting.has(sender());
}

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
   * Starts the time of a request's body. If there are too many bodies, drops the
   * oldest of the senders who have the most: one that is held open on purpose is
   * older than one that arrives.
   *
   * @param sender names the sender; called if there are too many
   * @throws {HttpError} 503 if the sender {@linkcode mustRest}
   */
  arrive(body: TimedBody, sender: () => string): void {
    if (mustRest(sender)) throw givenUp();
    this.begin(body);
    arriving.set(body, { sender, size: 1 });
    if (arriving.size <= MAX_ARRIVING) return;
    // In a burst no timer fires.
    if (arriving.size >= 2 * MAX_ARRIVING) return thinOut(true);
    thinning ??= outsideTrace(() => setTimeout(thinOut, WHOLE_MILLISECONDS));
  }

  /** @param isLast true to stop the timer if no other body is timed */
  end(body: TimedBody, isLast = false): void {
    this.#bodies.delete(body);
    arriving.delete(body);
    if (isLast && this.#bodies.size === 0) this.#rest();
  }

  /**
   * Waits for what `read` gives. On a time-out, Deno adds `Connection: close`
   * to the response and lets the client disconnect.
   *
   * @param sender as {@linkcode arrive} says
   * @throws {HttpError} 408 if it takes longer than {@linkcode BODY_SECONDS},
   * 503 if it is dropped for others
   */
  wait<T>(read: () => Promise<T>, sender: () => string): Promise<T> {
    return new Promise((resolve, reject) => {
      const body: TimedBody = {
        seconds: BODY_SECONDS,
        giveUp: (error = tooLate(BODY_SECONDS)) => {
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
