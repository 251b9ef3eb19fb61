/** Approvals of calls that act with an account of their caller. */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import type {
  Account,
  AccountService,
} from "../../../src/authoring/account.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf } from "../../kit/answer.ts";
import { connect, openConnect, startConnected } from "../../kit/connected.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { keyOf, KeyService } from "../../kit/key_service.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import {
  clientOf,
  followTask,
  FORMS,
  linkOf,
  open,
  press,
} from "./approving.ts";

/** Tools that pay at a service: a call, a task, and durable work. */
function paying(linear: AccountService) {
  const input = z.object({ to: z.string() });
  const needs = { linear };
  const pay = async (account: Account) => (await account.fetch("/pay")).text();
  return [
    tool({
      name: "pay",
      input,
      needs,
      approval: {
        remember: () => ({ key: "all", label: "payments", seconds: 3600 }),
      },
      run: (_, { needs }) => pay(needs.linear),
    }),
    tool({
      name: "task",
      input,
      needs,
      task: "required",
      approval: {},
      run: (_, { needs }) => pay(needs.linear),
    }),
    tool({
      name: "work",
      input,
      needs,
      task: { durable: true },
      approval: {},
      async run(_, { needs, step, sleep }) {
        const first = await step("first", () => pay(needs.linear));
        await sleep("rest", 60);
        return `${first}, ${await step("second", () => pay(needs.linear))}`;
      },
    }),
  ];
}

const INPUT = { to: "ann" };

/** Reads what was paid, by the keys. */
const paidAt = ({ seen }: KeyService) =>
  seen.filter(([path]) => path === "/api/pay").map(([, key]) => key);
const bearer = (name: string) => `Bearer ${keyOf(name)}`;

/** Starts a server whose person has connected an account, `ada@work`. */
async function startPaying(service: KeyService, check = {}) {
  const linear = service.key("linear", check);
  const server = await startConnected(linear, { tools: paying(linear) });
  await connect(await openConnect(server), keyOf("ada@work"));
  return server;
}

/** Replaces the account of the person, a second later. */
async function swap(server: OAuthServer, name: string, time: FakeTime) {
  time.tick(1);
  const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
  await visitor.press("/account/accounts/disconnect");
  await connect(await openConnect(server), keyOf(name));
}

async function begin(server: OAuthServer, name: string) {
  const { headers } = await server.person();
  const asked = { headers, name, input: INPUT };
  const { taskId, statusMessage } = await followTask(server, asked);
  const capabilities = { ...FORMS, ...TASKS };
  return {
    link: statusMessage.match(/^http\S*$/m)[0] as string,
    status: () =>
      resultOf(server.call("tasks/get", { taskId }, { headers, capabilities })),
  };
}

