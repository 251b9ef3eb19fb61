/** Durable calls while the database answers later than anyone waits for it. */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../src/authoring/tool.ts";
import { memoryKv } from "../../src/core/kv/memory_kv.ts";
import type { Kv } from "../../src/core/kv/kv.ts";
import { FakeProvider } from "../kit/fake_provider.ts";
import { taskIdOf } from "../kit/hand_over.ts";
import { kvThrough } from "../kit/kv.ts";
import type { Json } from "../kit/message.ts";
import { BASE_URL, Sender } from "../kit/server.ts";
import { TASKS } from "../kit/task.ts";
import { Random } from "./random.ts";
import { Scheduler } from "./scheduler.ts";
import { ServerProcess } from "./server_process.ts";

const CALLS = 100;
/** The time in which all calls begin. */
const BEGIN_SECONDS = 60;

Deno.test("a hundred durable calls at a database that answers seven to nine seconds late are all answered with the ID of their task", async () => {
  using scheduler = new Scheduler(16);
  const random = new Random(16, "late");
  let isOver = false;
  let lates = 0;
  const late = () => {
    lates++;
    return scheduler.sleep(random.between(7000, 9000));
  };
  const kv = kvThrough(memoryKv(), async (operation) => {
    if (isOver || random.chance(0.9)) return await operation();
    const isLateBefore = random.chance(0.5);
    if (isLateBefore) await late();
    const result = await operation();
    if (!isLateBefore) await late();
    return result;
  });
  /** The calls that did their work, by their arguments. */
  const works = new Map<number, string[]>();
  const order = tool({
    name: "order",
    task: { durable: true },
    input: z.object({ call: z.int() }),
    run: async ({ call }, { step, requestId }) => {
      await step("pay", () => {
        works.set(call, [...works.get(call) ?? [], requestId]);
      }, { retries: 9 });
      await step("pack", () => scheduler.sleep(60_000), { retries: 9 });
      return "done";
    },
  });
  const process = new ServerProcess("p1", scheduler, {
    kv: () => kv as unknown as Kv,
    provider: new FakeProvider(),
    definitions: { tools: [order] },
    env: { BASE_URL },
    onLog() {},
  });
  class Late extends Sender {
    async fetch(path: string, init: RequestInit = {}): Promise<Response> {
      const answer = await process.send(BASE_URL + path, init, { way: 1 });
      return new Response(answer.text, answer);
    }
  }
  const sender = new Late();
  const ids: string[] = [];
  const call = async (n: number) => {
    await scheduler.sleep(random.between(0, BEGIN_SECONDS * 1000));
    // Every other client knows tasks.
    const capabilities = n % 2 === 0 ? TASKS : {};
    const params = { name: "order", arguments: { call: n } };
    for (;;) {
      const response = await sender.call("tools/call", params, {
        capabilities,
      });
      const text = await response.text();
      if (response.status === 503) {
        await scheduler.sleep(1000);
        continue;
      }
      assert.equal(response.status, 200, text);
      const data = text.startsWith("{")
        ? text
        : text.match(/^data: (.*)$/gm)!.at(-1)!.slice("data: ".length);
      const { result, error }: Json = JSON.parse(data);
      const words = error?.message ?? result.content?.[0]?.text;
      if (/Storage is unavailable/.test(words)) {
        await scheduler.sleep(1000);
        continue;
      }
      assert(result, text);
      ids[n] = result.taskId ?? taskIdOf(result);
      return;
    }
  };
  const calls = Promise.all(Array.from({ length: CALLS }, (_, n) => call(n)));
  void calls.finally(() => isOver = true);
  while (!isOver) assert(await scheduler.step());
  // Each was given up after five seconds. Who repeats it is not refused: the
  // database has answered later operations meanwhile.
  assert(lates > CALLS, `${lates} operations were late`);
  // All that was begun comes to its end.
  const { promise, resolve } = Promise.withResolvers<void>();
  scheduler.plan(10 * 60_000, "all is over", resolve);
  let hasPassed = false;
  void promise.then(() => hasPassed = true);
  while (!hasPassed) assert(await scheduler.step());
  // No work was done that no client knows of.
  for (const [n, id] of ids.entries()) {
    assert.deepEqual([...new Set(works.get(n))], [id]);
  }
  process.die();
});
