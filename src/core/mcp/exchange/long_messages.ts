/**
 * The long messages of calls and tasks that this process works on, the long
 * answers that clients have not read yet, and a bound on the memory of each.
 *
 * @module
 */
import { HttpError } from "../../errors.ts";
import type { ConnectionInfo } from "../../http/client_address.ts";
import type { Sending } from "../../http/outgoing_body.ts";
import { CallerBound, type LimitKey } from "./caller_bound.ts";

/** The most memory of the long messages of one caller, in bytes. */
const MAX_BYTES_PER_CALLER = 32 * 1024 * 1024;

/** The most memory of the long messages in one process, in bytes. */
const MAX_BYTES = 128 * 1024 * 1024;

/**
 * The memory that is reserved for callers that are one person or one machine.
 * Callers without credentials cannot use it.
 */
const RESERVED_BYTES = MAX_BYTES / 2;

/** The holder of a message: a call under way, or a task that came from one. */
export interface MessageHolder {
  /** The identity by which limits count the caller. */
  readonly limitKey?: LimitKey;
  /** The memory of the message in bytes, if it is long. */
  readonly messageBytes?: number;
}

/** Counts the memory of long messages. */
export class LongMessages {
  /** The bytes that are counted now. */
  bytes = 0;
  /** The number of times that each holder was added. */
  #holds = new Map<MessageHolder, number>();
  readonly #bound: CallerBound;

  constructor(private readonly what = "long messages") {
    this.#bound = new CallerBound(MAX_BYTES_PER_CALLER, `${what} at a time`, 1);
  }

  /**
   * Checks that another message may be worked on. The last message of a caller,
   * and of the process, may exceed the bound.
   *
   * @throws {HttpError} 503 when the process has too many bytes of them, 429
   * when the caller has
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

  /** @throws {HttpError} 429 when a caller has too many bytes already */
  checkCaller(caller: Pick<MessageHolder, "limitKey">): void {
    if (!this.#hasRoomForAll) this.#bound.check(caller.limitKey);
  }

  /**
   * True if no caller can have reached their bound. Then their key, which takes
   * time to find, is not needed.
   */
  get #hasRoomForAll(): boolean {
    return this.bytes < MAX_BYTES_PER_CALLER;
  }

  hasRoom(limitKey: LimitKey | undefined): boolean {
    return this.#bound.hasRoom(limitKey);
  }

  /** Counts a message, once: a call and its task are one holder. */
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

  /** Counts more bytes of a caller, or less if they are negative. */
  count(limitKey: LimitKey | undefined, bytes: number): void {
    this.bytes += bytes;
    if (bytes < 0) this.#bound.release(limitKey, -bytes);
    else this.#bound.count(limitKey, bytes);
  }
}

/** The long messages of this process. */
export const longMessages = new LongMessages();

/** The long answers of this process that are not sent yet. */
export const longAnswers = new LongMessages("unread long answers");

/**
 * Makes the {@linkcode Sending} of an answer: its unread bytes count for a
 * caller.
 */
export function sendingTo(
  limitKey: LimitKey,
  clock: Sending["clock"],
  info: ConnectionInfo | undefined,
): Sending {
  return {
    clock,
    completed: info?.completed,
    count: (bytes) => longAnswers.count(limitKey, bytes),
    hasRoom: () => longAnswers.hasRoom(limitKey),
  };
}
