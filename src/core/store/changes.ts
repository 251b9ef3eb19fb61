/**
 * Changes that clients are notified of, numbered in one sequence for all
 * processes. A listener continues after the last number that it has read.
 *
 * @module
 * @see MCP 2026-07-28, Subscriptions
 */
import type { ChangingList } from "../../authoring/context.ts";
import { outsideTrace } from "../telemetry/current.ts";
import type { Database, Entry, Expiring } from "../kv/database.ts";
import { changeHeadKey, changeKey } from "../kv/keys.ts";
import { pause } from "../clock.ts";

const CHANGE_SECONDS = 5 * 60;
/** The time between polls; one poll serves all listeners of a process. */
const POLL_MILLISECONDS = 100;
const AGAIN_MILLISECONDS = 1000;

export type Change =
  | { kind: "resource"; uri: string }
  | { kind: "list"; list: ChangingList };

type Numbered = Change & Expiring;

/** The loop that reads new changes. */
interface Following {
  stop: AbortController;
  started: Promise<unknown>;
  done: Promise<void>;
}

export type ChangeStore = ReturnType<typeof changeStore>;

export function changeStore(
  database: Database,
  onFailure: (error: unknown) => void,
) {
  const listeners = new Set<(change: Change) => void>();
  let following: Following | undefined;
  let ending: Promise<unknown> = Promise.resolve();
  let last: Promise<unknown> = Promise.resolve();

  /**
   * Appends one change at a time, because writers would compete for a number.
   */
  function append(change: Change): Promise<void> {
    const appended = last.then(() =>
      database.change(
        changeHeadKey(),
        (transaction, { key, value: head = 0 }: Entry<number>) => {
          const expiresAt = database.now() + CHANGE_SECONDS;
          transaction
            .set<Numbered>(changeKey(head + 1), { ...change, expiresAt })
            .setForever(key, head + 1);
        },
      )
    );
    last = appended.catch(() => {});
    return appended;
  }

  async function follow(seen: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const head = await database.waitFor<number>(
          changeHeadKey(),
          (head) => head !== undefined && head !== seen,
          signal,
          { slowestMilliseconds: POLL_MILLISECONDS, onFailure },
        );
        while (seen < head!) {
          const change = await database.find<Numbered>(changeKey(seen + 1));
          seen++;
          if (!change) continue;
          for (const listener of listeners) listener(change.value);
        }
        seen = head!;
      } catch (error) {
        if (signal.aborted) return;
        onFailure(error);
        await pause(AGAIN_MILLISECONDS, signal);
      }
    }
  }

  function startFollowing(): Following {
    const stop = new AbortController();
    const started = database.get<number>(changeHeadKey());
    const done = started.then(
      ({ value }) => follow(value ?? 0, stop.signal),
      () => {},
    );
    return { stop, started, done };
  }

  async function stopFollowing(): Promise<void> {
    const { stop, done } = following ?? {};
    following = undefined;
    stop?.abort();
    await (ending = Promise.all([ending, done]));
  }

  return {
    resourceUpdated: (uri: string): Promise<void> =>
      append({ kind: "resource", uri }),

    listChanged: (list: ChangingList): Promise<void> =>
      append({ kind: "list", list }),

    /**
     * Calls `onChange` for every later change, made in any process, in order.
     * Once it listens, resolves to a function that stops it.
     */
    async listen(onChange: (change: Change) => void): Promise<() => void> {
      const leave = () => {
        listeners.delete(onChange);
        if (listeners.size === 0) stopFollowing();
      };
      listeners.add(onChange);
      following ??= outsideTrace(startFollowing);
      try {
        await following.started;
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },

    close: stopFollowing,
  };
}
