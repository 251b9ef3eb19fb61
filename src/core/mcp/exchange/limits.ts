/**
 * Rate limits on a caller's calls, in total and for each tool; and limits on
 * concurrent calls of a tool.
 *
 * @module
 */
import { LimitError } from "../../errors.ts";
import { SharedBuckets } from "../../http/buckets.ts";
import type { Logger } from "../../log/log.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { CompiledTool } from "../../catalogue/compiled_tool.ts";
import type { Database } from "../../kv/database.ts";
import {
  CallerBound,
  type LimitKey,
  MANY,
  NO_NETWORK,
} from "./caller_bound.ts";

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
 * reads the database, and has a limit {@linkcode MANY} times as high.
 */
const POLL = "tasks/get";

/** The key for all callers together, for a tool's limit with `shared`. */
const EVERYONE: LimitKey = { name: "everyone", isMany: false };

const UNKNOWN_SHARE =
  "The addresses of callers without credentials are unknown, so all of " +
  "them share one limit: name the proxy in front in TRUSTED_PROXIES, or " +
  "pass the connection's info as the second argument of fetch()";

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
        many: buckets("calls of many", callsPerMinute * MANY),
        sessions: buckets("sessions", callsPerMinute),
        unknown: buckets("calls of unknown", callsPerMinute * MANY * MANY),
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
    // Sessions are stored, so a caller that may be many people may open no more
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
   * Counts a call of a tool with limits against its caller's rate. Returns a
   * function to call when the tool ends. @throws {LimitError}
   */
  async enter(
    { name, limit }: Pick<CompiledTool, "name" | "limit">,
    caller: LimitKey,
  ): Promise<() => void> {
    const who = limit!.shared ? EVERYONE : caller;
    const { calls, underWay } = this.#tools.get(name)!;
    underWay?.take(who);
    try {
      if (calls) await this.#take(calls, who, `calls to ${name} a minute`);
    } catch (error) {
      underWay?.release(who);
      throw error;
    }
    return () => underWay?.release(who);
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
