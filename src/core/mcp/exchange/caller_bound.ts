/**
 * Limit keys, which name callers for limits; and limits of each caller's
 * running calls, open questions and bytes.
 * @module
 */
import { LimitError } from "../../errors.ts";
import type { Address, Network } from "../../net/address.ts";
import {
  ANONYMOUS,
  type Authenticated,
  type Caller,
  isStranger,
} from "../../caller.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import {
  clientAddress,
  type ConnectionInfo,
  networkName,
} from "../../http/client_address.ts";
import { isLoopback } from "../../net/url.ts";

/** Identifies a caller, or callers who share limits. */
export interface LimitKey {
  /** The name of a rate limit's bucket or of a count, at most 64 characters. */
  name: string;
  /**
   * True if many people may share the key: all who hold one credential, or use
   * one network. Their limits are {@linkcode MANY} times as high.
   */
  isMany: boolean;
}

/**
 * The factor by which limits are higher for a shared credential or a network.
 */
export const MANY = 10;

/**
 * The key of all callers without credentials whose network is unknown: local
 * ones, those behind an untrusted local proxy, and those of a host that does
 * not pass the connection.
 */
export const NO_NETWORK: LimitKey = Object.freeze({
  name: "unknown",
  isMany: true,
});

/** The keys of people and machines, so that each is made once. */
const people = new WeakMap<Caller, LimitKey>();

/**
 * Returns the limit key of a request's caller. A person or a machine has a key
 * of its own. Callers without credentials share the key of their network, or
 * {@linkcode NO_NETWORK} if it is unknown. Users of a shared credential share
 * another key of their network. Call this only where a limit applies: finding
 * the network takes time.
 * @param trusted proxies whose headers are trusted
 */
export function limitKeyOf(
  { request, info, authenticated: { caller } }: {
    request: Pick<Request, "headers">;
    /** The network connection; undefined if it is not known. */
    info?: ConnectionInfo;
    authenticated: Authenticated;
  },
  trusted: readonly Network[],
): LimitKey {
  const isNobody = caller.binding === ANONYMOUS.binding || isStranger(caller);
  const isShared = caller.door === "bearer" || caller.door === "api_key";
  if (!isNobody && !isShared) {
    let person = people.get(caller);
    if (person === undefined) {
      person = { name: fingerprint(caller.binding), isMany: false };
      people.set(caller, person);
    }
    return person;
  }
  const peer = info?.remoteAddr?.hostname;
  if (peer !== undefined && trusted.length === 0 && isNobody) {
    // A shortcut for a server that only this machine uses.
    if (isLoopback({ hostname: peer })) return NO_NETWORK;
  }
  const address = clientAddress(peer, request.headers, trusted);
  if (!isShared) return networkKey(address);
  const network = address && networkName(address);
  return { name: `operator ${network ?? ""}`, isMany: true };
}

/**
 * Returns the limit key of all callers in a network, or {@linkcode NO_NETWORK}.
 */
export function networkKey(address: Address | undefined): LimitKey {
  return address === undefined
    ? NO_NETWORK
    : { name: `network ${networkName(address)}`, isMany: true };
}

/** A guess of when the caller should retry. */
const RETRY_SECONDS = 5;

/** Counts and limits what each caller has at a time in this process. */
export class CallerBound {
  #counts = new Map<string, number>();

  /**
   * @param what the plural noun of the counted things, for the error
   * @param many the factor by which the bound is higher for {@linkcode
   * LimitKey.isMany}
   */
  constructor(
    private readonly most: number,
    private readonly what: string,
    private readonly many: number = MANY,
  ) {}

  /**
   * True if the caller is below the bound.
   *
   * @param most the bound that applies now
   */
  hasRoom(caller: LimitKey | undefined, most: number = this.most): boolean {
    if (caller === undefined) return true;
    const { name, isMany } = caller;
    const count = this.#counts.get(name) ?? 0;
    return count < most * (isMany ? this.many : 1);
  }

  /** @throws {LimitError} if the caller has reached the bound */
  check(caller: LimitKey | undefined): void {
    if (this.hasRoom(caller)) return;
    throw new LimitError(this.what, RETRY_SECONDS);
  }

  /** Adds to a caller's count without a check; see {@linkcode check}. */
  count(caller: LimitKey | undefined, more = 1): void {
    if (caller === undefined) return;
    const { name } = caller;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + more);
  }

  /**
   * Adds 1 to a caller's count. @throws {LimitError} if the caller has reached
   * the bound
   */
  take(caller: LimitKey | undefined): void {
    this.check(caller);
    this.count(caller);
  }

  release(caller: LimitKey | undefined, less = 1): void {
    if (caller === undefined) return;
    const count = this.#counts.get(caller.name)! - less;
    if (count > 0) this.#counts.set(caller.name, count);
    else this.#counts.delete(caller.name);
  }
}
