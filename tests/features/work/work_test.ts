/** A person's tasks on their account page, and the durable work of everyone. */
import assert from "node:assert/strict";
import { tool, ToolError, z } from "../../../src/mod.ts";
import { bindingOf } from "../../../src/core/oauth/grant.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { resultOf } from "../../kit/answer.ts";
import { Client } from "../../kit/client.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime, MovedTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { BASE_URL } from "../../kit/server.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";

const capabilities = {
  extensions: { "io.modelcontextprotocol/tasks": {} },
  elicitation: { form: {} },
  roots: {},
};
const OPERATOR = { as: "root", email: "root@example.com" };
const HOSTILE = `"><script>alert(1)</script>`;
/** An override of the direction of text, and two beginnings of commands to a terminal. */
const UNSEEN = "\u202e\u001b\u009b";

const never = () => new Promise<never>(() => {});

/** Tools of each kind of task. */
const tools = [
  tool({
    name: "plain",
    scopes: ["report"],
    task: "required",
    input: z.object({ isEndless: z.boolean().default(false) }),
    async run({ isEndless }, { progress }) {
      await progress(1, 2, `Half of it ${HOSTILE}`);
      return isEndless ? await never() : `The report ${HOSTILE}`;
    },
  }),
  tool({
    name: "paying",
    scopes: ["report"],
    task: "required",
    async run(_, { ask }) {
      await ask({ message: "Pay 7 €", url: "https://pay.example.com/" });
      return "Paid";
    },
  }),
  tool({
    name: "order_flowers",
    title: "Order flowers",
    scopes: ["report"],
    task: { durable: true },
    async run(_, { ask, step }) {
      await ask({ message: "Pay 9 €", url: "https://pay.example.com/" });
      await step("order", () => {
        throw new ToolError("Sold out");
      }, { retries: 1 });
      return "Ordered";
    },
  }),
  tool({
    name: "broken",
    scopes: ["report"],
    task: "required",
    run: () => {
      throw new ToolError("The printer is on fire");
    },
  }),
  tool({
    name: "steps",
    scopes: ["report"],
    task: { durable: true },
    input: z.object({
      way: z.enum(["sleep", "ask", "roots", "page", "fail", "hang"]),
    }),
    async run({ way }, { step, sleep, ask, roots }) {
      await step("draft", () => ({ secret: "intermediate" }));
      if (way === "sleep") await sleep("until morning", 3600);
      if (way === "ask") {
        await ask({
          message: `Send it? ${HOSTILE} ${UNSEEN}`,
          schema: z.object({}),
          key: "sure",
        });
      }
      if (way === "roots") await roots();
      if (way === "page") {
        await ask({ message: "Pay 5 €", url: "https://pay.example.com/" });
      }
      if (way === "fail") {
        await step("call 17", () => {
          throw new ToolError("The line is busy");
        }, { retries: 1 });
      }
      if (way === "hang") await step("hang", never);
      return "Sent";
    },
  }),
];

interface Person {
  begin(name: string, args?: Json): Promise<string>;
  task(taskId: string): Promise<Json>;
}

function start(more: OAuthServerOptions = {}): Promise<OAuthServer> {
  return startOAuthServer({
    tools,
    ...more,
    environment: { OAUTH_ADMINS: "root@example.com", ...more.environment },
  });
}

/** Connects a client of a person. */
async function connect(
  server: OAuthServer,
  { as = "42", name = "Claude" } = {},
): Promise<Person> {
  server.provider.subject = as;
  const client = await Client.register(server, { client_name: name });
  const { access_token } = await client.connect({ scope: "report" });
  return personOf(server, access_token);
}

function personOf(server: OAuthServer, accessToken: string): Person {
  const headers = { authorization: `Bearer ${accessToken}` };
  const call = (method: string, params: Json) =>
    resultOf(server.call(method, params, { headers, capabilities }));
  return {
    begin: async (name, args = {}) =>
      (await call("tools/call", { name, arguments: args })).taskId,
    task: (taskId) => call("tasks/get", { taskId }),
  };
}

/** Waits until a task has ended. */
async function ended(person: Person, taskId: string): Promise<void> {
  await until(async () =>
    !["working", "input_required"].includes((await person.task(taskId)).status)
  );
}

