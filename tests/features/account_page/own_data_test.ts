/** The download and the erasure of what is kept about a person, by them. */
import assert from "node:assert/strict";
import * as z from "zod";
import { KEPT_DATA } from "../../kit/kept.ts";
import { tool } from "../../../src/authoring/tool.ts";
import { bindingOf } from "../../../src/core/oauth/grant.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { replyStore } from "../../../src/core/store/replies.ts";
import { sessionStore } from "../../../src/core/store/sessions.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { passkeyStore } from "../../../src/features/approvals/passkey_store.ts";
import { receiptStore } from "../../../src/features/approvals/receipts.ts";
import { rememberedStore } from "../../../src/features/approvals/remembered.ts";
import { waitStore } from "../../../src/features/questions/waits.ts";
import { resultOf, statusOf } from "../../kit/answer.ts";
import { accountVault } from "../../../src/features/accounts/account_vault.ts";
import { keyRing } from "../../../src/core/crypto/crypto.ts";
import { SECRETS_KEY } from "../../kit/key_service.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { Client } from "../../kit/client.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import { initialize } from "../../kit/message.ts";
import { BASE_URL } from "../../kit/server.ts";
import { cookieName } from "../../../src/core/http/browser.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";

const tools = [
  tool({ name: "read", scopes: ["read"], run: () => "read" }),
  tool({ name: "write", scopes: ["write"], run: () => "written" }),
];

const start = (options = {}) => startOAuthServer({ tools, ...options });

const BINDING = bindingOf({
  issuer: BASE_URL,
  resource: `${BASE_URL}/mcp`,
  subject: "github:42",
});

async function call(client: Client, token: string, name = "read") {
  return await statusOf(client.call(token, name));
}

/** Gives someone everything that can be kept about them. */
async function live(server: OAuthServer) {
  const client = await Client.register(server, { client_name: "Helper" });
  const tokens = await client.connect();
  await call(client, tokens.access_token);
  const opened = await server.post(initialize("2025-11-25"), {
    authorization: `Bearer ${tokens.access_token}`,
  });
  await opened.body?.cancel();
  const sessionId = opened.headers.get("mcp-session-id")!;
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/narrow", { "scope.write": "" });
  const token = await visitor.makeToken();
  return { client, tokens, token, visitor, sessionId };
}

const plan = tool({
  name: "plan",
  scopes: ["read"],
  task: { durable: true },
  input: z.object({ plan: z.string() }),
  async run(_input, { ask, step }) {
    await step("draft", () => "private".repeat(10_000));
    const schema = z.object({ text: z.string() });
    await Promise.all(
      ["private 1", "private 2"].map((message) => ask({ message, schema })),
    );
    return "planned";
  },
});

/**
 * Leaves durable work with its input, a kept step, a question, and an answer that
 * no process has seen: the other servers do not know its tool.
 */
async function leaveWork(kv: Deno.Kv, token: string) {
  await using server = await start({ kv, tools: [plan] });
  const options = {
    headers: { authorization: `Bearer ${token}` },
    capabilities: { ...TASKS, elicitation: {} },
  };
  const begun = { name: "plan", arguments: { plan: "private ".repeat(1000) } };
  const { taskId } = await resultOf(server.call("tools/call", begun, options));
  const tasks = taskStore(new Database(kv));
  const questions = async () =>
    Object.keys((await tasks.find(taskId, BINDING))?.inputRequests ?? {});
  await until(async () => (await questions()).length === 2);
  await until(() => server.app.running === 0);
  await server.app.close();
  const [first] = await questions();
  const content = { text: "private ".repeat(10_000) };
  await tasks.answer(taskId, { [first]: { action: "accept", content } });
}

/** Lists the keys of everything that tells who someone is. */
async function tracesOf(kv: Deno.Kv, texts: RegExp): Promise<string[]> {
  const traces: string[] = [];
  for await (const { key, value } of kv.list({ prefix: [] })) {
    if (key[0] === "authorization-request") continue;
    const text = JSON.stringify(
      [key, value],
      (_, it) => typeof it === "bigint" ? String(it) : it,
    );
    if (texts.test(text)) traces.push(text);
  }
  return traces;
}

