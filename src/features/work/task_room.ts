/**
 * The room that each caller has for tasks.
 *
 * @module
 */
import { HttpError, LimitError } from "../../core/errors.ts";
import type { TaskStore } from "./tasks.ts";
import { CallerBound, MANY } from "../../core/mcp/exchange/caller_bound.ts";
import {
  longMessages,
  type MessageHolder,
} from "../../core/mcp/exchange/long_messages.ts";
import type { TaskOrigin } from "./task_work.ts";

/** The most tasks that one caller may have running in one process. */
export const MAX_TASKS_PER_CALLER = 100;

/** The most stored tasks of a person or a list, in any state, for a day. */
export const MAX_TASKS_KEPT = 1000;

/** The seconds after which to try again: stored tasks expire one by one. */
const KEPT_RETRY_SECONDS = 600;

/** The tasks that are at work in this process, by their callers. */
export class TaskRoom extends CallerBound {
  /** True once the server stops: new tasks are refused. */
  isClosed = false;

  constructor(private readonly tasks: Pick<TaskStore, "hasMany">) {
    super(MAX_TASKS_PER_CALLER, "tasks at a time");
  }

  /**
   * Takes a place for a new task, and counts the message that it came with.
   *
   * @throws {HttpError} 503 when the server stops, 429 when the caller has too
   * many
   */
  enter(origin: MessageHolder): void {
    if (this.isClosed) {
      throw new HttpError(503, "The server is stopping");
    }
    this.take(origin.limitKey);
    longMessages.add(origin);
  }

  /** Frees the place of a task that has ended here. */
  leave(origin: MessageHolder): void {
    this.release(origin.limitKey);
    longMessages.delete(origin);
  }

  /**
   * Chooses the list for a new task, which limits stored tasks. A caller that
   * may be many people has many lists, filled evenly, so that counting one list
   * costs no more than for a person.
   *
   * @throws {LimitError} when that list is full
   */
  async chooseList(
    { caller, limitKey }: Pick<TaskOrigin, "caller" | "limitKey">,
  ): Promise<string> {
    const list = limitKey?.isMany
      ? `${limitKey.name} ${Math.floor(Math.random() * MANY)}`
      : caller.binding;
    if (limitKey && await this.tasks.hasMany(list, MAX_TASKS_KEPT)) {
      throw new LimitError("stored tasks", KEPT_RETRY_SECONDS);
    }
    return list;
  }
}
