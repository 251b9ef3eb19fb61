/**
 * The identity by which limits count a caller.
 *
 * @module
 */
import type { Network } from "../../net/address.ts";
import {
  ANONYMOUS,
  type Authenticated,
  type Caller,
  isStranger,
} from "../../caller.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import { clientAddress, networkName } from "../../http/client_address.ts";
import { isLoopback } from "../../net/url.ts";

export interface CountedAs {
  /** A name of at most 64 characters. */
  name: string;
  /**
   * True if it may be many people: all holders of one credential, or all people
   * in one network. Their limits are {@linkcode MANY} times as high.
   */
  isMany: boolean;
}

/** The people that may share a credential or a network within its limits. */
export const MANY = 10;

/**
 * Callers without credentials of whom no one knows where they come from: on
 * this machine, behind a proxy on it that is not trusted, or where the handler
 * is told nothing of the connection. All of them are one.
 */
export const UNKNOWN: CountedAs = Object.freeze({
  name: "unknown",
  isMany: true,
});

/** One name for each person, however often their caller is asked for. */
const people = new WeakMap<Caller, CountedAs>();

/**
 * Names a request's caller for limits: a person or a machine by what it owns,
 * a credential that is handed out by the network it comes from, and who presents
 * nothing by the network alone, or as {@linkcode UNKNOWN}. An address is not for
 * nothing: ask when a limit does.
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
): CountedAs {
  const isNobody = caller.binding === ANONYMOUS.binding || isStranger(caller);
  const isShared = caller.door === "bearer" || caller.door === "api_key";
  if (!isNobody && !isShared) return personOf(caller);
  if (peer !== undefined && trusted.length === 0 && isNobody) {
    // Spares a server for this machine alone the work.
    if (isLoopback({ hostname: peer })) return UNKNOWN;
  }
  const address = clientAddress(peer, request.headers, trusted);
  const network = address && networkName(address);
  if (isShared) return { name: `operator ${network ?? ""}`, isMany: true };
  return network === undefined
    ? UNKNOWN
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
