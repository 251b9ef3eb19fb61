/**
 * Durable work that acts with its caller's own account: it waits for an account
 * that is gone, and stays with the one it has begun with.
 */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import type { AccountService } from "../../../src/authoring/account.ts";
import { MAY_HAVE_SUCCEEDED } from "../../../src/core/provider/account_fetch.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf } from "../../kit/answer.ts";
import { connect, openConnect, startConnected } from "../../kit/connected.ts";
import { taskRunKey } from "../../../src/core/kv/keys.ts";
import type { AccountRecord } from "../../../src/features/accounts/accounts.ts";
import type { RunRecord } from "../../../src/features/work/run_record.ts";
import { test } from "../../kit/databases.ts";
import { checkEndsWithSession } from "../../kit/ended_session.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import {
  keyOf,
  KeyService,
  OTHER_SECRETS_KEY,
  SECRETS_KEY,
} from "../../kit/key_service.ts";
import { keyRing } from "../../../src/core/crypto/crypto.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";
import { beginTask, TASKS } from "../../kit/task.ts";
import { TokenService } from "../../kit/token_service.ts";
import { until } from "../../kit/wait.ts";

/** Calls a server as a person, and follows their tasks. */
async function callerOf(server: OAuthServer, as = "42") {
  server.provider.subject = as;
  const { headers } = await server.person();
  const sender = {
    call: (...[method, params, more]: Parameters<typeof server.call>) =>
      server.call(method, params, { ...more, headers }),
  } as typeof server;
  return {
    sender,
    begin: (name: string) => beginTask(sender, name),
    async status(taskId: string) {
      const { result, ...task } = await resultOf(sender.call("tasks/get", {
        taskId,
      }, { capabilities: TASKS }));
      return { ...task, text: result?.content[0].text };
    },
  };
}

/** A tool that asks the service who it is, before a sleep and after it. */
function napping(linear: AccountService, onNap: () => void) {
  return tool({
    name: "nap",
    needs: { linear },
    task: { durable: true },
    async run(_input, { needs, step, sleep }) {
      const read = async () => (await needs.linear.fetch("/me")).text();
      const first = await step("first", read);
      onNap();
      await sleep("nap", 60);
      return `${first}, ${await step("second", read)}`;
    },
  });
}

for (const isGone of [false, true]) {
  test.inMemory(`durable work stays with the account that it has begun with, in another process, though another is there${isGone ? " and its own is gone" : ""}`, async ({ kv }) => {
    using time = new FakeTime();
    await using service = new KeyService("ada@work", "ada@home");
    const linear = service.key("linear", { several: true });
    const napped = Promise.withResolvers<void>();
    const tools = [napping(linear, napped.resolve)];
    let taskId: string;
    {
      await using server = await startConnected(linear, { kv, tools });
      await connect(await openConnect(server), keyOf("ada@work"));
      const { begin } = await callerOf(server);
      taskId = await begin("nap");
      await napped.promise;
      const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
      if (isGone) await visitor.press("/account/accounts/disconnect");
      await connect(await openConnect(server), keyOf("ada@home"));
    }
    await using server = await startConnected(linear, { kv, tools });
    const { status } = await callerOf(server);
    time.tick(61);
    if (isGone) {
      const { link, words } = await linkOfTask({ status }, taskId);
      assert.match(words, /Connect your account ada@work at Linear/);
      // Another one will not do.
      const page = await openConnect(server, { link });
      await connect(page, keyOf("ada@home"));
      assert.match(page.words, /nap has begun with ada@work/);
      assert.doesNotMatch(page.words, /You can go back/);
      await connect(await openConnect(server), keyOf("ada@work"));
    }
    await until(async () => (await status(taskId)).status === "completed");
    const { text } = await status(taskId);
    assert.match(text, /^ada@work, ada@work/);
  });
}

