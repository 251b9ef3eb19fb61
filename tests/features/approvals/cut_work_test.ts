/** Approved durable work whose permission ends, or whose process stops. */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { receiptStore } from "../../../src/features/approvals/receipts.ts";
import { receiptKey, taskKey } from "../../../src/core/kv/keys.ts";
import { noteLateEnd } from "../../../src/features/questions/wait_receipt.ts";
import { resultOf } from "../../kit/answer.ts";
import { openTestKv } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import type { Json } from "../../kit/message.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import { followTask, FORMS, open, press } from "./approving.ts";

const WAYS = {
  "its connection ends": ["/account/end", {}],
  "its permission is taken away": ["/account/narrow", { "scope.write": "" }],
} as const;

/** Tools that wait in a sleep, and in code that obeys the signal. */
function tools(begun: string[], finish?: AbortSignal) {
  const shared = {
    scopes: ["write"],
    task: { durable: true },
    approval: {},
  } as const;
  const sleeps = tool({
    ...shared,
    name: "sleeps",
    async run(_, { step, sleep }) {
      await step("first", () => void begun.push("sleeps"));
      await sleep("rest", 60);
      return "done";
    },
  });
  const obeys = tool({
    ...shared,
    name: "obeys",
    run(_, { signal }) {
      begun.push("obeys");
      return finish?.aborted ? "done" : new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  const reads = tool({ name: "reads", scopes: ["read"], run: () => "read" });
  return [sleeps, obeys, reads];
}

for (const [way, [path, form]] of Object.entries(WAYS)) {
  Deno.test(`the receipt of approved work says that it was cut off if ${way}`, async () => {
    using time = new FakeTime();
    const begun: string[] = [];
    await using server = await startOAuthServer({ tools: tools(begun) });
    const { headers } = await server.person({ scope: "read write" });
    const links: string[] = [];
    for (const name of ["sleeps", "obeys"]) {
      const { statusMessage } = await followTask(server, { headers, name });
      const [link] = statusMessage.match(/http\S+/);
      links.push(link);
      await press(await open(server, link), "approve");
      await until(() => begun.includes(name));
    }
    await until(() => server.app.running === 1);
    const visitor = await open(server, links[0]);
    await visitor.look();
    await visitor.press(path, { ...form });
    const rows = async () => {
      time.tick(70);
      await server.app.wake();
      await visitor.look("/calls?outcome=stopped");
      const [, part = ""] = visitor.page.text.split("<h2>Approvals</h2>");
      return part;
    };
    await until(async () => (await rows()).match(/>Cut off</g)?.length === 2);
    assert.deepEqual(begun, ["sleeps", "obeys"]);
  });
}

for (const way of ["cancel", "cancel elsewhere", "end"] as const) {
  for (const end of ["done", "failed"] as const) {
    Deno.test(`the receipt of approved work that goes on after its ${way}, and is ${end}, says so`, async () => {
      const begun = Promise.withResolvers<void>();
      const held = Promise.withResolvers<void>();
      const deaf = tool({
        name: "deaf",
        task: { durable: true },
        approval: {},
        async run() {
          begun.resolve();
          await held.promise;
          if (end === "failed") throw new Error("no");
          return "acted";
        },
      });
      await using kv = await openTestKv();
      const options = { kv, tools: [deaf] };
      await using server = await startOAuthServer(options);
      await using other = await startOAuthServer(options);
      const { headers } = await server.person();
      const asked = { headers, name: "deaf" };
      const { taskId, statusMessage } = await followTask(server, asked);
      const visitor = await open(server, statusMessage.match(/http\S+/)[0]);
      await press(visitor, "approve");
      await begun.promise;
      const canceller = way === "cancel" ? server : other;
      if (way === "end") {
        await visitor.look();
        await visitor.press("/account/end");
      } else {
        const capabilities = { ...FORMS, ...TASKS };
        const cancelling = { headers, capabilities };
        await resultOf(canceller.call("tasks/cancel", { taskId }, cancelling));
      }
      const rows = async () => {
        await visitor.look("/calls");
        return visitor.words.split("Approvals Outcome")[1] ?? "";
      };
      const [outcome, ended] = [
        way === "end" ? "Cut off" : "Cancelled",
        end === "done" ? "Done" : "Failed in the server",
      ];
      await until(async () => (await rows()).includes(` ${outcome} `));
      assert.doesNotMatch(await rows(), /all the same/);
      await until(() => server.app.running === 0);
      held.resolve();
      const told = `${outcome} It went on, and ended all the same: ${ended} `;
      await until(async () => (await rows()).includes(told));
    });
  }
}

Deno.test("the late end of a run is told once, and only of work that was cancelled or cut off", async () => {
  await using kv = await openTestKv();
  const database = new Database(kv);
  const expiresAt = database.now() + 60;
  const note = async (task: Json | undefined, receipt: Json) => {
    if (task) await kv.set(taskKey("t"), { ...task, expiresAt });
    else await kv.delete(taskKey("t"));
    await kv.set(receiptKey("r"), { ...receipt, expiresAt });
    const isFirst = await noteLateEnd(database, "r", "t", "ok");
    const { value } = await kv.get<Json>(receiptKey("r"));
    return [isFirst, value!.outcome, value!.lateEnd];
  };
  const cancelled = { status: "cancelled" };
  assert.deepEqual(await note(cancelled, {}), [true, "cancelled", "ok"]);
  assert.deepEqual(await note({ ...cancelled, isCut: true }, {}), [
    true,
    "cut",
    "ok",
  ]);
  const known = { outcome: "cancelled" };
  assert.deepEqual(await note(cancelled, known), [true, "cancelled", "ok"]);
  const told = { outcome: "cancelled", lateEnd: "failed" };
  assert.deepEqual(await note(cancelled, told), [false, "cancelled", "failed"]);
  // Another process does the work, or has done it.
  for (const status of ["working", "completed", "failed"]) {
    assert.deepEqual(await note({ status }, {}), [false, undefined, undefined]);
  }
  assert.deepEqual(await note(undefined, {}), [false, undefined, undefined]);
  const done = { outcome: "ok" };
  assert.deepEqual(await note(cancelled, done), [false, "ok", undefined]);
});

Deno.test("approved work that obeys the signal as its process stops is repeated by another, and its receipt tells that end", async () => {
  const begun: string[] = [];
  const finish = new AbortController();
  await using kv = await openTestKv();
  const options = { kv, tools: tools(begun, finish.signal) };
  {
    await using server = await startOAuthServer(options);
    const { headers } = await server.person({ scope: "write" });
    const { statusMessage } = await followTask(server, {
      headers,
      name: "obeys",
    });
    const [link] = statusMessage.match(/http\S+/);
    await press(await open(server, link), "approve");
    await until(() => begun.length === 1);
    finish.abort();
  }
  const receipts = receiptStore(new Database(kv), 86_400);
  assert.equal((await receipts.list()).receipts[0].outcome, undefined);
  await using server = await startOAuthServer(options);
  await until(async () => {
    await server.app.wake();
    return (await receipts.list()).receipts[0].outcome === "ok";
  });
  assert.deepEqual(begun, ["obeys", "obeys"]);
});
