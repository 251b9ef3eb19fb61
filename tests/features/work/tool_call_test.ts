import assert from "node:assert/strict";
import * as z from "zod";
import type { Around } from "../../../src/authoring/around.ts";
import { result as resultWith } from "../../../src/authoring/result.ts";
import { type Tool, tool } from "../../../src/authoring/tool.ts";
import type { Answer, Result } from "../../../src/core/mcp/exchange/answer.ts";
import type { LastingCall } from "../../../src/features/work/task_engine.ts";
import { AuthorCode } from "../../../src/core/mcp/exchange/author_code.ts";
import { callTool } from "../../../src/core/mcp/methods/tool_call.ts";
import { taskCalls } from "../../../src/features/work/task_call.ts";
import type { TaskWork } from "../../../src/features/work/task_work.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { compileCatalogue } from "../../../src/core/catalogue/catalogue.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** A call of one tool, and its answer. */
class OneCall {
  isToolError?: boolean;
  /** The number of times its place among the tool's calls was given back. */
  left = 0;
  entered = 0;
  work?: TaskWork["run"];
  readonly call: LastingCall;

  constructor(
    tool: Tool,
    { around, capabilities = {} }: {
      around?: Around;
      capabilities?: JsonObject;
    } = {},
  ) {
    const catalogue = compileCatalogue({ tools: [tool] }, {
      serverInfo: { name: "s", version: "1" },
    });
    const enter = () => {
      this.entered++;
      return { leave: () => void this.left++ };
    };
    const start = (_call: LastingCall, { run }: TaskWork) => {
      this.work = run;
      const task = {
        taskId: "t",
        status: "working",
        createdMilliseconds: 0,
        updatedMilliseconds: 0,
      };
      return { task };
    };
    this.call = {
      catalogue,
      printedLists: catalogue.stateless,
      engine: {
        around,
        limits: { enter },
        longCalls: taskCalls,
        clock: () => 0,
        ownTools: new Map(),
        taskRegistry: { start },
        tasks: { longTools: () => new Set() },
      },
      params: { name: tool.name },
      client: { capabilities },
      stateless: true,
      context: {},
      authorCode: new AuthorCode(() => {}),
      execution: {},
      watch: {},
    } as unknown as LastingCall;
  }

  async answer(): Promise<Answer> {
    return await callTool(this.call);
  }

  async result(): Promise<JsonObject> {
    const { result, isToolError } = await this.answer() as Result;
    this.isToolError = isToolError;
    return JSON.parse(result);
  }
}

Deno.test("a tool that answers at once is answered at once", () => {
  const { call } = new OneCall(tool({ name: "t", run: () => "now" }));
  assert.match((callTool(call) as Result).result, /now/);
});

Deno.test("a result says by its isError whether the tool failed", async () => {
  for (const isError of [true, false, undefined]) {
    const run = () => ({ content: [], isError });
    const one = new OneCall(tool({ name: "t", run }));
    await one.result();
    assert.equal(one.isToolError, isError);
  }
});

Deno.test("a limited tool gives its place back when it has ended, however", async () => {
  const limit = { callsAtOnce: 1 };
  const going = Promise.withResolvers<string>();
  const run = () => going.promise;
  const one = new OneCall(tool({ name: "t", limit, run }));
  const answer = one.answer();
  assert.deepEqual([one.entered, one.left], [1, 0]);
  going.reject(new Error("broken"));
  await assert.rejects(answer, /broken/);
  assert.deepEqual([one.entered, one.left], [1, 1]);
});

Deno.test("a task keeps the place of its call until its work has ended", async () => {
  const limit = { callsAtOnce: 1 };
  const run = () => "done";
  const one = new OneCall(
    tool({ name: "t", limit, task: "optional", run }),
    { capabilities: TASKS },
  );
  await one.answer();
  assert.ok(one.work);
  assert.equal(one.left, 0);
  await one.work({} as Parameters<TaskWork["run"]>[0]);
  assert.equal(one.left, 1);
});

Deno.test("a tool that only prepares is no task, whatever its client knows", async () => {
  const one = new OneCall(
    tool({
      name: "t",
      prepare: () => Promise.resolve("prepared"),
      run: (_input, _context, prepared) => `${prepared}`,
    }),
    { capabilities: TASKS },
  );
  assert.deepEqual((await one.result()).content, [
    { type: "text", text: "prepared" },
  ]);
});

Deno.test("what is around tool calls sees them, and decides what they give", async () => {
  const seen: unknown[] = [];
  const around: Around = async ({ tool: { name } }, run) => {
    seen.push(name, await run());
    return { content: [{ type: "text", text: "other" }] };
  };
  const one = new OneCall(tool({ name: "t", run: () => "own" }), { around });
  const { content } = await one.result();
  assert.deepEqual(content, [{ type: "text", text: "other" }]);
  assert.deepEqual(seen, ["t", { content: [{ type: "text", text: "own" }] }]);
});

Deno.test("what an author's tool must not give back is explained to the author", async () => {
  const output = z.object({ sum: z.number() });
  for (
    const [wrong, message] of [
      [
        tool({ name: "add", output, run: () => ({}) as { sum: number } }),
        /^tool add broke its output schema:\n- sum: Invalid input: expected number, received undefined$/,
      ],
      [tool({ name: "add", run: () => 7n as unknown as string }), /^tool add /],
    ] as const
  ) {
    const one = new OneCall(wrong as Tool);
    await assert.rejects(one.answer(), { message });
  }
});

Deno.test("a structured result may have content of its own", async () => {
  const content = [{ type: "text", text: "One and two are three." } as const];
  const one = new OneCall(
    tool({
      name: "add",
      output: z.object({ sum: z.number() }),
      run: () => resultWith({ sum: 3 }, { content }),
    }) as Tool,
  );
  const result = await one.result();
  assert.deepEqual(result.structuredContent, { sum: 3 });
  assert.deepEqual(result.content, content);
});
