/**
 * The beginning of a task: its record, its lease, and its entry in the list by
 * which tasks are limited, in one commit.
 *
 * @module
 */
import type { Caller } from "../../core/caller.ts";
import { HttpError } from "../../core/errors.ts";
import type { Database, Expiring, Write } from "../../core/kv/database.ts";
import { unlessErased } from "../../core/store/erased.ts";
import {
  repeatKey,
  taskKey,
  taskLeaseKey,
  taskRunKey,
  tasksOfKey,
} from "../../core/kv/keys.ts";
import { setLease } from "../../core/kv/leases.ts";
import { persist } from "../../core/kv/persist.ts";
import {
  type Claim,
  claimOf,
  type NewRun,
  newRun,
  renewalAt,
  type RunBeginning,
} from "./run_record.ts";
import {
  readTask,
  RUNNING_SECONDS,
  type Task,
  type TaskOfPerson,
  type TaskRecord,
} from "./task_record.ts";
import { deleteText } from "../../core/kv/texts.ts";
import { setWake } from "./wakes.ts";

/** The owner of a task, and the grant that uses it. */
export type TaskOwner = Pick<Caller, "binding" | "grantId">;

interface NewTask {
  tool?: string;
  /** The scopes that the tool needs. */
  scopes?: readonly string[];
  needsAccounts?: true;
  /** The list that limits stored tasks; by default that of the person. */
  list?: string;
  /** A name that the call has in common with its repeats, which pick it up. */
  repeat?: string;
}

export function taskBeginnings(database: Database) {
  /** Stores a task with other writes; undefined if one of its checks failed. */
  async function save(
    taskId: string,
    { binding, grantId }: TaskOwner,
    { list = binding, scopes = [], ...task }:
      & NewTask
      & Pick<TaskRecord, "expiresAt" | "durable">,
    extraWrites: Write = () => {},
  ): Promise<{ task: Task; versionstamp: string } | undefined> {
    const createdMilliseconds = database.clock();
    const { repeat, expiresAt, durable } = task;
    const record: TaskRecord = {
      ...task,
      binding,
      list,
      grantId,
      ...scopes.length > 0 && { scopes },
      status: "working",
      createdMilliseconds,
      updatedMilliseconds: createdMilliseconds,
      questions: {},
    };
    const versionstamp = await database.commit((transaction) => {
      unlessErased(transaction, { grantId }).create(taskKey(taskId), record);
      setLease(transaction, taskId, database.now())
        .set<TaskOfPerson>(tasksOfKey(list, taskId), {
          grantId,
          createdMilliseconds,
          ...durable && { isOpen: true },
          expiresAt,
        });
      if (repeat) {
        transaction.set<Expiring>(repeatKey(repeat, taskId), { expiresAt });
      }
      extraWrites(transaction);
    });
    return versionstamp === undefined
      ? undefined
      : { task: await readTask(database, taskId, record), versionstamp };
  }

  /** Deletes a new task whose ID no client has received. */
  async function discard(
    taskId: string,
    { list, repeat }: { list: string; repeat?: string },
  ): Promise<void> {
    await database.commit((transaction) =>
      transaction.delete(
        taskKey(taskId),
        taskLeaseKey(taskId),
        tasksOfKey(list, taskId),
        ...repeat ? [repeatKey(repeat, taskId)] : [],
      )
    );
  }

  return {
    /** Stores a new task; it can be found anywhere before this resolves. */
    async create(
      taskId: string,
      owner: TaskOwner,
      task: NewTask = {},
    ): Promise<Task> {
      const expiresAt = database.now() + RUNNING_SECONDS;
      const saved = await save(taskId, owner, { ...task, expiresAt })
        .catch((error) => {
          // It may be stored all the same, and a repeat would find it dead.
          const { list = owner.binding, repeat } = task;
          database.background(() =>
            persist(() => discard(taskId, { list, repeat }), {
              signal: database.closing,
            })
          );
          throw error;
        });
      if (!saved) throw connectionEnded();
      return saved.task;
    },

    /**
     * Stores a new task of durable work, and claims it for this process.
     *
     * @throws {HttpError} 413 when what it begins with is too long
     */
    async createDurable(
      taskId: string,
      run: NewRun,
      beginning: RunBeginning,
      list: string,
    ): Promise<{ task: Task; claim: Claim }> {
      const record = await newRun(database, run, beginning);
      const { caller, tool, scopes, needsAccounts, expiresAt } = record;
      const { keep, address } = record;
      const renewal = renewalAt(database.now());
      const { dueSeconds } = renewal;
      const saved = await save(
        taskId,
        caller,
        {
          tool,
          scopes,
          needsAccounts,
          list,
          expiresAt,
          durable: { keep, address },
        },
        (transaction) => {
          transaction.create(taskRunKey(taskId), record);
          setWake(transaction, { address, taskId, dueSeconds, expiresAt });
        },
      );
      if (!saved) {
        await deleteText(database, record.beginning);
        throw connectionEnded();
      }
      const { task, versionstamp } = saved;
      return { task, claim: claimOf(taskId, record, versionstamp, renewal) };
    },

    discard,
  };
}

function connectionEnded(): HttpError {
  return new HttpError(403, "The connection has ended");
}
