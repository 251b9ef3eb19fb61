/**
 * How often an address, and everybody together, may use an endpoint.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { ConnectionInfo } from "./connection_info.ts";
import { type Rate, rateStore } from "../store/rate.ts";

/** Large hosts share few addresses, and register and refresh in bursts. */
const PER_ADDRESS: Rate = { burst: 120, perSecond: 2 };
const EVERYBODY: Rate = { burst: 1200, perSecond: 60 };

/** @throws {import("../errors.ts").HttpError} 429 */
export type CheckRate = (c: Context) => Promise<void>;

/** The limit of one endpoint. */
export function rateLimit(kv: Deno.Kv, endpoint: string): CheckRate {
  const rates = rateStore(kv, endpoint);
  return async (c) => {
    const address = (c.env as ConnectionInfo).remoteAddr?.hostname;
    // The address first: one that floods must not use up what all share.
    if (address !== undefined) {
      await rates.take(networkOf(address), PER_ADDRESS);
    }
    await rates.take("everybody", EVERYBODY);
  };
}

/** Of an IPv6 address its /64: that much a single household gets. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head, tail] = address.split("%")[0].split("::");
  const groups = head.split(":");
  if (tail !== undefined) {
    const after = tail === "" ? [] : tail.split(":");
    const missing = Math.max(0, 8 - groups.length - after.length);
    groups.push(...Array(missing).fill("0"), ...after);
  }
  return groups.slice(0, 4).map((group) => group || "0").join(":");
}
