import assert from "node:assert/strict";
import { taskStore } from "../../src/store/tasks.ts";
import { until } from "../kit.ts";
import { withKv } from "./fixture.ts";

const LONG = "x".repeat(100_000);

async function keysOf(kv: Deno.Kv): Promise<string[]> {
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  return [...new Set(entries.map(({ key }) => String(key[0])))].sort();
}

function question(message: string) {
  return { method: "elicitation/create", params: { message } };
}

Deno.test("ask() has room for many long questions at once", () =>
  withKv(async (kv) => {
    const tasks = taskStore(kv);
    await tasks.create("t", "somebody");
    const { signal } = new AbortController();
    const keys = Array.from({ length: 10 }, (_, i) => `question-${i}`);
    const message = "?".repeat(9_000);
    const asked = keys.map((key) =>
      tasks.ask("t", key, question(message), signal)
    );
    const open = async () => (await tasks.find("t", "somebody"))?.inputRequests;
    await until(async () => Object.keys(await open() ?? {}).length === 10);
    assert.deepEqual((await open())?.["question-7"], question(message));
    await tasks.answer("t", Object.fromEntries(keys.map((k) => [k, { k }])));
    assert.deepEqual(await Promise.all(asked), keys.map((k) => ({ k })));
  }));

Deno.test("ask() leaves nothing of a long answer behind", () =>
  withKv(async (kv) => {
    const tasks = taskStore(kv);
    await tasks.create("t", "somebody");
    const { signal } = new AbortController();
    const asked = tasks.ask("t", "key", question("?"), signal);
    await until(async () =>
      (await tasks.find("t", "somebody"))?.status === "input_required"
    );
    await tasks.answer("t", { key: { text: LONG } });
    assert.deepEqual(await asked, { text: LONG });
    assert.deepEqual(await keysOf(kv), ["task", "task-lease"]);
  }));

Deno.test("end() of a task that has ended leaves nothing of its outcome behind", () =>
  withKv(async (kv) => {
    const tasks = taskStore(kv);
    await tasks.create("t", "somebody");
    assert(await tasks.end("t", { status: "cancelled" }));
    const outcome = { text: LONG };
    assert.equal(await tasks.end("t", { status: "completed", outcome }), false);
    assert.deepEqual(await keysOf(kv), ["task"]);
  }));

Deno.test("setMessage() cuts a message that the record has no room for", () =>
  withKv(async (kv) => {
    const tasks = taskStore(kv);
    await tasks.create("t", "somebody");
    await tasks.setMessage("t", LONG);
    const { statusMessage } = (await tasks.find("t", "somebody"))!;
    assert.equal(statusMessage?.length, 1000);
  }));

Deno.test("renewLease() tells that a task has ended, and takes no lease then", () =>
  withKv(async (kv) => {
    const tasks = taskStore(kv);
    await tasks.create("t", "somebody");
    assert.equal(await tasks.renewLease("t"), true);
    await tasks.end("t", { status: "cancelled" });
    assert.equal(await tasks.renewLease("t"), false);
    assert.deepEqual(await keysOf(kv), ["task"]);
  }));
