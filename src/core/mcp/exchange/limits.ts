/**
 * Limits of each caller: rate limits, in total and for each tool; running
 * calls, open questions and bytes. Limits on the memory of long messages, which
 * running calls and tasks hold; see `unread_answers.ts` for long responses.
 *
 * @module
 */
import { HttpError, LimitError } from "../../errors.ts";
import { SharedBuckets } from "../../http/buckets.ts";
import type { Logger } from "../../log/log.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { CompiledTool } from "../../catalogue/compiled_tool.ts";
import type { Database } from "../../kv/database.ts";
import {
  clientAddress,
  type ConnectionInfo,
  networkName,
} from "../../http/client_address.ts";
import type { Address, Network } from "../../net/address.ts";
import {
  ANONYMOUS,
  type Authenticated,
  type Caller,
  isStranger,
} from "../../caller.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import { isLoopback } from "../../net/url.ts";

/** Identifies a caller, or callers who share limits. */
export interface LimitKey {
  /** The name of a rate limit's bucket or of a count, at most 64 characters. */
  name: string;
  /**
   * True if many people may share the key: all who hold one credential, or use
   * one network. Their limits are {@linkcode MANY_FACTOR} times as high.
   */
  isMany: boolean;
}

/**
 * The factor by which limits are higher for a shared credential or a network.
 */
export const MANY_FACTOR = 10;

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
    private readonly many: number = MANY_FACTOR,
  ) {}

  /**
   * True if the caller is below the bound.
   *
   * @param most the bound that applies now
   */
  hasRoom(caller: LimitKey | undefined, most: number = this.most): boolean {
    if (caller === undefined) return true;
    return this.countOf(caller) < most * (caller.isMany ? this.many : 1);
  }

  countOf({ name }: LimitKey): number {
    return this.#counts.get(name) ?? 0;
  }

  /** @throws {LimitError} if the caller has reached the bound */
  check(caller: LimitKey | undefined): void {
    if (this.hasRoom(caller)) return;
    throw new LimitError(this.what, RETRY_SECONDS);
  }

  /** Adds to a caller's count without a check; see {@linkcode check}. */
  count(caller: LimitKey | undefined, more = 1): void {
    if (caller === undefined) return;
    this.#counts.set(caller.name, this.countOf(caller) + more);
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
    const count = this.countOf(caller) - less;
    if (count > 0) this.#counts.set(caller.name, count);
    else this.#counts.delete(caller.name);
  }
}

/**
 * The methods that rate limits apply to: those that run an author's code or
 * write to the database, and subscriptions, which may name many resources and
 * tasks. Other methods cost little.
 */
const COUNTED: ReadonlySet<string> = new Set([
  "tools/call",
  "resources/read",
  "prompts/get",
  "completion/complete",
  "tasks/update",
  "tasks/cancel",
  "logging/setLevel",
  "subscriptions/listen",
]);

/**
 * The method with which clients poll, as often as the server tells them to. It
 * reads the database, and has a limit {@linkcode MANY_FACTOR} times as high.
 */
const POLL = "tasks/get";

/** The key for all callers together, for a tool's limit with `shared`. */
const EVERYONE: LimitKey = { name: "everyone", isMany: false };

const UNKNOWN_SHARE =
  "The addresses of callers without credentials are unknown, so all of " +
  "them share one limit: name the proxy in front in TRUSTED_PROXIES, or " +
  "pass the connection's info as the second argument of fetch()";

/** A call's place among the concurrent calls of its tool. */
export class Place {
  #isHeld = false;

  /** @param bound undefined if concurrent calls are not limited */
  constructor(
    private readonly bound: CallerBound | undefined,
    private readonly who: LimitKey,
  ) {}

