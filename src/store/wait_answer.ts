/**
 * The answer of a wait: accepted once, from a person or from anyone who has the
 * id of a moment, and taken once.
 *
 * @module
 */
import { HttpError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { Database, Found } from "./database.ts";
import { listingWaitKey, waitKey } from "./keys.ts";
import { DURABLE_SECONDS } from "./run_record.ts";
import type { Transaction, Write } from "./transaction.ts";
import {
  dropWait,
  isLive,
  listingOf,
  type Pointer,
  putWait,
  type Wait,
  WAIT_CHARACTERS,
  type WaitKind,
  type WaitRecord,
  type WaitSeals,
} from "./wait_record.ts";
import { setWake } from "./wakes.ts";

/** The time for which the page of a used wait still says so, in seconds. */
const USED_SECONDS = 5 * 60;
/** Longer than a process that waits here takes to see an answer. */
const SECOND_LOOK_SECONDS = 10;

/** An answer that was taken, and can be put back until the wait expires. */
export interface TakenWait {
  answer: JsonObject;
  /** Puts it back; false if the person or a later call was faster. */
  release(): Promise<boolean>;
}

/** Finds the live wait of an id; one of another kind or person is none. */
export async function findWait(
  database: Database,
  id: string,
  kind: WaitKind,
  subject?: string,
): Promise<Found<WaitRecord> | undefined> {
  const found = await database.find<WaitRecord>(waitKey(id));
  if (found?.value.kind !== kind) return undefined;
  if (subject !== undefined && found.value.subject !== subject) {
    return undefined;
  }
  return await isLive(database, found.value) ? found : undefined;
}

export function waitAnswers(
  database: Database,
  { sealed, opened, view }: WaitSeals,
) {
  /**
   * Accepts an answer, once. Gives the wait as it is then; undefined if there is
   * none, or if `also` could not be committed.
   */
  async function accept(
    read: () => Promise<Found<WaitRecord> | undefined>,
    answer: JsonObject,
    answeredBy: string,
    also: Write = () => {},
  ): Promise<Wait | undefined> {
    let last: string | undefined;
    for (;;) {
      const found = await read();
      if (!found || found.versionstamp === last) return undefined;
      const { key, value } = found;
      if (value.state !== "open") return await view(found);
      const isMoment = value.kind === "moment";
      const record: WaitRecord = {
        ...value,
        state: "answered",
        sealedAnswer: await sealed(value, key, "answer", answer),
        answeredBy,
        // It was accepted, so it must arrive, however late the task goes on.
        ...isMoment && { expiresAt: database.now() + DURABLE_SECONDS },
      };
      const versionstamp = await database.commit((transaction) => {
        putWait(transaction.check(found), key, record);
        // Work whose page is open is at work, and sees the answer itself.
        if (isMoment) wakeTwice(transaction, record, database.now());
        also(transaction);
      });
      if (versionstamp) return await view({ key, value: record, versionstamp });
      // Unchanged: then it was `also` that failed.
      last = found.versionstamp;
    }
  }

  return {
    /**
     * Accepts the answer of a signed-in person. Gives the wait with the answer
     * that counts; undefined if nothing of theirs waits.
     *
     * @param also what the commit rests on: the session of the browser
     */
    answer(
      id: string,
      subject: string,
      answer: JsonObject,
      also: Write,
    ): Promise<Wait | undefined> {
      const read = () => findWait(database, id, "page", subject);
      return accept(read, answer, subject, also);
    },

    /**
     * Accepts the word of anyone who has the id; false if nothing waits for it.
     *
     * @throws {TypeError} when the data is no JSON
     * @throws {HttpError} 413 when it is too long
     */
    async tell(id: string, data: unknown): Promise<boolean> {
      const text = JSON.stringify(data);
      if (text === undefined) throw new TypeError("An answer must be JSON");
      if (text.length > WAIT_CHARACTERS) {
        throw new HttpError(
          413,
          `An answer has at most ${WAIT_CHARACTERS} characters`,
        );
      }
      const read = async () => {
        const found = await findWait(database, id, "moment");
        return found?.value.state === "open" ? found : undefined;
      };
      return await accept(read, { data }, "route") !== undefined;
    },

    /** Takes the answer of a wait, once; undefined if there is none to take. */
    async take({ key }: Wait): Promise<TakenWait | undefined> {
      const found = await database.find<WaitRecord>(key);
      if (found?.value.state !== "answered") return undefined;
      const answer = await opened(found, "answer");
      if (!answer) return undefined;
      const { value } = found;
      const { subject, at } = value;
      const { sealed: _, sealedAnswer: __, ...rest } = value;
      const used: WaitRecord = {
        ...rest,
        state: "used",
        expiresAt: database.now() + USED_SECONDS,
      };
      const versionstamp = await database.commit((transaction) =>
        transaction.check(found).set(key, used).end(at)
          .set(listingWaitKey(subject, key), listingOf(used))
      );
      if (!versionstamp) return undefined;
      return {
        answer,
        async release() {
          const pointer = await database.get<Pointer>(at);
          if (pointer.value) return false;
          return await database.commit((transaction) => {
            // Not if it was erased, or has ended with its grant, meanwhile.
            transaction.check({ key, versionstamp }, pointer);
            putWait(transaction, key, value);
          }) !== undefined;
        },
      };
    },

    /**
     * Accepts no answer from now on. Gives the one that came before, which stays
     * until the wait is withdrawn.
     */
    async close({ key }: Wait): Promise<JsonObject | undefined> {
      for (;;) {
        const found = await database.find<WaitRecord>(key);
        if (!found) return undefined;
        if (found.value.state !== "open") return await opened(found, "answer");
        const isClosed = await database.commit((transaction) =>
          dropWait(transaction, found)
        );
        if (isClosed) return undefined;
      }
    },
  };
}

/**
 * Wakes the task of a wait. Twice: its process may be about to leave it as the
 * first look finds it at work, and will have seen the answer by the second.
 */
function wakeTwice(
  transaction: Transaction,
  { taskId, expiresAt }: WaitRecord,
  now: number,
): void {
  if (taskId === undefined) return;
  for (const dueSeconds of [now, now + SECOND_LOOK_SECONDS]) {
    setWake(transaction, { taskId, dueSeconds, expiresAt });
  }
}