/** Looks at a page until it says something. */
async function untilSays(
  visitor: AccountVisitor,
  path: string,
  words: RegExp,
): Promise<void> {
  await until(async () => words.test(await visitor.look(path)));
}

const BINDING = bindingOf({
  issuer: BASE_URL,
  resource: `${BASE_URL}/mcp`,
  subject: "github:42",
});

/** The time of a page today, or tomorrow: these tests run around midnight too. */
const AT = String.raw`(?:[\d-]{10}, )?\d\d:\d\d UTC`;

/** The address of a task's page, below `/account`. */
const at = (taskId: string) => `/work?task=${taskId}`;

Deno.test("a person sees their tasks of all clients and of their access tokens, and of no one else", async () => {
  await using server = await start();
  const ada = await connect(server);
  const other = await connect(server, { name: "Cursor" });
  const eve = await connect(server, { as: "43", name: "Of Eve" });
  await ended(ada, await ada.begin("plain"));
  await ended(other, await other.begin("broken"));
  await ended(eve, await eve.begin("plain"));
  const visitor = await AccountVisitor.signIn(server);
  const token = await visitor.makeToken({ "scope.report": "on" });
  await personOf(server, token).begin("plain", { isEndless: true });
  const words = await visitor.look("/work");
  assert.match(words, /Done just now plain “ Claude ”/);
  assert.match(words, /Failed just now broken “ Cursor ”/);
  assert.match(words, /Running just now plain “ Backup \(access token\) ”/);
  assert.doesNotMatch(words, /Of Eve/);
});

Deno.test("the page of a task is its own person's alone, to read and to cancel", async () => {
  await using server = await start();
  const ada = await connect(server);
  const taskId = await ada.begin("plain", { isEndless: true });
  const owner = await AccountVisitor.signIn(server, { at: at(taskId) });
  assert.equal(owner.page.url, `${BASE_URL}/account${at(taskId)}`);
  const eve = await AccountVisitor.signIn(server, { as: "43", at: "/data" });
  await eve.look(at(taskId));
  assert.equal(eve.page.status, 404);
  await eve.look("/data");
  const [, csrf] = /name="csrf" value="([^"]*)"/.exec(eve.page.text)!;
  const form = formOf(owner.page, "/account/work/cancel");
  const others = { task: taskId, csrf };
  assert.equal((await eve.browser.press(form, "", "", others)).status, 404);
  // A form of another session, and one of none.
  assert.equal((await eve.browser.press(form, "", "")).status, 403);
  assert.equal(
    (await owner.browser.press(form, "", "", { csrf: "" })).status,
    403,
  );
  assert.equal((await ada.task(taskId)).status, "working");
});

Deno.test("POST /account/work/cancel ends a task, leads back to its page, and says when it had ended; the log has it once", async () => {
  const { log, events } = recordLog();
  await using server = await start({ log });
  const ada = await connect(server);
  const taskId = await ada.begin("plain", { isEndless: true });
  const visitor = await AccountVisitor.signIn(server, { at: at(taskId) });
  const form = formOf(visitor.page, "/account/work/cancel");
  const after = await visitor.press("/account/work/cancel");
  assert.ok(after.url.startsWith(`${BASE_URL}/account${at(taskId)}&notice=`));
  assert.match(visitor.words, /Cancelled: “ plain ”\. What it had done before/);
  assert.doesNotMatch(after.text, /account\/work\/cancel/);
  assert.equal((await ada.task(taskId)).status, "cancelled");
  const again = await visitor.browser.press(form, "", "");
  assert.match(again.text, /That had already ended/);
  const told = events.filter(({ message }) => /Task cancelled/.test(message));
  assert.deepEqual(told.map(({ properties }) => properties.task), [taskId]);
});

Deno.test("the page of a task that is done has its result and its status as text, for a day", async () => {
  using time = new FakeTime();
  await using server = await start();
  const ada = await connect(server);
  const plain = await ada.begin("plain");
  await ended(ada, plain);
  const broken = await ada.begin("broken");
  await ended(ada, broken);
  time.tick(20 * 3600);
  const visitor = await AccountVisitor.signIn(server, { at: at(plain) });
  assert.match(visitor.words, /Half of it .*Result The report/);
  assert.doesNotMatch(visitor.page.text, /<script>alert/);
  assert.match(visitor.page.text, /The report &quot;&gt;&lt;script/);
  await visitor.look(at(broken));
  assert.match(visitor.words, /Failed .*Why it failed The printer is on fire/);
});

