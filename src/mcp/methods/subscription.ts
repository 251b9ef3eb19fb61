/**
 * `subscriptions/listen`: a stream of the changes that a 2026 client asked for,
 * made in any process.
 *
 * @module
 * @see MCP 2026-07-28, Subscriptions
 */
import type { Change } from "../../store/changes.ts";
import type { Call } from "../exchange/call.ts";
import { URIS } from "../exchange/check.ts";
import { isHidden } from "../catalogue/find_resource.ts";
import type { Answer } from "../exchange/answer.ts";
import {
  invalidParams,
  printNotification,
  type RequestId,
} from "../wire/messages.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { Meta } from "../wire/request_meta.ts";
import { parseTaskIds, TaskFeed, taskNotification } from "../work/task_feed.ts";
import { checkKnowsTasks } from "../exchange/task_answer.ts";

/** The changes that a slow client may be behind before its stream is closed. */
const BEHIND = 1000;

/** The changes that a client wants to hear of, as far as they are supported. */
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
 * @throws {import("../../errors.ts").RpcError} -32602 when it is malformed
 */
export function parseFilter(
  { notifications }: JsonObject,
  capabilities: JsonObject,
): SubscriptionFilter {
  if (!isObject(notifications)) {
    throw invalidParams("notifications must be an object");
  }
  const filter: SubscriptionFilter = {};
  for (const list of LISTS) {
    const wanted = notifications[`${list}ListChanged`];
    if (wanted !== undefined && typeof wanted !== "boolean") {
      throw invalidParams(`${list}ListChanged must be a boolean`);
    }
    if (wanted && capabilities[list]) filter[`${list}ListChanged`] = true;
  }
  const taskIds = parseTaskIds(notifications);
  if (taskIds) filter.taskIds = taskIds;
  const { resourceSubscriptions: uris } = notifications;
  if (uris === undefined) return filter;
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === "string")) {
    throw invalidParams("resourceSubscriptions must be an array of URIs");
  }
  if (uris.length > URIS) {
    throw invalidParams(
      `resourceSubscriptions must have at most ${URIS} items`,
    );
  }
  if (capabilities.resources) filter.resourceSubscriptions = new Set(uris);
  return filter;
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
  const { engine: { subscriptions }, introduction, params } = call;
  const filter = parseFilter(params, introduction.capabilities);
  if (filter.taskIds) checkKnowsTasks(call.client);
  subscriptions.add(call);
  try {
    return await follow(call, filter);
  } finally {
    subscriptions.delete(call);
  }
}

async function follow(
  call: Call,
  filter: SubscriptionFilter,
): Promise<Answer> {
  const { engine, introduction, message: { id }, response, signal } = call;
  const feed = new TaskFeed(engine.tasks, call.caller);
  const acknowledged = Promise.withResolvers<void>();
  let sent: Promise<void> = acknowledged.promise;
  let behind = 0;
  const notify = (notification: string) => {
    if (++behind > BEHIND) return call.cancel("the client fell behind");
    sent = sent.then(() => response.send(notification)).then(() => {
      behind--;
    });
  };
  // Listening begins first, so that changes after the acknowledgement are
  // heard.
  const leave = await engine.changes.listen((change) => {
    // A change of a hidden resource is hidden too.
    if (change.kind !== "list" && isHidden(call.catalogue, change.uri)) return;
    const notification = notificationOf(change, filter, id);
    if (notification !== undefined) notify(notification);
  });
  try {
    const tasks = await feed.find(filter.taskIds ?? []);
    const honoured = {
      ...filter,
      ...(filter.taskIds && { taskIds: tasks.map(({ taskId }) => taskId) }),
    };
    await response.send(acknowledgement(honoured, id));
    acknowledged.resolve();
    for (const task of tasks) {
      feed.follow(
        task,
        (task) => notify(taskNotification(task, id, engine.clock())),
        signal,
      )
        .catch((error) => {
          if (signal.aborted) return;
          engine.log.warning("A task could not be followed", { error });
          call.cancel("a task could not be followed");
        });
    }
    await aborted(signal);
    const _meta = { [Meta.subscriptionId]: id };
    return { result: introduction.printer.result({ _meta }) };
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
