/**
 * `subscriptions/listen`: a stream of the changes that a 2026 client asked for,
 * of lists, resources and its caller's tasks, made in any process.
 *
 * @module
 * @see MCP 2026-07-28, Subscriptions; MCP extension io.modelcontextprotocol/tasks
 */
import type { Change } from "../../store/changes.ts";
import type { Call } from "../exchange/call.ts";
import { MAX_URIS } from "../exchange/check.ts";
import { isHidden } from "../../catalogue/find_resource.ts";
import type { Answer } from "../exchange/answer.ts";
import {
  invalidParams,
  printNotification,
  type RequestId,
  shown,
} from "../../protocol/messages.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { Meta } from "../../protocol/request_meta.ts";
import {
  checkKnowsTasks,
  printTask,
} from "../../../features/work/task_answer.ts";
import { isTerminal } from "../../../features/work/task_record.ts";
import type { Task, TaskStore } from "../../../features/work/tasks.ts";
import { findTask } from "../../../features/work/task_methods.ts";

/** The unsent changes at which the stream of a slow client is closed. */
const BEHIND = 1000;

/** The most tasks that one subscription may name: each is polled. */
const MAX_TASKS = 100;

/** The supported part of the changes that a client asked for. */
export interface SubscriptionFilter {
  toolsListChanged?: true;
  promptsListChanged?: true;
  resourcesListChanged?: true;
  resourceSubscriptions?: ReadonlySet<string>;
  /** In the acknowledgement: the tasks that belong to the caller. */
  taskIds?: string[];
}

const LISTS = ["tools", "prompts", "resources"] as const;

/**
 * Parses the filter of a request; unsupported parts are dropped.
 *
 * @throws {RpcError} -32602 when it is malformed
 */
export function parseFilter(
  { notifications }: JsonObject,
  capabilities: JsonObject,
): SubscriptionFilter {
  if (!isObject(notifications)) {
    throw invalidParams(
      `notifications must be an object, not ${shown(notifications)}`,
    );
  }
  const filter: SubscriptionFilter = {};
  for (const list of LISTS) {
    const wanted = notifications[`${list}ListChanged`];
    if (wanted !== undefined && typeof wanted !== "boolean") {
      throw invalidParams(
        `${list}ListChanged must be a boolean, not ${shown(wanted)}`,
      );
    }
    if (wanted && capabilities[list]) filter[`${list}ListChanged`] = true;
  }
  const taskIds = textsOf(notifications, "taskIds", "strings", MAX_TASKS);
  if (taskIds) filter.taskIds = [...new Set(taskIds)];
  const uris = textsOf(
    notifications,
    "resourceSubscriptions",
    "URIs",
    MAX_URIS,
  );
  if (uris && capabilities.resources) {
    filter.resourceSubscriptions = new Set(uris);
  }
  return filter;
}

/** Reads a list of at most `most` texts; `what` names them in an error. */
function textsOf(
  notifications: JsonObject,
  member: string,
  what: string,
  most: number,
): string[] | undefined {
  const texts = notifications[member];
  if (texts === undefined) return undefined;
  if (
    !Array.isArray(texts) || !texts.every((text) => typeof text === "string")
  ) {
    throw invalidParams(
      `${member} must be an array of ${what}, not ${shown(texts)}`,
    );
  }
  if (texts.length > most) {
    throw invalidParams(
      `${member} must have at most ${most} items, not ${texts.length}`,
    );
  }
  return texts;
}

/** Makes the notification of a change; undefined if it is filtered out. */
export function notificationOf(
  change: Change,
  filter: SubscriptionFilter,
  subscriptionId: RequestId,
): string | undefined {
  const _meta = { [Meta.subscriptionId]: subscriptionId };
  if (change.kind === "list") {
    const { list } = change;
    if (!filter[`${list}ListChanged`]) return undefined;
    return printNotification(`notifications/${list}/list_changed`, { _meta });
  }
  if (!filter.resourceSubscriptions?.has(change.uri)) return undefined;
  const { uri } = change;
  return printNotification("notifications/resources/updated", { _meta, uri });
}

/** Prints the first message of a subscription. */
export function acknowledgement(
  { resourceSubscriptions, ...honoured }: SubscriptionFilter,
  subscriptionId: RequestId,
): string {
  return printNotification("notifications/subscriptions/acknowledged", {
    _meta: { [Meta.subscriptionId]: subscriptionId },
    notifications: {
      ...honoured,
      ...(resourceSubscriptions &&
        { resourceSubscriptions: [...resourceSubscriptions] }),
    },
  });
}

/** Serves a subscription until the client leaves or the server stops. */
export async function listen(call: Call): Promise<Answer> {
  const { engine: { subscriptions }, printedLists, params } = call;
  const filter = parseFilter(params, printedLists.capabilities);
  if (filter.taskIds) checkKnowsTasks(call.client);
  subscriptions.add(call);
  call.isSubscription = true;
  try {
    return await streamChanges(call, filter);
  } finally {
    subscriptions.delete(call);
  }
}

/** Sends changes until the signal of the call fires. */
async function streamChanges(
  call: Call,
  filter: SubscriptionFilter,
): Promise<Answer> {
  const { engine, printedLists, message: { id }, response, signal } = call;
  const { caller, engine: { tasks } } = call;
  const _meta = { [Meta.subscriptionId]: id };
  const acknowledged = Promise.withResolvers<void>();
  let sent: Promise<void> = acknowledged.promise;
  let behind = 0;
  const notify = (notification: string) => {
    if (++behind > BEHIND) {
      return call.execution.cancel("the client fell behind");
    }
    sent = sent.then(() => response.send(notification)).then(() => {
      behind--;
    });
  };
  // Listening begins first, so that no change after the acknowledgement is
  // missed.
  const leave = await engine.changes.listen((change) => {
    // A change of a hidden resource is hidden too.
    if (change.kind !== "list" && isHidden(call.catalogue, change.uri)) return;
    const notification = notificationOf(change, filter, id);
    if (notification !== undefined) notify(notification);
  });
  try {
    const named = await Promise.all(
      filter.taskIds?.map((taskId) => findTask(tasks, caller, taskId)) ?? [],
    );
    const own = named.filter((task) => task !== undefined);
    const honoured = {
      ...filter,
      ...(filter.taskIds && { taskIds: own.map(({ taskId }) => taskId) }),
    };
    await response.send(acknowledgement(honoured, id));
    acknowledged.resolve();
    for (const task of own) {
      const onState = (task: Task) =>
        notify(printNotification("notifications/tasks", {
          _meta,
          ...printTask(task, engine.clock()),
        }));
      followTask(tasks, caller.binding, task, onState, signal).catch(
        (error) => {
          if (signal.aborted) return;
          engine.log.warning("A task could not be followed", { error });
          call.execution.cancel("a task could not be followed");
        },
      );
    }
    await aborted(signal);
    return { result: printedLists.printer.result({ _meta }) };
  } finally {
    leave();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true })
  );
}

/**
 * Calls `onState` with a task now and after every change, until it has ended.
 *
 * @param binding the binding of the task's caller
 * @throws the signal's reason when it fires first
 */
export async function followTask(
  tasks: TaskStore,
  binding: string,
  task: Task,
  onState: (task: Task) => void,
  signal: AbortSignal,
): Promise<void> {
  let state: Task | undefined = task;
  while (state) {
    onState(state);
    if (isTerminal(state.status)) return;
    state = await tasks.next(state, binding, signal);
  }
}
