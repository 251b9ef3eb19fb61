/**
 * Rate limits of endpoints: for each network, and for everyone together. All
 * processes share the buckets of the networks; the other buckets are each
 * process's own.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import { HttpError } from "../errors.ts";
import type { Logger } from "../log/log.ts";
import type { Database } from "../kv/database.ts";
import { Buckets, type Rate, SharedBuckets } from "./buckets.ts";
import { networkOf } from "./client_address.ts";

/** The burst of a network: a whole company may sign in from one address. */
const BURST = 1000;
/**
 * The rate that each network has for itself. Requests beyond it share one
 * bucket, of five times the rate of a network, so that a newcomer is served
 * during a flood.
 */
const RESERVE: Rate = { burst: 20, perSecond: 0.2 };
const SHARES = 5;

const EVERYONE = "everyone";

/**
 * Makes the middleware that limits endpoints to a number of requests per second
 * for each network.
 *
 * @throws {HttpError} 429 with `Retry-After`
 */
export function rateLimit(
  { database, log }: { database: Database; log: Logger },
  endpoint: string,
  perSecond: number,
): MiddlewareHandler {
  const networks = new SharedBuckets({ database, log }, endpoint, {
    burst: BURST,
    perSecond,
  });
  const reserves = new Buckets(RESERVE);
  const shared = new Buckets({
    burst: SHARES * BURST,
    perSecond: SHARES * perSecond,
  });

  async function take(network: string | undefined): Promise<() => void> {
    if (network !== undefined) {
      refuseFor(await networks.take(network));
      if (reserves.take(network) === 0) {
        return () => {
          networks.giveBack(network);
          reserves.giveBack(network);
        };
      }
    }
    const wait = shared.take(EVERYONE);
    if (wait > 0 && network !== undefined) networks.giveBack(network);
    refuseFor(wait);
    return () => {
      shared.giveBack(EVERYONE);
      if (network !== undefined) networks.giveBack(network);
    };
  }

  return async (c, next) => {
    c.set("undoCharge", await take(networkOf(c)));
    await next();
  };
}

/** Gives back the token of a request that has authenticated. */
export function waiveRate(c: Context): void {
  c.get("undoCharge")?.();
  c.set("undoCharge", undefined);
}

/** Refuses a request that has to wait. @throws {HttpError} 429 */
export function refuseFor(waitMilliseconds: number): void {
  if (waitMilliseconds <= 0) return;
  throw new HttpError(429, "Too many requests, try again shortly", {
    headers: { "retry-after": String(Math.ceil(waitMilliseconds / 1000)) },
  });
}
