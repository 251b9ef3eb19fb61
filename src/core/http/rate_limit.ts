/**
 * Rate limits of endpoints, for each network and for all networks together. A
 * network over its limit can still send valid credentials, such as a cookie or
 * a token: these requests count against a limit of the credential. Only the
 * buckets of networks are shared by all processes.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from "@hono/hono";
import type { MaybePromise } from "../../authoring/service.ts";
import { fingerprint } from "../crypto/crypto.ts";
import { HttpError } from "../errors.ts";
import type { Logger } from "../log/log.ts";
import type { Database } from "../kv/database.ts";
import { Buckets, type Rate, SharedBuckets } from "./buckets.ts";
import { networkOf } from "./client_address.ts";

/** The burst of a network: a whole company may share one address. */
const BURST = 1000;
/**
 * The rate reserved for each network, so that new networks are served during a
 * flood. All requests beyond it share one bucket of five times a network's
 * rate.
 */
const RESERVE: Rate = { burst: 20, perSecond: 0.2 };
const SHARES = 5;

const EVERYONE = "everyone";

/** The rate of a valid credential that comes from a network over its limit. */
const PROVEN: Rate = { burst: 60, perSecond: 1 };
/**
 * The rate at which credentials of a network over its limit are looked up. An
 * invented one costs a database read.
 */
const LOOKUPS: Rate = { burst: 1000, perSecond: 200 };

/** A credential in a request, such as a cookie or a refresh token. */
export interface PresentedCredential {
  /** The credential, or a text that identifies it. */
  value: string;
  /** Looks up the credential, which anyone can have invented. */
  isValid(): Promise<boolean>;
}

/** Lists the credentials in a request. */
export type ListCredentials = (
  c: Context,
) => MaybePromise<PresentedCredential[]>;

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
  listShown: ListCredentials = () => [],
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

  const valid = new Set<string>();
  const proven = new Buckets(PROVEN, (name) => valid.delete(name));
  const lookups = new Buckets(LOOKUPS);

  /**
   * Counts a request against its network. Returns a function that undoes this;
   * or, if the network is over its limit, the milliseconds to wait.
   */
  async function take(
    network: string | undefined,
  ): Promise<number | (() => void)> {
    if (network !== undefined) {
      const wait = await networks.take(network);
      if (wait > 0) return wait;
      if (reserves.take(network) === 0) {
        return () => {
          networks.giveBack(network);
          reserves.giveBack(network);
        };
      }
    }
    const wait = shared.take(EVERYONE);
    if (wait > 0) {
      if (network !== undefined) networks.giveBack(network);
      return wait;
    }
    return () => {
      shared.giveBack(EVERYONE);
      if (network !== undefined) networks.giveBack(network);
    };
  }

  /**
   * Looks up a credential, unless its network has sent too many invalid ones.
   */
  async function prove(
    { isValid }: PresentedCredential,
    name: string,
    network = EVERYONE,
  ): Promise<boolean> {
    if (valid.has(name)) return true;
    if (lookups.take(network) > 0 || !await isValid()) return false;
    lookups.giveBack(network);
    valid.add(name);
    return true;
  }

  /**
   * Counts a request against a valid credential in it. Returns a function that
   * undoes this; undefined if every credential is invalid or over its limit.
   */
  async function takeProven(c: Context): Promise<(() => void) | undefined> {
    for (const shown of await listShown(c)) {
      const name = fingerprint(shown.value);
      // Before the lookup, so that one credential cannot cause endless lookups.
      if (proven.take(name) > 0) continue;
      if (await prove(shown, name, networkOf(c))) {
        return () => proven.giveBack(name);
      }
      proven.giveBack(name);
    }
  }

  return async (c, next) => {
    let undo: number | (() => void) | undefined = await take(networkOf(c));
    if (typeof undo === "number") {
      const wait = undo;
      undo = await takeProven(c);
      if (!undo) refuseIfLimited(wait);
    }
    c.set("undoCharge", undo);
    await next();
  };
}

/** Stops counting a request, once its client has authenticated. */
export function waiveRate(c: Context): void {
  c.get("undoCharge")?.();
  c.set("undoCharge", undefined);
}

/**
 * Refuses a request if its client has to wait.
 *
 * @throws {HttpError} 429
 */
export function refuseIfLimited(waitMilliseconds: number): void {
  if (waitMilliseconds <= 0) return;
  throw new HttpError(429, "Too many requests, try again shortly", {
    headers: { "retry-after": String(Math.ceil(waitMilliseconds / 1000)) },
  });
}
