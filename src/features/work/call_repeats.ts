/**
 * Calls that were answered before their tool had ended. When the client makes
 * the same call again (a repeat), it gets the result. Each process remembers
 * which tools have such calls, so that calls of other tools cost no read.
 *
 * @module
 */
import type { MaybePromise } from "../../authoring/service.ts";
import type { Database, Entry, Expiring } from "../../core/kv/database.ts";
import { longToolKey, repeatKey } from "../../core/kv/keys.ts";
import { TASK_SECONDS } from "./task_record.ts";

/** The time for which this process caches the list of long-running tools. */
const FRESH_MILLISECONDS = 10_000;

/**
 * The minimum time between marking a tool as long-running and asking a client
 * to repeat a call of it. By then every process has read the mark.
 */
export const MARKED_BEFORE_MILLISECONDS = 15_000;

const MAX_TOOLS = 1000;

/** The maximum number of identical calls among which a repeat finds its own. */
const MAX_EQUAL = 100;

/**
 * The lifetime of a tool's mark as long-running; longer than any call of the
 * tool.
 */
const MARK_SECONDS = TASK_SECONDS + 60 * 60;

type Tools = ReadonlySet<string>;

export function callRepeats(database: Database) {
  let tools: Tools = new Set();
  /** The time of the last read, by `performance.now()`. */
  let readMilliseconds = -Infinity;
  let reading: Promise<Tools> | undefined;

  /**
   * Reads the long-running tools. If the database does not respond, returns
   * those last read.
   */
  async function read(): Promise<Tools> {
    // The age of the tools counts from the beginning of the read.
    readMilliseconds = performance.now();
    const found = await database
      .list<Expiring>(longToolKey(), { limit: MAX_TOOLS })
      .catch(() => undefined);
    return tools = found
      ? new Set(found.map(({ key }) => key[1] as string))
      : tools;
  }

  return {
    /**
     * Returns the long-running tools, or a promise of them if they must be
     * read.
     *
     * @param nowMilliseconds the time, by `performance.now()`
     */
    longTools(nowMilliseconds = performance.now()): MaybePromise<Tools> {
      if (reading) return reading;
      if (nowMilliseconds - readMilliseconds < FRESH_MILLISECONDS) return tools;
      return reading = read().finally(() => reading = undefined);
    },

    /** Marks a tool as long-running, for 25 hours. */
    async markLong(tool: string): Promise<void> {
      const expiresAt = database.now() + MARK_SECONDS;
      await database.commit((transaction) =>
        transaction.set<Expiring>(longToolKey(tool), { expiresAt })
      );
      tools = new Set([...tools, tool]);
    },

    /** Lists the tasks of earlier calls whose result a repeat may get. */
    async repeatedBy(repeat: string): Promise<string[]> {
      const found = await database
        .list<Expiring>(repeatKey(repeat), { limit: MAX_EQUAL });
      return found.map(({ key }) => key[2] as string);
    },

    /**
     * Gives a task's result to a repeat. Returns false if another repeat was
     * faster.
     */
    async takeRepeated(repeat: string, taskId: string): Promise<boolean> {
      return await database.change(
        repeatKey(repeat, taskId),
        (transaction, { key, value }: Entry<Expiring>) => {
          if (!value) return false;
          transaction.delete(key);
          return true;
        },
      );
    },
  };
}
