/**
 * Limits on the memory that long messages of running calls and tasks take in
 * this process, and on the memory of long responses that clients have not read.
 * @module
 */
import { HttpError } from "../../errors.ts";
import type { ConnectionInfo } from "../../http/client_address.ts";
import type { ResponseSending } from "../../http/outgoing_body.ts";
import { CallerBound, type LimitKey } from "./caller_bound.ts";

/** The maximum memory of one caller's long messages, in bytes. */
const MAX_BYTES_PER_CALLER = 32 * 1024 * 1024;

/** The maximum memory of all long messages in one process, in bytes. */
const MAX_BYTES = 128 * 1024 * 1024;

/**
 * The part of {@linkcode MAX_BYTES} that only single persons and machines may
 * use.
 */
const RESERVED_BYTES = MAX_BYTES / 2;

/**
 * The holder of a message: a running call, or the task that the call became.
 */
export interface MessageHolder {
  readonly limitKey?: LimitKey;
  /** The memory of the message in bytes, if it is long. */
  readonly messageBytes?: number;
}

export class MemoryBudget {
  bytes = 0;
  /** The number of times that each holder was added and not deleted. */
  #holds = new Map<MessageHolder, number>();
  readonly #bound: CallerBound;

  constructor(private readonly what = "long messages") {
    this.#bound = new CallerBound(MAX_BYTES_PER_CALLER, `${what} at a time`, 1);
  }

  /**
   * Checks that there is room for another message. A message that begins below
   * the limit may exceed it.
   * @throws {HttpError} 503 if the process has reached its limit, 429 if the
   * caller has
   */
  check(holder: MessageHolder, messageBytes = holder.messageBytes): void {
    if (!messageBytes || this.#hasRoomForAll) return;
    const { limitKey } = holder;
    const most = MAX_BYTES - (limitKey?.isMany ? RESERVED_BYTES : 0);
    if (this.bytes >= most) {
      throw new HttpError(503, `Too many ${this.what} at a time`);
    }
    this.#bound.check(limitKey);
  }

  /** @throws {HttpError} 429 if the caller has reached the limit */
  checkCaller(caller: Pick<MessageHolder, "limitKey">): void {
    if (!this.#hasRoomForAll) this.#bound.check(caller.limitKey);
  }

  /**
   * True if no caller can have reached the limit. Then the limit key, which
   * takes time to find, is not needed.
   */
  get #hasRoomForAll(): boolean {
    return this.bytes < MAX_BYTES_PER_CALLER;
  }

  hasRoom(limitKey: LimitKey | undefined): boolean {
    return this.#bound.hasRoom(limitKey);
  }

  /** Adds a call or task. A call and the task that it becomes count once. */
  add(holder: MessageHolder): void {
    const { limitKey, messageBytes } = holder;
    if (!messageBytes) return;
    const holds = this.#holds.get(holder) ?? 0;
    this.#holds.set(holder, holds + 1);
    if (holds === 0) this.count(limitKey, messageBytes);
  }

  delete(holder: MessageHolder): void {
    const { limitKey, messageBytes } = holder;
    if (!messageBytes) return;
    const holds = this.#holds.get(holder)! - 1;
    if (holds > 0) return void this.#holds.set(holder, holds);
    this.#holds.delete(holder);
    this.count(limitKey, -messageBytes);
  }

  /** Adds to the bytes of a caller; negative numbers release bytes. */
  count(limitKey: LimitKey | undefined, bytes: number): void {
    this.bytes += bytes;
    if (bytes < 0) this.#bound.release(limitKey, -bytes);
    else this.#bound.count(limitKey, bytes);
  }
}

/** The long messages of this process. */
export const longMessageBudget = new MemoryBudget();

/** The long responses of this process that clients have not read yet. */
export const unreadBudget = new MemoryBudget("unread long answers");

/**
 * Makes the {@linkcode ResponseSending} of a response, whose unread bytes count
 * for its caller.
 */
export function sendingTo(
  limitKey: LimitKey,
  clock: ResponseSending["clock"],
  info: ConnectionInfo | undefined,
): ResponseSending {
  return {
    clock,
    completed: info?.completed,
    count: (bytes) => unreadBudget.count(limitKey, bytes),
    hasRoom: () => unreadBudget.hasRoom(limitKey),
  };
}
