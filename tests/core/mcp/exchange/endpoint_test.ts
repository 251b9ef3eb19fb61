import assert from "node:assert/strict";
import { mcpEndpoint } from "../../../../src/core/mcp/endpoint.ts";
import {
  type McpEngine,
  methodTables,
} from "../../../../src/core/mcp/generations/find.ts";
import { HttpError } from "../../../../src/core/errors.ts";
import { silentLogger } from "../../../kit/log.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { compileCatalogue } from "../../../../src/core/catalogue/catalogue.ts";
import { rpc } from "../../../kit/message.ts";
import { settled } from "../../../kit/wait.ts";

/** The reads that a stranger's message causes before the gate refuses. */
class Ahead {
  readonly sessions: unknown[] = [];
  readonly replies: unknown[] = [];
  hasReadBody = false;

  /** @param fails true if the store is away */
  async post(body: unknown, headers: object, fails = false): Promise<void> {
    const refusing = Promise.withResolvers<never>();
    const find = (name: unknown) => {
      this.sessions.push(name);
      return fails ? Promise.reject(new Error("away")) : Promise.resolve();
    };
    const read = (_sessionId: string, id: unknown) => {
      this.replies.push(id);
      return fails ? Promise.reject(new Error("away")) : Promise.resolve();
    };
    const reading: Promise<unknown>[] = [];
    const engine = {
      gate: { authenticate: () => refusing.promise },
      catalogue: { taskTools: new Set(["task_status"]) },
      checkOrigin() {},
      log: silentLogger,
      trustedProxies: [],
      sessions: { find },
      replies: { read },
      bodies: {
        wait: (read: () => Promise<unknown>) => {
          this.hasReadBody = true;
          const body = read();
          reading.push(body);
          return body;
        },
      },
    } as unknown as McpEngine;
    const answer = mcpEndpoint(engine).post(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    );
    await Promise.allSettled(reading);
    // Rejections of a body or a store must have been handled by now.
    await settled();
    refusing.reject(new HttpError(401, "Who are you?"));
    const { status } = await answer;
    assert.equal(status, 401);
  }
}

const SESSION = { "mcp-session-id": "s" };
const MOST = { ...SESSION, "content-length": "16384" };

Deno.test("what a session is answered is looked up while the gate looks at the token", async () => {
  const ahead = new Ahead();
  await ahead.post({ jsonrpc: "2.0", id: 7, result: {} }, MOST);
  assert.deepEqual([ahead.sessions, ahead.replies], [["s"], [7]]);
});

for (
  const [what, headers, sessions] of [
    ["without a session", { "content-length": "2" }, []],
    ["of unknown length", SESSION, ["s"]],
    ["that is long", { ...SESSION, "content-length": "16385" }, ["s"]],
  ] as const
) {
  Deno.test(`the body of a stranger's message ${what} is not read`, async () => {
    const ahead = new Ahead();
    await ahead.post({ id: 7, result: {} }, headers);
    assert.deepEqual(ahead.sessions, sessions);
    assert.equal(ahead.hasReadBody, false);
  });
}

for (
  const body of [
    { jsonrpc: "2.0", id: 7, method: "ping" },
    { jsonrpc: "2.0", result: {} },
    [],
    null,
    "{",
  ]
) {
  Deno.test(`${JSON.stringify(body)} answers nothing, so no question is looked up`, async () => {
    const ahead = new Ahead();
    await ahead.post(body, MOST);
    assert.deepEqual([ahead.hasReadBody, ahead.replies], [true, []]);
  });
}

Deno.test("a store that fails for a stranger changes nothing about the refusal", async () => {
  const ahead = new Ahead();
  await ahead.post({ jsonrpc: "2.0", id: 7, result: {} }, MOST, true);
  assert.deepEqual([ahead.sessions, ahead.replies], [["s"], [7]]);
});

Deno.test("a challenge to one message of a batch is told in words, in its place", async () => {
  const scopes = ["mail"];
  const catalogue = compileCatalogue({
    tools: [tool({ name: "send", scopes, run: () => "" })],
  }, { serverInfo: { name: "s", version: "1" } });
  const caller = { subject: "ada", binding: "ada", scopes: [] };
  const engine = {
    gate: {
      authenticate: () => ({ caller }),
      challenge: () => assert.fail("a batch has no headers of one message"),
    },
    checkOrigin() {},
    catalogue,
    methods: methodTables([]),
    clock: Date.now,
    log: silentLogger,
    bodies: { wait: (read: () => unknown) => read() },
    running: { check() {} },
    tasks: { longTools() {} },
    limits: { charge() {} },
    sessions: { find: () => ({ binding: "ada", revision: "2025-03-26" }) },
  } as unknown as McpEngine;
  const response = await mcpEndpoint(engine).post(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", ...SESSION },
      body: JSON.stringify([rpc("tools/call", { name: "send" }, 5)]),
    }),
  );
  assert.equal(response.status, 200);
  const [{ id, result }] = await response.json();
  assert.equal(id, 5);
  assert.match(result.content[0].text, /Send the request again by itself/);
});