/** Lists the kinds of records that are not over. */
async function keptIn(kv: Deno.Kv): Promise<string[]> {
  const kinds = new Set<string>();
  for await (
    const { key, value } of kv.list<{ expiresAt?: number }>({ prefix: [] })
  ) {
    const { expiresAt = 0 } = value;
    if (expiresAt > Date.now() / 1000) kinds.add(String(key[0]));
  }
  return [...kinds].sort();
}

Deno.test("POST /account/export sends everything that is kept about a person, and no secret", async () => {
  await using server = await start();
  const { client, tokens, token, visitor } = await live(server);
  server.provider.subject = "43";
  await (await Client.register(server, { client_name: "Other" })).connect();
  await visitor.look("/data");
  const file = await visitor.browser.press(
    formOf(visitor.page, "/account/export"),
    "",
    "",
  );
  assert.equal(file.status, 200);
  assert.match(file.headers.get("content-type")!, /^application\/json/);
  assert.match(file.headers.get("content-disposition")!, /^attachment/);
  assert.equal(file.headers.get("cache-control"), "no-store");
  const data = JSON.parse(file.text);
  assert.equal(data.subject, "github:42");
  assert.deepEqual(
    data.connections.map((it: { clientName: string }) => it.clientName).sort(),
    ["Backup", "Helper"],
  );
  const helper = data.connections.find((it: { kind?: string }) => !it.kind);
  assert.equal(helper.identity.email, "jo@example.com");
  assert.equal(helper.calls[0].tool, "read");
  // Every time is one that people can read.
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/;
  assert.match(helper.createdAt, time);
  assert.match(helper.calls[0].at, time);
  assert.doesNotMatch(file.text, /"(at|\w*At|\w*Milliseconds)": \d/);
  assert.deepEqual(data.changedConnections[0].revokedScopes, ["write"]);
  assert.equal(data.sessions, 1);
  // The second is that for which the provider asked them, to make the token.
  assert.equal(data.accountSessions.length, 2);
  assert.match(data.accountSessions[0].expiresAt, time);
  for (
    const secret of [
      "refreshKey",
      "refreshTokens",
      "Other",
      token,
      tokens.refresh_token,
      tokens.access_token,
      ...[...visitor.browser.cookies.values()].filter(Boolean),
    ]
  ) assert(!file.text.includes(secret), secret);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
});

Deno.test("POST /account/export sends every member of the table of what is kept, and long work with its input and steps", async () => {
  await using server = await start();
  const { tokens, visitor } = await live(server);
  await leaveWork(server.kv, tokens.access_token);
  await visitor.look("/data");
  const form = formOf(visitor.page, "/account/export");
  const data = JSON.parse((await visitor.browser.press(form, "", "")).text);
  for (const { member } of KEPT_DATA) {
    if (member !== undefined) assert(Object.hasOwn(data, member), member);
  }
  const [{ tool, input, steps }] = data.tasks;
  assert.equal(tool, "plan");
  assert.match(input.plan, /^private /);
  assert.deepEqual(
    steps.map(({ id }: { id: string }) => id.replace(/#.*/, "")),
    ["step:draft", "ask:elicitation", "ask:elicitation"],
  );
});

Deno.test("POST /account/export sends a person five files, and then one a minute", async () => {
  using time = new FakeTime();
  await using server = await start();
  const visitor = await AccountVisitor.signIn(server, { at: "/data" });
  const form = formOf(visitor.page, "/account/export");
  const download = async () =>
    (await visitor.browser.press(form, "", "")).status;
  const statuses = [];
  for (let n = 0; n < 6; n++) statuses.push(await download());
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429]);
  time.tick(60);
  assert.equal(await download(), 200);
});

