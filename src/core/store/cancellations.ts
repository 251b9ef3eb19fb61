/**
 * Cancellations of 2025 clients for requests that another process is working
 * on. Each cancels only one request, and carries its time: a later request with
 * the same id is not cancelled by it.
 *
 * @module
 * @see MCP 2025-11-25, Cancellation
 */
import type { RequestId } from "../protocol/messages.ts";
import type { Database, Expiring } from "../kv/database.ts";
import { cancellationHeadKey, cancellationKey } from "../kv/keys.ts";

const CANCELLATION_SECONDS = 5 * 60;
/** The least time between reads of a remote database: each costs something. */
const REMOTE_PAUSE_MILLISECONDS = 1000;
/**
 * The accepted difference between two clocks. A cancellation may also come this
 * long before its request.
 */
const TOLERANCE_MILLISECONDS = 10_000;

interface Cancellation extends Expiring {
  /** Epoch milliseconds: requests may take less than a second. */
  atMilliseconds: number;
}

/** A request that can be cancelled. */
export interface Cancellable {
  sessionId: string;
  requestId: RequestId;
  /** The time at which work on it began, by `performance.now()`. */
  startedMilliseconds: number;
}

export type CancellationStore = ReturnType<typeof cancellationStore>;

export function cancellationStore(database: Database) {
  let seen: string | null | undefined;
  let readUntil = -Infinity;
  let lastReadMilliseconds = -Infinity;
  return {
    async save(sessionId: string, requestId: RequestId): Promise<void> {
      const cancellation: Cancellation = {
        atMilliseconds: database.clock(),
        expiresAt: database.now() + CANCELLATION_SECONDS,
      };
      await database.commit((transaction) =>
        transaction
          .set(cancellationKey(sessionId, requestId), cancellation)
          .setForever(cancellationHeadKey(), cancellation.atMilliseconds)
      );
    },

    /**
     * Finds the requests that were cancelled since they began, or shortly
     * before: a cancellation may overtake its request, and two machines' clocks
     * differ. Costs only one small read, without calling `requests`, unless
     * something was cancelled just now.
     */
    async find<T extends Cancellable>(
      requests: () => readonly T[],
    ): Promise<T[]> {
      const sinceMilliseconds = performance.now() - lastReadMilliseconds;
      if (
        database.isRemote && sinceMilliseconds < REMOTE_PAUSE_MILLISECONDS
      ) return [];
      lastReadMilliseconds = performance.now();
      // The head is read first: a cancellation of a request that begins after
      // this will change the head again.
      const { versionstamp } = await database.get(cancellationHeadKey());
      if (versionstamp !== seen) {
        readUntil = performance.now() + TOLERANCE_MILLISECONDS;
      } else if (performance.now() >= readUntil) return [];
      const running = requests();
      const cancellations = await database.getMany<Cancellation[]>(
        running.map(({ sessionId, requestId }) =>
          cancellationKey(sessionId, requestId)
        ),
      );
      // By the present clock, which may have been set since a request began.
      const startMilliseconds = database.clock() - performance.now();
      const isHit = ({ startedMilliseconds }: Cancellable, i: number) =>
        (cancellations[i].value?.atMilliseconds ?? 0) >=
          startMilliseconds + startedMilliseconds - TOLERANCE_MILLISECONDS;
      // The check keeps a newer cancellation under the same key.
      const used = cancellations.filter((_, i) => isHit(running[i], i));
      await Promise.all(
        used.map((entry) =>
          database.commit((transaction) =>
            transaction.check(entry).delete(entry.key)
          )
        ),
      );
      seen = versionstamp;
      return running.filter(isHit);
    },
  };
}
