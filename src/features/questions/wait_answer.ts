/**
 * The answer to a wait, and its end. An answer is accepted once, from a person
 * or from anyone who has the ID of a webhook's wait, and used once.
 *
 * @module
 */
import { DURABLE_SECONDS } from "../../authoring/durable.ts";
import { HttpError, StorageError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  type Database,
  type Entry,
  type Found,
  isFound,
  type Transaction,
  type Write,
} from "../../core/kv/database.ts";
import { waitKey } from "../../core/kv/keys.ts";
import {
  bytesOf,
  dropWait,
  isLive,
  MAX_WAIT_BYTES,
  type Pointer,
  putWait,
  type ReadWait,
  touchList,
  type Wait,
  WAIT_SECONDS,
  type WaitRecord,
  type WaitSeals,
} from "./wait_record.ts";
import { wakeTwice } from "../../core/store/waiting_work.ts";

/**
 * The seconds for which the page of a used wait still says that it was
 * answered.
 */
export const USED_SECONDS = 5 * 60;

/** A used answer, which can be put back until the wait expires. */
export interface TakenWait {
  answer: JsonObject;
  /**
   * Puts the answer back. Returns false if a person or a later call was faster.
   *
   * @param writing makes more writes of the same commit
   * @param isUnused true if nothing was done with the answer
   */
  release(writing?: () => Promise<Write>, isUnused?: boolean): Promise<boolean>;
}

export function waitAnswers(
  database: Database,
  { sealPart, openPart, readWait }: WaitSeals,
) {
  /**
   * Accepts an answer, once. If the request that sends the answer ends with
   * status 503, the answer may be sent again until it is used. Returns the wait
   * with its answer. Undefined if there is no such open wait, or if a check of
   * `extraWrites` fails.
   *
   * @param replaced the encrypted answer that may be replaced
   */
  async function accept(
    id: string,
    isWanted: (record: WaitRecord) => boolean,
    answer: JsonObject,
    extraWrites: Write = () => {},
    replaced?: string,
  ): Promise<{ isAccepted: boolean; record: ReadWait } | undefined> {
    return await database.change(
      waitKey(id),
      async (transaction, entry: Entry<WaitRecord>, before) => {
        const { key, value, versionstamp } = entry;
        // The record is unchanged: a check of `extraWrites` has failed.
        if (!value || versionstamp === before?.versionstamp) return undefined;
        if (!isWanted(value) || !await isLive(database, value)) {
          return undefined;
        }
        const isAnswered = value.state === "used" ||
          value.state === "answered" && value.sealedAnswer !== replaced &&
            !await database.mayRepeat(entry);
        if (isAnswered) return { isAccepted: false, record: { key, value } };
        const isRefused = answer.action === "decline";
        const record: WaitRecord = {
          ...value,
          state: "answered",
          sealedAnswer: await sealPart(value, key, "answer", answer),
          ...value.approval && {
            approval: { ...value.approval, isRefused },
            expiresAt: database.now() + secondsKept(value, isRefused),
          },
          // The answer was accepted, so it must arrive, however late the work
          // resumes.
          ...value.taskId !== undefined &&
            { expiresAt: database.now() + DURABLE_SECONDS },
        };
        putWait(transaction, key, record);
        // This makes work that is about to be parked read its waits again.
        touchList(transaction, record, database.now());
        const { taskId, taskAddress: address = "", expiresAt } = record;
        if (taskId !== undefined) {
          const work = { address, taskId, expiresAt };
          wakeTwice(transaction, work, database.now());
        }
        extraWrites(transaction);
        return { isAccepted: true, record: { key, value: record } };
      },
    );
  }

  return {
    accept,

    /**
     * Accepts the answer of a signed-in person, and returns the wait with the
     * answer that came first. Undefined if the person has no such open wait.
     *
     * @param extraWrites a check of the browser's session
     */
    async answer(
      id: string,
      subject: string,
      answer: JsonObject,
      extraWrites: Write,
    ): Promise<Wait | undefined> {
      const isTheirs = (wait: WaitRecord) =>
        wait.kind === "page" && wait.subject === subject;
      const accepted = await accept(id, isTheirs, answer, extraWrites);
      return accepted && await readWait(accepted.record);
    },

    /**
     * Accepts the answer of a webhook from anyone who has the wait's ID.
     * Returns false if nothing waits for it, or if the ID is not a string.
     *
     * @throws {TypeError} if the data is not JSON
     * @throws {HttpError} 413 if the data is too long
     */
    async answerWebhook(id: unknown, data: unknown): Promise<boolean> {
      if (typeof id !== "string") return false;
      const text = JSON.stringify(data);
      if (text === undefined) throw new TypeError("An answer must be JSON");
      const bytes = bytesOf(text);
      if (bytes > MAX_WAIT_BYTES) {
        throw new HttpError(
          413,
          `An answer must have at most ${MAX_WAIT_BYTES} bytes of JSON, ` +
            `and has ${bytes}`,
        );
      }
      const isWebhook = ({ kind }: WaitRecord) => kind === "webhook";
      return (await accept(id, isWebhook, { data }))?.isAccepted ?? false;
    },

    /**
     * Returns the answer of a wait, and marks it as used, so that no later
     * request gets it. Undefined if there is none. If the request that took the
     * answer ends with status 503, the next one may take it again.
     *
     * @param use makes the record of a wait whose answer was used
     */
    async take(
      { key }: Pick<Wait, "key">,
      use = (value: WaitRecord): WaitRecord => ({
        ...value,
        state: "used",
        expiresAt: database.now() + USED_SECONDS,
      }),
      extraWrites: Write = () => {},
    ): Promise<TakenWait | undefined> {
      const found = await database.find<WaitRecord>(key);
      const answer = found && await openPart(found, "answer");
      if (!answer || !await isToBeTaken(database, found)) return undefined;
      const { value, value: { expiresAt } } = found;
      const used = use(value);
      const taken = await database.replace(
        found,
        used,
        (transaction) => extraWrites(putWait(transaction, key, used)),
      );
      if (!taken) return undefined;
      return {
        answer,
        async release(writing, isUnused = false) {
          const back = isUnused ? value : { ...used, expiresAt };
          const release = async (
            transaction: Transaction,
            { versionstamp }: Entry<WaitRecord>,
          ) => {
            // The wait was erased meanwhile, or has ended with its grant.
            if (versionstamp !== taken.versionstamp) return false;
            const pointer = await database.get<Pointer>(value.askerKey);
            // The asking call or task has another wait by now.
            if (pointer.versionstamp !== taken.versionstamp) return false;
            putWait(transaction.check(pointer), key, {
              ...back,
              state: "answered",
            });
            (await writing?.())?.(transaction);
            return true;
          };
          try {
            return await database.change(key, release);
          } catch (error) {
            if (error instanceof StorageError) database.giveUp(taken);
            throw error;
          }
        },
      };
    },

    /**
     * Refuses answers from now on. Returns the answer that came before, which
     * is kept until the wait is withdrawn. Undefined if none came, null if the
     * wait was gone.
     */
    close(
      { key }: Pick<Wait, "key">,
    ): Promise<JsonObject | null | undefined> {
      return database.change(
        key,
        async (transaction, entry: Entry<WaitRecord>) => {
          if (!isFound(entry)) return null;
          if (entry.value.state !== "open") {
            return await openPart(entry, "answer");
          }
          dropWait(transaction, entry);
        },
      );
    },
  };
}

