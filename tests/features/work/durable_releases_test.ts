/**
 * Durable work that sleeps while servers of two releases are on one database, as
 * in every roll-out and on every way back.
 */
import assert from "node:assert/strict";
import * as z from "zod";
import { type Tool, tool } from "../../../src/authoring/tool.ts";
import { test } from "../../kit/databases.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import type { Json } from "../../kit/message.ts";
import { startServer, type TestServer } from "../../kit/server.ts";
import { beginTask, reached, readTask } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";

const HOUR = 3600;

/** The tool of one release: it charges, sleeps, and ships. */
function order(
  done: string[],
  { charge, ...release }: { charge: string; version: number; input: z.ZodType },
): Tool {
  return tool({
    name: "order",
    task: { durable: true, version: release.version },
    input: z.object({ n: release.input }),
    async run(_input, { step, sleep }) {
      await step(charge, () => void done.push(charge));
      await sleep("nap", HOUR);
      await step("ship", () => void done.push("ship"));
      return "ordered";
    },
  });
}

/** Servers that are there one after the other, and the work of the first. */
class Releases implements Disposable {
  readonly done: string[] = [];
  readonly #time = new MovedTime();
  readonly old = order(this.done, {
    charge: "charge",
    version: 1,
    input: z.string(),
  });
  readonly new = order(this.done, {
    charge: "charge card",
    version: 2,
    input: z.int(),
  });

  constructor(readonly kv: Deno.Kv) {}

  /** Runs a server with a tool. */
  async serve<T>(
    tools: Tool[],
    run: (server: TestServer) => Promise<T>,
  ): Promise<T> {
    await using server = await startServer({ tools, kv: this.kv });
    return await run(server);
  }

  /** Begins work, which sleeps in no process. */
  begin(release: Tool, n: unknown): Promise<string> {
    return this.serve([release], async (server) => {
      const taskId = await beginTask(server, "order", { arguments: { n } });
      await until(() => server.app.running === 0);
      return taskId;
    });
  }

  /** Lets a server look at what is due after a time. */
  async lookAfter(seconds: number, server: TestServer): Promise<void> {
    this.#time.tick(seconds);
    await server.app.wake();
  }

  /** Tells if the work is left to a process that knows it. */
  async isLeft(taskId: string): Promise<boolean> {
    const run = await this.kv.get<Json>(["task-run", taskId]);
    return run.value?.missingSince !== undefined;
  }

  [Symbol.dispose](): void {
    this.#time[Symbol.dispose]();
  }
}

test.inMemory("work that a newer release has begun is left to it, and charges no one twice", async ({ kv }) => {
  using releases = new Releases(kv);
  const { done } = releases;
  const taskId = await releases.begin(releases.new, 1);
  await releases.serve([releases.old], async (server) => {
    await releases.lookAfter(HOUR, server);
    await until(() => releases.isLeft(taskId));
    assert.equal(server.app.running, 0);
    const { statusMessage } = await readTask(server, taskId);
    assert.match(statusMessage, /^The server cannot go on with it now/);
  });
  await releases.serve([releases.new], async (server) => {
    await releases.lookAfter(30, server);
    const { result } = await reached(server, taskId, "completed");
    assert.equal(result.isError, undefined);
  });
  assert.deepEqual(done, ["charge card", "ship"]);
});

test.inMemory("work that a newer release has begun goes on in its process, though one of the old release always looks first", async ({ kv }) => {
  using releases = new Releases(kv);
  const taskId = await releases.begin(releases.new, 1);
  await releases.serve([releases.old], async (old) => {
    await releases.lookAfter(HOUR, old);
    await until(() => releases.isLeft(taskId));
    await releases.serve([releases.new], async (server) => {
      await releases.lookAfter(30, old);
      await releases.lookAfter(0, server);
      const { status } = await readTask(server, taskId);
      assert.equal(status, "completed");
    });
  });
  assert.deepEqual(releases.done, ["charge card", "ship"]);
});

test.inMemory("work of a newer release that is taken back ends with words, and is not done by the old one", async ({ kv }) => {
  using releases = new Releases(kv);
  const { done } = releases;
  const taskId = await releases.begin(releases.new, 1);
  await releases.serve([releases.old], async (server) => {
    await releases.lookAfter(HOUR, server);
    await until(() => releases.isLeft(taskId));
    await releases.lookAfter(HOUR, server);
    const { error } = await reached(server, taskId, "failed");
    assert.match(
      error.message,
      /^Version 2 of the steps of order is not there/,
    );
  });
  assert.deepEqual(done, ["charge card"]);
});

test.inMemory("work of an older release goes on in the newer one by the IDs alone, with its input parsed again", async ({ kv }) => {
  using releases = new Releases(kv);
  const { done } = releases;
  const taskId = await releases.begin(releases.old, "1");
  await releases.serve([releases.new], async (server) => {
    await releases.lookAfter(HOUR, server);
    const { result } = await reached(server, taskId, "completed");
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /expected number/);
  });
  assert.deepEqual(done, ["charge"]);
});

test.inMemory("work whose input does not fit a newer release of the same version ends with the words of wrong arguments", async ({ kv }) => {
  using releases = new Releases(kv);
  const { done } = releases;
  const taskId = await releases.begin(releases.old, "1");
  const next = { charge: "charge", version: 1, input: z.int() };
  await releases.serve([order(done, next)], async (server) => {
    await releases.lookAfter(HOUR, server);
    const { result } = await reached(server, taskId, "completed");
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /expected number/);
  });
  assert.deepEqual(done, ["charge"]);
});
