/**
 * `subscriptions/listen`: a stream of changes for an MCP 2026-07-28 client.
 * Changes of lists, of resources, and of what features add, may be made in any
 * process.
 * @module
 * @see MCP 2026-07-28, Subscriptions
 */
import type { Change } from "../../store/changes.ts";
import { MAX_URIS } from "../exchange/check.ts";
import { isHiddenResource } from "../../catalogue/find_resource.ts";
import type { Answer } from "../exchange/answer.ts";
import {
  invalidParams,
  printNotification,
  quoted,
  type RequestId,
} from "../../protocol/messages.ts";
import { isObject, type JsonObject } from "../../json.ts";
import { Meta } from "../../protocol/request_meta.ts";
import type { EngineCall, FollowedKind } from "./method_engine.ts";

/**
 * The number of unsent changes after which a slow client's stream is closed.
 */
const BEHIND = 1000;

/** The supported part of the filter that a client sent. */
export interface SubscriptionFilter {
  toolsListChanged?: true;
  promptsListChanged?: true;
  resourcesListChanged?: true;
  resourceSubscriptions?: ReadonlySet<string>;
  /**
   * The names to watch for each {@linkcode FollowedKind}, keyed by its
   * `member`.
   */
  followed?: Readonly<Record<string, readonly string[]>>;
}

const LISTS = ["tools", "prompts", "resources"] as const;

/**
 * Parses the filter of a request; unsupported parts are dropped.
 *
 * @throws {RpcError} -32602 if the filter is malformed
 */
export function parseFilter(
  { notifications }: JsonObject,
  capabilities: JsonObject,
  kinds: readonly Pick<FollowedKind, "member" | "most">[] = [],
): SubscriptionFilter {
  if (!isObject(notifications)) {
    throw invalidParams(
      `notifications must be an object, not ${quoted(notifications)}`,
    );
  }
  const filter: SubscriptionFilter = {};
  for (const list of LISTS) {
    const wanted = notifications[`${list}ListChanged`];
    if (wanted !== undefined && typeof wanted !== "boolean") {
      throw invalidParams(
        `${list}ListChanged must be a boolean, not ${quoted(wanted)}`,
      );
    }
    if (wanted && capabilities[list]) filter[`${list}ListChanged`] = true;
  }
  for (const { member, most } of kinds) {
    const names = textsOf(notifications, member, "strings", most);
    if (!names) continue;
    filter.followed = { ...filter.followed, [member]: [...new Set(names)] };
  }
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

/**
 * Parses a list of at most `most` strings. `what` is their noun for an error.
 */
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
      `${member} must be an array of ${what}, not ${quoted(texts)}`,
    );
  }
  if (texts.length > most) {
    throw invalidParams(
      `${member} must have at most ${most} items, not ${texts.length}`,
    );
  }
  return texts;
}

/**
 * Makes the notification of a change; undefined if the filter does not include
 * the change.
 */
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

/** Makes the first message of a subscription. */
export function acknowledgement(
  { resourceSubscriptions, followed, ...honoured }: SubscriptionFilter,
  subscriptionId: RequestId,
): string {
  return printNotification("notifications/subscriptions/acknowledged", {
    _meta: { [Meta.subscriptionId]: subscriptionId },
    notifications: {
      ...honoured,
      ...followed,
      ...(resourceSubscriptions &&
        { resourceSubscriptions: [...resourceSubscriptions] }),
    },
  });
}

/** Serves a subscription until the client disconnects or the server stops. */
export async function listen(call: EngineCall): Promise<Answer> {
  const { engine: { subscriptions, followed }, printedLists, params } = call;
  const filter = parseFilter(params, printedLists.capabilities, followed);
  for (const { member, check } of followed) {
    if (filter.followed?.[member]) check(call);
  }
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
  call: EngineCall,
  filter: SubscriptionFilter,
): Promise<Answer> {
  const { engine, printedLists, message: { id }, response, signal } = call;
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
  // Starts before the acknowledgement is sent, so that no later change is
  // missed.
  const leave = await engine.changes.listen((change) => {
    // A change of a resource that the caller may not see is not reported.
    if (
      change.kind !== "list" && isHiddenResource(call.catalogue, change.uri)
    ) return;
    const notification = notificationOf(change, filter, id);
    if (notification !== undefined) notify(notification);
  });
  try {
    const found = await Promise.all(engine.followed.map(async (kind) => {
      const names = filter.followed?.[kind.member];
      return names && { ...kind, ...await kind.follow(call, names) };
    }));
    const own = found.filter((kind) => kind !== undefined);
    const honoured = {
      ...filter,
      followed: Object.fromEntries(
        own.map(({ member, names }) => [member, names]),
      ),
    };
    await response.send(acknowledgement(honoured, id));
    acknowledged.resolve();
    for (const { begin } of own) {
      begin(
        (method, params) =>
          notify(printNotification(method, { _meta, ...params })),
        (reason) => call.execution.cancel(reason),
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
