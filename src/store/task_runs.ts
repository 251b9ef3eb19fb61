/**
 * The runs of durable work, and whose turn it is. A process takes a run by
 * writing its record, and everything that it writes for the work rests on that
 * version of it. So a process that was paused, and whose work another has taken
 * over meanwhile, writes nothing any more.
 *
 * @module
 */
import type { McpClient } from "../authoring/context.ts";
import type { Caller } from "../caller.ts";
import { HttpError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { Database, Entry, Expiring } from "./database.ts";
import {
  taskKey,
  taskLeaseKey,
  taskRunKey,
  tasksOfKey,
  wakeKey,
} from "./keys.ts";
import { Lapses } from "./lapses.ts";
import { isTerminal, type TaskRecord } from "./task_record.ts";
import { deleteText, readText, saveText, type TextRef } from "./texts.ts";
import type { Transaction } from "./transaction.ts";
import { setWake, type Wake } from "./wakes.ts";

/** The time after which a run whose lease is not renewed may have died. */
const LEASE_SECONDS = 30;
/**
 * The age of a lease from which on it is looked at: it has lapsed when it was
 * not renewed for two heartbeats more.
 */
const LOOK_SECONDS = 20;
const CONFIRM_SECONDS = 10;
/** The time within which durable work must end. */
export const DURABLE_SECONDS = 90 * 24 * 60 * 60;
/** The most characters of what a run began with in its record. */
const INLINE_CHARACTERS = 4000;
/** The most of them at all: a client may send more than its tool looks at. */
export const BEGINNING_CHARACTERS = 256 * 1024;

/** The call that durable work began with. */
export interface RunBeginning {
  input: JsonObject;
  prepared?: unknown;
  client: McpClient;
  meta: JsonObject;
}

/** Durable work that is begun. */
export interface NewRun {
  tool: string;
  scopes: readonly string[];
  caller: Caller;
  /** The seconds for which the task stays after its end. */
  keep: number;
  /** The identity by which limits count its caller. */
  countedAs?: { name: string; isMany: boolean };
}

/** A stored run. */
export interface RunRecord extends Expiring, NewRun {
  beginning: TextRef;
  createdMilliseconds: number;
  /** True if no process works on it. */
  isParked: boolean;
  /** The time at which it goes on, while it is parked; absent: an answer's. */
  dueSeconds?: number;
  /** The processes that died in a row without having kept a step. */
  deaths: number;
  /** The steps that were kept when it was taken last. */
  kept: number;
  /** The time since which no process that looked knows its tool. */
  missingSince?: number;
}

/** The turn of this process at a run. */
export interface Hold {
  readonly taskId: string;
  readonly run: Readonly<RunRecord>;
  /** The version of the run on which its commits rest. */
  readonly term: Deno.AtomicCheck;
  /** The end of the task's life. */
  readonly expiresAt: number;
  /** The time of the wake that finds the run when its process dies. */
  dueSeconds: number;
}

/** A run that was taken, or the reason for which it was not. */
export type Taking =
  | { hold: Hold }
  | {
    /** `watched`: it may have died, which takes a while to tell. */
    because: "ended" | "held" | "watched" | "lost";
  };

export type TaskRunStore = ReturnType<typeof taskRunStore>;

/** True if a lease was renewed after a wake had been set. */
function isNewer({ expiresAt }: Expiring, wake: Wake): boolean {
  return expiresAt - LEASE_SECONDS + LOOK_SECONDS > wake.dueSeconds;
}

/**
 * Gives the grant that used the task of a run last: its client may have signed
 * in again since it began.
 */
export async function userOfRun(
  database: Database,
  taskId: string,
): Promise<string | undefined> {
  const run = await database.find<RunRecord>(taskRunKey(taskId));
  if (!run) return undefined;
  const { binding } = run.value.caller;
  const used = await database.find<Expiring & { grantId?: string }>(
    tasksOfKey(binding, taskId),
  );
  return used?.value.grantId;
}

/** Adds the end of a run to a transaction. */
export function deleteRun(
  transaction: Transaction,
  taskId: string,
  hold?: Hold,
): void {
  transaction.delete(taskRunKey(taskId));
  if (hold) {
    transaction.check(hold.term).delete(wakeKey(hold.dueSeconds, taskId));
  }
}

/**
 * Opens the runs of a database.
 *
 * @param options `confirmSeconds`: the time for which a lease that ought to
 * have been renewed is watched before its run is taken
 */
export function taskRunStore(
  database: Database,
  { confirmSeconds = CONFIRM_SECONDS } = {},
) {
  const lapses = new Lapses(database, confirmSeconds * 1000);

  function hold(taskId: string, run: RunRecord, versionstamp: string): Hold {
    const { expiresAt } = run;
    const term = { key: taskRunKey(taskId), versionstamp };
    return { taskId, run, term, expiresAt, dueSeconds: lookAt() };
  }

  function lookAt(): number {
    return database.now() + LOOK_SECONDS;
  }

  /** Writes a lease, and the wake that finds the run when it lapses. */
  function lease(
    transaction: Transaction,
    taskId: string,
    expiresAt: number,
    dueSeconds: number,
  ): void {
    transaction.set<Expiring>(taskLeaseKey(taskId), {
      expiresAt: database.now() + LEASE_SECONDS,
    });
    setWake(transaction, { taskId, dueSeconds, expiresAt });
  }

  return {
    /**
     * Prepares a run: what it gives is committed with its task, and then tells
     * the turn of this process; or is discarded, with what was stored before.
     *
     * @throws {HttpError} 413 when what it begins with is too long
     */
    async prepare(taskId: string, run: NewRun, beginning: RunBeginning) {
      const text = JSON.stringify(beginning);
      if (text.length > BEGINNING_CHARACTERS) {
        throw new HttpError(
          413,
          `Durable work begins with at most ${BEGINNING_CHARACTERS} characters`,
        );
      }
      const expiresAt = database.now() + DURABLE_SECONDS;
      const record: RunRecord = {
        ...run,
        beginning: await saveText(database, text, {
          expiresAt,
          inlineCharacters: INLINE_CHARACTERS,
        }),
        createdMilliseconds: database.clock(),
        isParked: false,
        deaths: 0,
        kept: 0,
        expiresAt,
      };
      const dueSeconds = lookAt();
      return {
        expiresAt,
        create(transaction: Transaction): void {
          transaction.create(taskRunKey(taskId), record);
          setWake(transaction, { taskId, dueSeconds, expiresAt });
        },
        discard: () => deleteText(database, record.beginning),
        hold: (versionstamp: string): Hold => ({
          ...hold(taskId, record, versionstamp),
          dueSeconds,
        }),
      };
    },

    /** Reads what a run began with. */
    async beginningOf({ run }: Hold): Promise<RunBeginning> {
      return JSON.parse(await readText(database, run.beginning));
    },

    /**
     * Takes a run whose time has come, or whose process has died.
     *
     * @param countKept counts the steps that are kept
     */
    async take(
      wake: Wake,
      countKept: () => Promise<number>,
    ): Promise<Taking> {
      const { taskId } = wake;
      const [task, run, held] = await database.getMany<
        [TaskRecord, RunRecord, Expiring]
      >([taskKey(taskId), taskRunKey(taskId), taskLeaseKey(taskId)]);
      if (!run.value || !task.value || isTerminal(task.value.status)) {
        lapses.forget(taskId);
        return { because: "ended" };
      }
      const { isParked } = run.value;
      if (!isParked) {
        const isCertain = lapses.isCertain(taskId, held);
        // A lease that was renewed since has a wake of its own.
        if (held.value && isNewer(held.value, wake)) {
          lapses.forget(taskId);
          return { because: "held" };
        }
        if (held.value || !isCertain) return { because: "watched" };
      }
      lapses.forget(taskId);
      const { deaths, kept: before } = run.value;
      const kept = isParked ? before : await countKept();
      const record: RunRecord = {
        ...run.value,
        isParked: false,
        dueSeconds: undefined,
        kept,
        deaths: isParked ? 0 : kept === before ? deaths + 1 : 1,
      };
      const dueSeconds = lookAt();
      const version = await database.commit((transaction) => {
        transaction.check(run, held).set(run.key, record);
        transaction.delete(wake.key);
        lease(transaction, taskId, record.expiresAt, dueSeconds);
      });
      return version === undefined
        ? { because: "lost" }
        : { hold: { ...hold(taskId, record, version), dueSeconds } };
    },

    /** Renews the lease of a run; false if this process has lost its turn. */
    async renew(hold: Hold): Promise<boolean> {
      const { taskId, term, expiresAt } = hold;
      const dueSeconds = lookAt();
      const isRenewed = await database.commit((transaction) => {
        transaction.check(term).delete(wakeKey(hold.dueSeconds, taskId));
        lease(transaction, taskId, expiresAt, dueSeconds);
      });
      if (isRenewed) hold.dueSeconds = dueSeconds;
      return isRenewed !== undefined;
    },

    /**
     * Leaves a run to the process that looks at it when its time has come.
     *
     * @param dueSeconds undefined: it waits for answers alone
     * @param questions the open questions that it waits for
     * @param missingSince see {@linkcode RunRecord}
     * @returns `answered`: one of them has its answer, so that the run goes on
     */
    async park(
      hold: Hold,
      dueSeconds: number | undefined,
      questions: readonly string[],
      missingSince?: number,
    ): Promise<"parked" | "answered" | "lost"> {
      const { taskId, term, run, expiresAt } = hold;
      for (;;) {
        const [task, held] = await database.getMany<[TaskRecord, RunRecord]>([
          taskKey(taskId),
          taskRunKey(taskId),
        ]);
        if (held.versionstamp !== term.versionstamp || !task.value) {
          return "lost";
        }
        const open = task.value.questions;
        if (questions.some((key) => !Object.hasOwn(open, key))) {
          return "answered";
        }
        const isParked = await database.commit((transaction) => {
          transaction.check(task, term)
            .set(term.key, { ...run, isParked: true, dueSeconds, missingSince })
            .delete(taskLeaseKey(taskId), wakeKey(hold.dueSeconds, taskId));
          if (dueSeconds !== undefined) {
            setWake(transaction, { taskId, dueSeconds, expiresAt });
          }
        });
        if (isParked) return "parked";
      }
    },

    /** Reads a run, and its version. */
    find(taskId: string): Promise<Entry<RunRecord>> {
      return database.get<RunRecord>(taskRunKey(taskId));
    },

    /** Deletes what a run began with, once it has ended. */
    async tidy({ beginning }: Pick<RunRecord, "beginning">): Promise<void> {
      await deleteText(database, beginning);
    },
  };
}
