/** Words about approvals: to models, to callers, and to those who approve. */
import assert from "node:assert/strict";
import { type Tool, tool, z } from "../../../src/mod.ts";
import { LINKS_META } from "../../../src/core/protocol/not_yet.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { openTestKv } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import type { Json } from "../../kit/message.ts";
import { recordLog } from "../../kit/log.ts";
import { BASE_URL, startServer } from "../../kit/server.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";
import { clientOf, followTask, linkOf, open, press } from "./approving.ts";

const begun: string[] = [];
let held = Promise.withResolvers<void>();

const wipe = tool({
  name: "wipe",
  input: z.object({ project: z.string(), force: z.boolean().default(true) }),
  approval: {},
  async run({ project }) {
    begun.push(project);
    if (project === "held") await held.promise;
    return "wiped";
  },
});

const archive = tool({
  name: "archive",
  title: "Archive a project",
  task: { durable: true },
  approval: {},
  async run(_input, { step, sleep }) {
    await step("first", () => void begun.push("archive"));
    await sleep("rest", 3600);
    return "archived";
  },
});

const pay = tool({
  name: "pay",
  task: "optional",
  approval: {
    by: { scope: "pay:approve" },
    show: () => ({ title: "Pay 5" }),
  },
  async run() {
    begun.push("pay");
    await held.promise;
    return "paid";
  },
});

const bill = tool({
  name: "bill",
  input: z.object({ buyer: z.string() }),
  approval: {
    remember: ({ buyer }) => ({ key: "k", label: buyer, seconds: 60 }),
  },
  run: () => "billed",
});

function start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  begun.length = 0;
  held = Promise.withResolvers();
  return startOAuthServer({
    tools: [wipe, archive, pay, bill],
    ...options,
    environment: {
      OAUTH_PERMISSIONS: "boss@example.com=pay:approve",
      ...options.environment,
    },
  });
}

const RELEASE = { version: "2.0.0" } as OAuthServerOptions;

const visitBoss = (server: OAuthServer) =>
  AccountVisitor.signIn(server, { as: "1", email: "boss@example.com" });

async function ask(server: OAuthServer, generation: "2025" | "2026" = "2026") {
  server.provider.email = "jo@example.com";
  return await clientOf(server, generation);
}

Deno.test("a client of 2025 is told the link of durable work at once, and to show it", async () => {
  // Time stands still: what comes only after a while never comes.
  using time = new FakeTime();
  time.set(Date.UTC(2126, 0, 1, 23, 55) / 1000 - Date.now() / 1000);
  await using server = await start();
  const call = await ask(server, "2025");
  const { content: [{ text }], _meta } = await resultOf(call("archive"));
  const [, url, taskId] =
    /Approve by 2126-01-02 00:10 UTC: Archive a project\n(http\S*\/approve\/[\w-]{43})\nShow the person the link as it is\. Once it is answered there, the work goes on\. Then call task_status for the result, .*"taskId":"([\w-]+)"/
      .exec(text) ?? [];
  assert.ok(url, text);
  const message = "Approve by 2126-01-02 00:10 UTC: Archive a project";
  const link = { url, message };
  assert.deepEqual(_meta[LINKS_META], [link]);
  const visitor = await open(server, url);
  await press(visitor, "refuse");
  const over = await resultOf(call("task_status", { taskId }));
  assert.equal(over._meta?.[LINKS_META], undefined);
});

Deno.test("the pages of durable work say that it waits for an approval, and then that it goes on by itself", async () => {
  await using server = await start();
  const { headers } = await server.person();
  const task = await followTask(server, { headers, name: "archive" });
  const path = /\/approve\/[\w-]{43}/.exec(task.statusMessage)![0];
  const visitor = await AccountVisitor.signIn(server, { at: "/work" });
  assert.match(visitor.words, /Waiting for you just now Archive a project/);
  await visitor.look(`/work?task=${task.taskId}`);
  assert.match(
    visitor.words,
    /Waiting for your answer Wants your approval: Archive a project Answer/,
  );
  assert.match(visitor.words, /Approval Waiting for an answer Since/);
  assert.doesNotMatch(visitor.words, /Answered|Sleeping|http/);
  assert.ok(visitor.page.text.includes(`href="${path}"`));
  visitor.page = await visitor.browser.open(`${BASE_URL}${path}`);
  await press(visitor, "approve");
  assert.match(
    visitor.words,
    /goes on by itself\. .* The work has its own page/,
  );
  assert.doesNotMatch(visitor.words, /try again|I have looked/);
  assert.ok(visitor.page.text.includes(`/account/work?task=${task.taskId}`));
  await until(() => begun.length === 1);
  visitor.page = await visitor.browser.open(`${BASE_URL}${path}`);
  assert.match(visitor.words, /It has begun, and goes on by itself/);
  await visitor.look(`/work?task=${task.taskId}`);
  assert.match(visitor.words, /Approval Answered/);
  await visitor.press("/account/work/cancel");
});

