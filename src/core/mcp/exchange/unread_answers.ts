/**
 * The limit on the memory of long responses that clients have not read. Beyond
 * it, responses in progress are ended, so that no number of callers can hold
 * more, and none of them shuts out the others.
 *
 * @module
 */
import { HttpError } from "../../errors.ts";
import type { ConnectionInfo } from "../../http/client_address.ts";
import type { ResponseSending, UnreadBody } from "../../http/outgoing_body.ts";
import {
  type LimitKey,
  MAX_BYTES,
  MemoryBudget,
  RESERVED_BYTES,
} from "./limits.ts";

/** The maximum bytes of the unread responses of all networks together. */
const SHARED_BYTES = MAX_BYTES - RESERVED_BYTES;

/**
 * The factor by which the limits are higher for a caller who leaves nothing
 * else unread.
 */
const NEWCOMER_FACTOR = 1.5;

/** The bodies of one caller that can be ended. */
interface CallerBodies {
  readonly limitKey: LimitKey;
  /** The counted bytes of each body, the oldest first. */
  readonly bytes: Map<UnreadBody, number>;
}

class UnreadBudget extends MemoryBudget {
  #sharedBytes = 0;
  readonly #callers = new Map<string, CallerBodies>();

  /**
   * Adds to the bytes of a caller. If a limit is exceeded, other bodies are
   * ended: the oldest one of the caller who has the most, and so on.
   */
  override count(
    limitKey: LimitKey,
    bytes: number,
    body?: UnreadBody,
  ): void {
    super.count(limitKey, bytes);
    if (limitKey.isMany) this.#sharedBytes += bytes;
    if (body === undefined) return;
    this.#note(limitKey, bytes, body);
    if (bytes > 0) this.#makeRoom(limitKey, body);
  }

  /** @throws {HttpError} 429 if the caller has too much, 503 if all have */
  override check(caller: { readonly limitKey: LimitKey }): void {
    this.checkCaller(caller);
    if (this.hasRoomForAll || this.#findRoom(caller.limitKey)) return;
    throw new HttpError(503, `Too many ${this.what} at a time`);
  }

  /** True if another response may begin, perhaps after others were ended. */
  admits(limitKey: LimitKey): boolean {
    return this.hasRoomForAll ||
      this.hasRoom(limitKey) && this.#findRoom(limitKey);
  }

  /** Ends bodies to make room for another. Returns false if there is too little. */
  #findRoom(limitKey: LimitKey): boolean {
    this.#makeRoom(limitKey);
    const factor = this.bound.countOf(limitKey) > 0 ? 1 : NEWCOMER_FACTOR;
    return this.bytes < MAX_BYTES * factor &&
      (!limitKey.isMany || this.#sharedBytes < SHARED_BYTES * factor);
  }

  /** @param newest the body that is kept, and may exceed the limits */
  #makeRoom({ name, isMany }: LimitKey, newest?: UnreadBody): void {
    for (;;) {
      const own = newest && this.#callers.get(name)?.bytes.get(newest) || 0;
      const isShared = isMany && this.#sharedBytes - own >= SHARED_BYTES;
      if (!isShared && this.bytes - own < MAX_BYTES) return;
      const body = this.#takeBodyToEnd(isShared, newest);
      if (body === undefined) return;
      body.abandon();
    }
  }

  /** Finds and forgets the oldest body of the caller who has the most. */
  #takeBodyToEnd(
    isShared: boolean,
    newest: UnreadBody | undefined,
  ): UnreadBody | undefined {
    let most = -1;
    let found: UnreadBody | undefined;
    let from: CallerBodies["bytes"] | undefined;
    for (const { limitKey, bytes } of this.#callers.values()) {
      if (isShared && !limitKey.isMany) continue;
      const body = bytes.keys().find((body) => body !== newest);
      if (body === undefined) continue;
      const own = newest && bytes.get(newest) || 0;
      const all = this.bound.countOf(limitKey) - own;
      if (all > most) [most, found, from] = [all, body, bytes];
    }
    if (found !== undefined) from!.delete(found);
    return found;
  }

  /** Notes what a body holds, as long as some of it can be dropped. */
  #note(limitKey: LimitKey, more: number, body: UnreadBody): void {
    const { name } = limitKey;
    const caller = this.#callers.get(name) ?? { limitKey, bytes: new Map() };
    const { bytes } = caller;
    if (body.queuedBytes > 0) bytes.set(body, (bytes.get(body) ?? 0) + more);
    else bytes.delete(body);
    if (bytes.size > 0) this.#callers.set(name, caller);
    else this.#callers.delete(name);
  }
}

/** The long responses of this process that clients have not read yet. */
export const unreadBudget = new UnreadBudget("unread long answers");

/**
 * Makes the {@linkcode ResponseSending} of a response, whose unread bytes count
 * for its caller.
 */
export function responseSending(
  limitKey: LimitKey,
  clock: ResponseSending["clock"],
  info: ConnectionInfo | undefined,
): ResponseSending {
  return {
    clock,
    completed: info?.completed,
    count: (bytes, body) => unreadBudget.count(limitKey, bytes, body),
    hasRoom: () => unreadBudget.hasRoom(limitKey),
  };
}
