/**
 * The tasks of a person, in all clients of theirs: the list by which tasks are
 * limited, with the grant that used each last.
 *
 * @module
 */
import type { Database, Found } from "../../core/kv/database.ts";
import {
  taskKey,
  taskLeaseKey,
  taskRunKey,
  tasksOfKey,
} from "../../core/kv/keys.ts";
import { isHeld, type TaskLease } from "../../core/kv/leases.ts";
import type { RunRecord } from "./run_record.ts";
import { stepStore } from "./steps.ts";
import type { TaskOwner } from "./task_beginning.ts";
import {
  isTerminal,
  type Task,
  type TaskOfPerson,
  type TaskRecord,
} from "./task_record.ts";
import { readText } from "../../core/kv/texts.ts";
import { wakeTwice } from "./wakes.ts";

/** A task of a list, without its result. */
export interface ListedTask extends
  Pick<
    Task,
    | "taskId"
    | "tool"
    | "grantId"
    | "scopes"
    | "status"
    | "isError"
    | "sleepsUntil"
    | "createdMilliseconds"
  > {
  /** True for a plain task without a lease: its process may have died. */
  isUnattended: boolean;
}

/** Reads the list of a person's tasks. */
export function listedOf(
  database: Database,
  binding: string,
): Promise<Found<TaskOfPerson>[]> {
  return database.list(tasksOfKey(binding));
}

/** Returns the task ID of a list entry. */
export function idOf({ key }: Pick<Found<TaskOfPerson>, "key">): string {
  return key[2] as string;
}

export function taskLists(database: Database) {
  /** Reads which grant of a person used a task last. */
  function readUse(
    taskId: string,
    { binding }: Pick<TaskOwner, "binding">,
  ): Promise<Found<TaskOfPerson> | undefined> {
    return database.find(tasksOfKey(binding, taskId));
  }

  /** Copies a task, without its result. */
  async function copyTask(
    taskId: string,
    { tool, status, createdMilliseconds, durable }: TaskRecord,
  ) {
    const task = { tool, status, createdMilliseconds };
    if (!durable) return task;
    const run = await database.find<RunRecord>(taskRunKey(taskId));
    // The work may end, and its beginning be deleted, meanwhile.
    const beginning = run &&
      await readText(database, run.value.beginning).then(JSON.parse)
        .catch(() => undefined);
    const steps = await stepStore(database).outline(taskId);
    return { ...task, input: beginning?.input, steps };
  }

  return {
    readUse,

    /**
     * Records that a grant of the same person uses a task.
     *
     * @param reading the last use, if reading it has begun
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

    /** Returns the grant that used a task last. */
    async userOf(taskId: string, binding: string): Promise<string | undefined> {
      return (await readUse(taskId, { binding }))?.value.grantId;
    },

    /** True if a list holds at least `count` stored tasks. */
    async hasMany(list: string, count: number): Promise<boolean> {
      const listed = await database.list(tasksOfKey(list), { limit: count });
      return listed.length >= count;
    },

    /**
     * Lists the tasks of a person, for the copy of their data. Durable work has
     * its steps, and until it ends its input.
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

    /** Wakes the durable work of a person, by its tool. */
    async wake(
      bindings: readonly string[],
      isWanted: (tool: string) => boolean,
    ): Promise<void> {
      const lists = await Promise.all(
        bindings.map((binding) => listedOf(database, binding)),
      );
      const ids = lists.flat().filter(({ value }) => value.isOpen).map(idOf);
      const runs = await database.getMany<RunRecord[]>(ids.map(taskRunKey));
      const now = database.now();
      for (const [index, { value }] of runs.entries()) {
        if (!value || !isWanted(value.tool)) continue;
        const work = { ...value, taskId: ids[index] };
        await database.commit((it) => wakeTwice(it, work, now));
      }
    },

    /**
     * Lists the tasks of a person: durable work that goes on, then the newest.
     *
     * @param bindings the names that they are bound to
     * @param most the most that are read; `count` tells how many there are
     */
    async newest(
      bindings: readonly string[],
      most: number,
    ): Promise<{ tasks: ListedTask[]; count: number }> {
      const lists = await Promise.all(
        bindings.map((binding) =>
          database.list<TaskOfPerson>(tasksOfKey(binding))
        ),
      );
      const listed = lists.flat();
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
        tasks: found.map(({ taskId, record }) => {
          const { tool, grantId, scopes = [], status, isError } = record;
          const { createdMilliseconds, sleepsUntil } = record;
          return {
            taskId,
            tool,
            grantId,
            scopes,
            status,
            isError,
            sleepsUntil,
            createdMilliseconds,
            isUnattended: unattended.has(taskId),
          };
        }),
        count: listed.length,
      };
    },
  };
}

/** Ranks an entry: open durable work first, then by its beginning. */
function rank({ isOpen, createdMilliseconds }: TaskOfPerson): number {
  return createdMilliseconds + (isOpen ? Number.MAX_SAFE_INTEGER / 2 : 0);
}
