/**
 * What limits know a caller by.
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

/** A caller in the eyes of limits. */
export interface CountedAs {
  /** At most 64 characters. */
  name: string;
  /**
   * Whether it may be many people: those who hold one credential, or behind
   * one network. They have {@linkcode MANY} times as much.
   */
  isMany: boolean;
}

/** As many people share a credential or a network, without noticing. */
export const MANY = 10;

/** One name for each person, however often their caller is asked for. */
const people = new WeakMap<Caller, CountedAs>();

/**
 * What a request's caller is counted as: a person or a machine by what it owns,
 * a credential that is handed out by the network it comes from, and who presents
 * nothing by the network alone. Undefined for those whom nothing tells apart: on
 * this machine, or where no one knows where requests come from. An address is
 * not for nothing: ask when a limit does.
 *
 * @param trusted proxies whose word counts
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
    // Spares a server for this machine alone the work.
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
