/**
 * The identity by which limits count a caller.
 *
 * @module
 */
import type { Network } from "../address.ts";
import {
  ANONYMOUS,
  type Authenticated,
  type Caller,
  isStranger,
} from "../caller.ts";
import { fingerprint } from "../crypto.ts";
import { clientAddress, networkName } from "../http/client_address.ts";
import { isLoopback } from "../loopback.ts";

/** A caller as limits count them. */
export interface CountedAs {
  /** A name of at most 64 characters. */
  name: string;
  /**
   * True if it may be many people: all holders of one credential, or all people
   * in one network. Their limits are {@linkcode MANY} times as high.
   */
  isMany: boolean;
}

/**
 * The number of people that may share a credential or a network without
 * reaching its limits.
 */
export const MANY = 10;

/** Names of people by their caller, so that each is made only once. */
const people = new WeakMap<Caller, CountedAs>();

/**
 * Finds the identity by which a request's caller is counted. A person or a
 * machine is counted by their binding. The holder of a shared credential is
 * counted by their network, and so is a caller without credentials. Undefined
 * for callers without credentials that cannot be told apart: those on this
 * machine, or if addresses of clients are not known. Finding the address is not
 * free, so this is called only when a limit needs it.
 *
 * @param trusted proxies whose headers are trusted
 */
export function countedAs(
  { request, peer, authenticated: { caller } }: {
    request: Pick<Request, "headers">;
    /** The address of its connection. */
    peer?: string;
    authenticated: Authenticated;
  },
  trusted: readonly Network[],
): CountedAs | undefined {
  const isNobody = caller.binding === ANONYMOUS.binding || isStranger(caller);
  const isShared = caller.door === "bearer" || caller.door === "api_key";
  if (!isNobody && !isShared) return personOf(caller);
  if (peer !== undefined && trusted.length === 0 && isNobody) {
    // Saves a server that only this machine reaches the work.
    if (isLoopback({ hostname: peer })) return undefined;
  }
  const address = clientAddress(peer, request.headers, trusted);
  const network = address && networkName(address);
  if (isShared) return { name: `operator ${network ?? ""}`, isMany: true };
  return network === undefined
    ? undefined
    : { name: `network ${network}`, isMany: true };
}

function personOf(caller: Caller): CountedAs {
  let person = people.get(caller);
  if (person === undefined) {
    person = { name: fingerprint(caller.binding), isMany: false };
    people.set(caller, person);
  }
  return person;
}
