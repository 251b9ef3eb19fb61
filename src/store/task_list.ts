/**
 * The tasks of a person, in any client of theirs, without their results.
 *
 * @module
 */
import type { Database, Expiring } from "./database.ts";
import { taskKey, taskLeaseKey, taskRunKey, tasksOfKey } from "./keys.ts";
import { isTerminal, type TaskRecord, type TaskStatus } from "./task_record.ts";
import type { RunRecord } from "./task_runs.ts";

/** The list entry of a person's task. */
export interface TaskOfPerson extends Expiring {
  /** The grant that used it last; the task ends with it. */
  grantId?: string;
  /** Absent in an entry from before it was kept. */
  createdMilliseconds?: number;
  /** True for durable work that has not ended. */
  isOpen?: true;
}

/** The state of durable work that goes on. */
export type RunState = Pick<RunRecord, "isParked" | "dueSeconds">;

/** A task of a list. */
export interface ListedTask {
  taskId: string;
  tool?: string;
  /** The grant that it was begun under. */
  grantId?: string;
  /** The scopes its tool needed. */
  scopes: readonly string[];
  status: TaskStatus;
  isError?: true;
  createdMilliseconds: number;
  run?: RunState;
  /** True if no process says that it works on it. */
  isUnattended: boolean;
}

export type TaskListStore = ReturnType<typeof taskListStore>;

/** Opens the lists of tasks of a database. */
export function taskListStore(database: Database) {
  return {
    /**
     * Lists the tasks of a person: durable work that goes on, then the newest.
     *
     * @param most the most that are read; `count` tells how many there are
     */
    async newest(
      binding: string,
      most: number,
    ): Promise<{ tasks: ListedTask[]; count: number }> {
      const listed = await database.list<TaskOfPerson>(tasksOfKey(binding));
      listed.sort((a, b) => rank(b.value) - rank(a.value));
      const ids = listed.slice(0, most).map(({ key }) => key[2] as string);
      const entries = await database.getMany<TaskRecord[]>(ids.map(taskKey));
      const found = entries.flatMap(({ value }, index) =>
        value?.binding === binding
          ? [{ taskId: ids[index], record: value }]
          : []
      );
      const open = found.filter(({ record }) => !isTerminal(record.status));
      const states = await database.getMany<RunRecord[]>(
        open.map(({ taskId, record }) =>
          record.durable ? taskRunKey(taskId) : taskLeaseKey(taskId)
        ),
      );
      const stateOf = new Map(
        open.map(({ taskId }, index) => [taskId, states[index].value]),
      );
      return {
        tasks: found.map(({ taskId, record }) =>
          listedTask(taskId, record, stateOf.get(taskId) ?? undefined)
        ),
        count: listed.length,
      };
    },
  };
}

/** Gives the place of an entry: the time at which it began, or the top. */
function rank({ isOpen, createdMilliseconds = 0 }: TaskOfPerson): number {
  return createdMilliseconds + (isOpen ? Number.MAX_SAFE_INTEGER / 2 : 0);
}

function listedTask(
  taskId: string,
  record: TaskRecord,
  state: RunRecord | undefined,
): ListedTask {
  const { tool, grantId, scopes = [], status, isError, durable } = record;
  return {
    taskId,
    tool,
    grantId,
    scopes,
    status,
    isError,
    createdMilliseconds: record.createdMilliseconds,
    ...durable && state && {
      run: { isParked: state.isParked, dueSeconds: state.dueSeconds },
    },
    isUnattended: !isTerminal(status) && !durable && state === undefined,
  };
}
