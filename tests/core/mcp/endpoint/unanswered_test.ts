/** Questions that no one answers: no `catch` of an author acts on them. */
import assert from "node:assert/strict";
import { kvWith } from "../../../kit/kv.ts";
import * as z from "zod";
import { tool } from "../../../../src/authoring/tool.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import { REPLY_SECONDS } from "../../../../src/core/store/replies.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { settled, until } from "../../../kit/wait.ts";
import { Events, resultOf } from "../../../kit/answer.ts";
import type { Json } from "../../../kit/message.ts";
import {
  startServer,
  type TestServer,
  type TestSession,
} from "../../../kit/server.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const capabilities = { elicitation: {}, ...TASKS };
const SURE = { message: "Sure?", schema: z.object({ sure: z.boolean() }) };
const progress = { _meta: { progressToken: 1 } };

/** A tool that acts where it could not ask; a test says when it asks. */
class Cautious {
  readonly steps: string[] = [];
  readonly began = Promise.withResolvers<void>();
  readonly go = Promise.withResolvers<void>();

  tool(name: string, more = {}) {
    return tool({
      name,
      ...more,
      run: async (_input, { ask, signal, progress }) => {
        signal.addEventListener("abort", () => this.steps.push("signal"));
        await progress(1);
        this.began.resolve();
        await this.go.promise;
        try {
          return (await ask(SURE)).action;
        } catch (error) {
          this.steps.push(`acted after ${error}`);
          return "acted";
        } finally {
          this.steps.push("finally");
        }
      },
    });
  }

  /** Waits for the end of the run, which is its signal and nothing else. */
  async isCut(): Promise<void> {
    await until(() => this.steps.length > 0);
    await settled();
    assert.deepEqual(this.steps, ["signal"]);
  }
}

/** A server whose database can be made to keep nothing more. */
async function startCautious() {
  const kv = await Deno.openKv(":memory:");
  let isFull = false;
  const failing = kvWith(kv, {
    atomic() {
      if (isFull) throw new Error("The disk is full");
      return kv.atomic();
    },
  });
  const cautious = new Cautious();
  const server = await startServer({
    kv: failing,
    tools: [
      cautious.tool("cautious"),
      cautious.tool("task", { task: "required" }),
    ],
  });
  return {
    server,
    cautious,
    fill: () => isFull = true,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

interface Asked {
  server: TestServer;
  session: TestSession;
  cautious: Cautious;
  events: Events;
  time: FakeTime;
  fill(): void;
}

const MALFORMED: JsonObject[] = [
  { action: "ACCEPT", content: { sure: true } },
  { action: ["accept"], content: { sure: true } },
  { action: "accept", content: "sure" },
  {},
];

/** By name: the end of a 2025 question, and the answer to who still listens. */
const WAYS: Record<string, {
  before?: (asked: Asked) => unknown;
  while?: (asked: Asked, question: Json) => unknown;
  answer?: RegExp;
}> = {
  "its client cancelled before it": {
    before: ({ session }) =>
      session.notify("notifications/cancelled", { requestId: 7 }),
  },
  "its client left before it": { before: ({ events }) => events.close() },
  "its client leaves": { while: ({ events }) => events.close() },
  "its session ends": {
    while: ({ session }) => session.end(),
    answer: /did not answer|has ended/,
  },
  "an hour passes": {
    while: ({ time }) => time.tick(REPLY_SECONDS),
    answer: /did not answer/,
  },
  "it cannot be stored": {
    before: ({ fill }) => fill(),
    answer: /Storage is unavailable/,
  },
  ...Object.fromEntries(
    MALFORMED.map((
      result,
    ) => [`it is answered with ${JSON.stringify(result)}`, {
      while: ({ session }: Asked, { id }: Json) =>
        session.post({ jsonrpc: "2.0", id, result }),
      answer: /-32602/,
    }]),
  ),
};

for (const [what, way] of Object.entries(WAYS)) {
  Deno.test(`a question of 2025 cuts the run when ${what}`, async () => {
    using time = new FakeTime();
    await using started = await startCautious();
    const { server, cautious } = started;
    const session = await server.openSession({ capabilities });
    const params = { name: "cautious", ...progress };
    const events = new Events(await session.request("tools/call", params, 7));
    await events.read();
    await cautious.began.promise;
    const asked: Asked = { ...started, session, events, time };
    await way.before?.(asked);
    cautious.go.resolve();
    if (way.while) await way.while(asked, await events.read());
    if (way.answer) {
      assert.match(JSON.stringify(await events.read()), way.answer);
    }
    await cautious.isCut();
    await events.close();
  });
}

Deno.test("a question of 2026 cuts the run when its client left before it", async () => {
  await using started = await startCautious();
  const { server, cautious } = started;
  const events = new Events(
    await server.call("tools/call", { name: "cautious" }, {
      capabilities,
      meta: progress._meta,
    }),
  );
  await events.read();
  await events.close();
  cautious.go.resolve();
  await cautious.isCut();
});

for (const answer of MALFORMED) {
  const text = JSON.stringify(answer);
  Deno.test(`a question of 2026 cuts the run when it is answered with ${text}`, async () => {
    await using started = await startCautious();
    const { server, cautious } = started;
    cautious.go.resolve();
    const response = await server.call("tools/call", {
      name: "cautious",
      inputResponses: { "elicitation-1": answer },
    }, { capabilities });
    assert.equal((await response.json()).error.code, -32602);
    await cautious.isCut();
  });

  Deno.test(`a question of a task cuts the run when it is answered with ${text}`, async () => {
    await using started = await startCautious();
    const { server, cautious } = started;
    cautious.go.resolve();
    const { taskId } = await resultOf(
      server.call("tools/call", { name: "task" }, { capabilities }),
    );
    const send = (method: string, more = {}) =>
      resultOf(server.call(method, { taskId, ...more }, { capabilities }));
    let task: Json;
    const reached = (status: string) =>
      until(async () => (task = await send("tasks/get")).status === status);
    await reached("input_required");
    const [key] = Object.keys(task.inputRequests);
    await send("tasks/update", { inputResponses: { [key]: answer } });
    await reached("failed");
    assert.equal(task.error.code, -32602);
    await cautious.isCut();
  });
}
