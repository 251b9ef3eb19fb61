/** Durable work of a connection that its person pauses. */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { type Grant, pauseGrant } from "../../../src/core/oauth/grant.ts";
import { callApprovals } from "../../../src/features/approvals/approval_store.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf } from "../../kit/answer.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import type { HeadersOf, Json } from "../../kit/message.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { switchable } from "../../kit/switchable_kv.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import { followTask, open, press } from "../approvals/approving.ts";

/** Makes durable work of two steps, of which the first waits. */
function inSteps(did: string[], first: Promise<void>) {
  return tool({
    name: "works",
    task: { durable: true },
    async run(_, { step }) {
      await step("first", async () => {
        did.push("first");
        await first;
      });
      await step("second", () => void did.push("second"));
      return "done";
    },
  });
}

for (const way of ["resume", "end"] as const) {
  test.inMemory(`durable work of a paused connection waits, and ${way === "end" ? "ends with it" : "goes on once it is resumed"}`, async ({ kv }) => {
    using time = new FakeTime();
    const step = Promise.withResolvers<void>();
    const did: string[] = [];
    const durable = { durable: true } as const;
    const works = inSteps(did, step.promise);
    const sleeps = tool({
      name: "sleeps",
      task: durable,
      async run(_, context) {
        await context.sleep("rest", 60);
        await context.step("woken", () => void did.push("woken"));
        return "done";
      },
    });
    const waits = tool({
      name: "waits",
      task: durable,
      approval: { expiresIn: 3600 },
      run: () => "done",
    });
    const plain = tool({
      name: "plain",
      task: "required",
      run: () => new Promise<string>(() => {}),
    });
    const tools = [works, sleeps, waits, plain];
    await using server = await startOAuthServer({ kv, tools });
    const { headers } = await server.person();
    const begin = async (name: string): Promise<string> => {
      const options = { headers, capabilities: TASKS };
      const called = server.call("tools/call", { name }, options);
      return (await resultOf(called)).taskId;
    };
    const recordOf = async (taskId: string) =>
      (await kv.get<Json>(["task", taskId])).value!;
    const stateOf = async (taskId: string) => (await recordOf(taskId)).status;
    const approving = await followTask(server, { headers, name: "waits" });
    const durableIds = [await begin("works"), await begin("sleeps")];
    const plainId = await begin("plain");
    await until(() => did.length === 1 && server.app.running === 2);

    const visitor = await AccountVisitor.signIn(server);
    await visitor.press("/account/pause");
    time.tick(2);
    await until(async () => await stateOf(plainId) === "failed");
    step.resolve();
    await until(() => server.app.running === 0);
    const isSaid = async (taskId: string) =>
      (await recordOf(taskId)).waitsFor === "Its connection is paused";
    assert.ok(await isSaid(durableIds[0]));
    for (const _ of "12") {
      time.tick(70);
      await server.app.wake();
    }
    for (const taskId of [...durableIds, approving.taskId]) {
      assert.equal(await stateOf(taskId), "working");
    }
    for (const taskId of durableIds) assert.ok(await isSaid(taskId));
    assert.deepEqual(did, ["first"]);

    await visitor.look();
    await visitor.press(`/account/${way}`);
    if (way === "resume") {
      const [link] = approving.statusMessage.match(/http\S+/);
      await press(await open(server, link), "approve");
      durableIds.push(approving.taskId);
    }
    const state = way === "resume" ? "completed" : "cancelled";
    await until(async () => {
      time.tick(70);
      await server.app.wake();
      const states = await Promise.all(durableIds.map(stateOf));
      return states.every((it) => it === state);
    });
    const after = way === "resume" ? ["second", "woken"] : [];
    assert.deepEqual(did.sort(), ["first", ...after]);
  });
}