test.onDatabases("POST /account/erase ends everything of a person, and leaves nothing of them", async ({ kv, other }) => {
  await using server = await start({ kv });
  await using second = await start({ kv: other, provider: server.provider });
  // Under a former name, too.
  server.provider.personName = "Former Name";
  const earlier = await Client.register(server, { client_name: "Earlier" });
  await earlier.connect();
  server.provider.personName = "Jo";
  // At an address of before, too.
  const resource = "https://before.example.com/mcp";
  for await (
    const { key, value } of kv.list<object>({ prefix: ["grant"] })
  ) await kv.set(key, { ...value, resource });
  const { client, tokens, token, visitor, sessionId } = await live(server);
  const tasks = taskStore(new Database(other));
  const there = { issuer: BASE_URL, resource, subject: "github:42" };
  await tasks.create("moved", { binding: bindingOf(there) });
  await tasks.create("done", { binding: BINDING });
  await tasks.create("repeated", { binding: BINDING }, { repeat: "a call" });
  await tasks.end("done", {
    status: "completed",
    outcome: { result: "private ".repeat(10_000) },
  });
  const waits = waitStore(new Database(other));
  await waits.open({
    subject: "github:42",
    kind: "page",
    asker: "a call",
    question: "a question",
    tool: "read",
  }, { message: "private", url: "https://pay.example.com" });
  const receipts = receiptStore(new Database(other), 1000);
  const receipt = await receipts.writing("1-a", {
    subject: "github:42",
    by: "github:42",
    tool: "read",
    at: Math.floor(Date.now() / 1000),
  }, { title: "private", facts: {}, caller: "Jo" });
  await new Database(other).commit(receipt);
  const passkey = { id: "a", publicKey: "private", counter: 0, name: "Phone" };
  await passkeyStore(new Database(other)).add("github:42", passkey, () => {});
  const entry = await rememberedStore(new Database(other)).writing(
    "github:42",
    { offer: { name: "a", label: "private", seconds: 1000 } },
    { tool: "read" },
  );
  await new Database(other).commit(entry!);
  await accountVault(new Database(other), {
    sealing: keyRing([SECRETS_KEY]),
    idleSeconds: 1000,
  }).save({ subject: "github:42", service: "linear" }, "private", () => {});
  await leaveWork(kv, tokens.access_token);
  await replyStore(new Database(other)).expect(sessionId, "private");
  const elsewhere = await AccountVisitor.signIn(second);
  // Of all that may be kept something is there. Calls are written a little later.
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
  const kinds = KEPT_DATA.filter(({ stays }) => stays === undefined)
    .flatMap(({ keys }) => keys);
  await until(async () => {
    const before = new Set(await keptIn(kv));
    return kinds.every((kind) => before.has(kind));
  });
  server.provider.subject = "42";
  await visitor.signInToErase();
  const erased = await visitor.press("/account/erase", { erase: "on" });
  assert.equal(erased.url, `${BASE_URL}/account?erased=1`);
  assert.match(visitor.words, /Erased\. You are signed out/);
  const cookie = cookieName({ name: "account", baseUrl: BASE_URL });
  assert.equal(visitor.browser.cookies.get(`127.0.0.1:3000 ${cookie}`), "");
  assert.match(await elsewhere.look(), /Sign in with/);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 400);
  assert.equal(await call(new Client(server, ""), token), 401);
  await second.app.close();
  await server.app.close();
  assert.deepEqual(
    await tracesOf(kv, /github:42|jo@example\.com|former|"Jo"|private/i),
    [],
  );
  // Ended tokens and grants that name no one, and what is a browser's.
  const nameless = new Set([
    "access-token",
    "consent",
    "attempts",
    "authorization-request",
    "code",
    "erased",
    "grant",
    "made-token",
    "passkeys-gone",
    "wake",
  ]);
  const kept = await keptIn(kv);
  assert.deepEqual(kept.filter((kind) => !nameless.has(kind)), []);
});