Deno.test("a result that is long is cut and says so, and one without texts is its data", async () => {
  await using server = await start();
  const tasks = taskStore(new Database(server.kv));
  const end = async (taskId: string, outcome: Json) => {
    await tasks.create(taskId, { binding: BINDING });
    await tasks.end(taskId, { status: "completed", outcome });
  };
  const text = "x".repeat(200_000);
  await end("long", { content: [{ type: "text", text }] });
  await end("data", { structuredContent: { n: 7 }, content: [] });
  await end("picture", { content: [{ type: "image", data: "AAAA" }] });
  const visitor = await AccountVisitor.signIn(server, { at: at("long") });
  assert.match(visitor.words, /Cut here/);
  assert(visitor.page.text.length < 60_000);
  assert.match(visitor.words, /A tool .*a connection that is gone/);
  assert.match(await visitor.look(at("data")), /&quot;n&quot;:7/);
  assert.match(await visitor.look(at("picture")), /\[image\]/);
  assert.doesNotMatch(visitor.words, /AAAA/);
});

test.inMemory("a task whose tool the operator's permissions keep from its person is not shown to them", async ({ kv }) => {
  let taskId: string;
  {
    await using server = await start({ kv });
    const ada = await connect(server);
    taskId = await ada.begin("plain");
    await ended(ada, taskId);
  }
  for (const [scope, status] of [["nothing", 404], ["report", 200]] as const) {
    await using server = await start({
      kv,
      environment: { OAUTH_PERMISSIONS: `*=${scope}` },
      scopes: { nothing: "Nothing." },
    });
    const visitor = await AccountVisitor.signIn(server, { at: at(taskId) });
    assert.equal(visitor.page.status, status);
    assert.equal(/plain/.test(await visitor.look("/work")), status === 200);
  }
});

test.inMemory("a list of tasks that is cut says so", async ({ kv }) => {
  await using server = await start({ kv });
  const tasks = taskStore(new Database(kv));
  for (let n = 0; n < 101; n++) {
    await tasks.create(`task-${n}`, { binding: BINDING });
  }
  const visitor = await AccountVisitor.signIn(server, { at: "/work" });
  assert.match(visitor.words, /The first 100 of 101/);
});

test.inMemory("a task whose process died fails while its person looks at the list", async ({ kv }) => {
  using time = new MovedTime();
  const { log, events } = recordLog();
  await using server = await start({ kv, log });
  const task = { tool: "report" };
  await taskStore(new Database(kv)).create("dead", { binding: BINDING }, task);
  const visitor = await AccountVisitor.signIn(server, { at: "/work" });
  assert.match(visitor.words, /Running/);
  time.tick(30);
  await until(async () => {
    time.tick(5);
    return /Failed/.test(await visitor.look("/work"));
  });
  assert.deepEqual(
    events.filter(({ level }) => level === "warning").map((
      { message, properties },
    ) => [message, properties]),
    [[
      "A task failed, because its process has died",
      { reference: "dead", tool: "report" },
    ]],
  );
});

Deno.test("the steps of durable work are a line: kept, sleeping until, and what is running", async () => {
  await using server = await start();
  const ada = await connect(server);
  const asleep = await ada.begin("steps", { way: "sleep" });
  const visitor = await AccountVisitor.signIn(server, { at: "/work" });
  const until = `Sleeping until ${AT} just now steps “ Claude ”`;
  await untilSays(visitor, "/work", new RegExp(until));
  await visitor.look(at(asleep));
  assert.match(
    visitor.words,
    new RegExp(`steps Sleeping until ${AT} Asked by`),
  );
  assert.match(visitor.words, /Kept for 24 hours after its end/);
  assert.match(visitor.words, /draft Kept just now/);
  assert.match(visitor.words, new RegExp(`until morning Sleeping Until ${AT}`));
  assert.doesNotMatch(visitor.page.text, /intermediate/);
  const hanging = await ada.begin("steps", { way: "hang" });
  await untilSays(visitor, at(hanging), /hang Running Since just now/);
  await visitor.press("/account/work/cancel");
  assert.match(visitor.words, /hang May have happened/);
  await visitor.look(at(asleep));
  await visitor.press("/account/work/cancel");
  assert.match(visitor.words, /Kept until \d/);
  assert.match(visitor.words, /until morning Cut off/);
});

