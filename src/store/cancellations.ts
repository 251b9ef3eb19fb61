/**
 * Wishes of 2025 clients to cancel a request that another process is working
 * on. Each carries its time, so that an id used again is not hit by an old one.
 *
 * @module
 * @see MCP 2025-11-25, Cancellation
 */
import type { RequestId } from "../protocol/messages.ts";
import { cancellationHeadKey, cancellationKey } from "./keys.ts";
import { alive, commit, expireIn, type Expiring, reach } from "./kv.ts";
import { now } from "../clock.ts";

const CANCELLATION_SECONDS = 5 * 60;
/** `getMany` reads this many keys. */
const KEYS_PER_READ = 10;

interface Cancellation extends Expiring {
  /** Epoch milliseconds: requests live shorter than a second. */
  atMilliseconds: number;
}

/** A request that can be cancelled. */
export interface Cancellable {
  sessionId: string;
  requestId: RequestId;
  /** Epoch milliseconds at which work on it began. */
  startedMilliseconds: number;
}

/** Cancellations in Deno KV. */
export interface CancellationStore {
  save(sessionId: string, requestId: RequestId): Promise<void>;
  /**
   * Those of `requests` that were cancelled after they began. Costs one small
   * read, and `requests` is not called, unless something was cancelled since
   * the last time.
   */
  find<T extends Cancellable>(requests: () => readonly T[]): Promise<T[]>;
}

/** Cancellations in a database. */
export function cancellationStore(kv: Deno.Kv): CancellationStore {
  let seen: string | null | undefined;
  return {
    async save(sessionId, requestId) {
      const cancellation: Cancellation = {
        atMilliseconds: Date.now(),
        expiresAt: now() + CANCELLATION_SECONDS,
      };
      await commit(kv, (operation) =>
        operation
          .set(
            cancellationKey(sessionId, requestId),
            cancellation,
            expireIn(cancellation),
          )
          .set(cancellationHeadKey(), cancellation.atMilliseconds));
    },

    async find(running) {
      // Read first: a request that begins after this is cancelled after it.
      const { versionstamp } = await reach(() =>
        kv.get<number>(cancellationHeadKey())
      );
      if (versionstamp === seen) return [];
      const requests = running();
      const found = [];
      for (let i = 0; i < requests.length; i += KEYS_PER_READ) {
        const some = requests.slice(i, i + KEYS_PER_READ);
        const entries = await reach(() =>
          kv.getMany<Cancellation[]>(
            some.map(({ sessionId, requestId }) =>
              cancellationKey(sessionId, requestId)
            ),
          )
        );
        found.push(
          ...some.filter(({ startedMilliseconds }, j) =>
            (alive(entries[j])?.value.atMilliseconds ?? 0) >=
              startedMilliseconds
          ),
        );
      }
      seen = versionstamp;
      return found;
    },
  };
}
