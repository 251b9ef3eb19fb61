/**
 * Waits: each is for one answer, which is used once. A person answers on a
 * page, a webhook by the wait's ID.
 *
 * @module
 */
import { makeOncePerServer } from "../../core/store/opened_server.ts";
import { randomId } from "../../core/crypto/crypto.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  absent,
  type Database,
  type Found,
  type Transaction,
} from "../../core/kv/database.ts";
import { OwnerList } from "../../core/kv/owner_list.ts";
import {
  listedWaitKey,
  waitKey,
  waitOfAskerKey,
  waitsOfKey,
} from "../../core/kv/keys.ts";
import {
  expireWait,
  isToBeTaken,
  needsLook,
  type TakenWait,
  waitAnswers,
} from "./wait_answer.ts";
import {
  basisOf,
  bytesOf,
  dropWait,
  isLive,
  type ListedWait,
  listOfWait,
  MAX_WAIT_BYTES,
  MAX_WAITS_PER_CLIENT,
  MAX_WAITS_PER_PERSON,
  type Pointer,
  putWait,
  touchList,
  type Wait,
  WAIT_SECONDS,
  type Waiting,
  type WaitRecord,
  waitSeals,
} from "./wait_record.ts";
import type { waitRoom } from "./wait_room.ts";

export { MAX_WAITS_PER_CLIENT, MAX_WAITS_PER_PERSON, WAIT_SECONDS };
export type { TakenWait, Wait, Waiting };

/** The maximum pause between polls, so that a person's answer is seen soon. */
const MAX_POLL_MILLISECONDS = 2000;

export type WaitStore = ReturnType<typeof waitStore>;

