/** The open questions of a person's tasks, answered by them on their page. */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import { bindingOf } from "../../../src/core/oauth/grant.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { Events, resultOf, textOf } from "../../kit/answer.ts";
import { test } from "../../kit/databases.ts";
import { checkEndsWithSession } from "../../kit/ended_session.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { BASE_URL } from "../../kit/server.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";

const capabilities = {
  ...TASKS,
  elicitation: { form: {}, url: {} },
  roots: {},
};
const HOSTILE = `"><script>alert(1)</script>`;
/** An override of the direction of text, and two beginnings of commands to a terminal. */
const UNSEEN = "\u202e\u001b\u009b";

const BINDING = bindingOf({
  issuer: BASE_URL,
  resource: `${BASE_URL}/mcp`,
  subject: "github:42",
});

/** Both kinds of a tool that asks. */
const KINDS = ["plain", "durable"] as const;

const tools = [
  ...KINDS.map((name) =>
    tool({
      name,
      scopes: ["order"],
      task: name === "plain" ? "required" : { durable: true },
      async run(_, { ask }) {
        const answer = await ask({
          message: "How many?",
          schema: z.object({
            // Only the author's schema knows that it is even.
            count: z.int().max(8).refine((n) => n % 2 === 0, "Not even"),
            colors: z.array(z.enum(["red", "blue"])),
            note: z.string().max(200_000).optional(),
          }),
        });
        if (answer.action !== "accept") return answer.action;
        const { count, colors, note = "" } = answer.content;
        return `${count} of ${colors}, ${note.length} characters`;
      },
    })
  ),
  tool({
    name: "folders",
    scopes: ["order"],
    task: { durable: true },
    run: async (_, { roots }) => `${(await roots()).length} folders`,
  }),
  tool({
    name: "contract",
    scopes: ["order"],
    task: { durable: true },
    async run(_, { ask }) {
      const url = "https://sign.example.com/1?a=b&c";
      return (await ask({ message: "Sign it", url })).action;
    },
  }),
  tool({
    name: "hostile",
    scopes: ["order"],
    task: { durable: true },
    async run(_, { ask }) {
      const words = `${HOSTILE} ${UNSEEN}`;
      const field = { type: "string", title: words, description: words };
      const answer = await ask({
        message: `Which? ${words}`,
        requestedSchema: JSON.parse(JSON.stringify({
          type: "object",
          properties: {
            ["__proto__"]: field,
            [words]: { ...field, enum: [words], enumNames: [words] },
            csrf: { ...field, default: words },
          },
        })),
      });
      return JSON.stringify(answer);
    },
  }),
];

function start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  return startOAuthServer({ tools, ...options });
}

/** The address of a task's page, below `/account`. */
const at = (taskId: string) => `/work?task=${taskId}`;

/** A task that asks, its page in a browser of its person, and its client. */
async function asking(
  server: OAuthServer,
  name = "durable",
  words = /How many\? .* Answer Decline/,
) {
  const { headers } = await server.person({ scope: "order" });
  const call = (method: string, params: Json) =>
    resultOf(server.call(method, params, { headers, capabilities }));
  const { taskId } = await call("tools/call", { name });
  const task = (): Promise<Json> => call("tasks/get", { taskId });
  const visitor = await AccountVisitor.signIn(server, { at: "/work" });
  await untilSays(visitor, taskId, words);
  return { taskId, visitor, call, task, headers };
}

/** Looks at a task until its page says something. */
async function untilSays(
  visitor: AccountVisitor,
  taskId: string,
  words: RegExp,
): Promise<void> {
  await until(async () => words.test(await visitor.look(at(taskId))));
}

/** The entries of the form. */
function entries(count: string, more: Record<string, string> = {}) {
  return {
    answer: "accept",
    "field.0": count,
    "field.1.0": "",
    "field.1.1": "on",
    ...more,
  };
}

const answer = (visitor: AccountVisitor, fields: Record<string, string>) =>
  visitor.press("/account/work/answer", fields);

for (const kind of KINDS) {
  Deno.test(`POST /account/work/answer answers a form of ${kind} work in place of its app, and after a mistake again`, async () => {
    const { log, events } = recordLog();
    await using server = await start({ log });
    const { taskId, visitor, task } = await asking(server, kind);
    const first = visitor.page;
    for (
      const [count, fault] of [
        ["many", /“count” must be a number\. The question is still open/],
        ["2.5", /“count” must be a whole number/],
        ["10", /“count” must be at most 8/],
        ["", /“count” is missing/],
      ] as const
    ) {
      visitor.page = first;
      const { status } = await answer(visitor, entries(count));
      assert.equal(status, 400);
      assert.match(visitor.words, fault);
    }
    visitor.page = first;
    await answer(visitor, entries("7"));
    assert.match(visitor.words, /Answered\. The task has/);
    await untilSays(visitor, taskId, /Please correct: .*Not even/);
    // A page from before is about a question that is over.
    visitor.page = first;
    await answer(visitor, entries("4"));
    assert.match(
      visitor.words,
      /That question was answered before, or is over/,
    );
    assert.match(visitor.words, /Please correct/);
    await answer(visitor, entries("2"));
    await untilSays(visitor, taskId, /Result 2 of blue, 0 characters/);
    assert.equal((await task()).status, "completed");
    const logged = events.filter(({ message }) => /^Answered/.test(message))
      .map(({ properties }) => properties);
    assert.deepEqual(logged.map((it) => it.task), [taskId, taskId]);
    assert.doesNotMatch(JSON.stringify(logged), /blue/);
  });
}

