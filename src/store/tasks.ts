/**
 * Tasks: long work as records that any process can read, answer and cancel.
 * One process works on a task and says so with a lease; when the lease lapses,
 * anyone who looks next declares the task failed.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import { type Bound, type Caller, formerBinding } from "../caller.ts";
import { RpcCode } from "../errors.ts";
import type { InputRequest } from "../protocol/inquiry.ts";
import type { JsonObject } from "../json.ts";
import type { Database, Expiring, Found } from "./database.ts";
import { taskKey, taskLeaseKey, tasksOfKey } from "./keys.ts";
import { taskQuestions } from "./task_questions.ts";
import {
  isTerminal,
  nextUpdate,
  TASK_SECONDS,
  type TaskRecord,
  type TaskStatus,
  updateTask,
} from "./task_record.ts";
import { deleteText, readText, saveText } from "./texts.ts";

/**
 * A task whose process died has failed within this time. The clocks of two
 * machines may differ by as much, less a heartbeat.
 */
export const LEASE_SECONDS = 30;
/**
 * What a task's client is told when its process is gone.
 */
export const DIED = {
  code: RpcCode.internalError,
  message: "The process that ran this task has stopped",
};
/** How often a process says that it is still at work. */
export const HEARTBEAT_SECONDS = 5;

/** What a record has room for, besides its outcome. */
const MESSAGE_CHARACTERS = 1000;

/** A task as its client may see it. */
export interface Task {
  taskId: string;
  /** What its tool needed, and anyone who looks at it needs too. */
  scopes: readonly string[];
  status: TaskStatus;
  statusMessage?: string;
  createdMilliseconds: number;
  updatedMilliseconds: number;
  inputRequests?: Record<string, InputRequest>;
  /** `completed`: the method's result; `failed`: a JSON-RPC error. */
  outcome?: JsonObject;
}

/** Whose a task is, and the grant that uses it. */
export type TaskOwner = Pick<Caller, "binding" | "grantId">;

/** What is listed of a person's task. */
interface TaskOfPerson extends Expiring {
  /** The grant that used it last, and that it ends with. */
  grantId?: string;
}

/** How a task ended. */
export type Outcome =
  | { status: "completed" | "failed"; outcome: JsonObject }
  | { status: "cancelled"; statusMessage?: string };

export type TaskStore = ReturnType<typeof taskStore>;

