/**
 * Tasks: long work as records that any process can read, answer and cancel.
 * One process works on a task and says so with a lease; when the lease lapses,
 * whoever looks at the task declares it failed.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import { formerBinding, isBoundTo } from "../auth/rules/former_subject.ts";
import type { Caller } from "../caller.ts";
import { HttpError, RpcCode } from "../errors.ts";
import type { InputRequest } from "../mcp/wire/inquiry.ts";
import type { JsonObject } from "../json.ts";
import type { Database, Expiring, Found } from "./database.ts";
import { unlessErased } from "./erased.ts";
import { taskKey, taskLeaseKey, tasksOfKey } from "./keys.ts";
import { Lapses } from "./lapses.ts";
import { pause } from "../clock.ts";
import { stepStore } from "./steps.ts";
import type { TaskOfPerson } from "./task_list.ts";
import { taskQuestions } from "./task_questions.ts";
import {
  deleteRun,
  type Hold,
  type NewRun,
  type RunBeginning,
  taskRunStore,
} from "./task_runs.ts";
import {
  changeTask,
  isTerminal,
  nextUpdate,
  TASK_SECONDS,
  type TaskRecord,
  type TaskStatus,
} from "./task_record.ts";
import { deleteText, readText, saveText, TextExpiredError } from "./texts.ts";
import type { Transaction } from "./transaction.ts";
import { waitStore } from "./waits.ts";

/** The time after which a task whose lease is not renewed may have died. */
export const LEASE_SECONDS = 30;
/** The error of a task whose process is gone. */
export const DIED = {
  code: RpcCode.internalError,
  message: "The process that ran this task has stopped",
};
/** The time between renewals of a lease, in seconds. */
export const HEARTBEAT_SECONDS = 5;
/** The time for which an expired lease is watched before its task fails. */
export const CONFIRM_SECONDS = 2 * HEARTBEAT_SECONDS;

/** The most characters of a status message in a record. */
const MESSAGE_CHARACTERS = 1000;

function connectionEnded(): HttpError {
  return new HttpError(403, "The connection has ended");
}

function cut(message: string | undefined): string | undefined {
  return message?.slice(0, MESSAGE_CHARACTERS).toWellFormed();
}

/** True if a tool says in its result that it has failed. */
function isToolError(end: TaskEnd): boolean {
  return end.status === "completed" && end.outcome.isError === true;
}

/** A task for its client. */
export interface Task {
  taskId: string;
  tool?: string;
  /** The grant that it was begun under. */
  grantId?: string;
  /** True if its work survives its process. */
  isDurable?: true;
  /** The scopes its tool needed; reading the task needs them too. */
  scopes: readonly string[];
  status: TaskStatus;
  statusMessage?: string;
  createdMilliseconds: number;
  updatedMilliseconds: number;
  /** Epoch seconds. */
  expiresAt: number;
  inputRequests?: Record<string, InputRequest>;
  /** `completed`: the method's result; `failed`: a JSON-RPC error. */
  outcome?: JsonObject;
  /** True if the result says that the tool has failed. */
  isError?: true;
}

/** The owner of a task, and the grant that uses it. */
type TaskOwner = Pick<Caller, "binding" | "grantId">;

/** The work of a new task. */
interface NewTask {
  tool?: string;
  /** The scopes its tool needs. */
  scopes?: readonly string[];
  /** The list that counts it; absent: its person's tasks. */
  list?: string;
}

/** The end of a task. */
export type TaskEnd =
  & (
    | { status: "completed" | "failed"; outcome: JsonObject }
    | { status: "cancelled" }
  )
  & {
    /** The last message; absent: the one that is there. */
    statusMessage?: string;
  };

export type TaskStore = ReturnType<typeof taskStore>;

/**
 * Opens the tasks of a database.
 *
 * @param options `confirmSeconds`: the time for which an expired lease is
 * watched before its task fails
 */
