/** Approvals of tasks and of durable work, which go on by themselves. */
import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { callApprovals } from "../../../src/features/approvals/approval_store.ts";
import { isToBeDecided } from "../../../src/features/approvals/approver.ts";
import type { CallApproval } from "../../../src/features/approvals/call_approval.ts";
import { answerRemembered } from "../../../src/features/approvals/remembered_work.ts";
import { receiptStore } from "../../../src/features/approvals/receipts.ts";
import { taskRunKey } from "../../../src/core/kv/keys.ts";
import {
  type Waiting,
  waitStore,
} from "../../../src/features/questions/waits.ts";
import { tool, z } from "../../../src/mod.ts";
import { testServer } from "../../../packages/testing/mod.ts";
import { resultOf } from "../../kit/answer.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { browserOf } from "../../kit/browser.ts";
import { openTestKv } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import { BASE_URL } from "../../kit/server.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import { CALL, followTask, FORMS, open, PAYLOAD, press } from "./approving.ts";

let ran: string[] = [];

const archive = tool({
  name: "archive",
  input: z.object({ name: z.string().trim() }),
  task: { durable: true },
  approval: { expiresIn: 600 },
  async run({ name }, { approval, step, sleep }) {
    ran.push(await step("first", () => `${name} ${approval!.id}`));
    await sleep("rest", 3600);
    ran.push(await step("second", () => `${name} ${approval!.id}`));
    return "archived";
  },
});

const TOOLS = { tools: [archive] };

type Store = ReturnType<typeof callApprovals>;

/** Opens an approval of a call of `pay`. */
function openPay(store: Store, own: Partial<Parameters<Store["open"]>[0]>) {
  return store.open({ ...CALL, ...own }, PAYLOAD);
}

Deno.test("durable work runs with the kept arguments and one key, over its sleeps and deaths", async () => {
  ran = [];
  await using server = await testServer(TOOLS);
  const ann = server.as({ subject: "ann" });
  const task = await ann.startTask(archive, { name: " tea " });
  const { input } = await ann.approve();
  assert.deepEqual(input, { name: "tea" });
  const result = task.result();
  await until(() => ran.length > 0);
  await server.advance(3601);
  assert.equal((await result).text, "archived");
  assert.equal(new Set(ran).size, 1, String(ran));
  assert.match(ran[0], /^tea [\w-]{43}$/);
});

Deno.test("approved durable work goes on although `when` or `remember` throws by then", async () => {
  for (const hook of ["when", "remember"] as const) {
    let isBroken = false;
    const use = <T>(value: T): T => {
      if (isBroken) throw new Error("away");
      return value;
    };
    let count = 0;
    const move = tool({
      name: "move",
      task: { durable: true },
      approval: hook === "when"
        ? { when: () => use(true) }
        : { remember: () => use({ key: "k", label: "L", seconds: 60 }) },
      async run(_, { step, sleep }) {
        await step("first", () => void count++);
        await sleep("rest", 3600);
        return "moved";
      },
    });
    await using server = await testServer({ tools: [move] });
    const ann = server.as({ subject: "ann" });
    const task = await ann.startTask(move);
    await ann.approve();
    await until(() => count === 1);
    isBroken = true;
    await server.advance(3601);
    assert.equal((await task.result()).text, "moved", hook);
  }
});

Deno.test("answerRemembered() ends when its work ends just before the answer", async () => {
  await using kv = await openTestKv();
  const database = new Database(kv);
  const waits = waitStore(database);
  const expiresAt = database.now() + 60;
  await kv.set(taskRunKey("work"), { expiresAt });
  const waiting: Waiting = {
    subject: "ada",
    kind: "approval",
    tool: "move",
    asker: "work",
    question: "move",
    taskId: "work",
    approval: { seconds: 60, closesAt: expiresAt },
  };
  const entry = { tool: "move", name: "k", at: 0, runs: 0, expiresAt };
  let tries = 0;
  const answered = answerRemembered(waits, {
    find() {
      assert.ok(++tries < 3, "it goes on for ever");
      return Promise.resolve({ remembered: entry, write: () => {} });
    },
    async opened() {
      const approval = await waits.open(waiting, {});
      await kv.delete(taskRunKey("work"));
      return approval as unknown as CallApproval;
    },
    receipt: () => Promise.resolve(() => {}),
  });
  await assert.rejects(answered, /The task has ended/);
});