Deno.test("POST /account/work/answer declines a form without filling it in", async () => {
  await using server = await start();
  const { taskId, visitor } = await asking(server);
  await answer(visitor, { answer: "decline", "field.0": "many" });
  assert.match(visitor.words, /Declined\. The task is told/);
  await untilSays(visitor, taskId, /Result decline/);
});

Deno.test("POST /account/work/answer takes no answer of anyone else, of another session or site, or without an action", async () => {
  await using server = await start();
  const { visitor, task } = await asking(server);
  const form = formOf(visitor.page, "/account/work/answer");
  const eve = await AccountVisitor.signIn(server, { as: "43", at: "/data" });
  const [, csrf] = /name="csrf" value="([^"]*)"/.exec(eve.page.text)!;
  const statusOf = async (who: AccountVisitor, more: Record<string, string>) =>
    (await who.browser.press(form, "", "", { ...entries("2"), ...more }))
      .status;
  assert.equal(await statusOf(eve, { csrf }), 404);
  assert.equal(await statusOf(eve, {}), 403);
  assert.equal(await statusOf(visitor, { csrf: "" }), 403);
  assert.equal(await statusOf(visitor, { answer: "perhaps" }), 400);
  const foreign = await server.form("/account/work/answer", {}, {
    origin: "https://evil.example.com",
  });
  assert.equal(foreign.status, 403);
  await foreign.body?.cancel();
  assert.equal((await task()).status, "input_required");
});

test.inMemory("POST /account/work/answer takes no answer of who may no longer use the server", async ({ kv }) => {
  await using server = await start({ kv });
  const { taskId, task } = await asking(server, "plain");
  await using strict = await start({
    kv,
    environment: { OAUTH_ALLOWED_USERS: "github:7" },
  });
  const visitor = await AccountVisitor.signIn(strict, { at: at(taskId) });
  assert.equal((await answer(visitor, entries("2"))).status, 403);
  assert.equal((await task()).status, "input_required");
});