export function taskStore(
  database: Database,
  { confirmSeconds = CONFIRM_SECONDS } = {},
) {
  const lapses = new Lapses(database, confirmSeconds * 1000);

  const runs = taskRunStore(database);
  const steps = stepStore(database);
  const waits = waitStore(database);

  /**
   * Ends a task, once; false when it had ended already.
   *
   * @param hold the turn at durable work that gives the end: false if it is lost
   */
  async function end(
    taskId: string,
    outcome: TaskEnd,
    hold?: Hold,
  ): Promise<boolean> {
    const keep = hold?.run.keep ?? TASK_SECONDS;
    const ref = "outcome" in outcome
      ? await saveText(database, JSON.stringify(outcome.outcome), {
        expiresAt: database.now() + keep,
      })
      : undefined;
    let durable: TaskRecord["durable"];
    let run: Awaited<ReturnType<typeof runs.find>> | undefined;
    let listed: Found<TaskOfPerson> | undefined;
    const isEnded = await changeTask(
      database,
      taskId,
      async (record) => {
        const { statusMessage } = record;
        durable = record.durable;
        if (durable) {
          run = await runs.find(taskId);
          const isLost = run.versionstamp !== hold?.term.versionstamp;
          if (hold && isLost) return undefined;
          listed = await database.find(tasksOfKey(durable.list, taskId));
        }
        return {
          status: outcome.status,
          statusMessage: cut(outcome.statusMessage) ?? statusMessage,
          outcome: ref,
          ...isToolError(outcome) && { isError: true },
          questions: {},
          ...durable && { expiresAt: database.now() + durable.keep },
        };
      },
      (transaction) => {
        transaction.delete(taskLeaseKey(taskId));
        if (!durable) return;
        deleteRun(transaction, taskId, hold);
        if (!listed) return;
        const expiresAt = database.now() + durable.keep;
        const { isOpen: _, ...entry } = listed.value;
        transaction.check(listed).set(listed.key, { ...entry, expiresAt });
      },
    );
    if (!isEnded && ref) await deleteText(database, ref);
    if (isEnded && durable) {
      const { keep } = durable;
      database.background(async () => {
        await steps.settle(taskId, database.now() + keep);
        if (!run?.value) return;
        await waits.forgetTask(run.value.caller.subject, taskId);
        await runs.tidy(run.value);
      });
    }
    return isEnded;
  }

  /** Finds a caller's task; undefined if there is none. */
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
      if (!record || !isBoundTo(record.binding, binding)) return undefined;
      // Durable work is taken over, and does not fail.
      if (isTerminal(record.status) || held.value || record.durable) {
        lapses.forget(taskId);
        return await viewUnlessExpired(taskId, record);
      }
      const isLookedAt = lapses.has(taskId);
      if (!lapses.isCertain(taskId, held)) {
        if (!isLookedAt) lookAgain(taskId, binding);
        return await viewUnlessExpired(taskId, record);
      }
      lapses.forget(taskId);
      const failed: TaskRecord = {
        ...record,
        status: "failed",
        updatedMilliseconds: nextUpdate(database, record),
        questions: {},
        outcome: { text: JSON.stringify(DIED) },
      };
      // Not if its process renews the lease meanwhile.
      await database.commit((transaction) =>
        transaction.check(task, held).set(task.key, failed).delete(held.key)
      );
    }
  }

  /** Views a task; its texts expire with it, or a moment before it. */
  async function viewUnlessExpired(
    taskId: string,
    record: TaskRecord,
  ): Promise<Task | undefined> {
    return await view(taskId, record).catch((error) => {
      if (!(error instanceof TextExpiredError)) throw error;
      return undefined;
    });
  }

  /** Looks at a task until its lease is renewed, or it has failed. */
  function lookAgain(taskId: string, binding: string): void {
    database.background(async () => {
      while (lapses.has(taskId)) {
        await pause(HEARTBEAT_SECONDS * 1000, database.closing);
        if (database.closing.aborted) return;
        const task = await find(taskId, binding).catch(() => null);
        if (task === undefined) lapses.forget(taskId);
      }
    });
  }

  async function view(taskId: string, record: TaskRecord): Promise<Task> {
    const { scopes = [], status, statusMessage, questions, outcome } = record;
    const { tool, grantId, durable, isError } = record;
    const { createdMilliseconds, updatedMilliseconds, expiresAt } = record;
    const open = await Promise.all(
      Object.entries(questions).map(async ([key, ref]) =>
        [key, JSON.parse(await readText(database, ref))] as const
      ),
    );
    return {
      taskId,
      tool,
      grantId,
      ...durable && { isDurable: true },
      isError,
      scopes,
      status,
      statusMessage,
      createdMilliseconds,
      updatedMilliseconds,
      expiresAt,
      ...(open.length > 0 && { inputRequests: Object.fromEntries(open) }),
      ...(outcome &&
        { outcome: JSON.parse(await readText(database, outcome)) }),
    };
  }

  /** Reads which grant of a person used a task last. */
  async function readUse(
    taskId: string,
    { binding }: Pick<TaskOwner, "binding">,
  ): Promise<Found<TaskOfPerson> | undefined> {
    const found = await database.find<TaskOfPerson>(
      tasksOfKey(binding, taskId),
    );
    const former = found ? undefined : formerBinding(binding);
    return former === undefined
      ? found
      : await database.find(tasksOfKey(former, taskId));
  }

  /** Reads the list of a person's tasks, and what version 0.2 listed. */
  async function listedOf(binding: string): Promise<Found<TaskOfPerson>[]> {
    const former = formerBinding(binding);
    const lists = await Promise.all(
      [binding, ...former ? [former] : []].map((list) =>
        database.list<TaskOfPerson>(tasksOfKey(list))
      ),
    );
    return lists.flat();
  }

  function lease(): Expiring {
    return { expiresAt: database.now() + LEASE_SECONDS };
  }

  /** Makes the record of a new task, and its way into a transaction. */
  function newTask(
    taskId: string,
    { binding, grantId }: TaskOwner,
    { tool, scopes = [], list = binding, expiresAt, durable }:
      & NewTask
      & Pick<TaskRecord, "expiresAt" | "durable">,
  ) {
    const time = database.clock();
    const record: TaskRecord = {
      binding,
      tool,
      grantId,
      ...scopes.length > 0 && { scopes },
      status: "working",
      createdMilliseconds: time,
      updatedMilliseconds: time,
      questions: {},
      ...durable && { durable },
      expiresAt,
    };
    function create(transaction: Transaction): void {
      unlessErased(transaction, { grantId })
        .create(taskKey(taskId), record)
        .set(taskLeaseKey(taskId), lease())
        .set<TaskOfPerson>(tasksOfKey(list, taskId), {
          grantId,
          createdMilliseconds: time,
          ...durable && { isOpen: true },
          expiresAt,
        });
    }
    return { record, create };
  }

  return {
    ...taskQuestions(database),
    end,
    find,

    /** Stores a new task; it can be found anywhere before this resolves. */
    async create(
      taskId: string,
      owner: TaskOwner,
      task: NewTask = {},
    ): Promise<Task> {
      const expiresAt = database.now() + TASK_SECONDS;
      const { record, create } = newTask(taskId, owner, { ...task, expiresAt });
      if (!await database.commit(create)) throw connectionEnded();
      return await view(taskId, record);
    },

    /** Stores a new task of durable work, and gives this process its turn. */
    async createDurable(
      taskId: string,
      run: NewRun,
      beginning: RunBeginning,
      list: string,
    ): Promise<{ task: Task; hold: Hold }> {
      const prepared = await runs.prepare(taskId, run, beginning);
      const { expiresAt } = prepared;
      const { caller, tool, scopes, keep } = run;
      const { record, create } = newTask(taskId, caller, {
        tool,
        scopes,
        list,
        expiresAt,
        durable: { keep, list },
      });
      const version = await database.commit((transaction) => {
        create(transaction);
        prepared.create(transaction);
      });
      if (version === undefined) {
        await prepared.discard();
        throw connectionEnded();
      }
      return {
        task: await view(taskId, record),
        hold: prepared.hold(version),
      };
    },

    /** Deletes a new task of which no one was told. */
    async discard(taskId: string, list: string): Promise<void> {
      await database.commit((transaction) =>
        transaction.delete(
          taskKey(taskId),
          taskLeaseKey(taskId),
          tasksOfKey(list, taskId),
        )
      );
    },

    /** True if a list holds at least `count` stored tasks. */
    async hasMany(list: string, count: number): Promise<boolean> {
      const listed = await database.list(tasksOfKey(list), { limit: count });
      return listed.length >= count;
    },

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

    /** Gives the grant that used a task last. */
    async userOf(taskId: string, binding: string): Promise<string | undefined> {
      return (await readUse(taskId, { binding }))?.value.grantId;
    },

    /**
     * Finds every task that one of these grants used last, and gives a function
     * that ends them once the grants are closed. It need not be awaited: the
     * process that works on a task notices within a second that its grant has
     * ended, and ends it too.
     */
    async endAllOf(
      binding: string,
      grantIds: ReadonlySet<string | undefined>,
    ): Promise<() => void> {
      const listed = await listedOf(binding);
      const used = listed.filter(({ value }) => grantIds.has(value.grantId));
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

    /** Lists the tasks of a person, without their results. */
    async listOf(binding: string) {
      const listed = await listedOf(binding);
      const found = await database.getMany<TaskRecord[]>(
        listed.map(({ key }) => taskKey(key[2] as string)),
      );
      return found.flatMap(({ value }) =>
        value
          ? [{
            tool: value.tool,
            status: value.status,
            createdMilliseconds: value.createdMilliseconds,
          }]
          : []
      );
    },

    /** Ends the tasks of a person, and deletes them with their results. */
    async forgetAllOf(binding: string): Promise<void> {
      const listed = await listedOf(binding);
      for (const { key } of listed) {
        const taskId = key[2] as string;
        const open = await database.find<TaskRecord>(taskKey(taskId));
        await end(taskId, { status: "cancelled" });
        const found = await database.find<TaskRecord>(taskKey(taskId));
        await database.commit((transaction) => {
          // Its process may still look at it: it finds a task that is over.
          if (found) transaction.end(found.key);
          transaction.delete(key);
        });
        if (found?.value.durable) await steps.forget(taskId);
        const questions = Object.values(open?.value.questions ?? {});
        for (const ref of [found?.value.outcome, ...questions]) {
          if (ref) await deleteText(database, ref);
        }
      }
    },

    /**
     * Waits until a caller's task differs from the one `seen`; undefined if it
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
        // An expired lease changes no record until the task is read.
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

    /** Renews the lease of a running task; false if the task has ended. */
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

    /** Stores the message of the task's progress. */
    async setMessage(taskId: string, message: string): Promise<void> {
      const statusMessage = cut(message);
      await changeTask(database, taskId, () => ({ statusMessage }));
    },

    /** Resolves when the task has ended, in any process. */
    async ended(taskId: string, signal: AbortSignal): Promise<void> {
      await database.waitFor<TaskRecord>(
        taskKey(taskId),
        (task) => task === undefined || isTerminal(task.status),
        signal,
      );
    },
  };
}