test.inMemory("durable work whose account is gone in another process may have acted before", async ({ kv }) => {
  using time = new FakeTime();
  await using service = new KeyService("ada@work");
  const linear = service.key("linear");
  const napped = Promise.withResolvers<void>();
  const tools = [tool({
    name: "nap",
    needs: { linear },
    task: { durable: true },
    async run(_input, { needs, step, sleep }) {
      await step("act", async () => {
        const response = await needs.linear.fetch("/me", { method: "POST" });
        await response.body?.cancel();
      });
      napped.resolve();
      await sleep("nap", 60);
      return await (await needs.linear.fetch("/me")).text();
    },
  })];
  let taskId: string;
  {
    await using server = await startConnected(linear, { kv, tools });
    await connect(await openConnect(server), keyOf("ada@work"));
    taskId = await (await callerOf(server)).begin("nap");
    await napped.promise;
    const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
    await visitor.press("/account/accounts/disconnect");
  }
  await using server = await startConnected(linear, { kv, tools });
  const { status } = await callerOf(server);
  time.tick(61);
  await until(async () => (await status(taskId)).text !== undefined);
  assert.equal(
    (await status(taskId)).text,
    `Linear is not connected any more. ${MAY_HAVE_SUCCEEDED}`,
  );
});

/** Waits until a task shows a link, and gives it and its words. */
async function linkOfTask(
  { status }: Pick<Awaited<ReturnType<typeof callerOf>>, "status">,
  taskId: string,
): Promise<{ link: string; words: string }> {
  let words = "";
  await until(async () => {
    words = (await status(taskId)).statusMessage ?? "";
    return words.includes("http");
  });
  return { link: /^http\S*$/m.exec(words)![0], words };
}

for (const several of [true, false]) {
  test.inMemory(`durable work stays with the account that it has begun with when several becomes ${several} in its sleep`, async ({ kv }) => {
    using time = new FakeTime();
    await using service = new KeyService("ada@work", "ada@home");
    const napped = Promise.withResolvers<void>();
    const start = (isSeveral: boolean) => {
      const linear = service.key("linear", { several: isSeveral });
      const tools = [napping(linear, napped.resolve)];
      return startConnected(linear, { kv, tools });
    };
    const connectHome = async (server: OAuthServer) => {
      // The later one comes first where any will do.
      time.tick(5);
      await connect(await openConnect(server), keyOf("ada@home"));
    };
    let taskId: string;
    {
      await using server = await start(!several);
      await connect(await openConnect(server), keyOf("ada@work"));
      taskId = await (await callerOf(server)).begin("nap");
      await napped.promise;
      if (!several) await connectHome(server);
    }
    await using server = await start(several);
    if (several) await connectHome(server);
    time.tick(61);
    const { status } = await callerOf(server);
    await until(async () => (await status(taskId)).status === "completed");
    assert.match((await status(taskId)).text, /^ada@work, ada@work/);
  });
}

for (const way of ["again", "go-on"]) {
  test.inMemory(`durable work whose only account was replaced names it, and goes on with ${way === "again" ? "it" : "another once its person says so"}`, async ({ kv }) => {
    using time = new FakeTime();
    await using service = new KeyService("ada@acme", "bob@acme");
    const linear = service.key();
    const napped = Promise.withResolvers<void>();
    const tools = [napping(linear, napped.resolve)];
    await using server = await startConnected(linear, { kv, tools });
    await connect(await openConnect(server), keyOf("ada@acme"));
    const caller = await callerOf(server);
    const taskId = await caller.begin("nap");
    await napped.promise;
    const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
    await visitor.press("/account/accounts/disconnect");
    time.tick(61);
    const { link, words } = await linkOfTask(caller, taskId);
    assert.match(words, /^Connect your account ada@acme at Linear$/m);
    const page = await openConnect(server, { link });
    const waits = /nap has begun with ada@acme , and waits for that account/;
    assert.match(page.words, waits);
    await page.press("/connect/linear", {
      answer: "connect",
      key: keyOf("bob@acme"),
    });
    assert.match(page.words, waits);
    assert.match(page.words, /does not go on with this one/);
    await page.press("/connect/linear", { answer: "connect" });
    assert.match(page.words, /Connected as bob@acme/);
    assert.match(page.words, waits);
    assert.doesNotMatch(page.words, /You can go back/);
    if (way === "again") {
      // The link is still good.
      page.page = await page.browser.open(link);
      assert.match(page.words, /Let it go on with bob@acme/);
      await connect(page, keyOf("ada@acme"));
    } else await page.press("/connect/linear", { answer: "go-on" });
    assert.match(page.words, /You can go back/);
    await until(async () =>
      (await caller.status(taskId)).status === "completed"
    );
    const last = way === "again" ? "ada@acme" : "bob@acme";
    assert.equal((await caller.status(taskId)).text, `ada@acme, ${last}`);
  });
}

