/**
 * The listing of people who signed in with version 0.2, which had no lists: a
 * few with each page that an operator opens, the rest in the background.
 *
 * @module
 */
import type { Grant } from "../oauth/grant.ts";
import { pause } from "../clock.ts";
import type { Database } from "./database.ts";
import { grantKey, peopleGatheredKey, rangeOf } from "./keys.ts";
import { listPerson } from "./listed_people.ts";

/**
 * The old grants whose people one commit lists: each takes up to 17 rows, and a
 * commit takes a thousand mutations.
 */
const GRANTS_PER_PIECE = 50;
/** The commits that a page waits for; the rest is done in the background. */
const PIECES_AT_ONCE = 10;
const PIECE_PAUSE_MILLISECONDS = 20;

interface Gathered {
  /** The last grant that was looked at. */
  after?: string;
  /** Grants that were looked at. */
  count: number;
  isDone: boolean;
}

export function peopleGathering(database: Database) {
  const stopping = new AbortController();
  let isGathering = false;

  /** Lists the people of the next grants that version 0.2 made. */
  async function gatherPiece(): Promise<Gathered> {
    const entry = await database.get<Gathered>(peopleGatheredKey());
    const before = entry.value ?? { count: 0, isDone: false };
    if (before.isDone) return before;
    const { found, last } = await database.listSome<Grant>(
      rangeOf(grantKey(), before.after),
      GRANTS_PER_PIECE,
    );
    const gathered: Gathered = {
      after: last?.at(-1) as string,
      count: before.count + found.length,
      isDone: last === undefined,
    };
    // If another process was faster, the next piece follows its one.
    await database.commit((transaction) => {
      transaction.check(entry).setForever(entry.key, gathered);
      // The grant itself is written at its next use: here it could make another
      // change of it fail.
      for (const { value } of found) listPerson(transaction, value);
    });
    return gathered;
  }

  async function gatherRest(): Promise<void> {
    try {
      while (!stopping.signal.aborted && !(await gatherPiece()).isDone) {
        await pause(PIECE_PAUSE_MILLISECONDS, stopping.signal);
      }
    } finally {
      isGathering = false;
    }
  }

  /**
   * Lists the people of version 0.2, the rest of them in the background. Gives
   * the number of grants that were read, until all are.
   */
  async function gather(): Promise<number | undefined> {
    const { value } = await database.get<Gathered>(peopleGatheredKey());
    if (value?.isDone) return undefined;
    if (isGathering) return value?.count ?? 0;
    isGathering = true;
    let isLong = false;
    try {
      for (let pieces = 1;; pieces++) {
        const { isDone, count } = await gatherPiece();
        if (isDone) return undefined;
        if (pieces < PIECES_AT_ONCE) continue;
        isLong = true;
        database.background(gatherRest);
        return count;
      }
    } finally {
      if (!isLong) isGathering = false;
    }
  }

  return {
    gather,

    /** Stops listing them. */
    close: () => stopping.abort(),
  };
}
