/**
 * Limits on the calls of a caller: per minute, in all and for each tool, and on
 * the calls of a tool that run at the same time.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { LimitError } from "../errors.ts";
import { SharedBuckets } from "../http/shared_buckets.ts";
import type { Logger } from "../log.ts";
import type { Catalogue } from "../protocol/catalogue.ts";
import type { CompiledTool } from "../protocol/compiled_definitions.ts";
import type { Database } from "../store/database.ts";
import { detached } from "../telemetry.ts";
import { CallerBound } from "./caller_bound.ts";
import { type CountedAs, MANY } from "./counted_as.ts";
import type { Running } from "./running.ts";

/** Methods that run an author's code; the others are cheap. */
const COUNTED: ReadonlySet<string> = new Set([
  "tools/call",
  "resources/read",
  "prompts/get",
  "completion/complete",
]);

/**
 * The part of a person's minute that must be used before other processes are
 * told.
 */
const TOLD = 0.25;

/** The caller of a limit that all callers share. */
const EVERYONE: CountedAs = { name: "everyone", isMany: false };

const CALLS_A_MINUTE = "calls a minute";

/** The state of a tool's own limit. */
interface OfTool {
  calls?: SharedBuckets;
  underWay?: CallerBound;
}

/** A place among the running calls of a tool. */
export interface Place {
  /** True if a task keeps the place until its work has ended. */
  isKept: boolean;
  leave(): void;
}

/** The limits of a server. */
export class Limits {
  readonly #callers?: Record<"one" | "many", SharedBuckets>;
  readonly #tools = new Map<string, OfTool>();
  readonly #clock: Clock;

  constructor(
    kept: { database: Database; log: Logger },
    { callsPerMinute, tools }: {
      /** Calls per minute of each caller; 0: no limit. */
      callsPerMinute: number;
      tools: Catalogue["tools"];
    },
  ) {
    this.#clock = kept.database.clock;
    if (callsPerMinute > 0) {
      const buckets = (people: string, count: number) =>
        new SharedBuckets(kept, `calls of ${people}`, {
          burst: count,
          perSecond: count / 60,
          told: TOLD,
        });
      this.#callers = {
        one: buckets("one", callsPerMinute),
        many: buckets("many", callsPerMinute * MANY),
      };
    }
    for (const { name, limit } of tools.values()) {
      if (limit === undefined) continue;
      const { callsPerMinute, callsAtOnce } = limit;
      this.#tools.set(name, {
        // The limit may be small, so every call is reported.
        calls: callsPerMinute === undefined
          ? undefined
          : new SharedBuckets(kept, `calls to ${name}`, {
            burst: callsPerMinute,
            perSecond: callsPerMinute / 60,
            told: 0,
          }),
        underWay: callsAtOnce === undefined
          ? undefined
          : new CallerBound(callsAtOnce, `calls to ${name} at a time`, 1),
      });
    }
  }

  /** Charges a caller for a request. @throws {LimitError} */
  charge(method: string, request: Pick<Running, "countedAs">): void {
    const opensSession = method === "initialize";
    if (!this.#callers || !opensSession && !COUNTED.has(method)) return;
    const caller = request.countedAs;
    if (caller === undefined) return;
    // Sessions are stored. Sessions of one person are bounded elsewhere.
    if (opensSession && !caller.isMany) return;
    const buckets = this.#callers[caller.isMany ? "many" : "one"];
    this.#take(buckets, caller, CALLS_A_MINUTE);
  }

  /** Charges a caller for a call of a limited tool. @throws {LimitError} */
  enter(
    { name, limit }: Pick<CompiledTool, "name" | "limit">,
    caller: CountedAs | undefined,
  ): Place {
    // Callers that cannot be told apart share the limit.
    const who = limit!.shared ? EVERYONE : caller ?? EVERYONE;
    const { calls, underWay } = this.#tools.get(name)!;
    underWay?.take(who);
    try {
      if (calls) this.#take(calls, who, `calls to ${name} a minute`);
    } catch (error) {
      underWay?.release(who);
      throw error;
    }
    return { isKept: false, leave: () => underWay?.release(who) };
  }

  #take(buckets: SharedBuckets, { name }: CountedAs, what: string): void {
    const time = this.#clock();
    const waitMilliseconds = buckets.take(name, time);
    detached(() => buckets.exchange(time));
    if (waitMilliseconds > 0) {
      throw new LimitError(what, Math.ceil(waitMilliseconds / 1000));
    }
  }
}
