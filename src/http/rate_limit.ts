/**
 * The rate at which a network, and everyone together, may use an endpoint. All
 * processes share the count of a network; the rest is counted in each.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Address } from "../net/address.ts";
import { HttpError } from "../errors.ts";
import type { Logger } from "../log/log.ts";
import type { Database } from "../store/database.ts";
import { Buckets, type Rate, SharedBuckets } from "./buckets.ts";
import { networkName } from "./client_address.ts";

/** The burst of a network: a whole company may sign in from one address. */
const BURST = 1000;
/**
 * The rate that each network has for itself. What exceeds it shares five times
 * the rate of one network, so that a newcomer is served during a flood.
 */
const RESERVE: Rate = { burst: 20, perSecond: 0.2 };
const SHARES = 5;

const EVERYONE = "everyone";

/** @throws {HttpError} 429 */
export type CheckRate = (c: Context) => Promise<void>;

/** Gives back the charge for a request that has authenticated. */
export type WaiveRate = (c: Context) => void;

interface RateLimit {
  /** Charges a request. @throws {HttpError} 429 with `Retry-After` */
  check: CheckRate;
  waive: WaiveRate;
}

/** Limits an endpoint to a number of requests per second for each network. */
export function rateLimit(
  { database, log }: { database: Database; log: Logger },
  endpoint: string,
  perSecond: number,
): RateLimit {
  const networks = new SharedBuckets({ database, log }, endpoint, {
    burst: BURST,
    perSecond,
  });
  const reserves = new Buckets(RESERVE);
  const shared = new Buckets({
    burst: SHARES * BURST,
    perSecond: SHARES * perSecond,
  });
  const undoing = new WeakMap<Request, () => void>();

  async function take(
    network: string | undefined,
    time: number,
  ): Promise<() => void> {
    if (network !== undefined) {
      refuseFor(await networks.take(network, time));
      if (reserves.take(network, time) === 0) {
        return () => {
          networks.giveBack(network);
          reserves.giveBack(network);
        };
      }
    }
    const wait = shared.take(EVERYONE, time);
    if (wait > 0 && network !== undefined) networks.giveBack(network);
    refuseFor(wait);
    return () => {
      shared.giveBack(EVERYONE);
      if (network !== undefined) networks.giveBack(network);
    };
  }

  return {
    async check(c) {
      const address: Address | undefined = c.get("address");
      const time = database.clock();
      const undo = await take(address && networkName(address), time);
      undoing.set(c.req.raw, undo);
    },
    waive(c) {
      undoing.get(c.req.raw)?.();
      undoing.delete(c.req.raw);
    },
  };
}

/** Refuses a request that has to wait. @throws {HttpError} 429 */
export function refuseFor(waitMilliseconds: number): void {
  if (waitMilliseconds <= 0) return;
  throw new HttpError(429, "Too many requests, try again shortly", {
    "retry-after": String(Math.ceil(waitMilliseconds / 1000)),
  });
}