Deno.test("POST /account/erase wants the box ticked, a form of this session, and to have been asked again who it is within five minutes", async () => {
  using time = new FakeTime();
  await using server = await start();
  const { client, tokens } = await live(server);
  const visitor = await AccountVisitor.signIn(server, { at: "/data" });
  // They are signed in since a moment ago; who knows if they were asked then.
  assert.doesNotMatch(visitor.page.text, /action="\/account\/erase"/);
  const own = formOf(visitor.page, "/account/export");
  const text = own.text.replace("/account/export", "/account/erase");
  const unasked = await visitor.browser.press({ ...own, text }, "", "", {
    erase: "on",
  });
  assert.equal(unasked.status, 403);
  await visitor.press("/account/sign-in");
  assert.equal(server.provider.asked?.isFresh, true);
  const form = formOf(visitor.page, "/account/erase");
  const other = await AccountVisitor.signIn(server, { as: "43", at: "/data" });
  assert(!server.provider.asked?.isFresh);
  const [, csrf] = /name="csrf" value="([^"]*)"/.exec(other.page.text)!;
  for (
    const [fields, status] of [
      [{ erase: "" }, 400],
      [{ erase: "on", csrf }, 403],
      [{ erase: "on", csrf: "" }, 403],
    ] as const
  ) {
    const refused = await visitor.browser.press(form, "", "", { ...fields });
    assert.equal(refused.status, status);
  }
  time.tick(5 * 60);
  const late = await visitor.browser.press(form, "", "", { erase: "on" });
  assert.equal(late.status, 403);
  assert.match(late.text, /Only a sign-in of the last 5 minutes/);
  await visitor.look("/data");
  assert.doesNotMatch(visitor.page.text, /action="\/account\/erase"/);
  // Chrome applies the policy to the redirect to the provider too.
  const policy = visitor.page.headers.get("content-security-policy")!;
  assert.doesNotMatch(policy, /form-action/);
  server.provider.subject = "42";
  // The provider says that it knew them from before.
  server.provider.authenticatedAt = Date.now() / 1000 - 361;
  const known = await visitor.press("/account/sign-in");
  assert.deepEqual([known.status, known.headers.get("set-cookie")], [
    403,
    null,
  ]);
  assert.match(known.text, /Example ID did not ask you again/);
  server.provider.authenticatedAt += 1;
  await visitor.look("/data");
  await visitor.press("/account/sign-in");
  assert.equal(visitor.page.url, `${BASE_URL}/account/data`);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
  await visitor.press("/account/erase", { erase: "on" });
  assert.match(visitor.words, /Erased\./);
});

Deno.test("POST /account/erase goes on where it was broken off, and again does no harm", async () => {
  await using server = await start();
  const { visitor } = await live(server);
  // All has ended, as if the process had died then.
  await visitor.look();
  for (const part of ["", "/tokens"]) {
    await visitor.look(part);
    await visitor.press("/account/end");
  }
  for (let times = 0; times < 2; times++) {
    const again = await AccountVisitor.signIn(server);
    await again.signInToErase();
    await again.press("/account/erase", { erase: "on" });
    assert.match(again.words, /Erased\./);
  }
  await server.app.close();
  assert.deepEqual(await tracesOf(server.kv, /github:42|jo@example/), []);
});

test.onDatabases("a call that was admitted before an erasure keeps nothing of its person", async ({ kv, other }) => {
  await using server = await start({ kv });
  const { client, tokens, visitor } = await live(server);
  const [{ value: grant }] = (await Array.fromAsync(
    kv.list<{ id: string; kind?: string }>({ prefix: ["grant"] }),
  )).filter(({ value }) => value.kind === undefined);
  await visitor.signInToErase();
  await visitor.press("/account/erase", { erase: "on" });
  const caller = { binding: BINDING, grantId: grant.id };
  const database = new Database(other);
  await assert.rejects(
    taskStore(database).create("late", caller),
    /The connection has ended/,
  );
  const sessions = sessionStore(database);
  const begun = {
    revision: "2025-11-25",
    clientInfo: { name: "late", version: "1" },
    capabilities: {},
  } as const;
  await sessions.save({ ...begun, ...caller });
  const strangers = await sessions.save({ ...begun, binding: "stranger" });
  assert.equal(await sessions.adopt(strangers, caller), undefined);
  assert.deepEqual(await tracesOf(kv, /github:42/), []);
  // A person who signs in again begins anew.
  server.provider.subject = "42";
  assert.ok(await client.connect());
  assert.notEqual(tokens.access_token, "");
});

Deno.test("what people download and erase is an event, which does not name whom it erased", async () => {
  const { log, events } = recordLog();
  await using server = await start({ log });
  const visitor = await AccountVisitor.signIn(server, { at: "/data" });
  await visitor.browser.press(formOf(visitor.page, "/account/export"), "", "");
  await visitor.signInToErase();
  await visitor.press("/account/erase", { erase: "on" });
  const [exported, erased] = ["exported", "erased"].map((did) =>
    events.find(({ message }) =>
      message === `Person ${did} on the account page`
    )!
  );
  assert.equal(exported.properties.subject, "github:42");
  assert.equal(erased.audit, true);
  assert.doesNotMatch(JSON.stringify(erased), /github:42/);
});