test.inMemory("durable work of a paused connection is looked at about once an hour, and goes on at once when it is resumed", async ({ kv: real }) => {
  using time = new FakeTime();
  let commits = 0;
  const kv = kvWith(real, {
    atomic: atomicWith(real, (commit) => {
      commits++;
      return commit();
    }),
  });
  const sleeps = tool({
    name: "sleeps",
    task: { durable: true },
    async run(_, { sleep }) {
      await sleep("rest", 60);
      return "done";
    },
  });
  await using server = await startOAuthServer({ kv, tools: [sleeps] });
  const { headers } = await server.person();
  const options = { headers, capabilities: TASKS };
  const call = { name: "sleeps" };
  const { taskId } = await resultOf(server.call("tools/call", call, options));
  const change = async (path: string) =>
    await (await AccountVisitor.signIn(server)).press(path);
  await change("/account/pause");
  await until(() => server.app.running === 0);
  const before = commits;
  for (let quarters = 0; quarters < 4 * 24; quarters++) {
    time.tick(15 * 60);
    await server.app.wake();
  }
  const looks = (commits - before) / 2;
  assert(looks > 5 && looks <= 30, `${looks} looks`);
  await change("/account/resume");
  let seconds = 0;
  await until(async () => {
    // The first wake may come too early, and the second comes soon after it.
    if (seconds++ < 10) time.tick(1);
    await server.app.wake();
    const task = await real.get<Json>(["task", taskId]);
    return task.value!.status === "completed";
  });
});

test.inMemory("durable work goes on within two minutes of the resume, also if the process that resumed its connection died right after it", async ({ kv }) => {
  using time = new FakeTime();
  const did: string[] = [];
  const works = tool({
    name: "works",
    task: { durable: true },
    async run(_, { sleep, step }) {
      await sleep("rest", 60);
      await step("works", () => void did.push("works"));
      return "done";
    },
  });
  await using server = await startOAuthServer({ kv, tools: [works] });
  const { headers } = await server.person();
  const options = { headers, capabilities: TASKS };
  await resultOf(server.call("tools/call", { name: "works" }, options));
  await (await AccountVisitor.signIn(server)).press("/account/pause");
  // It is looked at less and less often.
  for (let quarters = 0; quarters < 4 * 24; quarters++) {
    time.tick(15 * 60);
    await server.app.wake();
  }
  const state = switchable(kv);
  await using dying = await startOAuthServer({
    kv: state.kv,
    tools: [works],
    log: {
      write({ message }) {
        if (message.startsWith("Connection resumed")) state.isUp = false;
      },
    },
  });
  const visitor = await AccountVisitor.signIn(dying);
  await visitor.press("/account/resume");
  assert.equal(state.isUp, false);
  for (let seconds = 0; seconds < 120; seconds += 10) {
    time.tick(10);
    await server.app.wake();
  }
  assert.deepEqual(did, ["works"]);
});

test.inMemory("durable work whose connection is paused during a step goes on at once when it is resumed", async ({ kv }) => {
  using time = new FakeTime();
  const step = Promise.withResolvers<void>();
  const did: string[] = [];
  const works = inSteps(did, step.promise);
  await using server = await startOAuthServer({ kv, tools: [works] });
  const { headers } = await server.person();
  const call = { name: "works" };
  await resultOf(server.call("tools/call", call, {
    headers,
    capabilities: TASKS,
  }));
  await until(() => did.length === 1);
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/pause");
  time.tick(2);
  step.resolve();
  await until(() => server.app.running === 0);
  await visitor.press("/account/resume");
  let seconds = 0;
  await until(async () => {
    if (seconds++ < 10) time.tick(1);
    await server.app.wake();
    return did.length === 2;
  });
});