for (const isNamed of [true, false]) {
  const check = isNamed ? {} : { check: undefined };
  const who = isNamed ? "ada@work" : "unnamed";

  for (const generation of ["2025", "2026"] as const) {
    Deno.test(`${generation}: a call runs with the account that its page names (${who}), and asks anew once another is there`, async () => {
      using time = new FakeTime();
      await using service = new KeyService("ada@work", "ada@home");
      await using server = await startPaying(service, check);
      const call = await clientOf(server, generation);
      const link = linkOf(await resultOf(call("pay", INPUT)));
      const visitor = await open(server, link);
      assert.match(visitor.words, new RegExp(`Account at Linear ${who} `));
      await press(visitor, "approve");
      await swap(server, "ada@home", time);
      const other = linkOf(await resultOf(call("pay", INPUT)));
      assert.notEqual(other, link);
      assert.deepEqual(paidAt(service), []);
      const page = await open(server, other);
      assert.match(
        page.words,
        new RegExp(`Account at Linear ${isNamed ? "ada@home" : who} `),
      );
      await press(page, "approve");
      const { content } = await resultOf(call("pay", INPUT));
      assert.equal(content[0].text, "ada@home");
      assert.deepEqual(paidAt(service), [bearer("ada@home")]);
      await page.look("/calls");
      assert.match(page.words, /Account at Linear/);
    });
  }

  Deno.test(`calls that run without a press do so with the account that the person has allowed (${who})`, async () => {
    using time = new FakeTime();
    await using service = new KeyService("ada@work", "ada@home");
    await using server = await startPaying(service, check);
    const call = await clientOf(server, "2026");
    const visitor = await open(
      server,
      linkOf(await resultOf(call("pay", INPUT))),
    );
    await visitor.press(new URL(visitor.page.url).pathname, {
      answer: "approve",
      remember: "on",
    });
    for (const to of ["ann", "bob"]) await resultOf(call("pay", { to }));
    assert.equal(paidAt(service).length, 2);
    await swap(server, "ada@home", time);
    linkOf(await resultOf(call("pay", { to: "cleo" })));
    assert.equal(paidAt(service).length, 2);
  });

  Deno.test(`a task that waits for its approval begins nothing once its account (${who}) is gone`, async () => {
    using time = new FakeTime();
    await using service = new KeyService("ada@work", "ada@home");
    await using server = await startPaying(service, check);
    const { link, status } = await begin(server, "task");
    await swap(server, "ada@home", time);
    const visitor = await open(server, link);
    assert.match(visitor.words, new RegExp(`Account at Linear ${who} `));
    await press(visitor, "approve");
    let task = await status();
    await until(async () => (task = await status()).status === "completed");
    assert.match(task.result.content[0].text, /Linear|approved/);
    assert.equal(task.result.isError, true);
    assert.deepEqual(paidAt(service), []);
    await visitor.look("/calls");
    assert.match(visitor.words, /Not used/);
  });
}

Deno.test("an approved task whose account is gone once it has its turn begins nothing", async () => {
  using time = new FakeTime();
  await using service = new KeyService("ada@work", "ada@home");
  const held = Promise.withResolvers<void>();
  let begun = 0;
  const linear = service.key("linear");
  const one = tool({
    name: "one",
    input: z.object({ to: z.string() }),
    needs: { linear },
    task: "required",
    approval: {},
    limit: { callsAtOnce: 1 },
    async run() {
      begun++;
      await held.promise;
      return "done";
    },
  });
  await using server = await startConnected(linear, { tools: [one] });
  await connect(await openConnect(server), keyOf("ada@work"));
  const [first, second] = [
    await begin(server, "one"),
    await begin(server, "one"),
  ];
  const visitor = await open(server, first.link);
  await press(visitor, "approve");
  await until(() => begun === 1);
  await press(await open(server, second.link), "approve");
  await until(async () =>
    /its turn/.test((await second.status()).statusMessage)
  );
  await swap(server, "ada@home", time);
  held.resolve();
  let task = await second.status();
  await until(async () =>
    (task = await second.status()).status === "completed"
  );
  assert.equal(task.result.isError, true);
  assert.equal(begun, 1);
  await visitor.look("/calls");
  assert.match(visitor.words, /Not used/);
});

Deno.test("approved durable work goes on with no other account, also if its person lets another take the place", async () => {
  using time = new FakeTime();
  await using service = new KeyService("ada@work", "ada@home");
  await using server = await startPaying(service);
  const { link, status } = await begin(server, "work");
  await press(await open(server, link), "approve");
  await until(() => paidAt(service).length === 1);
  const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
  await visitor.press("/account/accounts/disconnect");
  time.tick(61);
  let told = "";
  await until(async () => {
    told = (await status()).statusMessage ?? "";
    return told.includes("/connect/");
  });
  const page = await openConnect(server, { link: /^http\S*$/m.exec(told)![0] });
  await connect(page, keyOf("ada@home"));
  await page.press("/connect/linear", { answer: "go-on" });
  let task = await status();
  await until(async () => (task = await status()).status === "completed");
  assert.match(task.result.content[0].text, /no account but .* ada@work/);
  assert.deepEqual(paidAt(service), [bearer("ada@work")]);
});