  /** Frees the place, if the call has it. */
  leave(): void {
    if (this.#isHeld) this.bound?.release(this.who);
    this.#isHeld = false;
  }

  /**
   * Takes the place, unless the call has it. @throws {LimitError} if the limit
   * is reached
   */
  take(): void {
    if (!this.#isHeld) this.bound?.take(this.who);
    this.#isHeld = true;
  }
}

interface ToolLimit {
  calls?: SharedBuckets;
  underWay?: CallerBound;
}

export class Limits {
  readonly #callers?: Record<
    "one" | "many" | "unknown" | "sessions",
    SharedBuckets
  >;
  readonly #tools = new Map<string, ToolLimit>();
  #hasWarned = false;

  constructor(
    private readonly parts: { database: Database; log: Logger },
    { callsPerMinute, tools }: {
      /** The calls per minute of each caller; 0 means no limit. */
      callsPerMinute: number;
      tools: Catalogue["tools"];
    },
  ) {
    const buckets = (purpose: string, count: number) =>
      new SharedBuckets(parts, purpose, {
        burst: count,
        perSecond: count / 60,
      });
    if (callsPerMinute > 0) {
      this.#callers = {
        one: buckets("calls of one", callsPerMinute),
        many: buckets("calls of many", callsPerMinute * MANY_FACTOR),
        sessions: buckets("sessions", callsPerMinute),
        unknown: buckets(
          "calls of unknown",
          callsPerMinute * MANY_FACTOR * MANY_FACTOR,
        ),
      };
    }
    for (const { name, limit } of tools.values()) {
      if (limit === undefined) continue;
      const { callsPerMinute, callsAtOnce } = limit;
      this.#tools.set(name, {
        calls: callsPerMinute === undefined
          ? undefined
          : buckets(`calls to ${name}`, callsPerMinute),
        underWay: callsAtOnce === undefined
          ? undefined
          : new CallerBound(callsAtOnce, `calls to ${name} at a time`, 1),
      });
    }
  }

  /**
   * Counts a request against its caller's rate. Returns a promise only if the
   * database has to be read. @throws {LimitError}
   */
  charge(
    method: string,
    request: { readonly limitKey: LimitKey },
  ): Promise<void> | undefined {
    if (!this.#callers) return;
    if (COUNTED.has(method)) return this.chargeCall(request);
    if (method === POLL) return this.#charge(request.limitKey, "polls");
    if (method !== "initialize") return;
    const caller = request.limitKey;
    if (caller === NO_NETWORK) return this.chargeCall(request);
    // Sessions are stored, so all people who share a key may open no more
    // sessions than one person.
    return this.#take(this.#callers.sessions, caller, "sessions a minute");
  }

  /**
   * Counts a call, or work that costs as much (such as a write to the
   * database), against its caller's rate. @throws {LimitError}
   */
  chargeCall(
    request: { readonly limitKey: LimitKey },
  ): Promise<void> | undefined {
    if (this.#callers) return this.#charge(request.limitKey, "calls");
  }

  #charge(
    caller: LimitKey,
    what: "calls" | "polls",
  ): Promise<void> | undefined {
    const { one, many, unknown } = this.#callers!;
    if (caller === NO_NETWORK && !this.#hasWarned) {
      this.#hasWarned = true;
      this.parts.log.warning(UNKNOWN_SHARE);
    }
    const isPoll = what === "polls";
    const buckets = caller === NO_NETWORK || isPoll && caller.isMany
      ? unknown
      : isPoll || caller.isMany
      ? many
      : one;
    return this.#take(buckets, caller, `${what} a minute`);
  }

  /**
   * Counts a call of a tool with limits against its caller's rate. Returns its
   * place, to be left when the tool ends. A call that may only ask for an
   * approval takes it later. @throws {LimitError}
   */
  async enter(
    { name, limit, approval }: Pick<
      CompiledTool,
      "name" | "limit" | "approval"
    >,
    caller: LimitKey,
  ): Promise<Place> {
    const who = limit!.shared ? EVERYONE : caller;
    const { calls, underWay } = this.#tools.get(name)!;
    const place = new Place(underWay, who);
    if (!approval) place.take();
    try {
      if (calls) await this.#take(calls, who, `calls to ${name} a minute`);
    } catch (error) {
      place.leave();
      throw error;
    }
    return place;
  }

  /**
   * Counts resumed work of a tool with limits. Returns a function to call when
   * the work ends; undefined if the limit on concurrent calls is reached.
   */
  tryEnter(
    { name, limit }: Pick<CompiledTool, "name" | "limit">,
    caller: LimitKey | undefined,
  ): (() => void) | undefined {
    const who = limit!.shared ? EVERYONE : caller;
    const { underWay } = this.#tools.get(name)!;
    if (!underWay?.hasRoom(who)) return undefined;
    underWay.count(who);
    return () => underWay.release(who);
  }

  #take(
    buckets: SharedBuckets,
    { name }: LimitKey,
    what: string,
  ): Promise<void> | undefined {
    const wait = buckets.take(name);
    if (wait instanceof Promise) {
      return wait.then((wait) => checkWait(wait, what));
    }
    checkWait(wait, what);
  }
}

/** @throws {LimitError} if a caller has to wait */
function checkWait(waitMilliseconds: number, what: string): void {
  if (waitMilliseconds <= 0) return;
  throw new LimitError(what, Math.ceil(waitMilliseconds / 1000));
}

/** The maximum memory of one caller's long messages, in bytes. */
const MAX_BYTES_PER_CALLER = 32 * 1024 * 1024;

/** The maximum memory of all long messages in one process, in bytes. */
export const MAX_BYTES = 128 * 1024 * 1024;

/**
 * The part of {@linkcode MAX_BYTES} that only single persons and machines may
 * use.
 */
export const RESERVED_BYTES = MAX_BYTES / 2;

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
  protected readonly bound: CallerBound;

  constructor(protected readonly what = "long messages") {
    this.bound = new CallerBound(MAX_BYTES_PER_CALLER, `${what} at a time`, 1);
  }

  /**
   * Checks that there is room for another message. A message that begins below
   * the limit may exceed it.
   * @throws {HttpError} 503 if the process has reached its limit, 429 if the
   * caller has
   */
  check(holder: MessageHolder, messageBytes = holder.messageBytes): void {
    if (!messageBytes || this.hasRoomForAll) return;
    const { limitKey } = holder;
    const most = MAX_BYTES - (limitKey?.isMany ? RESERVED_BYTES : 0);
    if (this.bytes >= most) {
      throw new HttpError(503, `Too many ${this.what} at a time`);
    }
    this.bound.check(limitKey);
  }

  /** @throws {HttpError} 429 if the caller has reached the limit */
  checkCaller(caller: Pick<MessageHolder, "limitKey">): void {
    if (!this.hasRoomForAll) this.bound.check(caller.limitKey);
  }

  /**
   * True if no caller can have reached the limit. Then the limit key, which
   * takes time to find, is not needed.
   */
  protected get hasRoomForAll(): boolean {
    return this.bytes < MAX_BYTES_PER_CALLER;
  }

  hasRoom(limitKey: LimitKey | undefined): boolean {
    return this.bound.hasRoom(limitKey);
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
    if (bytes < 0) this.bound.release(limitKey, -bytes);
    else this.bound.count(limitKey, bytes);
  }
}

/** The long messages of this process. */
export const longMessageBudget = new MemoryBudget();