Deno.test("the receipt of an approved run that is cancelled says so", async () => {
  let begun = 0;
  const long = tool({
    name: "long",
    task: "required",
    approval: {},
    run: (_, { signal }) =>
      new Promise<string>((_, reject) => {
        begun++;
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  });
  const sleepy = tool({
    name: "sleepy",
    task: { durable: true },
    approval: {},
    async run(_, { step, sleep }) {
      await step("first", () => void begun++);
      await sleep("rest", 3600);
      return "done";
    },
  });
  for (const { name } of [long, sleepy]) {
    begun = 0;
    await using kv = await openTestKv();
    await using server = await startOAuthServer({ kv, tools: [long, sleepy] });
    const { headers } = await server.person();
    const { taskId, statusMessage } = await followTask(server, {
      headers,
      name,
    });
    const visitor = await open(server, statusMessage.match(/http\S*/)[0]);
    await press(visitor, "approve");
    await until(() => begun === 1);
    const capabilities = { ...FORMS, ...TASKS };
    await resultOf(
      server.call("tasks/cancel", { taskId }, { headers, capabilities }),
    );
    const receipts = receiptStore(new Database(kv), 86_400);
    await until(async () =>
      (await receipts.list()).receipts[0].outcome === "cancelled"
    );
    await visitor.look("/calls");
    const [, rows] = visitor.page.text.split("<h2>Approvals</h2>");
    assert.match(rows, /"badge">Cancelled</, name);
  }
});

Deno.test("durable work that no one approves in time, or that is refused, runs nothing", async () => {
  ran = [];
  await using server = await testServer(TOOLS);
  const ann = server.as({ subject: "ann" });
  const late = await ann.startTask(archive, { name: "late" });
  await until(async () => (await late.status()).statusMessage !== undefined);
  await server.advance(601);
  const { text, isError } = await late.result();
  assert.equal(isError, true);
  assert.match(text, /No one approved this in time/);
  await assert.rejects(ann.approve(), /No call of a tool waits/);
  const refused = await ann.startTask(archive, { name: "refused" });
  await ann.refuse("Keep it");
  assert.match(
    (await refused.result()).text,
    /and said: "Keep it"\. .*This task has ended: begin another only if/,
  );
  assert.deepEqual(ran, []);
});

Deno.test("durable work of a server with sign-in goes on once its person has pressed on the page", async () => {
  ran = [];
  await using server = await startOAuthServer(TOOLS);
  const { headers } = await server.person();
  const { taskId, statusMessage } = await followTask(server, {
    headers,
    name: "archive",
    input: { name: "a" },
  });
  const [link] = statusMessage.match(/http\S*/);
  const visitor = await open(server, link);
  assert.match(visitor.words, /wants to run: archive/);
  await press(visitor, "approve");
  await until(() => ran.length === 1);
  visitor.page = await visitor.browser.open(link);
  assert.match(visitor.words, /It has begun/);
  const capabilities = { ...FORMS, ...TASKS };
  await resultOf(
    server.call("tasks/cancel", { taskId }, { headers, capabilities }),
  );
});

for (const way of ["ends", "is cancelled"] as const) {
  Deno.test(`the receipt of durable work that ${way} says so, though an old page says meanwhile that its person has looked`, async () => {
    using time = new FakeTime();
    ran = [];
    await using server = await startOAuthServer(TOOLS);
    const { headers } = await server.person();
    const { taskId, statusMessage } = await followTask(server, {
      headers,
      name: "archive",
      input: { name: "a" },
    });
    const [link] = statusMessage.match(/http\S*/);
    const visitor = await open(server, link);
    const { page } = visitor;
    await press(visitor, "approve");
    await until(() => ran.length === 1 && server.app.running === 0);
    visitor.page = page;
    await press(visitor, "looked");
    const receipts = receiptStore(new Database(server.kv), 86_400);
    const outcome = async () => (await receipts.list()).receipts[0].outcome;
    assert.equal(await outcome(), undefined);
    if (way === "is cancelled") {
      const capabilities = { ...FORMS, ...TASKS };
      await resultOf(
        server.call("tasks/cancel", { taskId }, { headers, capabilities }),
      );
    }
    time.tick(3600);
    await until(async () => {
      await server.app.wake();
      return await outcome() !== undefined;
    });
    assert.equal(await outcome(), way === "ends" ? "ok" : "cancelled");
  });
}

Deno.test("no press counts once its time is over, also for durable work that no process could end meanwhile", async () => {
  // Timers run by the clock of the machine: no process sees the end.
  using time = new FakeTime();
  await using server = await startOAuthServer(TOOLS);
  const { headers } = await server.person();
  const { statusMessage } = await followTask(server, {
    headers,
    name: "archive",
    input: { name: "a" },
  });
  const [, link] = /\/approve\/([\w-]+)/.exec(statusMessage)!;
  const store = callApprovals(new Database(server.kv));
  const person = { subject: "github:42", scopes: [] };
  time.tick(599);
  assert.ok(await store.findPage(link, person));
  time.tick(1);
  const pressed = { action: "accept", by: person.subject, at: 0 } as const;
  assert.equal(await store.press(link, pressed, person), undefined);
});

Deno.test("a plain task that has ended, also elsewhere, takes no press and begins no run", async () => {
  await using kv = await openTestKv();
  const setStatus = (status: string) =>
    kv.set(["task", "t"], { status, expiresAt: 4e9 });
  const person = { subject: "github:42", scopes: [] };
  const pressed = { action: "accept", by: person.subject, at: 0 } as const;
  // As another process does it just before the commit of the beginning.
  let isEndedMeanwhile = false;
  const store = callApprovals(
    new Database(kvWith(kv, {
      atomic: atomicWith(kv, async (commit) => {
        if (isEndedMeanwhile) await setStatus("cancelled");
        return await commit();
      }),
    })),
  );
  const asked = async (asker: string) => {
    await setStatus("working");
    const { key, id: link } = await openPay(store, {
      subject: person.subject,
      asker,
      pageTask: "t",
    });
    return { key, link: link! };
  };
  for (const status of ["failed", "cancelled", "completed"]) {
    const { link } = await asked(status);
    await setStatus(status);
    assert.equal(await store.findPage(link, person), undefined);
    assert.equal(await store.press(link, pressed, person), undefined);
    await setStatus("input_required");
    assert.ok(await store.press(link, pressed, person));
    // A refusal ends the task, and its page says so.
    await setStatus(status);
    assert.equal((await store.findPage(link, person))?.state, "answered");
  }

  const { key, link } = await asked("late");
  const approval = (await store.press(link, pressed, person))!;
  await setStatus("failed");
  await assert.rejects(store.begin(approval, "run", ""), /The task has ended/);
  await setStatus("working");
  isEndedMeanwhile = true;
  assert.equal(await store.begin(approval, "run", ""), undefined);
  isEndedMeanwhile = false;
  await setStatus("working");
  assert.ok(await store.begin(approval, "run", ""));
  assert.equal((await store.read({ key }))?.state, "used");
});

Deno.test("a press that is under way changes no answer that was given meanwhile, and its page shows that answer", async () => {
  await using kv = await openTestKv();
  await kv.set(["task", "t"], { status: "working", expiresAt: 4e9 });
  let held = Promise.withResolvers<void>();
  let reached: (() => void) | undefined;
  const slowKv = kvWith(kv, {
    atomic: atomicWith(kv, async (commit) => {
      if (reached) {
        reached();
        reached = undefined;
        await held.promise;
      }
      return await commit();
    }),
  });
  const database = new Database(kv);
  const receipts = receiptStore(database, 86_400);
  const store = callApprovals(database, receipts);
  const now = database.now();
  const slow = callApprovals(
    new Database(slowKv),
    receiptStore(new Database(slowKv), 86_400),
  );
  const person = { subject: "ann", scopes: [] };
  for (const pageTask of [undefined, "t"]) {
    for (const first of ["decline", "accept"] as const) {
      const asker = `${pageTask} ${first}`;
      const { id: link } = await openPay(store, { asker, pageTask });
      const press = (by: typeof store, action: string, at: number) =>
        by.press(link!, { action, by: "ann", at, reason: "" } as never, person);
      const stopped = new Promise<void>((resolve) => reached = resolve);
      held = Promise.withResolvers();
      const late = press(slow, "accept", now + 1);
      await stopped;
      const given = await press(store, first, now);
      held.resolve();
      assert.equal(await late, undefined);
      const found = await store.findPage(link!, person);
      for (const approval of [given, found]) {
        assert.equal(approval?.answer?.action, first);
        assert.equal(approval?.answer?.at, now);
      }
      const [receipt] = (await receipts.list("ann")).receipts;
      assert.equal(receipt.at, now);
      assert.equal(receipt.isRefused, first === "decline" || undefined);
      await receipts.records.forgetAllOf!("ann");
    }
  }
});

Deno.test("press() with a signature changes no answer that was given since it was signed", async () => {
  await using kv = await openTestKv();
  const store = callApprovals(new Database(kv));
  const person = { subject: "ann", scopes: [] };
  const { id } = await openPay(store, {
    approval: { seconds: 600, passkey: "required" },
  });
  const seen = await store.findPage(id!, person);
  const by = { by: "ann", at: 1 };
  await store.press(id!, { action: "decline", reason: "", ...by }, person);
  const signed = { action: "accept", passkey: "Phone", ...by } as const;
  const press = (seen?: CallApproval) =>
    store.press(id!, signed, person, undefined, seen);
  assert.equal(await press(seen), undefined);
  const now = await store.findPage(id!, person);
  assert.equal((await press(now))?.answer?.action, "accept");
});

Deno.test("a cancelled task leaves nothing that could be approved", async () => {
  ran = [];
  await using server = await testServer(TOOLS);
  const ann = server.as({ subject: "ann" });
  const task = await ann.startTask(archive, { name: "a" });
  await until(async () => (await task.status()).statusMessage !== undefined);
  await task.cancel();
  await assert.rejects(ann.approve(), /No call of a tool waits/);
  assert.deepEqual(ran, []);
});

Deno.test("isToBeDecided() lets no one approve a task after a refusal, which has ended it, nor what its caller took back", () => {
  const refused = {
    state: "answered",
    answer: { action: "decline" },
    approval: { seconds: 60 },
  };
  for (
    const [changes, expected] of [
      [{}, true],
      [{ pageTask: "t" }, false],
      [{ answer: { action: "accept" } }, false],
      [{ state: "used" }, false],
      [{
        subject: "ann",
        approval: { seconds: 60, scope: "pay:approve" },
        answer: { action: "decline", by: "ann" },
      }, false],
      [{ state: "open", answer: undefined, pageTask: "t" }, true],
    ] as const
  ) {
    const approval = { ...refused, ...changes } as never;
    assert.equal(isToBeDecided(approval), expected, JSON.stringify(changes));
  }
});

Deno.test("the page at another address says that work waits for the old one", async () => {
  ran = [];
  await using kv = await openTestKv();
  const { provider, address } = await (async () => {
    await using server = await startOAuthServer({ kv, ...TOOLS });
    const { headers } = await server.person();
    const input = { name: "x" };
    const of = { headers, name: "archive", input };
    const { statusMessage } = await followTask(server, of);
    const address = /\/approve\/[\w-]{43}/.exec(statusMessage)![0];
    return { provider: server.provider, address };
  })();
  const baseUrl = "https://elsewhere.example.com";
  await using renamed = await startOAuthServer({
    kv,
    ...TOOLS,
    baseUrl,
    provider,
  });
  const browser = browserOf(renamed, { baseUrl });
  const visitor = new AccountVisitor(
    browser,
    await browser.open(baseUrl + address),
  );
  await visitor.press("/account/sign-in");
  await press(visitor, "approve");
  assert.match(
    visitor.words,
    /Approved\. The work goes on once the server has its address http:\/\/127\.0\.0\.1:3000 again\./,
  );
  await using server = await startOAuthServer({ kv, ...TOOLS, provider });
  const back = await open(server, `${BASE_URL}${address}`);
  assert.match(back.words, /goes on by itself/);
  await until(() => ran.length > 0);
});
