/**
 * The bodies that an author's routes read: whichever way they are read, they
 * have the bounds of `/mcp`, unless a route allows more.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { HttpError } from "../errors.ts";
import type { AppEnv } from "../http/client_address.ts";
import { networkKey } from "../mcp/exchange/caller_bound.ts";
import { longMessages } from "../mcp/exchange/long_messages.ts";
import {
  BODY_SECONDS,
  type BodyClock,
  givenUp,
  inPieces,
  mostChunks,
  type TimedBody,
  tooLarge,
  tooLate,
  unfinished,
} from "../net/body_bytes.ts";
import { BODY_BYTES } from "../protocol/transport.ts";
import type { BodyBounds } from "./server_options.ts";

/**
 * The number of chunks that a route's body may have beyond those of a form:
 * some programs send a file line by line.
 */
const MORE_CHUNKS = 900;

/**
 * The body of a request to an author's route. The route may read it in any way;
 * it is fetched chunk by chunk as the route reads, within bounds. Reading fails
 * with an `HttpError`: 413 if the body is too long, 400 if it has too many
 * chunks or does not arrive in full, 408 if it is late, 503 if it is dropped to
 * make room for others.
 */
class BoundedBody {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  #bounds = { bytes: BODY_BYTES, seconds: BODY_SECONDS };
  #size = 0;
  #hasEnded = false;
  #chunks = 0;
  #reader?: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  readonly #giveUp = () => this.#fail(givenUp());
  #timed?: TimedBody;

  constructor(
    private readonly request: Request,
    private readonly parts: {
      clock: BodyClock;
      /** The limit key of the sender, for the bound on unfinished bodies. */
      sender: string;
      /** Called when the whole body has arrived. @throws to refuse the body */
      onArrived(size: number): void;
    },
  ) {
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#pull(),
      cancel: () => this.#end(),
    }, { highWaterMark: 0 });
  }

  /** @throws {TypeError} for bounds that are not numbers above 0 */
  allow({ bytes = BODY_BYTES, seconds = BODY_SECONDS }: BodyBounds): void {
    if (!(bytes > 0 && seconds > 0)) {
      throw new TypeError("allowBody: bytes and seconds are numbers above 0");
    }
    unfinished.makeRoom(bytes);
    this.#bounds = { bytes, seconds };
  }

  async #pull(): Promise<void> {
    const { bytes } = this.#bounds;
    try {
      const { value: chunk, done } = await (this.#reader ?? this.#begin())
        .read();
      if (this.#hasEnded) return;
      if (done) {
        this.#reader = undefined;
        this.#end();
        this.parts.onArrived(this.#size);
        return this.#controller.close();
      }
      this.#size += chunk.length;
      if (this.#size > bytes) throw tooLarge(bytes);
      const most = MORE_CHUNKS + mostChunks(this.#size);
      if (++this.#chunks > most) throw inPieces();
      unfinished.hold(this.#giveUp, this.parts.sender, this.#size);
      // Copied, because Deno keeps 64 KiB in memory for a chunk of one byte.
      if (!this.#hasEnded) this.#controller.enqueue(chunk.slice());
    } catch (cause) {
      this.#fail(
        cause instanceof HttpError
          ? cause
          : new HttpError(400, "The body did not arrive", { cause }),
      );
    }
  }

  /**
   * Starts to read. @throws {HttpError} 413 if `Content-Length` is too large
   */
  #begin() {
    const { request: { headers, body } } = this;
    const { bytes, seconds } = this.#bounds;
    if (Number(headers.get("content-length")) > bytes) throw tooLarge(bytes);
    this.#timed = {
      seconds,
      giveUp: (error = tooLate(seconds)) => this.#fail(error),
    };
    this.parts.clock.arrive(this.#timed);
    return this.#reader = body!.getReader();
  }

  #fail(error: HttpError): void {
    this.#end();
    this.#controller.error(error);
  }

  /** Stops reading: Deno closes the connection after the response. */
  #end(): void {
    this.#hasEnded = true;
    unfinished.release(this.#giveUp);
    if (this.#timed) this.parts.clock.end(this.#timed);
    this.#reader?.cancel().catch(() => {});
  }
}

/** The bounded bodies, by the requests that routes get. */
const bodies = new WeakMap<Request, BoundedBody>();

/**
 * Makes the middleware that bounds the bodies of requests to an author's
 * routes.
 */
export function boundedBodies(
  clock: BodyClock,
  isAuthors: (c: Context<AppEnv>) => boolean,
): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { raw } = c.req;
    if (!isAuthors(c) || raw.body === null) return await next();
    const limitKey = networkKey(c.get("address"));
    let isAnswered = false;
    let messageBytes = 0;
    const body = new BoundedBody(raw, {
      clock,
      sender: limitKey.name,
      onArrived(bytes) {
        if (isAnswered) return;
        longMessages.check({ limitKey, messageBytes: bytes });
        messageBytes = bytes;
        longMessages.count(limitKey, bytes);
      },
    });
    c.req.raw = new Request(raw, { body: body.stream });
    bodies.set(c.req.raw, body);
    try {
      await next();
    } finally {
      isAnswered = true;
      longMessages.count(limitKey, -messageBytes);
    }
  };
}

/** Allows a longer or slower body for a request, if none of it was read yet. */
export function allowBody(request: Request, bounds: BodyBounds): void {
  bodies.get(request)?.allow(bounds);
}