Deno.test("where someone else approves, the words to the model, the caller and them say so", async () => {
  await using server = await start();
  const call = await ask(server);
  const result = await resultOf(call("pay"));
  const link = linkOf(result);
  const [{ text }] = result.content;
  assert.match(text, /^This waits for someone else, who answers at this link:/);
  assert.match(text, /Show the person the link as it is, to pass on\./);
  assert.doesNotMatch(text, /The person has to open/);
  const jo = await open(server, link);
  assert.match(jo.words, /It waits for someone else, who has the permission/);
  assert.doesNotMatch(jo.words, /Approve it only/);
  const boss = await visitBoss(server);
  assert.match(
    boss.words,
    /Asked by Jo \( jo@example\.com \), with pay just now/,
  );
  boss.page = await boss.browser.open(link);
  assert.match(boss.words, /Approve it only if you want exactly this/);
  await press(boss, "refuse", "No");
  jo.page = await jo.browser.open(link);
  assert.match(jo.words, /It can still be approved by .* the link of this/);
  assert.doesNotMatch(jo.words, /It waits for|Withdraw/);
  const refused = await textOf(call("pay"));
  assert.match(
    refused,
    /^Someone who has the permission pay:approve refused this, and said: "No"/,
  );
  await press(boss, "approve");
  assert.match(boss.words, /Approved\. It begins when the app goes on\. /);
  // A task of the caller says the same.
  server.provider.subject = "42";
  server.provider.email = "jo@example.com";
  const { headers } = await server.person();
  const task = await followTask(server, { headers, name: "pay" });
  await jo.look(`/work?task=${task.taskId}`);
  assert.match(
    jo.words,
    /Waiting for someone else .*Someone else, who has the permission pay:approve, has to approve: Pay 5 Look at it/,
  );
  assert.doesNotMatch(jo.words, /Waiting for you/);
  await jo.press("/account/work/cancel");
});

Deno.test("a run whose end is not known is listed after a while, and its caller may say that they have looked", async () => {
  using time = new FakeTime();
  await using server = await start();
  const call = await ask(server);
  const jo = await AccountVisitor.signIn(server);
  const boss = await visitBoss(server);
  for (
    const [name, input, by] of [
      ["wipe", { project: "held" }, jo],
      ["pay", {}, boss],
    ] as const
  ) {
    const link = linkOf(await resultOf(call(name, input)));
    by.page = await by.browser.open(link);
    await press(by, "approve");
    begun.length = 0;
    const running = textOf(call(name, input));
    await until(() => begun.length === 1);
    assert.doesNotMatch(await jo.look(), /its end is not known/);
    time.tick(5 * 60);
    assert.match(await jo.look(), /Begun, and its end is not known: /);
    const path = new URL(link).pathname;
    assert.ok(jo.page.text.includes(`href="${path}"`));
    jo.page = await jo.browser.open(link);
    assert.match(jo.words, /its end is not known yet/);
    await press(jo, "looked");
    assert.match(jo.words, /someone said that they have looked/);
    assert.doesNotMatch(await jo.look(), /its end is not known/);
    held.resolve();
    await running;
    jo.page = await jo.browser.open(link);
    assert.match(jo.words, /It was done/);
    await jo.look("/calls");
    assert.doesNotMatch(jo.words, /End not known/);
    held = Promise.withResolvers();
  }
});

Deno.test("a receipt without facts of an author's has the arguments, cut like facts", async () => {
  await using server = await start();
  const call = await ask(server);
  const input = { project: `a\u202eb ${"x".repeat(3000)}` };
  const visitor = await open(
    server,
    linkOf(await resultOf(call("wipe", input))),
  );
  assert.match(visitor.words, /wants to run: wipe/);
  await press(visitor, "approve");
  assert.equal(await textOf(call("wipe", input)), "wiped");
  const words = await visitor.look("/calls");
  const [, fact] = /wipe · project: (a b x+…) · force: true/.exec(words) ?? [];
  assert.ok(fact?.length < 2400, words);
});

Deno.test("a refusal is no failure in the latest calls", async () => {
  await using server = await start();
  const call = await ask(server);
  const input = { project: "p" };
  const visitor = await open(
    server,
    linkOf(await resultOf(call("wipe", input))),
  );
  await press(visitor, "refuse", "Too much");
  await textOf(call("wipe", input));
  await until(async () =>
    /Refused just now wipe/.test(await visitor.look("/calls?outcome=refused"))
  );
  assert.doesNotMatch(await visitor.look("/calls"), /Failed just now/);
});