Deno.test("POST /account/work/answer takes no answer of who is signed out or blocked meanwhile", async () => {
  await checkEndsWithSession(async (kv) => {
    const server = await start({ kv });
    const { taskId, visitor } = await asking(server);
    const tasks = taskStore(new Database(kv));
    return {
      subject: "github:42",
      press: () => answer(visitor, entries("2")),
      async stored() {
        const task = await tasks.find(taskId, BINDING);
        return task?.status === "input_required";
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});

test.onDatabases("of answers in two tabs and by the app at the same time, at two processes, one counts", async ({ kv, other }) => {
  await using server = await start({ kv });
  await using second = await start({ kv: other, provider: server.provider });
  const { taskId, visitor, call, task } = await asking(server);
  const elsewhere = await AccountVisitor.signIn(second, { at: at(taskId) });
  const { inputRequests } = await task();
  const [key] = Object.keys(inputRequests);
  const content = { count: 6, colors: [] };
  await Promise.all([
    answer(visitor, entries("2")),
    answer(elsewhere, entries("4")),
    call("tasks/update", {
      taskId,
      inputResponses: { [key]: { action: "accept", content } },
    }),
  ]);
  const isTaken = [visitor, elsewhere].map(({ words }) =>
    /Answered\. The task has/.test(words)
  );
  await untilSays(visitor, taskId, /Result \d of/);
  const [, count] = /Result (\d) of/.exec(visitor.words)!;
  assert.deepEqual(isTaken, [count === "2", count === "4"]);
});

Deno.test("an open question is on the first page of the account, unless it is for the app itself", async () => {
  await using server = await start();
  const { taskId, visitor, call } = await asking(server);
  const words = await visitor.look();
  assert.match(
    words,
    /Waiting for you “ [^”]* ” Unverified Answer .*How many\?/,
  );
  assert(visitor.page.text.includes(`href="/account${at(taskId)}"`));
  const silent = await call("tools/call", { name: "folders" });
  const own = /Waiting for the app This asks the app itself/;
  await untilSays(visitor, silent.taskId, own);
  assert.match(
    await visitor.look("/work"),
    /Waiting for its app just now folders/,
  );
  assert.equal((await visitor.look()).match(/Asked by/g)?.length, 1);
  // Its form would not be there.
  await visitor.look(at(taskId));
  const form = { task: silent.taskId, question: "roots" };
  await answer(visitor, { ...entries("2"), ...form });
  assert.match(visitor.words, /That question was answered before, or is over/);
  // The person knows their own token.
  const token = await visitor.makeToken({ "scope.order": "on" });
  const headers = { authorization: `Bearer ${token}` };
  await (await server.call("tools/call", { name: "plain" }, {
    headers,
    capabilities,
  })).body?.cancel();
  await until(async () =>
    /“ Backup \(access token\) ” Answer/.test(await visitor.look())
  );
});

Deno.test("a model whose client cannot ask is told the page on which its person answers", async () => {
  using time = new FakeTime();
  await using server = await start();
  const { taskId, headers } = await asking(server);
  const status = { name: "task_status", arguments: { taskId } };
  const options = { headers, capabilities: TASKS };
  let text: string | undefined;
  const told = textOf(server.call("tools/call", status, options))
    .then((it) => text = it);
  await until(() => {
    time.tick(1);
    return text !== undefined;
  });
  assert.match(
    await told,
    new RegExp(
      `to “How many\\?”.*:\n${BASE_URL}/account/work\\?task=${taskId}\n`,
    ),
  );
});

Deno.test("an address that an app should open is opened from the page of its task", async () => {
  await using server = await start();
  const words = /Sign it It leads to sign\.example\.com .* Done Not now/;
  const { taskId, visitor } = await asking(server, "contract", words);
  const href = "https://sign.example.com/1?a=b&amp;c";
  assert(
    visitor.page.text.includes(
      `href="${href}" target="_blank" rel="noopener noreferrer"`,
    ),
  );
  await answer(visitor, { answer: "accept" });
  await untilSays(visitor, taskId, /Result accept/);
});

Deno.test("a question of a call of 2025 is answered on the page while its client shows it, which is told so", async () => {
  await using server = await start();
  const { headers } = await server.person({ scope: "order" });
  const session = await server.openSession({
    headers,
    capabilities: { elicitation: {} },
  });
  const events = new Events(
    await session.request("tools/call", { name: "durable" }),
  );
  const question = await events.read();
  assert.equal(question.method, "elicitation/create");
  const visitor = await AccountVisitor.signIn(server);
  const [, taskId] = /\/account\/work\?task=([\w-]+)/.exec(visitor.page.text)!;
  await visitor.look(at(taskId));
  await answer(visitor, entries("2"));
  const cancelled = await events.read();
  assert.equal(cancelled.method, "notifications/cancelled");
  assert.equal(cancelled.params.requestId, question.id);
  const { result } = await events.read();
  assert.match(result.content[0].text, /^2 of blue/);
  await untilSays(visitor, taskId, /Result 2 of blue/);
});

Deno.test("an answer of 100,000 characters arrives whole, and one beyond a mebibyte is refused", async () => {
  await using server = await start();
  const { taskId, visitor } = await asking(server);
  const form = visitor.page;
  const long = { "field.2": "ж".repeat(200_000) };
  assert.equal((await answer(visitor, entries("2", long))).status, 413);
  visitor.page = form;
  await answer(visitor, entries("2", { "field.2": "ж\r\n".repeat(50_000) }));
  await untilSays(visitor, taskId, /Result 2 of blue, 100000 characters/);
});

Deno.test("the words of a question stay words, and its fields their own", async () => {
  await using server = await start();
  const { taskId, visitor } = await asking(server, "hostile", /Which\?/);
  assert.doesNotMatch(visitor.page.text, /<script>alert/);
  for (const character of UNSEEN) {
    assert(!visitor.page.text.includes(character));
  }
  assert.equal(
    (await answer(visitor, {
      answer: "accept",
      "field.0": "a",
      "field.1": "1",
      "field.2": "c",
    })).status,
    400,
  );
  await visitor.look(at(taskId));
  await answer(visitor, {
    answer: "accept",
    "field.0": "a",
    "field.1": "0",
    "field.2": "c",
  });
  await untilSays(visitor, taskId, /Result \{/);
  assert.match(visitor.words, /&quot;__proto__&quot;:&quot;a&quot;/);
  assert.match(visitor.words, /&quot;csrf&quot;:&quot;c&quot;/);
});

for (
  const [change, fields] of [
    ["end", {}],
    ["narrow", { "scope.order": "" }],
  ] as const
) {
  Deno.test(`POST /account/work/answer brings nothing to pass a second after the ${change} of the task's connection`, async () => {
    using time = new FakeTime();
    await using server = await start();
    const { taskId, visitor } = await asking(server);
    const before = visitor.page;
    await visitor.look();
    await visitor.press(`/account/${change}`, fields);
    // A process that waits for the answer notices; one to come will.
    await until(() => {
      time.tick(1);
      return server.app.running === 0;
    });
    visitor.page = before;
    await answer(visitor, entries("2"));
    await until(async () => {
      time.tick(1);
      return /Cancelled|Failed/.test(await visitor.look(at(taskId)));
    });
    assert.doesNotMatch(visitor.words, /2 of blue/);
  });
}

Deno.test("POST /account/work/answer leaves nothing of a person who has erased everything", async () => {
  await using server = await start();
  const { taskId, visitor } = await asking(server);
  const before = visitor.page;
  await visitor.signInToErase();
  await visitor.press("/account/erase", { erase: "on" });
  visitor.page = before;
  assert.equal((await answer(visitor, entries("2"))).status, 403);
  const tasks = taskStore(new Database(server.kv));
  assert.equal(await tasks.find(taskId, BINDING), undefined);
});
