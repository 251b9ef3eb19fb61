/**
 * Limits the bodies that an author's routes read, like those of `/mcp`, unless
 * a route allows more.
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import type { AppEnv } from "../http/client_address.ts";
import { networkKey } from "../mcp/exchange/caller_bound.ts";
import { longMessageBudget } from "../mcp/exchange/long_messages.ts";
import { BODY_SECONDS, type BodyClock } from "../net/body_bytes.ts";
import { BoundedBody } from "../net/bounded_body.ts";
import { BODY_BYTES } from "../protocol/transport.ts";
import type { BodyBounds } from "./server_options.ts";

/**
 * The number of chunks that a route's body may have beyond those of a form,
 * because some programs send a file line by line.
 */
const MORE_CHUNKS = 900;

/** The limited bodies, keyed by the request that a route gets. */
const bodies = new WeakMap<Request, BoundedBody>();

/**
 * Makes the middleware that limits the bodies of requests to an author's
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
      sender: () => limitKey.name,
      moreChunks: MORE_CHUNKS,
      onArrived(bytes) {
        if (isAnswered) return;
        longMessageBudget.check({ limitKey, messageBytes: bytes });
        messageBytes = bytes;
        longMessageBudget.count(limitKey, bytes);
      },
    }, BODY_BYTES);
    c.req.raw = new Request(raw, { body: body.stream });
    bodies.set(c.req.raw, body);
    try {
      await next();
    } finally {
      isAnswered = true;
      longMessageBudget.count(limitKey, -messageBytes);
    }
  };
}

/**
 * Allows a longer or slower body for a request, if none of it was read yet.
 *
 * @throws {TypeError} for bounds that are not numbers above 0
 */
export function allowBody(
  request: Request,
  { bytes = BODY_BYTES, seconds = BODY_SECONDS }: BodyBounds,
): void {
  if (!(bytes > 0 && seconds > 0)) {
    throw new TypeError("allowBody: bytes and seconds are numbers above 0");
  }
  bodies.get(request)?.allow(bytes, seconds);
}
