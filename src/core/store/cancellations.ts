/**
 * Cancellations of MCP 2025 clients for requests that run in another process. A
 * cancellation has a time, so that it does not cancel a later request with the
 * same id.
 * @module
 * @see MCP 2025-11-25, Cancellation
 */
import type { RequestId } from "../protocol/messages.ts";
import type { Database, Expiring } from "../kv/database.ts";
import { cancellationHeadKey, cancellationKey } from "../kv/keys.ts";

const CANCELLATION_SECONDS = 5 * 60;
/** The minimum time between reads of a remote database, which cost money. */
const REMOTE_PAUSE_MILLISECONDS = 1000;
/**
 * The accepted difference between two clocks, and between a cancellation and
 * its later request.
 */
const TOLERANCE_MILLISECONDS = 10_000;

interface Cancellation extends Expiring {
  /** Milliseconds, because requests may take less than a second. */
  atMilliseconds: number;
}

export interface Cancellable {
  sessionId: string;
  requestId: RequestId;
  /** The time at which the request began to run, by `performance.now()`. */
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
     * Finds the running requests that were cancelled. A cancellation may be a
     * little older than its request: it may overtake the request, and clocks
     * differ. Usually this is one small read; `requests` is called only if
     * there are new cancellations.
     */
    async find<T extends Cancellable>(
      requests: () => readonly T[],
    ): Promise<T[]> {
      const sinceMilliseconds = performance.now() - lastReadMilliseconds;
      if (
        database.isRemote && sinceMilliseconds < REMOTE_PAUSE_MILLISECONDS
      ) return [];
      lastReadMilliseconds = performance.now();
      // The head is read first. So if a request begins after this read, its
      // cancellation changes the head again.
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
      // Start times by the clock as it is now: it may have been set since.
      const startMilliseconds = database.clock() - performance.now();
      const isHit = ({ startedMilliseconds }: Cancellable, i: number) =>
        (cancellations[i].value?.atMilliseconds ?? 0) >=
          startMilliseconds + startedMilliseconds - TOLERANCE_MILLISECONDS;
      // With a check, so that a newer cancellation under the same key is not
      // deleted.
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
