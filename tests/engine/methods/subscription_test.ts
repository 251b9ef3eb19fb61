import assert from "node:assert/strict";
import {
  acknowledgement,
  notificationOf,
  parseFilter,
  type SubscriptionFilter,
} from "../../../src/engine/methods/subscription.ts";
import { refuses } from "../../protocol/refuses.ts";

const ALL = { tools: {}, prompts: {}, resources: {} };
const ID = "io.modelcontextprotocol/subscriptionId";

Deno.test("parseFilter() honours what is wanted and offered", () => {
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: false,
    resourcesListChanged: true,
    resourceSubscriptions: ["a://b"],
    surpriseMe: true,
  };
  assert.deepEqual(parseFilter({ notifications }, ALL), {
    toolsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: new Set(["a://b"]),
  });
  assert.deepEqual(parseFilter({ notifications }, { tools: {} }), {
    toolsListChanged: true,
  });
  assert.deepEqual(parseFilter({ notifications: {} }, ALL), {});
});

const BROKEN: Record<string, unknown> = {
  "no filter": undefined,
  "a filter that is no object": [],
  "a wish that is no boolean": { toolsListChanged: "yes" },
  "subscriptions that are no list": { resourceSubscriptions: "a://b" },
  "a subscription that is no URI": { resourceSubscriptions: [1] },
  "more than a thousand subscriptions": {
    resourceSubscriptions: Array(1001).fill("a://b"),
  },
};

for (const [what, notifications] of Object.entries(BROKEN)) {
  Deno.test(`parseFilter() refuses ${what}`, () => {
    refuses(() => parseFilter({ notifications }, ALL), -32602);
  });
}

Deno.test("notificationOf() stamps every notification with its subscription", () => {
  const _meta = { [ID]: "s" };
  const filter: SubscriptionFilter = {
    promptsListChanged: true,
    resourceSubscriptions: new Set(["a://b"]),
  };
  assert.deepEqual(
    JSON.parse(notificationOf({ kind: "list", list: "prompts" }, filter, "s")!),
    {
      jsonrpc: "2.0",
      method: "notifications/prompts/list_changed",
      params: { _meta },
    },
  );
  assert.deepEqual(
    JSON.parse(
      notificationOf({ kind: "resource", uri: "a://b" }, filter, "s")!,
    ),
    {
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params: { _meta, uri: "a://b" },
    },
  );
});

Deno.test("notificationOf() leaves out what was not asked for", () => {
  const filter: SubscriptionFilter = {
    toolsListChanged: true,
    resourceSubscriptions: new Set(["a://b"]),
  };
  for (
    const change of [
      { kind: "list", list: "prompts" },
      { kind: "resource", uri: "a://c" },
    ] as const
  ) assert.equal(notificationOf(change, filter, 1), undefined);
  const nothing = notificationOf({ kind: "resource", uri: "a://b" }, {}, 1);
  assert.equal(nothing, undefined);
});

Deno.test("acknowledgement() says what is honoured, to whom", () => {
  assert.deepEqual(JSON.parse(acknowledgement({ toolsListChanged: true }, 0)), {
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { _meta: { [ID]: 0 }, notifications: { toolsListChanged: true } },
  });
  const resourceSubscriptions = new Set(["a://b"]);
  assert.deepEqual(
    JSON.parse(acknowledgement({ resourceSubscriptions }, 0)).params
      .notifications,
    { resourceSubscriptions: ["a://b"] },
  );
});
