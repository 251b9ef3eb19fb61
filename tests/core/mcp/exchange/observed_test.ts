/** The telemetry of a message. */
import { methodTables } from "../../../../src/core/mcp/generations/find.ts";
import assert from "node:assert/strict";
import { prompt } from "../../../../src/authoring/prompt.ts";
import { resource } from "../../../../src/authoring/resource.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { ANONYMOUS } from "../../../../src/core/caller.ts";
import { observeMessage } from "../../../../src/core/mcp/generations/observed.ts";
import type { AdmittedRequest } from "../../../../src/core/mcp/exchange/engine.ts";
import type { Incoming } from "../../../../src/core/mcp/exchange/run.ts";
import { compileCatalogue } from "../../../../src/core/catalogue/catalogue.ts";
import type {
  RequestId,
  RpcNotification,
  RpcRequest,
} from "../../../../src/core/protocol/messages.ts";
import { Meta } from "../../../../src/core/protocol/request_meta.ts";
import { shortHash } from "../../../../src/core/log/log.ts";
import type {
  MessageFacts,
  Telemetry,
} from "../../../../src/core/telemetry/telemetry.ts";
import {
  type HeadersOf,
  type Json,
  statelessMeta,
} from "../../../kit/message.ts";

const catalogue = compileCatalogue({
  tools: [tool({ name: "both", run: () => "" })],
  prompts: [prompt({ name: "both", get: () => "" })],
  resources: [resource({ uri: "note://{id}", name: "note", read: () => "" })],
}, { serverInfo: { name: "s", version: "1" } });

interface Sent {
  method?: string;
  params?: Json;
  id?: RequestId;
  headers?: HeadersOf;
  version?: string | null;
  isNotification?: boolean;
}

/** Serves a message; gives its telemetry, and its end. */
async function told(
  {
    method = "ping",
    params = {},
    id = 1,
    headers,
    version = null,
    isNotification = false,
  }: Sent,
  serve: () => string = () => "served",
) {
  const facts: MessageFacts[] = [];
  const endings: unknown[] = [];
  const telemetry = {
    operation: (found: MessageFacts) => {
      facts.push(found);
      return {
        run: <T>(work: () => T) => work(),
        endUntaken: (ending: unknown) => endings.push(ending),
      };
    },
  } as unknown as Telemetry;
  const message: RpcRequest | RpcNotification = isNotification
    ? { kind: "notification", method, params }
    : { kind: "request", id, method, params };
  const admitted = {
    request: new Request("http://localhost/mcp", { headers }),
    version,
    catalogue,
    authenticated: { caller: ANONYMOUS },
  };
  const incoming: Incoming = { request: admitted.request };
  let answer: unknown;
  try {
    answer = await observeMessage(
      telemetry,
      methodTables([]),
      message,
      admitted as AdmittedRequest,
      incoming,
      serve,
    );
  } catch (error) {
    answer = error;
    // For the code that refuses.
    assert.ok(incoming.operation);
  }
  return { ...facts[0], answer, endings };
}

Deno.test("observeMessage() tells how a message ended, refused or not", async () => {
  const served = await told({});
  assert.equal(served.answer, "served");
  assert.deepEqual(served.endings, [{ outcome: "ok" }]);
  const refused = await told({}, () => {
    throw new Error("no");
  });
  assert.ok(refused.answer instanceof Error);
  assert.deepEqual(refused.endings, []);
});

Deno.test("observeMessage() names the methods of both generations, and no others", async () => {
  for (
    const method of [
      "initialize",
      "ping",
      "tools/call",
      "server/discover",
      "notifications/initialized",
      "notifications/cancelled",
      "notifications/progress",
      "notifications/roots/list_changed",
    ]
  ) assert.equal((await told({ method })).method, method);
  assert.equal((await told({ method: "secret" })).method, "_OTHER");
});

Deno.test("observeMessage() names a tool, a prompt or a resource that there is, where one is meant", async () => {
  const named = async (method: string, params: Json) => {
    const { tool, prompt, resource } = await told({ method, params });
    return { tool, prompt, resource };
  };
  const none = { tool: undefined, prompt: undefined, resource: undefined };
  const all = { name: "both", uri: "note://secret" };
  for (
    const [method, expected] of [
      ["tools/call", { ...none, tool: "both" }],
      ["prompts/get", { ...none, prompt: "both" }],
      ["resources/read", { ...none, resource: "note://{id}" }],
      ["resources/subscribe", { ...none, resource: "note://{id}" }],
      ["ping", none],
    ] as const
  ) {
    assert.deepEqual(await named(method, all), expected, method);
    assert.deepEqual(await named(method, { name: "secret", uri: "x:" }), none);
  }
});

Deno.test("observeMessage() tells an id that is made to tell nothing", async () => {
  const idOf = async (id: RequestId) => (await told({ id })).requestId;
  for (const id of [7, "a-b_c.d:1", "x".repeat(64)]) {
    assert.equal(await idOf(id), String(id));
  }
  for (const id of ["", "my secret", "secret!", "!secret", "x".repeat(65)]) {
    assert.equal(await idOf(id), undefined, id);
  }
  assert.equal((await told({ isNotification: true })).requestId, undefined);
});

Deno.test("observeMessage() tells a session by a short hash", async () => {
  const headers = { "mcp-session-id": "secret" };
  assert.equal((await told({ headers })).session, shortHash("secret"));
  assert.equal((await told({})).session, undefined);
});

Deno.test("observeMessage() tells the revision that is spoken, if this server speaks it", async () => {
  const revisionOf = async (sent: Sent) => (await told(sent)).revision;
  const opens = (protocolVersion: string) =>
    revisionOf({
      method: "initialize",
      params: { protocolVersion },
      version: "2025-03-26",
    });
  assert.equal(await opens("2025-06-18"), "2025-06-18");
  assert.equal(await opens("secret"), "2025-11-25");
  assert.equal(await revisionOf({ version: "2025-06-18" }), "2025-06-18");
  assert.equal(await revisionOf({ version: "secret" }), undefined);
  const params = { _meta: statelessMeta() };
  assert.equal(
    await revisionOf({ params, version: "2025-06-18" }),
    params._meta[Meta.protocolVersion],
  );
});