Deno.test("POST /connect/:name puts no account in the place of another for who is signed out or blocked meanwhile", async () => {
  using time = new FakeTime();
  await using service = new KeyService("ada@acme", "bob@acme");
  const linear = service.key();
  await checkEndsWithSession(async (kv) => {
    const napped = Promise.withResolvers<void>();
    const tools = [napping(linear, napped.resolve)];
    const server = await startConnected(linear, { kv, tools });
    await connect(await openConnect(server), keyOf("ada@acme"));
    const caller = await callerOf(server);
    const taskId = await caller.begin("nap");
    await napped.promise;
    await connect(await openConnect(server), keyOf("bob@acme"));
    time.tick(61);
    const { link } = await linkOfTask(caller, taskId);
    const page = await openConnect(server, { link });
    return {
      subject: "github:42",
      press: () => page.press("/connect/linear", { answer: "go-on" }),
      async stored() {
        const accounts = kv.list<AccountRecord>({ prefix: ["account"] });
        return await Array.fromAsync(
          accounts,
          ({ value }) => value.standsInFor?.map(({ label }) => label),
        );
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});

test.inMemory("durable work looks by itself for an account that was kept by a process that died then, or that another process can open", async ({ kv }) => {
  using time = new FakeTime();
  await using service = new KeyService("ada@acme");
  const linear = service.key();
  const tools = [napping(linear, () => {})];
  let taskId: string;
  const run = async () => (await kv.get<RunRecord>(taskRunKey(taskId))).value;
  const isParked = () => until(async () => (await run())?.isParked === true);
  {
    await using server = await startConnected(linear, { kv, tools });
    await connect(await openConnect(server), keyOf("ada@acme"));
    taskId = await (await callerOf(server)).begin("nap");
    await isParked();
  }
  time.tick(61);
  {
    const environment = { SECRETS_KEYS: OTHER_SECRETS_KEY };
    const options = { kv, tools, environment };
    await using server = await startConnected(linear, options);
    await linkOfTask(await callerOf(server), taskId);
    await isParked();
  }
  await using server = await startConnected(linear, { kv, tools });
  const { status } = await callerOf(server);
  // Longer than the longest pause.
  time.tick(8 * 60 + 1);
  await until(async () => (await status(taskId)).status === "completed");
  assert.match((await status(taskId)).text, /^ada@acme, ada@acme/);
});

test.inMemory("durable work has new tokens after a sleep, and waits for its person where the service gives none", async ({ kv }) => {
  using time = new FakeTime();
  await using service = new TokenService();
  // Shorter than the margin: every use refreshes.
  service.lifetime = 1;
  const crm = service.declare();
  await using server = await startConnected(crm, {
    kv,
    tools: [napping(crm, () => {})],
    environment: service.environment,
  });
  const issuers = [service.origin];
  const link = "http://127.0.0.1:3000/connect/crm";
  const connectCrm = async () => {
    const visitor = await openConnect(server, { link, issuers });
    await visitor.press("/connect/crm", { answer: "connect" });
    await visitor.press("/connect/crm", { answer: "connect" });
    assert.match(visitor.words, /is connected/);
  };
  await connectCrm();
  const { begin, status } = await callerOf(server);
  /** Lets time pass until a task is told about in some way. */
  const becomes = (
    taskId: string,
    is: (told: Awaited<ReturnType<typeof status>>) => boolean,
  ) =>
    until(async () => {
      time.tick(5);
      return is(await status(taskId));
    });
  const first = await begin("nap");
  await becomes(first, ({ status }) => status === "completed");
  assert.equal(service.reused, 0);
  const second = await begin("nap");
  await until(() => service.asked.filter((it) => it === "/api/me").length > 3);
  service.grants[0].isEnded = true;
  await becomes(
    second,
    ({ statusMessage = "" }) => statusMessage.includes(link),
  );
  await connectCrm();
  await becomes(second, ({ status }) => status === "completed");
  assert.match((await status(second)).text, /^ada@acme, ada@acme/);
});

test.inMemory("durable work whose account was disconnected waits for its person with a link, and goes on", async ({ kv }) => {
  await using service = new KeyService("ada@acme");
  const linear = service.key();
  const pause = Promise.withResolvers<void>();
  const done: string[] = [];
  const report = tool({
    name: "report",
    needs: { linear },
    task: { durable: true },
    async run(_input, { needs, step }) {
      const read = async () => (await needs.linear.fetch("/me")).text();
      const first = await step("first", read);
      await step("pause", () => pause.promise);
      const second = await step("second", async () => {
        done.push("second");
        return await read();
      });
      return `${first}, ${second}`;
    },
  });
  const plain = tool({
    name: "plain",
    needs: { linear },
    task: "required",
    run: async (_input, { needs }) =>
      await (await needs.linear.fetch("/me")).text(),
  });
  await using server = await startConnected(linear, {
    kv,
    tools: [report, plain],
  });
  const { sender, begin, status } = await callerOf(server, "ada");
  await connect(await openConnect(server, { as: "ada" }), keyOf("ada@acme"));
  const plainId = await begin("plain");
  await until(async () => (await status(plainId)).text === "ada@acme");

  const taskId = await begin("report");
  await until(() => service.seen.length > 2);
  const visitor = await AccountVisitor.signIn(server, {
    as: "ada",
    at: "/accounts",
  });
  await visitor.press("/account/accounts/disconnect");
  // A process may know the accounts of a second ago.
  await until(async () => {
    const params = { name: "plain" };
    const answer = sender.call("tools/call", params, { capabilities: TASKS });
    return (await resultOf(answer)).isError === true;
  });
  pause.resolve();
  let link: string | undefined;
  await until(async () => {
    const { statusMessage = "" } = await status(taskId);
    link = /^http\S*$/m.exec(statusMessage)?.[0];
    return link !== undefined;
  });
  assert.deepEqual(done, []);
  const page = await openConnect(server, { link, as: "ada" });
  await page.press("/connect/linear", { answer: "not-now" });
  // It is asked again, and waits on.
  await connect(await openConnect(server, { as: "ada" }), keyOf("ada@acme"));
  await until(async () => (await status(taskId)).status === "completed");
  assert.equal((await status(taskId)).text, "ada@acme, ada@acme");
});

test.inMemory("durable work that waits for an account or a page leaves its place to others, and goes on at once in another process", async ({ kv }) => {
  await using service = new KeyService("ada@acme");
  const linear = service.key();
  const report = tool({
    name: "report",
    needs: { linear },
    task: { durable: true },
    limit: { callsAtOnce: 1, shared: true },
    async run(_input, { ask, needs, step }) {
      const { action } = await ask({
        message: "Look",
        url: "https://pay.example.com/",
        until: "done",
      });
      const name = await step(
        "read",
        async () => (await needs.linear.fetch("/me")).text(),
      );
      return `${action} ${name}`;
    },
  });
  const tools = [report];
  /** Waits until tasks show a link of this kind and no process works on them. */
  const linksOf = async (
    { app }: OAuthServer,
    { status }: Awaited<ReturnType<typeof callerOf>>,
    ids: readonly string[],
    kind: string,
  ) => {
    let links: (string | undefined)[] = [];
    await until(async () => {
      const tasks = await Promise.all(ids.map(status));
      links = tasks.map(({ statusMessage = "" }) =>
        /^http\S*$/m.exec(statusMessage)?.[0]
      );
      return app.running === 0 && links.every((link) => link?.includes(kind));
    });
    return links;
  };
  let ids: string[];
  {
    await using server = await startConnected(linear, { kv, tools });
    await connect(await openConnect(server), keyOf("ada@acme"));
    const caller = await callerOf(server);
    const first = await caller.begin("report");
    await linksOf(server, caller, [first], "/wait/");
    // The first holds the only place no longer.
    ids = [first, await caller.begin("report")];
    const links = await linksOf(server, caller, ids, "/wait/");
    assert.equal(new Set(links).size, 2);
    const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
    await visitor.press("/account/accounts/disconnect");
  }
  await using server = await startConnected(linear, { kv, tools });
  const caller = await callerOf(server);
  for (const link of await linksOf(server, caller, ids, "/wait/")) {
    const visitor = await AccountVisitor.signIn(server);
    visitor.page = await visitor.browser.open(link!);
    await visitor.press(new URL(link!).pathname, { answer: "done" });
  }
  await linksOf(server, caller, ids, "/connect/linear");
  await connect(await openConnect(server), keyOf("ada@acme"));
  await until(async () => {
    const tasks = await Promise.all(ids.map(caller.status));
    return tasks.every(({ text }) => text === "accept ada@acme");
  });
});

for (const isBack of [true, false]) {
  test.inMemory(`durable work is left for an hour to processes that have SECRETS_KEYS${isBack ? "" : ", and then ends"}`, async ({ kv }) => {
    using time = new FakeTime();
    await using service = new KeyService("ada@acme");
    const linear = service.key();
    const tools = [napping(linear, () => {})];
    let taskId: string;
    const run = async () => (await kv.get<RunRecord>(taskRunKey(taskId))).value;
    {
      await using server = await startConnected(linear, { kv, tools });
      await connect(await openConnect(server), keyOf("ada@acme"));
      taskId = await (await callerOf(server)).begin("nap");
      await until(async () => (await run())?.isParked === true);
    }
    const start = (environment = {}) =>
      startConnected(linear, { kv, tools, environment });
    time.tick(61);
    {
      await using server = await start({ SECRETS_KEYS: "" });
      await callerOf(server);
      await until(async () => (await run())?.missingSince !== undefined);
      if (!isBack) {
        time.tick(3601);
        await until(async () => await run() === null);
        const { status } = await callerOf(server);
        const task = await status(taskId);
        assert.equal(task.status, "failed");
        const words = /^The setting SECRETS_KEYS for nap is not there any more/;
        return assert.match(task.error.message, words);
      }
    }
    await using server = await start();
    const { status } = await callerOf(server);
    time.tick(31);
    await until(async () => (await status(taskId)).status === "completed");
    assert.match((await status(taskId)).text, /^ada@acme, ada@acme/);
  });
}

for (const fault of ["service", "sealing"] as const) {
  test.inMemory(`durable work waits while its ${fault} gives no key, says so, and goes on`, async ({ kv }) => {
    using time = new FakeTime();
    await using service = new TokenService();
    // Shorter than the margin: every use refreshes.
    service.lifetime = 30;
    const crm = service.declare();
    const ring = keyRing([SECRETS_KEY]);
    let isAway = false;
    const answer: NonNullable<TokenService["answer"]> = (_request, path) =>
      isAway && fault === "service" && path.endsWith("/token")
        ? new Response(null, { status: 503 })
        : undefined;
    service.answer = answer;
    await using server = await startConnected(crm, {
      kv,
      tools: [napping(crm, () => {})],
      environment: service.environment,
      sealing: {
        keyId: ring.keyId,
        seal: (text) => Promise.resolve(ring.seal(text)),
        unseal: (sealed) => {
          if (isAway && fault === "sealing") throw new Error("no connection");
          return Promise.resolve(ring.unseal(sealed));
        },
      },
    });
    const link = "http://127.0.0.1:3000/connect/crm";
    const issuers = [service.origin];
    const visitor = await openConnect(server, { link, issuers });
    await visitor.press("/connect/crm", { answer: "connect" });
    await visitor.press("/connect/crm", { answer: "connect" });
    const { begin, status } = await callerOf(server);
    const taskId = await begin("nap");
    await until(async () => (await status(taskId)).statusMessage !== undefined);
    isAway = true;
    time.tick(61);
    const words = fault === "service"
      ? /does not give access now/
      : /cannot be used now/;
    await until(async () =>
      words.test((await status(taskId)).statusMessage ?? "")
    );
    await until(() => server.app.running === 0);
    assert.equal((await status(taskId)).status, "working");
    isAway = false;
    time.tick(121);
    await until(async () => (await status(taskId)).status === "completed");
    assert.match((await status(taskId)).text, /^ada@acme, ada@acme/);
  });
}