Deno.test("the page of a call that asked before a release says that it may have to ask again", async () => {
  await using kv = await openTestKv();
  await using server = await start({ kv });
  const call = await ask(server);
  const input = { project: "p" };
  const link = linkOf(await resultOf(call("wipe", input)));
  const stale = /The server has changed since the app asked/;
  const before = await open(server, link);
  assert.doesNotMatch(before.words, stale);
  for (
    const changes of [
      RELEASE,
      { tools: [{ ...wipe, description: "Other" }, pay] },
      { tools: [pay] },
      { environment: { APPROVALS: "wipe=pay:approve" } },
    ]
  ) {
    await using changed = await start({ kv, ...changes });
    const visitor = await open(changed, link);
    assert.match(visitor.words, stale, JSON.stringify(changes));
  }
  await using next = await start({ kv, ...RELEASE });
  const visitor = await open(next, link);
  await press(visitor, "approve");
  assert.match(visitor.words, /Approved, but nothing has begun\. The server/);
});

Deno.test("an offer to remember whose label does not fit is not made", async () => {
  await using server = await start();
  const call = await ask(server);
  for (const [length, isOffered] of [[200, true], [201, false]] as const) {
    const input: Json = { buyer: "b".repeat(length) };
    const visitor = await open(
      server,
      linkOf(await resultOf(call("bill", input))),
    );
    assert.equal(/without asking me/.test(visitor.words), isOffered);
  }
});

Deno.test("a server on which people cannot approve calls says why at the start, and at /ready", async () => {
  const told = async (options: OAuthServerOptions, isOpen = false) => {
    const { log, events } = recordLog();
    const approval = { passkey: "required" as const };
    const tools: Tool[] = [{ ...wipe, approval }];
    await using server = isOpen
      ? await startServer({ tools, log, env: options.environment })
      : await startOAuthServer({ tools, log, ...options });
    await server.app.start();
    const { approvals = [] } = await (await server.fetch("/ready")).json();
    for (const why of approvals) {
      assert.ok(events.some(({ message }) => message === why), why);
    }
    return approvals.join();
  };
  const at = (BASE_URL: string, rest = {}) => ({
    environment: { BASE_URL, ...rest },
  });
  const noSignIn = /^[^.]* no one can sign in here\. Use AUTH_STRATEGY=oauth/;
  assert.match(await told({}, true), noSignIn);
  const jwt = at("https://tools.example.com", {
    AUTH_STRATEGY: "jwt",
    JWT_ISSUER: "https://login.example.com",
    JWT_AUDIENCE: "https://tools.example.com/mcp",
    JWT_JWKS_URL: "https://login.example.com/jwks.json",
  });
  assert.match(await told(jwt, true), noSignIn);
  assert.match(
    await told(at("http://127.0.0.1:3108", { PORT: "3108" })),
    /Set BASE_URL, for a trial to http:\/\/localhost:3108$/,
  );
  const fine = at("http://localhost:3000");
  assert.equal(await told(fine), "");
  const dropping = tool({ name: "drop", scopes: ["db:drop"], run: () => "" });
  for (
    const [rules, lost] of [
      ["boss@example.com=pay:approve", "*=db:drop"],
      ["boss@example.com=pay:approve; *=db:drop", undefined],
      ["boss@example.com=*", undefined],
    ]
  ) {
    const environment = {
      ...fine.environment,
      APPROVALS: "wipe=pay:approve",
      OAUTH_PERMISSIONS: rules!,
    };
    assert.equal(
      await told({ tools: [wipe, dropping], environment }),
      lost === undefined
        ? ""
        : `OAUTH_PERMISSIONS gives some scopes that tools need to no one. To give them to everyone, add: ${lost}`,
    );
  }
  await using server = await startServer({ tools: [wipe] });
  const params = { name: "wipe", arguments: { project: "p" } };
  assert.match(
    await textOf(server.call("tools/call", params)),
    /no one can sign in here\. Use AUTH_/,
  );
});

Deno.test("where a tool needs no approval any more, neither the page nor the receipt says that nothing was done", async () => {
  await using kv = await openTestKv();
  await using server = await start({ kv });
  const input = { project: "a" };
  const asking = await ask(server);
  const link = linkOf(await resultOf(asking("wipe", input)));
  const { provider } = server;
  const tools = [{ ...wipe, approval: undefined }, pay];
  await using without = await start({ kv, tools, provider });
  const visitor = await open(without, link);
  assert.match(visitor.words, /this needs no approval any more/);
  assert.doesNotMatch(visitor.words, /Nothing has been done|It is done once/);
  await press(visitor, "approve");
  assert.match(visitor.words, /Approved\. The server .* no approval any more/);
  const call = await ask(without);
  assert.equal(await textOf(call("wipe", input)), "wiped");
  await visitor.look("/calls");
  assert.match(visitor.words, /Approvals .* Not used/);
});
