/**
 * The lists of tasks: a person's list has the tasks that all clients began. The
 * lists also limit the number of stored tasks. Each entry names the last grant
 * that used the task.
 *
 * @module
 */
import type {
  Database,
  Expiring,
  Found,
  Write,
} from "../../core/kv/database.ts";
import {
  repeatKey,
  taskKey,
  taskLeaseKey,
  taskRunKey,
  tasksOfKey,
} from "../../core/kv/keys.ts";
import { isHeld, setLease, type TaskLease } from "../../core/kv/leases.ts";
import {
  type Claim,
  claimOf,
  type NewRun,
  newRun,
  renewalAt,
  type RunBeginning,
  type RunRecord,
} from "./run_record.ts";
import { stepStore } from "./steps.ts";
import {
  isTerminal,
  readTask,
  RUNNING_SECONDS,
  type Task,
  type TaskOfPerson,
  type TaskRecord,
} from "./task_record.ts";
import { deleteText, readText } from "../../core/kv/texts.ts";
import { setWake, wakeTwice } from "../../core/store/waiting_work.ts";
import type { Caller } from "../../core/caller.ts";
import { HttpError } from "../../core/errors.ts";
import { unlessErased } from "../../core/store/erased.ts";
import { untilReachable } from "../../core/kv/operations.ts";

/** A task of a list, without its result. */
export interface ListedTask extends Omit<Task, "outcome"> {
  /** True for a plain task without a lease. Its process may have died. */
  isUnattended: boolean;
}

/** Reads the entries of a person's lists of tasks, one for each binding. */
export async function listedOf(
  database: Database,
  ...bindings: readonly string[]
): Promise<Found<TaskOfPerson>[]> {
  const lists = await Promise.all(
    bindings.map((it) => database.list<TaskOfPerson>(tasksOfKey(it))),
  );
  return lists.flat();
}

export function idOf({ key }: Pick<Found<TaskOfPerson>, "key">): string {
  return key[2] as string;
}

export function taskLists(database: Database) {
  /** Reads which grant used a task last. */
  function readUse(
    taskId: string,
    { binding }: Pick<TaskOwner, "binding">,
  ): Promise<Found<TaskOfPerson> | undefined> {
    return database.find(tasksOfKey(binding, taskId));
  }

  async function copyTask(
    taskId: string,
    { tool, status, createdMilliseconds, durable }: TaskRecord,
  ) {
    const task = { tool, status, createdMilliseconds };
    if (!durable) return task;
    const run = await database.find<RunRecord>(taskRunKey(taskId));
    // The work may end meanwhile, which deletes its `RunBeginning`.
    const beginning = run &&
      await readText(database, run.value.beginning).then(JSON.parse)
        .catch(() => undefined);
    const steps = await stepStore(database).outline(taskId);
    return { ...task, input: beginning?.input, steps };
  }

  return {
    readUse,

    /**
     * Records that a grant of the task's person uses the task.
     *
     * @param reading the read of the last use, if it was already started
     */
    async use(
      taskId: string,
      owner: TaskOwner,
      reading = readUse(taskId, owner),
    ): Promise<void> {
      const listed = await reading;
      const { grantId } = owner;
      if (!listed || listed.value.grantId === grantId) return;
      await database.commit((transaction) =>
        transaction.check(listed).set(listed.key, { ...listed.value, grantId })
      );
    },

    async userOf(taskId: string, binding: string): Promise<string | undefined> {
      return (await readUse(taskId, { binding }))?.value.grantId;
    },

    /** True if a list has at least `count` stored tasks. */
    async hasMany(list: string, count: number): Promise<boolean> {
      const listed = await database.list(tasksOfKey(list), { limit: count });
      return listed.length >= count;
    },

    /**
     * Lists the tasks of a person, for the export of their data. Durable work
     * comes with its steps, and with its input until it has ended.
     */
    async listOf(binding: string) {
      const ids = (await listedOf(database, binding)).map(idOf);
      const found = await database.getMany<TaskRecord[]>(ids.map(taskKey));
      return await Promise.all(
        found.flatMap(({ value }, index) =>
          value ? [copyTask(ids[index], value)] : []
        ),
      );
    },

    /** Resumes those pieces of a person's durable work that `isWanted` accepts. */
    async wake(
      bindings: readonly string[],
      isWanted: (run: RunRecord) => boolean,
      afterSeconds = 0,
    ): Promise<void> {
      const listed = await listedOf(database, ...bindings);
      const ids = listed.filter(({ value }) => value.isOpen).map(idOf);
      const runs = await database.getMany<RunRecord[]>(ids.map(taskRunKey));
      const first = database.now() + afterSeconds;
      for (const [index, { value }] of runs.entries()) {
        if (!value || !isWanted(value)) continue;
        const work = { ...value, taskId: ids[index] };
        await database.commit((it) => wakeTwice(it, work, first));
      }
    },

    /**
     * Lists the tasks of a person: unfinished durable work, then the newest
     * others.
     *
     * @param bindings the person's bindings, each of an issuer, a resource and
     * the subject
     * @param most the maximum number of tasks to read
     * @returns `count`: the number of all tasks
     */
    async newest(
      bindings: readonly string[],
      most: number,
    ): Promise<{ tasks: ListedTask[]; count: number }> {
      const listed = await listedOf(database, ...bindings);
      listed.sort((a, b) => rank(b.value) - rank(a.value));
      const ids = listed.slice(0, most).map(idOf);
      const entries = await database.getMany<TaskRecord[]>(ids.map(taskKey));
      const found = entries.flatMap(({ value }, index) =>
        value && bindings.includes(value.binding)
          ? [{ taskId: ids[index], record: value }]
          : []
      );
      const leased = found.filter(({ record: { status, durable } }) =>
        !isTerminal(status) && !durable
      );
      const leases = await database.getMany<TaskLease[]>(
        leased.map(({ taskId }) => taskLeaseKey(taskId)),
      );
      const unattended = new Set(
        leased.filter((_, index) => !isHeld(leases[index]))
          .map(({ taskId }) => taskId),
      );
      return {
        tasks: found.map(({ taskId, record: { outcome: _, ...task } }) => ({
          scopes: [],
          ...task,
          taskId,
          isUnattended: unattended.has(taskId),
        })),
        count: listed.length,
      };
    },
  };
}