export function waitStore(database: Database) {
  const seals = waitSeals(database);
  const { sealPart, readWait } = seals;

  /** The limits on waits, loaded when the first wait is created. */
  let room: Promise<ReturnType<typeof waitRoom>> | undefined;
  const lists = new OwnerList<WaitRecord, ListedWait>(
    database,
    waitsOfKey,
    listedWaitKey,
  );

  /** Reads the waits of a list. */
  async function listed(
    list: string,
    isWanted?: (listed: Found<ListedWait>) => boolean,
  ): Promise<Found<WaitRecord>[]> {
    const parts = await Array.fromAsync(lists.records(list, isWanted));
    return parts.flat().filter(({ value }) => listOfWait(value) === list);
  }

  /**
   * Reads the wait of an asking call or task, if it is still for the same
   * question.
   */
  async function readSame(
    { subject, question }: Pick<Waiting, "subject" | "question">,
    known: Found<WaitRecord> | undefined,
  ): Promise<Wait | undefined> {
    if (known?.value.subject !== subject) return undefined;
    const isSame = await needsLook(database, known) ||
      known.value.question === question &&
        await isToBeTaken(database, known) &&
        await isLive(database, known.value);
    return isSame ? await readWait(known) : undefined;
  }

  async function findKnown(
    asker: string,
  ): Promise<Found<WaitRecord> | undefined> {
    const pointer = await database.find<Pointer>(waitOfAskerKey(asker));
    return pointer && await database.find<WaitRecord>(pointer.value.wait);
  }

  async function readAll(found: readonly Found<WaitRecord>[]): Promise<Wait[]> {
    const waits = await Promise.all(found.map(readWait));
    return waits.filter((wait) => wait !== undefined)
      .sort((one, other) => other.createdAt - one.createdAt);
  }

  /**
   * Reads the waits that have one of these states, unless their grant or task
   * has ended.
   */
  async function readOpen(
    found: readonly Found<WaitRecord>[],
    states: readonly WaitRecord["state"][] = ["open"],
  ) {
    const open = found.filter(({ value }) => states.includes(value.state));
    const live = await Promise.all(
      open.map(({ value }) => isLive(database, value)),
    );
    return await readAll(open.filter((_, index) => live[index]));
  }

  return {
    ...waitAnswers(database, seals),

    /**
     * Creates the wait of an asking call or task, or finds the existing one. An
     * existing wait for another question ends.
     *
     * @throws {LimitError} if the person has too many waits
     * @throws {ChallengeError} if the grant has ended
     * @throws {HttpError} 409 if the task has ended
     * @throws {TypeError} if the payload is too long
     */
    async open(
      waiting: Waiting,
      payload: JsonObject,
      { seconds = WAIT_SECONDS, most }: {
        seconds?: number;
        most?: number;
      } = {},
    ): Promise<Wait> {
      if (bytesOf(JSON.stringify(payload)) > MAX_WAIT_BYTES) {
        throw new TypeError(
          `A question must have at most ${MAX_WAIT_BYTES} bytes of JSON`,
        );
      }
      const { asker, ...own } = waiting;
      const askerKey = waitOfAskerKey(asker);
      const id = randomId();
      const key = waitKey(id);
      // Every new wait changes the record at the head of its list, so that two
      // new waits at once cannot both pass the limit.
      const list = listOfWait(own);
      const head = waitsOfKey(list);
      const opener = { ...own, list, most };
      const { inTurn, read, check } = await (room ??= import("./wait_room.ts")
        .then(({ waitRoom }) =>
          waitRoom((list) => database.list<ListedWait>(waitsOfKey(list)))
        ));
      const opening = async (transaction: Transaction) => {
        const [pointer, held] = await Promise.all([
          database.get<Pointer>(askerKey),
          read(opener),
        ]);
        const known = pointer.value &&
          await database.find<WaitRecord>(pointer.value.wait);
        const wait = await readSame(own, known);
        if (wait) return wait;
        const spare = check(held, opener);
        const dropped = spare &&
          await database.find<WaitRecord>(listedWaitKey(spare.key));
        const { grant, run } = await basisOf(database, waiting);
        const createdAt = database.now();
        touchList(transaction.check(pointer), own, createdAt);
        const record: WaitRecord = {
          ...own,
          askerKey,
          createdAt,
          expiresAt: createdAt + seconds,
          clientName: grant?.value.clientName,
          state: "open",
          sealed: await sealPart({ ...own, askerKey }, key, "payload", {
            id,
            payload,
          }),
        };
        // The old wait is dropped first, because that deletes the index entry
        // which the new wait then writes. A used wait is kept for a while,
        // because its page says that it was answered, unless it has to make
        // room.
        const old = known?.value.state === "used" ? undefined : known;
        if (old) dropWait(transaction, old);
        if (dropped && dropped.versionstamp !== old?.versionstamp) {
          dropWait(transaction, dropped);
        }
        putWait(transaction.check(absent(key)), key, record);
        if (grant) transaction.check(grant);
        if (run) transaction.check(run);
        return (await readWait({ key, value: record }))!;
      };
      return await inTurn(list, () => database.change(head, opening));
    },

    /**
     * Finds the wait that {@linkcode open} would find. Undefined if there is
     * none.
     */
    async findSame({ asker, ...own }: Waiting): Promise<Wait | undefined> {
      return await readSame(own, await findKnown(asker));
    },

    /** Reads a wait again. Undefined if it is gone. */
    async read({ key }: Pick<Wait, "key">): Promise<Wait | undefined> {
      const found = await database.find<WaitRecord>(key);
      return found && await readWait(found);
    },

    /** Finds a page by its ID. Undefined if it is another person's. */
    async find(id: string, subject: string): Promise<Wait | undefined> {
      const found = await database.find<WaitRecord>(waitKey(id));
      const isTheirs = found?.value.kind === "page" &&
        found.value.subject === subject && await isLive(database, found.value);
      return isTheirs ? await readWait(found) : undefined;
    },

    /**
     * Lists the pages that wait for a person, on request also the approvals,
     * newest first. Omits approvals whose run has ended.
     */
    async listOf(
      subject: string,
      kinds: readonly Waiting["kind"][] = ["page"],
      states: readonly WaitRecord["state"][] = ["open"],
    ): Promise<Wait[]> {
      const found = await listed(
        subject,
        ({ value }) =>
          kinds.includes(value.kind) && states.includes(value.state) &&
          !value.hasEnded,
      );
      return await readOpen(found, states);
    },

    readOpen,

    async listKept(subject: string): Promise<Wait[]> {
      return await readAll(await listed(subject));
    },

    /**
     * Finds the wait of an asking call or task, for any question. Undefined if
     * there is none.
     */
    async findByAsker({ asker, subject }: Pick<Waiting, "asker" | "subject">) {
      const found = await findKnown(asker);
      return found?.value.subject === subject
        ? await readWait(found)
        : undefined;
    },

    withdraw: ({ key }: Pick<Wait, "key">): Promise<boolean> =>
      expireWait(database, key),

    /**
     * Ends a wait. Returns false, and keeps the wait, if its answer was used.
     */
    withdrawUnused: ({ key }: Pick<Wait, "key">): Promise<boolean> =>
      expireWait(database, key, {
        isUnused: (wait) => isToBeTaken(database, wait),
      }),

    /**
     * Waits until `isWanted` accepts a wait; by default, until the wait is
     * answered or ended. Returns false if that takes longer than
     * `milliseconds`.
     *
     * @throws the reason of the signal, if it fires first
     */
    async settled(
      { key, state }: Pick<Wait, "key" | "state">,
      signal: AbortSignal,
      milliseconds = Infinity,
      isWanted = (record?: WaitRecord) => record?.state !== "open",
    ): Promise<boolean> {
      if (state !== "open") return true;
      const last = performance.now() + milliseconds;
      const record = await database.waitFor<WaitRecord>(
        key,
        (record) => isWanted(record) || performance.now() >= last,
        signal,
        { slowestMilliseconds: MAX_POLL_MILLISECONDS },
      );
      return isWanted(record);
    },

    /** Ends all waits of durable work that has ended. */
    async forgetTask(list: string, taskId: string) {
      const { endWait } = await import("./wait_receipt.ts");
      const own = await listed(list, ({ value }) => value.taskId === taskId);
      for (const it of own) await endWait(database, it);
    },

    /**
     * Ends a person's waits, except those whose answer was used, such as by an
     * approved run that has begun. A use that may have been answered with 503
     * counts too: the process of an operator's command has just begun, so it
     * cannot know, and has to go on.
     */
    async endAllOf(subject: string): Promise<void> {
      for (const read of await listed(subject)) {
        await expireWait(database, read.key, {
          read,
          isUnused: (wait) =>
            isToBeTaken(database, wait, (it) => database.isGivenUp(it)),
        });
      }
    },

    async forgetAllOf(subject: string): Promise<void> {
      for (const read of await listed(subject)) {
        await expireWait(database, read.key, { read });
      }
      await database.commit((transaction) =>
        transaction.delete(waitsOfKey(subject))
      );
    },
  };
}

export const waitsOf = makeOncePerServer(({ database }) => waitStore(database));