Deno.test("a step that fails says which try it was, the next one, and its tool's own words", async () => {
  await using server = await start();
  const ada = await connect(server);
  const taskId = await ada.begin("steps", { way: "fail" });
  const visitor = await AccountVisitor.signIn(server, { at: "/work" });
  await untilSays(
    visitor,
    at(taskId),
    new RegExp(
      `call 17 To be tried again Tried 1 of 2, next try ${AT} The line`,
    ),
  );
  await ended(ada, taskId);
  await visitor.look(at(taskId));
  assert.match(visitor.words, /call 17 Failed Tried 2 of 2, just now The line/);
  assert.match(visitor.words, /Why it failed The line is busy/);
  const operator = await AccountVisitor.signIn(server, OPERATOR);
  await untilSays(operator, "/durable", /2 steps call # just now just now/);
});

Deno.test("a task that asks is answered on its page, on that of the question, or by the client alone", async () => {
  await using server = await start();
  const ada = await connect(server);
  const asking = await ada.begin("steps", { way: "ask" });
  const visitor = await AccountVisitor.signIn(server, { at: "/work" });
  await untilSays(visitor, "/work", /Waiting for you just now steps/);
  await visitor.look(at(asking));
  assert.match(visitor.words, /Send it\? .* Accept Decline/);
  assert.doesNotMatch(visitor.page.text, /<script>alert/);
  for (const character of UNSEEN) {
    assert(!visitor.page.text.includes(character));
  }
  const silent = await ada.begin("steps", { way: "roots" });
  await untilSays(visitor, at(silent), /Waiting for the app This asks the app/);
  const paying = await ada.begin("paying");
  await untilSays(visitor, at(paying), /Waiting for your answer Pay 7 €/);
  await visitor.press("/account/work/cancel");
  assert.doesNotMatch(visitor.words, /Waiting for your answer/);
  const page = await ada.begin("steps", { way: "page" });
  await untilSays(
    visitor,
    at(page),
    /Waiting for you .*Waiting for your answer Pay 5 € Answer/,
  );
  const [, href] = /href="(\/wait\/[\w-]{43})"/.exec(visitor.page.text)!;
  const question = await visitor.browser.open(`${BASE_URL}${href}`);
  assert.match(question.text, /Pay 5 €/);
});

Deno.test("a tool is called by its title wherever a person sees it, and by its name too where an operator does", async () => {
  await using server = await start();
  const ada = await connect(server);
  const taskId = await ada.begin("order_flowers");
  const visitor = await AccountVisitor.signIn(server, { at: "/work" });
  await untilSays(visitor, at(taskId), /Order flowers .* Pay 9 € Answer/);
  const [, href] = /href="(\/wait\/[\w-]{43})"/.exec(visitor.page.text)!;
  const page = await visitor.browser.open(`${BASE_URL}${href}`);
  const seen = [visitor.page.text, page.text];
  for (const path of ["", "/work"]) {
    await visitor.look(path);
    seen.push(visitor.page.text);
  }
  await visitor.browser.press(
    formOf(page, new URL(href, BASE_URL).pathname),
    "answer",
    "done",
  );
  await ended(ada, taskId);
  await untilSays(visitor, "/calls", /Failed just now Order flowers/);
  seen.push(visitor.page.text);
  for (const text of seen) {
    assert.match(text, /Order flowers/);
    assert.doesNotMatch(text, /order_flowers/);
  }
  const operator = await AccountVisitor.signIn(server, OPERATOR);
  for (const path of ["/calls", "/durable"]) {
    await untilSays(operator, path, /Order flowers order_flowers/);
  }
});

Deno.test("an operator sees durable work without what people gave and got, and no one else does", async () => {
  await using server = await start();
  const ada = await connect(server);
  const taskId = await ada.begin("steps", { way: "sleep" });
  const operator = await AccountVisitor.signIn(server, OPERATOR);
  const listed = new RegExp(`Goes on ${AT} just now steps`);
  await untilSays(operator, "/durable", listed);
  assert.match(operator.words, new RegExp(taskId));
  assert.match(operator.words, /Nothing is stuck/);
  assert.doesNotMatch(operator.page.text, /github:42|intermediate|Claude/);
  await operator.look(at(taskId));
  assert.equal(operator.page.status, 404);
});
