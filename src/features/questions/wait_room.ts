/**
 * The limits on waits: for each kind, how many a person may have at a time, and
 * how many of these for one client. Loaded when the first wait is created.
 *
 * @module
 */
import { LimitError } from "../../core/errors.ts";
import type { Found } from "../../core/kv/database.ts";
import { LatestMap } from "../../core/cache.ts";
import {
  isSameClient,
  type ListedWait,
  MAX_WAITS_PER_CLIENT,
  MAX_WAITS_PER_PERSON,
  type Waiting,
} from "./wait_record.ts";

/**
 * The `Retry-After` in seconds if there are too many waits. Pages end within an
 * hour.
 */
const RETRY_SECONDS = 600;

/** The time for which a full list is not read again. */
const FULL_MILLISECONDS = 1000;

type Opener = Pick<Waiting, "kind" | "clientId" | "grantId"> & {
  list: string;
  /** The maximum number of waits of its kind in that list. */
  most?: number;
};

export function waitRoom(
  readList: (list: string) => Promise<Found<ListedWait>[]>,
) {
  /** The latest creation of a wait in this process, by list. */
  const openings = new Map<string, Promise<unknown>>();
  /**
   * The clients and kinds whose lists were full a moment ago. They are refused
   * at once, because reading a long list is costly.
   */
  const full = new LatestMap<true>();

  function nameOf({ list, kind, most, clientId, grantId }: Opener): string {
    return JSON.stringify([list, kind, most, clientId ?? null, grantId]);
  }

  function refuse({ kind }: Opener): never {
    const what = kind === "approval" ? "calls" : "questions";
    throw new LimitError(`${what} wait for this person`, RETRY_SECONDS);
  }

  return {
    /**
     * Creates the waits of a list one after another, so that they do not
     * conflict.
     */
    inTurn<T>(list: string, open: () => Promise<T>): Promise<T> {
      const turn = (openings.get(list) ?? Promise.resolve()).then(open, open);
      openings.set(list, turn);
      return turn.finally(() => {
        if (openings.get(list) === turn) openings.delete(list);
      });
    },

    /** Reads a list. Undefined if it was full for this client a moment ago. */
    async read(opener: Opener): Promise<Found<ListedWait>[] | undefined> {
      return full.get(nameOf(opener)) ? undefined : await readList(opener.list);
    },

    /**
     * Returns a wait that may be deleted to make room in a full list: of the
     * client's withdrawn and refused calls, the one that expires first. If only
     * the person's limit is reached, it may be a withdrawn call of another
     * client. Undefined if there is room.
     *
     * @throws {LimitError} if the list is full, and has no such call
     */
    check(
      listed: readonly Found<ListedWait>[] | undefined,
      opener: Opener,
    ): Found<ListedWait> | undefined {
      if (listed === undefined) refuse(opener);
      // Each kind is counted by itself: webhooks wait for days, but leave room
      // for pages.
      const { most = MAX_WAITS_PER_PERSON } = opener;
      const same = listed.filter(({ value: { kind, state, isWithdrawn } }) =>
        kind === opener.kind && (state !== "used" || isWithdrawn)
      );
      const ofClient = opener.kind !== "webhook"
        ? same.filter(({ value }) => isSameClient(value, opener))
        : [];
      const isClientFull = ofClient.length >= MAX_WAITS_PER_CLIENT;
      if (same.length < most && !isClientFull) return;
      // Durable work may still have to read its refusal.
      const [spare] = (isClientFull ? ofClient : same)
        .filter(({ value }) =>
          !value.taskId && (value.isWithdrawn ||
            value.isRefused && isSameClient(value, opener))
        )
        .sort((one, other) => one.value.expiresAt - other.value.expiresAt);
      if (spare) return spare;
      full.set(nameOf(opener), true, FULL_MILLISECONDS);
      refuse(opener);
    },
  };
}
