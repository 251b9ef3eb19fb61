/**
 * The bounds on waits: of a person, or of many people who are counted together,
 * and of one client of theirs.
 *
 * @module
 */
import { LimitError } from "../../core/errors.ts";
import { LatestMap } from "../../core/latest_map.ts";
import type { Database, Found } from "../../core/kv/database.ts";
import { waitsOfKey } from "../../core/kv/keys.ts";
import { isSameClient, type ListedWait, type Waiting } from "./wait_record.ts";

/** The most waits of each kind that one person has at a time. */
export const MAX_WAITS_PER_PERSON = 100;

/** The most pages of one client for a person, to leave room for others. */
export const MAX_WAITS_PER_CLIENT = 25;

/** The `Retry-After` of one wait too many: pages end within an hour. */
const RETRY_SECONDS = 600;

/** The time for which a list that was full is not read again. */
const FULL_MILLISECONDS = 1000;

/** A wait that is about to be opened. */
type Opener = Pick<Waiting, "kind" | "clientId" | "grantId"> & {
  /** The list by which it is limited. */
  list: string;
  /** The most of its kind in that list. */
  most: number;
};

export function waitRoom(database: Database) {
  /** The last opening under way here, by list. */
  const openings = new Map<string, Promise<unknown>>();
  /**
   * The openers that found their lists full a moment ago: reading a long list
   * costs more than being refused.
   */
  const full = new LatestMap<true>();

  function nameOf({ list, kind, most, clientId, grantId }: Opener): string {
    return JSON.stringify([list, kind, most, clientId ?? null, grantId]);
  }

  function refuse(): never {
    throw new LimitError("questions that wait for this person", RETRY_SECONDS);
  }

  return {
    /** Opens one wait of a list after another: side by side they would compete. */
    inTurn<T>(list: string, open: () => Promise<T>): Promise<T> {
      const turn = (openings.get(list) ?? Promise.resolve()).then(open, open);
      openings.set(list, turn);
      return turn.finally(() => {
        if (openings.get(list) === turn) openings.delete(list);
      });
    },

    /** Reads a list; undefined if it was full for the opener a moment ago. */
    async read(opener: Opener): Promise<Found<ListedWait>[] | undefined> {
      return full.get(nameOf(opener))
        ? undefined
        : await database.list<ListedWait>(waitsOfKey(opener.list));
    },

    /**
     * Checks that there is room in a list as it was read.
     *
     * @throws {LimitError}
     */
    check(
      listed: readonly Found<ListedWait>[] | undefined,
      opener: Opener,
    ): void {
      if (listed === undefined) refuse();
      // Each kind is counted by itself: webhooks, which wait for days, leave
      // room for pages.
      const same = listed.filter(({ value: { kind, state } }) =>
        kind === opener.kind && state !== "used"
      );
      const ofClient = opener.kind !== "webhook"
        ? same.filter(({ value }) => isSameClient(value, opener)).length
        : 0;
      if (same.length < opener.most && ofClient < MAX_WAITS_PER_CLIENT) return;
      full.set(nameOf(opener), true, FULL_MILLISECONDS);
      refuse();
    },
  };
}
