/**
 * How often a network, and everyone together, may use an endpoint. Buckets are
 * in memory, so that a request waits for no other; a bucket that is in use is
 * told to the other processes once a second.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { Address } from "../address.ts";
import { HttpError } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Database } from "../store/database.ts";
import { Buckets, type Rate } from "./buckets.ts";
import { networkName } from "./client_address.ts";
import { SharedBuckets } from "./shared_buckets.ts";

/** A whole company may sign in at once from behind one address. */
const BURST = 1000;
/**
 * What a network has for itself. Beyond it networks share, as much as five of
 * them may have: however many flood, a newcomer is served.
 */
const RESERVE: Rate = { burst: 20, perSecond: 0.2 };
const SHARES = 5;

/** Most networks never come so far, and no one need hear of them. */
const TOLD = 0.25;
const EVERYONE = "everyone";

/** @throws {HttpError} 429 */
export type CheckRate = (c: Context) => Promise<void>;

/** Charges nothing for a request that has proved whose it is. */
export type WaiveRate = (c: Context) => void;

/** The limit of one endpoint. */
export interface RateLimit {
  /** Charges a request. @throws {HttpError} 429 with `Retry-After` */
  check: CheckRate;
  waive: WaiveRate;
}

/** Limits an endpoint to so many requests a second of one network. */
export function rateLimit(
  { database, log }: { database: Database; log: Logger },
  endpoint: string,
  perSecond: number,
): RateLimit {
  const networks = new SharedBuckets({ database, log }, endpoint, {
    burst: BURST,
    perSecond,
    told: TOLD,
  });
  const reserves = new Buckets(RESERVE);
  const shared = new Buckets({
    burst: SHARES * BURST,
    perSecond: SHARES * perSecond,
  });
  const undoing = new WeakMap<Request, () => void>();

  function take(network: string | undefined, time: number): () => void {
    if (network !== undefined) {
      refuseFor(networks.take(network, time));
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
      await networks.exchange(time);
      undoing.set(c.req.raw, take(address && networkName(address), time));
    },
    waive(c) {
      undoing.get(c.req.raw)?.();
      undoing.delete(c.req.raw);
    },
  };
}

function refuseFor(waitMilliseconds: number): void {
  if (waitMilliseconds <= 0) return;
  throw new HttpError(429, "Too many requests, try again shortly", {
    "retry-after": String(Math.ceil(waitMilliseconds / 1000)),
  });
}