/**
 * The seconds for which the answer to an approval is kept. An approved task may
 * have to wait for its turn.
 */
function secondsKept(
  { approval, pageTask }: WaitRecord,
  isRefused: boolean,
): number {
  const { seconds } = approval!;
  if (isRefused) return Math.min(seconds, WAIT_SECONDS);
  return pageTask === undefined ? seconds : 2 * seconds;
}

/**
 * True if a run may take the answer of a wait: it was not withdrawn, and was
 * not used, or only by a request that failed with status 503. An approved run
 * whose end is stored is never repeated: the failed request may have stored the
 * end.
 */
export async function isToBeTaken(
  database: Database,
  wait: Found<WaitRecord>,
  mayRepeat = (it: { mark?: string }) => database.mayRepeat(it),
): Promise<boolean> {
  const { state, approval } = wait.value;
  return state !== "used" ||
    approval?.endedAt === undefined && await mayRepeat(wait);
}

/**
 * True if an approved run has begun and its end is not known, or if its result
 * was not fetched.
 */
export async function needsLook(
  database: Database,
  wait: Found<WaitRecord>,
): Promise<boolean> {
  const { state, approval } = wait.value;
  return approval !== undefined && state === "used" &&
    (approval.endedAt === undefined || approval.hasResult === true) &&
    !await isToBeTaken(database, wait);
}

/**
 * Ends a wait, if it exists. Returns false if it is kept because `isUnused`
 * says that its answer was used.
 */
export function expireWait(
  database: Database,
  key: Deno.KvKey,
  { read, isUnused, writing }: {
    read?: Found<WaitRecord>;
    isUnused?(wait: Found<WaitRecord>): Promise<boolean>;
    /** Makes writes for the commit that ends the wait. */
    writing?(wait: Found<WaitRecord>): Promise<Write>;
  } = {},
): Promise<boolean> {
  const ending = async (transaction: Transaction, entry: Entry<WaitRecord>) => {
    if (!isFound(entry)) return true;
    if (isUnused && !await isUnused(entry)) return false;
    dropWait(transaction, entry);
    (await writing?.(entry))?.(transaction);
    const { value: { askerKey, state }, versionstamp } = entry;
    if (state !== "used") return true;
    const pointer = await database.get<Pointer>(askerKey);
    // The asking call or task may have another wait by now.
    const isOwn = pointer.versionstamp === versionstamp;
    if (isOwn) transaction.check(pointer).expire(askerKey);
    return true;
  };
  return database.change(key, ending, read);
}
