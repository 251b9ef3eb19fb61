/**
 * Wishes of 2025 clients to cancel a request that another process is working
 * on. Each cancels once, and carries its time: a request that uses an id again
 * is not cancelled by an old wish.
 *
 * @module
 * @see MCP 2025-11-25, Cancellation
 */
import type { RequestId } from "../protocol/messages.ts";
import type { Database, Entry, Expiring } from "./database.ts";
import { cancellationHeadKey, cancellationKey } from "./keys.ts";

const CANCELLATION_SECONDS = 5 * 60;
/** Each look at a remote database costs, and a client that cancels can wait. */
const REMOTE_PAUSE_MILLISECONDS = 1000;
/** How far clocks may differ, and a wish be ahead of its request. */
const TOLERANCE_MILLISECONDS = 10_000;

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

export type CancellationStore = ReturnType<typeof cancellationStore>;

/** Cancellations in a database. */
export function cancellationStore(database: Database) {
  let seen: string | null | undefined;
  let lookUntil = -Infinity;
  let lookedMilliseconds = -Infinity;
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
     * Those of `requests` that were cancelled since they began, or shortly
     * before: a wish may overtake its request, and two machines' clocks differ.
     * Costs one small read, and `requests` is not called, unless something was
     * cancelled a moment ago.
     */
    async find<T extends Cancellable>(
      requests: () => readonly T[],
    ): Promise<T[]> {
      const sinceMilliseconds = database.clock() - lookedMilliseconds;
      if (
        database.isRemote && Math.abs(sinceMilliseconds) <
          REMOTE_PAUSE_MILLISECONDS
      ) return [];
      lookedMilliseconds = database.clock();
      // Read first: a request that begins after this is cancelled after it.
      const { versionstamp } = await database.get(cancellationHeadKey());
      if (versionstamp !== seen) {
        lookUntil = database.clock() + TOLERANCE_MILLISECONDS;
      } else if (database.clock() >= lookUntil) return [];
      const running = requests();
      const wishes = await database.getMany<Cancellation[]>(
        running.map(({ sessionId, requestId }) =>
          cancellationKey(sessionId, requestId)
        ),
      );
      const isHit = ({ startedMilliseconds }: Cancellable, i: number) =>
        (wishes[i].value?.atMilliseconds ?? 0) >=
          startedMilliseconds - TOLERANCE_MILLISECONDS;
      await Promise.all(
        wishes.filter((_, i) => isHit(running[i], i)).map(fulfil),
      );
      seen = versionstamp;
      return running.filter(isHit);
    },
  };

  /** A newer wish under the same key stays. */
  async function fulfil({ key, versionstamp }: Entry<Cancellation>) {
    await database.commit((transaction) =>
      transaction.check({ key, versionstamp }).delete(key)
    );
  }
}
