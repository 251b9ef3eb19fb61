/** Approved durable work whose permission ends, or whose process stops. */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { openRegister } from "../../../packages/operate/register.ts";
import { callApprovals } from "../../../src/features/approvals/approval_store.ts";
import { receiptStore } from "../../../src/features/approvals/receipts.ts";
import { receiptKey, taskKey, taskRunKey } from "../../../src/core/kv/keys.ts";
import {
  endWait,
  noteLateEnd,
} from "../../../src/features/questions/wait_receipt.ts";
import type { WaitRecord } from "../../../src/features/questions/wait_record.ts";
import { waitStore } from "../../../src/features/questions/waits.ts";
import { resultOf } from "../../kit/answer.ts";
import { openTestKv } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { kvWith } from "../../kit/kv.ts";
import { silentLogger } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import { BASE_URL } from "../../kit/server.ts";
import { CALL, followTask, FORMS, open, PAYLOAD, press } from "./approving.ts";

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

interface Work {
  kv: Deno.Kv;
  subject: string;
  taskId: string;
}

/** Ways in which approved work ends, or is about to end, elsewhere. */
const ENDS: Record<string, (work: Work) => Promise<unknown>> = {
  "its waits have ended": ({ kv, subject }) =>
    waitStore(new Database(kv)).endAllOf(subject),
  "it has ended, and its waits have not yet": async ({ kv, taskId }) => {
    const { key, value } = await kv.get<Json>(taskKey(taskId));
    await kv.atomic().delete(taskRunKey(taskId))
      .set(key, { ...value, status: "cancelled" }).commit();
  },
  "its person was ended": async ({ kv, subject }) => {
    const register = openRegister(new Database(kv), silentLogger);
    await register.endPerson(subject);
    await register.close();
  },
};

for (const [way, end] of Object.entries(ENDS)) {
  Deno.test(`approved work begins no run once ${way}, and its receipt says that it was not used`, async () => {
    await using real = await openTestKv();
    const subject = "github:42";
    let hasEnded = false;
    // The approval is kept as a step of the work just before its run begins.
    const kv = kvWith(real, {
      atomic() {
        const operation = real.atomic();
        const set = operation.set.bind(operation);
        const commit = operation.commit.bind(operation);
        let taskId: string | undefined;
        operation.set = (key, value, options) => {
          if (key[0] === "task-step" && (value as Json).state === "kept") {
            taskId = String(key[1]);
          }
          return set(key, value, options);
        };
        operation.commit = async () => {
          const result = await commit();
          if (taskId !== undefined && !hasEnded) {
            hasEnded = true;
            await end({ kv: real, subject, taskId });
          }
          return result;
        };
        return operation;
      },
    });
    let runs = 0;
    const pays = tool({
      name: "pays",
      task: { durable: true },
      approval: {},
      run: () => `${++runs}`,
    });
    await using server = await startOAuthServer({ kv, tools: [pays] });
    const { headers } = await server.person();
    const { taskId, statusMessage } = await followTask(server, {
      headers,
      name: "pays",
    });
    await press(
      await open(server, statusMessage.match(/http\S+/)[0]),
      "approve",
    );
    await until(async () => {
      const { value } = await real.get<Json>(taskKey(taskId));
      return value?.status !== "working" && server.app.running === 0;
    });
    assert.deepEqual([hasEnded, runs], [true, 0]);
    const receipts = receiptStore(new Database(real), 86_400);
    const [{ begunAt, outcome }] = (await receipts.list(subject)).receipts;
    assert.deepEqual([begunAt, outcome], [undefined, undefined]);
  });
}

Deno.test("the receipt of work that is cancelled as its run begins says so", async () => {
  await using kv = await openTestKv();
  const database = new Database(kv);
  const expiresAt = database.now() + 60;
  const task = { taskId: "t", pageTask: "t", taskAddress: BASE_URL };
  await kv.set(taskRunKey("t"), { expiresAt });
  const receipts = receiptStore(database, 86_400);
  const store = callApprovals(database, receipts);
  const { id, key } = await store.open({ ...CALL, ...task }, PAYLOAD);
  const person = { subject: "ann", scopes: [] };
  const answer = { action: "accept", by: "ann", at: database.now() } as const;
  const approved = await store.press(id!, answer, person);
  const listed = await database.find<WaitRecord>(key);
  assert(await store.begin(approved!, "t", ""));
  await kv.set(taskKey("t"), { status: "cancelled", expiresAt });
  await endWait(database, listed!);
  const [{ begunAt, outcome }] = (await receipts.list("ann")).receipts;
  assert.deepEqual([begunAt !== undefined, outcome], [true, "cancelled"]);
  assert.equal(await database.find(key), undefined);
});

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