/** Tasks in a database. */
export function taskStore(database: Database) {
  /** Ends a task, once; false when it had ended already. */
  async function end(taskId: string, outcome: Outcome): Promise<boolean> {
    const ref = "outcome" in outcome
      ? await saveText(database, JSON.stringify(outcome.outcome), {
        expiresAt: database.now() + TASK_SECONDS,
      })
      : undefined;
    const isEnded = await updateTask(
      database,
      taskId,
      () => ({ ...outcome, outcome: ref, questions: {} }),
      (transaction) => transaction.delete(taskLeaseKey(taskId)),
    );
    if (!isEnded && ref) await deleteText(database, ref);
    return isEnded;
  }

  /** A caller's task; undefined when there is none. */
  async function find(
    taskId: string,
    binding: string,
  ): Promise<Task | undefined> {
    for (;;) {
      const [task, held] = await database.getMany<[TaskRecord, Expiring]>([
        taskKey(taskId),
        taskLeaseKey(taskId),
      ]);
      const { value: record } = task;
      if (record?.binding !== binding) return undefined;
      if (isTerminal(record.status) || held.value) {
        return await view(taskId, record);
      }
      const failed: TaskRecord = {
        ...record,
        status: "failed",
        updatedMilliseconds: nextUpdate(database, record),
        questions: {},
        outcome: { text: JSON.stringify(DIED) },
      };
      // Unless its process says meanwhile that it is alive.
      await database.commit((transaction) =>
        transaction.check(task, held).set(task.key, failed).delete(held.key)
      );
    }
  }

  async function view(taskId: string, record: TaskRecord): Promise<Task> {
    const { scopes = [], status, statusMessage, questions, outcome } = record;
    const { createdMilliseconds, updatedMilliseconds } = record;
    const open = await Promise.all(
      Object.entries(questions).map(async ([key, ref]) =>
        [key, JSON.parse(await readText(database, ref))] as const
      ),
    );
    return {
      taskId,
      scopes,
      status,
      statusMessage,
      createdMilliseconds,
      updatedMilliseconds,
      ...(open.length > 0 && { inputRequests: Object.fromEntries(open) }),
      ...(outcome &&
        { outcome: JSON.parse(await readText(database, outcome)) }),
    };
  }

  /** Which grant of a person used a task last. */
  async function readUse(
    taskId: string,
    { binding }: Pick<TaskOwner, "binding">,
  ): Promise<Found<TaskOfPerson> | undefined> {
    return await database.find(tasksOfKey(binding, taskId));
  }

  function lease(): Expiring {
    return { expiresAt: database.now() + LEASE_SECONDS };
  }

  return {
    ...taskQuestions(database),
    end,
    find,

    /**
     * Keeps a new task; it can be found anywhere before this resolves.
     *
     * @param list what it is counted under; by default its person's tasks
     */
    async create(
      taskId: string,
      { binding, grantId }: TaskOwner,
      scopes: readonly string[] = [],
      list = binding,
    ): Promise<Task> {
      const time = database.clock();
      const record: TaskRecord = {
        binding,
        ...scopes.length > 0 && { scopes },
        status: "working",
        createdMilliseconds: time,
        updatedMilliseconds: time,
        questions: {},
        expiresAt: database.now() + TASK_SECONDS,
      };
      await database.commit((transaction) =>
        transaction
          .set(taskKey(taskId), record)
          .set(taskLeaseKey(taskId), lease())
          .set<TaskOfPerson>(tasksOfKey(list, taskId), {
            grantId,
            expiresAt: record.expiresAt,
          })
      );
      return await view(taskId, record);
    },

    /**
     * A caller's task that version 0.1 bound otherwise, bound as others are
     * from now on; undefined when there is none.
     */
    async adopt(taskId: string, caller: Bound): Promise<Task | undefined> {
      const { binding, grantId } = caller;
      const former = formerBinding(caller);
      if (former === undefined) return undefined;
      const found = await database.find<TaskRecord>(taskKey(taskId));
      if (found?.value.binding !== former) return undefined;
      const { key, value } = found;
      const { expiresAt } = value;
      // If something else has changed it meanwhile, so may the next look.
      await database.commit((transaction) =>
        transaction.check(found)
          .set(key, { ...value, binding })
          .set<TaskOfPerson>(tasksOfKey(binding, taskId), {
            grantId,
            expiresAt,
          })
      );
      return await find(taskId, binding);
    },

    /** Whether at least so many tasks of a list are kept. */
    async hasMany(list: string, count: number): Promise<boolean> {
      const listed = await database.list(tasksOfKey(list), { limit: count });
      return listed.length >= count;
    },

    readUse,

    /**
     * Remembers that a grant of the same person uses a task.
     *
     * @param reading who used it last, if reading that has begun
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

    /** The grant that used a task last. */
    async userOf(taskId: string, binding: string): Promise<string | undefined> {
      return (await readUse(taskId, { binding }))?.value.grantId;
    },

    /**
     * Finds every task that a grant used last, and gives what ends them once the
     * grant is closed. No one waits for that: the process that works on one of
     * them sees within a second that its grant has ended, and ends it too.
     */
    async endAllOf(binding: string, grantId: string): Promise<() => void> {
      const listed = await database.list<TaskOfPerson>(tasksOfKey(binding));
      const used = listed.filter(({ value }) => value.grantId === grantId);
      return () => {
        for (const { key } of used) {
          database.background(async () => {
            await end(key[2] as string, {
              status: "cancelled",
              statusMessage: "The connection has ended",
            });
          });
        }
      };
    },

    /**
     * A caller's task once it is no longer as it was `seen`; undefined when it
     * is gone.
     *
     * @throws the signal's reason when it fires first
     */
    async next(
      { taskId, updatedMilliseconds: seen }: Task,
      binding: string,
      signal: AbortSignal,
    ): Promise<Task | undefined> {
      for (;;) {
        // A lease that lapses changes no record until someone looks.
        const lookMilliseconds = database.clock() + HEARTBEAT_SECONDS * 1000;
        await database.waitFor<TaskRecord>(
          taskKey(taskId),
          (record) =>
            record?.updatedMilliseconds !== seen ||
            database.clock() >= lookMilliseconds,
          signal,
        );
        const task = await find(taskId, binding);
        if (task?.updatedMilliseconds !== seen) return task;
      }
    },

    /** Says that work goes on; false when the task has ended. */
    async renewLease(taskId: string): Promise<boolean> {
      for (;;) {
        const found = await database.find<TaskRecord>(taskKey(taskId));
        if (!found || isTerminal(found.value.status)) return false;
        const isRenewed = await database.commit((transaction) =>
          transaction.check(found).set(taskLeaseKey(taskId), lease())
        );
        if (isRenewed) return true;
      }
    },

    /** Tells what is being done. */
    async setMessage(taskId: string, message: string): Promise<void> {
      const statusMessage = message.slice(0, MESSAGE_CHARACTERS);
      await updateTask(database, taskId, () => ({ statusMessage }));
    },

    /** Resolves when the task has ended, wherever that was. */
    async ended(taskId: string, signal: AbortSignal): Promise<void> {
      await database.waitFor<TaskRecord>(
        taskKey(taskId),
        (task) => task === undefined || isTerminal(task.status),
        signal,
      );
    },
  };
}