/** Ranks an entry: unfinished durable work first, then the newest. */
function rank({ isOpen, createdMilliseconds }: TaskOfPerson): number {
  return createdMilliseconds + (isOpen ? Number.MAX_SAFE_INTEGER / 2 : 0);
}

/** The binding of a task's caller, and the grant that uses the task. */
export type TaskOwner = Pick<Caller, "binding" | "grantId">;

/** The members of a new task. `list` is the caller's by default. */
type NewTask = Partial<
  Pick<
    TaskRecord,
    "tool" | "scopes" | "needsAccounts" | "list" | "repeat" | "ifCut"
  >
>;

export function taskBeginnings(database: Database) {
  /**
   * Stores a task in one commit with `extraWrites`. Undefined if a check of the
   * commit failed.
   */
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
    /**
     * Stores a new task. Once the promise resolves, every process can find it.
     */
    async create(
      taskId: string,
      owner: TaskOwner,
      task: NewTask = {},
    ): Promise<Task> {
      const expiresAt = database.now() + RUNNING_SECONDS;
      const saved = await save(taskId, owner, { ...task, expiresAt })
        .catch((error) => {
          // The task may be stored all the same, and a repeat of the call would
          // find it dead.
          const { list = owner.binding, repeat } = task;
          database.background(() =>
            untilReachable(() => discard(taskId, { list, repeat }), {
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
     * @throws {HttpError} 413 if its {@linkcode RunBeginning} is too long
     */
    async createDurable(
      taskId: string,
      run: NewRun,
      beginning: RunBeginning,
      list: string,
    ): Promise<{ task: Task; claim: Claim }> {
      const record = await newRun(database, run, beginning);
      const { caller, tool, scopes, needsAccounts, keep, address } = record;
      const { expiresAt } = record;
      const durable = { keep, address };
      const task = { tool, scopes, needsAccounts, list, expiresAt, durable };
      const renewal = renewalAt(database.now());
      const { dueSeconds } = renewal;
      const saved = await save(taskId, caller, task, (transaction) => {
        transaction.create(taskRunKey(taskId), record);
        setWake(transaction, { address, taskId, dueSeconds, expiresAt });
      });
      if (!saved) {
        await deleteText(database, record.beginning);
        throw connectionEnded();
      }
      const claim = claimOf(taskId, record, saved.versionstamp, renewal);
      return { task: saved.task, claim };
    },

    discard,
  };
}

function connectionEnded(): HttpError {
  return new HttpError(403, "The connection has ended");
}
