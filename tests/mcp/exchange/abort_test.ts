import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { fire } from "../../../src/mcp/exchange/abort.ts";
import { recordLog } from "../../kit/log.ts";
import { Events, resultOf } from "../../kit/answer.ts";
import { startServer } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";

function throwing(): never {
  throw new Error("closed twice");
}

Deno.test("fire() logs what listeners throw, those of dependent signals too, and tells all of them", () => {
  const { logger: log, events } = recordLog();
  const abort = new AbortController();
  let told = 0;
  abort.signal.addEventListener("abort", throwing);
  abort.signal.addEventListener("abort", () => told++);
  AbortSignal.any([abort.signal]).onabort = throwing;
  fire(abort, "enough", { log, reference: () => "r" });
  fire(abort, "again", { log, reference: () => "r" });
  assert.deepEqual([told, abort.signal.reason.message], [1, "enough"]);
  assert.deepEqual(
    events.map(({ properties: { reference, error } }) => [
      reference,
      (error as Error).message,
    ]),
    [["r", "closed twice"], ["r", "closed twice"]],
  );
});

Deno.test("fire() leaves an exception to a process that handles its own", () => {
  const { logger: log, events } = recordLog();
  const seen: unknown[] = [];
  const handle = (event: ErrorEvent) => {
    event.preventDefault();
    seen.push(event.error.message);
  };
  addEventListener("error", handle);
  try {
    const abort = new AbortController();
    abort.signal.addEventListener("abort", throwing);
    fire(abort, "enough", { log, reference: () => "r" });
  } finally {
    removeEventListener("error", handle);
  }
  assert.deepEqual([seen, events], [["closed twice"], []]);
});

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

Deno.test("no listener of a tool ends the process, whoever fires its signal", async (t) => {
  const { log, events } = recordLog("error");
  const run = (
    _input: unknown,
    { signal, progress }: {
      signal: AbortSignal;
      progress(done: number): Promise<void>;
    },
  ) =>
    new Promise<string>((resolve) => {
      signal.addEventListener("abort", throwing);
      signal.addEventListener("abort", () => resolve("stopped"));
      progress(1);
    });
  await using server = await startServer({
    log,
    tools: [
      tool({ name: "tool", run }),
      tool({ name: "task", task: "required", run }),
      tool({
        name: "asking",
        async run(_input, { signal, roots }) {
          signal.addEventListener("abort", throwing);
          return `${(await roots()).length}`;
        },
      }),
    ],
  });
  const isLogged = async () => {
    await until(() => events.length > 0);
    const [{ message, properties }] = events.splice(0);
    assert.equal(message, "A listener of `signal` threw");
    assert.ok(properties.reference);
  };
  const _meta = { progressToken: 1 };
  const params = { name: "tool", _meta };
  const session = await server.openSession();
  const begin = async () => {
    const stream = new Events(await session.request("tools/call", params, 7));
    await stream.read();
    return stream;
  };

  await t.step("a client of 2025 that cancels", async () => {
    const stream = await begin();
    await session.notify("notifications/cancelled", { requestId: 7 });
    assert.equal((await stream.next()).done, true);
    await isLogged();
  });

  await t.step("a client of 2026 that leaves", async () => {
    const stream = new Events(
      await server.call("tools/call", { name: "tool" }, { meta: _meta }),
    );
    await stream.read();
    await stream.close();
    await isLogged();
  });

  await t.step("a question of 2026", async () => {
    const capabilities = { roots: {} };
    const { resultType } = await resultOf(
      server.call("tools/call", { name: "asking" }, { capabilities }),
    );
    assert.equal(resultType, "input_required");
    await isLogged();
  });

  await t.step("a session that ends", async () => {
    const other = await server.openSession();
    const stream = new Events(await other.request("tools/call", params));
    await stream.read();
    await other.end();
    assert.ok((await stream.read()).result);
    await isLogged();
  });

  await t.step("a task that is cancelled", async () => {
    const { taskId } = await resultOf(
      server.call("tools/call", { name: "task" }, { capabilities: TASKS }),
    );
    await server.call("tasks/cancel", { taskId }, { capabilities: TASKS });
    await isLogged();
  });

  await t.step("a server that stops", async () => {
    const stream = await begin();
    server.app.stop();
    assert.ok((await stream.read()).result);
    await isLogged();
  });
});
