/**
 * Change notifications, numbered in one line for all processes. Whoever
 * listens reads on from the number it saw last.
 *
 * @module
 * @see MCP 2026-07-28, Subscriptions
 */
import type { ChangingList } from "../authoring/context.ts";
import { changeHeadKey, changeKey } from "./keys.ts";
import { commit, expireIn, type Expiring, find, reach } from "./kv.ts";
import { now } from "../clock.ts";
import { waitFor } from "./wait.ts";

const CHANGE_SECONDS = 5 * 60;
/** One wait serves all listeners of a process: it may look often. */
const POLL_MILLISECONDS = 100;

/** Something that changed. */
export type Change =
  | { kind: "resource"; uri: string }
  | { kind: "list"; list: ChangingList };

type Numbered = Change & Expiring;

/** Reading on from the head of the line. */
interface Following {
  stop: AbortController;
  started: Promise<unknown>;
  done: Promise<void>;
}

/** Change notifications in Deno KV. */
export interface ChangeStore {
  resourceUpdated(uri: string): Promise<void>;
  listChanged(list: ChangingList): Promise<void>;
  /**
   * Calls `onChange` for every change from now on, made in whatever process,
   * in the order they were made. Resolves once it listens.
   */
  listen(onChange: (change: Change) => void): Promise<() => void>;
  /** Stops following the database. */
  close(): Promise<void>;
}

/** Change notifications in a database. */
export function changeStore(
  kv: Deno.Kv,
  onFailure: (error: unknown) => void,
): ChangeStore {
  const listeners = new Set<(change: Change) => void>();
  let following: Following | undefined;
  let ending: Promise<unknown> = Promise.resolve();
  let last: Promise<unknown> = Promise.resolve();

  /** One at a time: writers of one process need not race for a number. */
  function append(change: Change): Promise<void> {
    const appended = last.then(() => appendOne(change));
    last = appended.catch(() => {});
    return appended;
  }

  async function appendOne(change: Change): Promise<void> {
    for (let isDone = false; !isDone;) {
      const head = await readHead();
      const number = (head.value ?? 0) + 1;
      const numbered: Numbered = {
        ...change,
        expiresAt: now() + CHANGE_SECONDS,
      };
      isDone = await commit(kv, (operation) =>
        operation
          .check(head)
          .set(head.key, number)
          .set(changeKey(number), numbered, expireIn(numbered)));
    }
  }

  function readHead(): Promise<Deno.KvEntryMaybe<number>> {
    return reach(() => kv.get<number>(changeHeadKey()));
  }

  async function follow(seen: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const head = await waitFor<number>(
          kv,
          changeHeadKey(),
          (head) => head !== null && head !== seen,
          signal,
          { slowestMilliseconds: POLL_MILLISECONDS },
        );
        while (seen < head!) {
          const change = await find<Numbered>(kv, changeKey(seen + 1));
          seen++;
          if (!change) continue;
          for (const listener of listeners) listener(change.value);
        }
        seen = head!;
      } catch (error) {
        if (signal.aborted) return;
        onFailure(error);
        await pause(signal);
      }
    }
  }

  function startFollowing(): Following {
    const stop = new AbortController();
    const started = readHead();
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
    resourceUpdated: (uri) => append({ kind: "resource", uri }),
    listChanged: (list) => append({ kind: "list", list }),

    async listen(onChange) {
      const leave = () => {
        listeners.delete(onChange);
        if (listeners.size === 0) stopFollowing();
      };
      listeners.add(onChange);
      following ??= startFollowing();
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

/** A second, or less when the signal fires. */
function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, 1000);
    signal.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