for (const paused of [0, 1]) {
  test.inMemory(`durable work goes on while its ${paused === 0 ? "first" : "last"} connection is paused and the other is not, and waits while both are`, async ({ kv }) => {
    using time = new FakeTime();
    const did: string[] = [];
    const works = tool({
      name: "works",
      task: { durable: true },
      async run(_, { sleep, step }) {
        for (const name of ["one", "two"]) {
          await sleep(name, 60);
          await step(name, () => void did.push(name));
        }
        return "done";
      },
    });
    await using server = await startOAuthServer({ kv, tools: [works] });
    const options: { headers: HeadersOf; capabilities: Json }[] = [];
    const clients: string[] = [];
    for (const _ of "12") {
      const { headers, client } = await server.person();
      options.push({ headers, capabilities: TASKS });
      clients.push(client.clientId);
    }
    const grants = await Array.fromAsync(kv.list<Json>({ prefix: ["grant"] }));
    const ids = clients.map((id) =>
      grants.find(({ value }) => value.clientId === id)!.value.id
    );
    const call = { name: "works" };
    const { taskId } = await resultOf(
      server.call("tools/call", call, options[0]),
    );
    await resultOf(server.call("tasks/get", { taskId }, options[1]));
    const visitor = await AccountVisitor.signIn(server);
    const change = async (which: number, to: "pause" | "resume") => {
      await visitor.look();
      await visitor.press(`/account/${to}`, { grant: ids[which] });
      time.tick(2);
    };
    const wake = async () => {
      time.tick(130);
      await server.app.wake();
    };
    await change(paused, "pause");
    await until(async () => {
      await wake();
      return did.length === 1;
    });
    await change(1 - paused, "pause");
    for (const _ of "123") await wake();
    assert.deepEqual(did, ["one"]);
    await change(1 - paused, "resume");
    await until(async () => {
      await wake();
      const { value } = await kv.get<Json>(["task", taskId]);
      return value!.status === "completed";
    });
    assert.deepEqual(did, ["one", "two"]);
  });
}

test.inMemory("a press counts before a pause and after it, not in between, and its durable work then runs once, also if another release resumed it", async ({ kv }) => {
  using time = new FakeTime();
  const did: string[] = [];
  const moveAs = (name: string) =>
    tool({
      name,
      input: z.object({ to: z.string() }),
      task: { durable: true },
      approval: { expiresIn: 3600 },
      async run({ to }, { step }) {
        await step("move", () => void did.push(to));
        return "done";
      },
    });
  const links: string[] = [];
  const taskIds: string[] = [];
  const statesOf = async () => {
    const found = taskIds.map((id) => kv.get<Json>(["task", id]));
    return (await Promise.all(found)).map(({ value }) => value!.status);
  };
  {
    await using server = await startOAuthServer({
      kv,
      tools: [moveAs("move")],
    });
    const { headers } = await server.person();
    for (const to of ["early", "late"]) {
      const of = { headers, name: "move", input: { to } };
      const { taskId, statusMessage } = await followTask(server, of);
      taskIds.push(taskId);
      links.push(statusMessage.match(/\/approve\/([\w-]+)/)[1]);
    }
  }
  // The pause comes before any process has seen the press.
  const subject = "github:42";
  const approve = async (id: string) => {
    const database = new Database(kv);
    const by = { action: "accept", by: subject, at: database.now() } as const;
    const person = { subject, scopes: [] };
    return await callApprovals(database).press(id, by, person) !== undefined;
  };
  assert.equal(await approve(links[0]), true);
  for await (const { key, value } of kv.list<Grant>({ prefix: ["grant"] })) {
    await kv.set(key, pauseGrant(value, Math.floor(Date.now() / 1000)));
  }
  await using server = await startOAuthServer({ kv, tools: [moveAs("move")] });
  // A release without the tool resumes the connection.
  await using other = await startOAuthServer({ kv, tools: [moveAs("other")] });
  const wake = async () => {
    time.tick(70);
    for (const one of [server, other]) await one.app.wake();
  };
  for (const _ of "123") await wake();
  assert.equal(await approve(links[1]), false);
  await wake();
  assert.deepEqual([await statesOf(), did], [["working", "working"], []]);
  await (await AccountVisitor.signIn(other)).press("/account/resume");
  await until(async () => {
    await wake();
    return (await statesOf())[0] === "completed";
  });
  assert.equal(await approve(links[1]), true);
  await until(async () => {
    await wake();
    return (await statesOf())[1] === "completed";
  });
  assert.deepEqual(did, ["early", "late"]);
});
