/**
 * Waits: each stands for one answer of one person, or one moment, and is used
 * once. A person answers on a page, a moment is told by anyone who has its id.
 *
 * @module
 */
import type { Grant } from "../auth/rules/grant.ts";
import { randomId } from "../crypto/crypto.ts";
import { ChallengeError, HttpError, LimitError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { Database, Entry, Expiring, Found } from "./database.ts";
import {
  grantKey,
  listedWaitKey,
  listingWaitKey,
  taskRunKey,
  waitAtKey,
  waitKey,
  waitsOfKey,
} from "./keys.ts";
import { userOfRun } from "./run_record.ts";
import { absent, type Transaction, type Write } from "./transaction.ts";
import { setWake } from "./wakes.ts";
import {
  type Wait,
  type Waiting,
  type WaitRecord,
  waitSeals,
} from "./wait_record.ts";

export type { Wait, Waiting };

/** The time for which a page waits for its person, in seconds. */
export const WAIT_SECONDS = 60 * 60;

/** The most waits of each kind that one person has at a time. */
export const WAITS_PER_PERSON = 100;

/** The seconds after which to try again: what waits ends within an hour. */
const RETRY_SECONDS = 600;

/** The time for which the page of a used wait still says so, in seconds. */
const USED_SECONDS = 5 * 60;

/** The time for which the answer of a moment is kept for its task, in seconds. */
const ANSWER_SECONDS = 90 * 24 * 60 * 60;

/** Longer than a process that waits here takes to see an answer. */
const SECOND_LOOK_SECONDS = 10;

/** The most characters of what is asked, and of an answer. */
export const WAIT_CHARACTERS = 16_000;

/** A person who is back at their client does not wait for long. */
const SLOWEST_MILLISECONDS = 2000;

/** A list entry of a person's wait. */
interface ListedWait
  extends Expiring, Pick<WaitRecord, "kind" | "grantId" | "taskId"> {}

/** The wait at a place. */
interface Pointer extends Expiring {
  wait: Deno.KvKey;
}

/** An answer that was taken, and can be put back until the wait expires. */
export interface TakenWait {
  answer: JsonObject;
  /** Puts it back; false if the person or a later call was faster. */
  release(): Promise<boolean>;
}

export type WaitStore = ReturnType<typeof waitStore>;

/** Opens the waits of a database. */
export function waitStore(database: Database) {
  const { sealed, opened, view } = waitSeals(database);

  async function findBy(
    id: string,
    isMeant: (record: WaitRecord) => boolean,
  ): Promise<Found<WaitRecord> | undefined> {
    const found = await database.find<WaitRecord>(waitKey(id));
    if (!found || !isMeant(found.value)) return undefined;
    return await isLive(found) ? found : undefined;
  }

  /** Finds the live grant of a call, or the one that uses its task by now. */
  async function liveGrantOf(
    { grantId, taskId }: Pick<Waiting, "grantId" | "taskId">,
  ): Promise<Found<Grant> | undefined> {
    const grant = await activeGrant(grantId);
    if (grant || taskId === undefined) return grant;
    return await activeGrant(await userOfRun(database, taskId));
  }

  async function activeGrant(
    id: string | undefined,
  ): Promise<Found<Grant> | undefined> {
    const grant = id && await database.find<Grant>(grantKey(id));
    return grant && grant.value.status === "active" ? grant : undefined;
  }

  /** True unless its task, or the grant of its call, has ended. */
  async function isLive(
    { value: { grantId, taskId } }: Found<WaitRecord>,
  ): Promise<boolean> {
    // It may go on with another grant of the same person.
    if (taskId !== undefined) return (await runOf(taskId)).value !== null;
    if (grantId === undefined) return true;
    const { value } = await database.get<Grant>(grantKey(grantId));
    return value?.status === "active";
  }

  function runOf(taskId: string): Promise<Entry<Expiring>> {
    return database.get(taskRunKey(taskId));
  }

  /** Finds the run of a task, for a commit that rests on it. */
  async function openRunOf(
    { taskId }: Waiting,
  ): Promise<Entry<Expiring> | undefined> {
    if (taskId === undefined) return undefined;
    const run = await runOf(taskId);
    if (run.value) return run;
    throw new HttpError(409, "The task has ended");
  }

  /** Removes a wait, with its places in the lists. */
  function drop(
    transaction: Transaction,
    found: Found<WaitRecord>,
  ): Transaction {
    const { key, value: { subject, at, state } } = found;
    transaction.check(found).end(key).delete(listingWaitKey(subject, key));
    // The place of a used one may be another's by now.
    return state === "used" ? transaction : transaction.end(at);
  }

  /** Finds the grant of a call, for a commit that rests on it. */
  async function grantOf(waiting: Waiting): Promise<Found<Grant> | undefined> {
    if (waiting.grantId === undefined) return undefined;
    const grant = await liveGrantOf(waiting);
    if (grant) return grant;
    throw new ChallengeError("The connection has ended", "invalid_token");
  }

  async function checkRoom(
    { subject, kind }: Waiting,
    most: number,
  ): Promise<void> {
    // Work that waits for days leaves room for questions, and the other way.
    const listed = await database.list<ListedWait>(waitsOfKey(subject));
    const { length } = listed.filter(({ value }) => value.kind === kind);
    if (length < most) return;
    throw new LimitError("questions that wait for this person", RETRY_SECONDS);
  }

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
      const sealedAnswer = await sealed(value, key, "answer", answer);
      const record: WaitRecord = {
        ...value,
        state: "answered",
        sealedAnswer,
        answeredBy,
      };
      if (value.kind === "moment") {
        // It was accepted, so it must arrive, however late the task goes on.
        record.expiresAt = database.now() + ANSWER_SECONDS;
      }
      const versionstamp = await database.commit((transaction) => {
        put(transaction.check(found), key, record);
        // Work whose page is open is at work, and sees the answer itself.
        if (record.kind === "moment") wake(transaction, record);
        also(transaction);
      });
      if (versionstamp) return await view({ key, value: record, versionstamp });
      // Unchanged: then it was `also` that failed.
      last = found.versionstamp;
    }
  }

  /**
   * Wakes the task of a wait. Twice: its process may be about to leave it as the
   * first look finds it at work, and will have seen the answer by the second.
   */
  function wake(
    transaction: Transaction,
    { taskId, expiresAt }: WaitRecord,
  ): void {
    if (taskId === undefined) return;
    for (const seconds of [0, SECOND_LOOK_SECONDS]) {
      const dueSeconds = database.now() + seconds;
      setWake(transaction, { taskId, dueSeconds, expiresAt });
    }
  }

  /** Writes a wait that is not used, with its places in the lists. */
  function put(
    transaction: Transaction,
    key: Deno.KvKey,
    record: WaitRecord,
  ): Transaction {
    const { at, subject, expiresAt } = record;
    return transaction.set(key, record)
      .set<Pointer>(at, { wait: key, expiresAt })
      .set(listingWaitKey(subject, key), listingOf(record));
  }

  function listingOf(
    { kind, grantId, taskId, expiresAt }: WaitRecord,
  ): ListedWait {
    return { kind, grantId, taskId, expiresAt };
  }

  async function listed(subject: string): Promise<Found<WaitRecord>[]> {
    const list = await database.list<ListedWait>(waitsOfKey(subject));
    const entries = await database.getMany<WaitRecord[]>(
      list.map(({ key }) => listedWaitKey(key)),
    );
    return entries.filter((entry): entry is Found<WaitRecord> =>
      entry.value?.subject === subject
    );
  }

  async function viewAll(found: readonly Found<WaitRecord>[]): Promise<Wait[]> {
    const waits = await Promise.all(found.map(view));
    return waits.filter((wait) => wait !== undefined)
      .sort((one, other) => other.createdAt - one.createdAt);
  }

  async function dropAll(found: readonly Found<WaitRecord>[]): Promise<void> {
    for (let one of found) {
      while (!await database.commit((transaction) => drop(transaction, one))) {
        const again = await database.find<WaitRecord>(one.key);
        if (!again) break;
        one = again;
      }
    }
  }

  return {
    /**
     * Opens the wait of a place, or finds the one that is there. One for another
     * question ends.
     *
     * @throws {LimitError} when the person has too many
     * @throws {ChallengeError} when the grant has ended
     * @throws {HttpError} 409 when the task has ended
     * @throws {TypeError} when the payload is too long
     */
    async open(
      waiting: Waiting,
      payload: JsonObject,
      { seconds = WAIT_SECONDS, most = WAITS_PER_PERSON }: {
        seconds?: number;
        most?: number;
      } = {},
    ): Promise<Wait> {
      const { place, question, subject, kind, tool } = waiting;
      const { clientId, grantId, taskId, pageTask } = waiting;
      const at = waitAtKey(place);
      const id = randomId();
      if (JSON.stringify(payload).length > WAIT_CHARACTERS) {
        throw new TypeError(
          `A question of more than ${WAIT_CHARACTERS} characters`,
        );
      }
      for (;;) {
        const pointer = await database.get<Pointer>(at);
        const known = pointer.value &&
          await database.find<WaitRecord>(pointer.value.wait);
        const isSame = known?.value.subject === subject &&
          known.value.question === question &&
          known.value.state !== "used" && await isLive(known);
        const wait = isSame ? await view(known) : undefined;
        if (wait) return wait;
        await checkRoom(waiting, most);
        const grant = await grantOf(waiting);
        const run = await openRunOf(waiting);
        const createdAt = database.now();
        const expiresAt = createdAt + seconds;
        const key = waitKey(id);
        const whose = { subject, kind, at };
        const record: WaitRecord = {
          ...whose,
          ...{ question, tool, clientId, grantId, taskId, pageTask },
          ...{ createdAt, expiresAt },
          clientName: grant?.value.clientName,
          state: "open",
          sealed: await sealed(whose, key, "payload", { id, payload }),
        };
        const versionstamp = await database.commit((transaction) => {
          // First, so that what ends does not end the new one.
          if (known) drop(transaction, known);
          put(transaction.check(pointer, absent(key)), key, record);
          if (grant) transaction.check(grant);
          if (run) transaction.check(run);
        });
        if (versionstamp) {
          const found = { key, value: record, versionstamp };
          return (await view(found))!;
        }
      }
    },

    /** Finds the page of a person; another's is treated like none. */
    async find(id: string, subject: string): Promise<Wait | undefined> {
      const found = await findBy(
        id,
        (it) => it.kind === "page" && it.subject === subject,
      );
      return found && await view(found);
    },

    /** Lists the pages that wait for a person, newest first. */
    async listOf(subject: string): Promise<Wait[]> {
      const open = (await listed(subject)).filter(({ value }) =>
        value.kind === "page" && value.state === "open"
      );
      const live = await Promise.all(open.map(isLive));
      return await viewAll(open.filter((_, index) => live[index]));
    },

    /** Lists everything that is kept of a person's waits. */
    async listKept(subject: string): Promise<Wait[]> {
      return await viewAll(await listed(subject));
    },

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
      const read = () =>
        findBy(id, (it) => it.kind === "page" && it.subject === subject);
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
      const read = () =>
        findBy(id, (it) => it.kind === "moment" && it.state === "open");
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
      const list = listingWaitKey(subject, key);
      const { sealed: _, sealedAnswer: __, ...rest } = value;
      const used: WaitRecord = {
        ...rest,
        state: "used",
        expiresAt: database.now() + USED_SECONDS,
      };
      const versionstamp = await database.commit((transaction) =>
        transaction.check(found).set(key, used).end(at)
          .set(list, listingOf(used))
      );
      if (!versionstamp) return undefined;
      return {
        answer,
        async release() {
          const pointer = await database.get<Pointer>(at);
          if (pointer.value) return false;
          return await database.commit((transaction) =>
            // Not if it was erased, or has ended with its grant, meanwhile.
            put(
              transaction.check({ key, versionstamp }, pointer),
              key,
              value,
            )
          ) !== undefined;
        },
      };
    },

    /** Finds the wait of a place; undefined if there is none. */
    async at({ place, subject }: Waiting): Promise<Wait | undefined> {
      const pointer = await database.find<Pointer>(waitAtKey(place));
      const found = pointer &&
        await database.find<WaitRecord>(pointer.value.wait);
      return found?.value.subject === subject ? await view(found) : undefined;
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
          drop(transaction, found)
        );
        if (isClosed) return undefined;
      }
    },

    /** Ends a wait that no one needs any more. */
    async withdraw({ key }: Wait): Promise<void> {
      const found = await database.find<WaitRecord>(key);
      if (found) await dropAll([found]);
    },

    /**
     * Waits until a wait is answered or gone; false if it is still open after
     * so many milliseconds.
     *
     * @throws the signal's reason when it fires first
     */
    async settled(
      { key }: Wait,
      signal: AbortSignal,
      milliseconds = Infinity,
    ): Promise<boolean> {
      const last = database.clock() + milliseconds;
      const record = await database.waitFor<WaitRecord>(
        key,
        (record) => record?.state !== "open" || database.clock() >= last,
        signal,
        { slowestMilliseconds: SLOWEST_MILLISECONDS },
      );
      return record?.state !== "open";
    },

    /** Ends what durable work waits for, once it has ended itself. */
    async forgetTask(subject: string, taskId: string): Promise<void> {
      const list = await database.list<ListedWait>(waitsOfKey(subject));
      const own = list.filter(({ value }) => value.taskId === taskId);
      const found = await Promise.all(
        own.map(({ key }) => database.find<WaitRecord>(listedWaitKey(key))),
      );
      await dropAll(found.filter((one) => one !== undefined));
    },

    /** Deletes everything that is kept of a person's waits. */
    async forgetAllOf(subject: string): Promise<void> {
      await dropAll(await listed(subject));
    },
  };
}
