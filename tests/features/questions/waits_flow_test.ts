/**
 * Questions that a person answers on a page: the ways to tell each kind of
 * client, in both generations, and every way to answer in someone's place.
 */
import assert from "node:assert/strict";
import { resource, tool, z } from "../../../src/mod.ts";
import { LINKS_META } from "../../../src/core/protocol/not_yet.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { WAIT_SECONDS } from "../../../src/features/questions/wait_record.ts";
import { waitStore } from "../../../src/features/questions/waits.ts";
import { AccountVisitor, csrfOf, formOf } from "../../kit/account_visitor.ts";
import { Events, outcome, resultOf, textOf } from "../../kit/answer.ts";
import { test } from "../../kit/databases.ts";
import { checkEndsWithSession, waitsIn } from "../../kit/ended_session.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import { initialize, type Json, rpc } from "../../kit/message.ts";
import { type Answering, BASE_URL, startServer } from "../../kit/server.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { TASKS } from "../../kit/task.ts";
import { until, within } from "../../kit/wait.ts";

/** The runs that went on after `catch` or to their end. */
const ran: string[] = [];

const pay = tool({
  name: "pay",
  input: z.object({
    order: z.string().default("1"),
    until: z.enum(["opened", "done"]).default("opened"),
    amount: z.string().default("5 €"),
  }),
  task: "optional",
  async run({ order, until, amount }, { ask }) {
    try {
      const { action } = await ask({
        message: `Pay ${amount}`,
        // As checkouts are: another address each time.
        url: `https://pay.example.com/${order}/${crypto.randomUUID()}`,
        until,
        key: "pay",
      });
      ran.push(action);
      return `said ${action}`;
    } catch (error) {
      ran.push(`caught ${error}`);
      throw error;
    }
  },
});

const two = tool({
  name: "two",
  async run(_input, { ask }) {
    const url = "https://pay.example.com/";
    const first = await ask({ message: "First", url });
    const second = await ask({ message: "Second", url });
    return `${first.action}, ${second.action}`;
  },
});

const both = tool({
  name: "both",
  async run(_input, { ask }) {
    const url = "https://pay.example.com/";
    const answers = await Promise.all([
      ask({ message: "First", url }),
      ask({ message: "Second", url }),
    ]);
    return answers.map(({ action }) => action).join();
  },
});

const script = tool({
  name: "script",
  run: async (_input, { ask }) =>
    (await ask({ message: "Look", url: "javascript:alert(1)" })).action,
});

const late = tool({
  name: "late",
  task: "required",
  async run(_input, { ask }) {
    // Longer than a status has room for.
    const message = "Pay ".repeat(500);
    const { action } = await ask({ message, url: "https://pay.example.com/" });
    return `said ${action}`;
  },
});

const settle = tool({
  name: "settle",
  task: "required",
  async run(_input, { ask }) {
    const url = "https://pay.example.com/";
    const { action } = await ask({ message: "Settle", url, until: "done" });
    return `said ${action}`;
  },
});

const TOOLS = { tools: [pay, two, both, script, late, settle] };
const OPENS = { elicitation: { form: {}, url: {} } };
/** The capabilities of Codex and Claude Code. */
const FORMS = { elicitation: {} };

type Call = (name: string, input?: Json, more?: Json) => Promise<Response>;

/** A client of a person that calls in one generation. */
async function clientOf(
  server: OAuthServer,
  generation: "2025" | "2026",
  { as = "42", capabilities = FORMS, at = server }: {
    as?: string;
    capabilities?: Json;
    at?: OAuthServer;
  } = {},
): Promise<Call> {
  server.provider.subject = as;
  const { headers } = await server.person();
  if (generation === "2026") {
    return (name, input = {}, more = {}) =>
      at.call("tools/call", { name, arguments: input, ...more }, {
        headers,
        capabilities,
      });
  }
  const { headers: session } = await at.openSession({ headers, capabilities });
  return (name, input = {}) =>
    at.post(rpc("tools/call", { name, arguments: input }), session);
}

function start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  return startOAuthServer({ ...TOOLS, ...options });
}

/** Reads the one address that a result tells the model. */
function linkOf({ content, isError, _meta }: Json, nth = 0): string {
  assert.equal(isError, true, JSON.stringify(content));
  const links = content[0].text.match(/^http\S*$/gm);
  assert.deepEqual(_meta[LINKS_META].map(({ url }: Json) => url), links);
  assert.match(links[nth], /^http:\/\/127\.0\.0\.1:3000\/wait\/[\w-]{43}$/);
  return links[nth];
}

/** Opens a link as a person, who signs in where they must. */
async function open(
  server: Answering & Pick<OAuthServer, "provider">,
  link: string,
  as = "42",
): Promise<AccountVisitor> {
  const visitor = await AccountVisitor.signIn(server, { as });
  visitor.page = await visitor.browser.open(link);
  return visitor;
}

/** Presses a button of the page of a wait. */
function press(visitor: AccountVisitor, answer: string) {
  const path = new URL(visitor.page.url).pathname;
  return visitor.press(path, { answer });
}

for (const generation of ["2025", "2026"] as const) {
  Deno.test(`${generation}: ask({ url }) gives the model of a client that opens no pages a link, and the next call has the answer, once`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    ran.length = 0;
    const response = await call("pay");
    assert.equal(response.status, 200);
    const first = await resultOf(response);
    const link = linkOf(first);
    assert.match(first.content[0].text, /Pay 5 €\nhttp.*call pay again/s);
    assert.doesNotMatch(first.content[0].text, /pay\.example/);
    // The same link as long as it waits.
    assert.equal(linkOf(await resultOf(call("pay"))), link);
    const visitor = await open(server, link);
    assert.match(visitor.words, /“ ?App ?” waits for you/);
    assert.match(
      visitor.words,
      /for pay .* Pay 5 € .* pay\.example\.com/,
    );
    assert.match(
      visitor.page.text,
      /href="https:\/\/pay\.example\.com\/1\/[^"]*" target="_blank" rel="noopener noreferrer"/,
    );
    await press(visitor, "done");
    assert.match(visitor.words, /You said “Done”/);
    const { content, isError } = await resultOf(call("pay"));
    assert.deepEqual([isError, content[0].text], [undefined, "said accept"]);
    // No catch and no finally ran before.
    assert.deepEqual(ran, ["accept"]);
    visitor.page = await visitor.browser.open(link);
    assert.match(visitor.words, /Your answer has arrived/);
    assert.notEqual(linkOf(await resultOf(call("pay"))), link);
  });

  Deno.test(`${generation}: "Not now" reaches the tool as decline`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    const visitor = await open(server, linkOf(await resultOf(call("pay"))));
    await press(visitor, "not-now");
    assert.match(visitor.words, /You said “Not now”/);
    assert.equal(await textOf(call("pay")), "said decline");
  });

  Deno.test(`${generation}: the model of a client without tasks is told the link of a task at once, whole`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    // The answer does not wait for the hand-over, which is 45 seconds away.
    const handed = await within(20, resultOf(call("late")));
    const { content: [{ text }] } = handed;
    const link = /^http:\S*\/wait\/[\w-]{43}$/m.exec(text)?.[0];
    assert(link, text);
    await press(await open(server, link), "done");
    const taskId = /"taskId":"([\w-]{32})"/.exec(text)![1];
    const { content } = await resultOf(call("task_status", { taskId }));
    assert.equal(content[0].text, "said accept");
  });

  Deno.test(`${generation}: another tool call, amount or client of the same person has a wait of its own`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    const other = await clientOf(server, generation);
    const link = linkOf(await resultOf(call("pay")));
    await press(await open(server, link), "done");
    const second = linkOf(await resultOf(other("pay")));
    const third = linkOf(await resultOf(call("pay", { order: "2" })));
    assert.equal(new Set([link, second, third]).size, 3);
    assert.equal(await textOf(call("pay")), "said accept");
  });

  Deno.test(`${generation}: answers of earlier questions stay until the run comes to its end`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    const first = linkOf(await resultOf(call("two")));
    await press(await open(server, first), "done");
    const second = linkOf(await resultOf(call("two")));
    assert.notEqual(second, first);
    assert.equal(linkOf(await resultOf(call("two"))), second);
    await press(await open(server, second), "not-now");
    assert.equal(await textOf(call("two")), "accept, decline");
  });

  Deno.test(`${generation}: questions that are asked side by side are told together`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    const result = await resultOf(call("both"));
    const links = [linkOf(result, 0), linkOf(result, 1)];
    for (const link of links) await press(await open(server, link), "done");
    assert.equal(await textOf(call("both")), "accept,accept");
  });

  Deno.test(`${generation}: no page leads to an address that is no web page`, async () => {
    await using server = await start();
    const call = await clientOf(server, generation);
    assert.match(await textOf(call("script")), /Internal error/);
  });

  Deno.test(`${generation}: a client that opens pages is sent to the author's address, and its accept is the answer`, async () => {
    await using server = await start();
    const capabilities = OPENS;
    const call = await clientOf(server, generation, { capabilities });
    const response = await call("pay");
    const asked = generation === "2025"
      ? await new Events(response).read()
      : (await resultOf(response)).inputRequests.pay;
    assert.equal(asked.method, "elicitation/create");
    assert.match(asked.params.url, /^https:\/\/pay\.example\.com\/1\//);
    await response.body?.cancel().catch(() => {});
  });
}

Deno.test("2026: a retry is held while the page waits, is asked the same again, and ends with the answer", async () => {
  using time = new FakeTime();
  await using server = await start();
  const call = await clientOf(server, "2026", { capabilities: OPENS });
  const input = { until: "done" };
  const first = await resultOf(call("pay", input));
  const { url, message, mode } = first.inputRequests.pay.params;
  assert.deepEqual([mode, message], ["url", "Pay 5 €"]);
  assert.match(url, /\/wait\/[\w-]{43}$/);
  const retry = (requestState: string) =>
    call("pay", input, {
      requestState,
      inputResponses: { pay: { action: "accept" } },
    });
  const held = retry(first.requestState);
  let isOver = false;
  const over = held.then(resultOf).then((result) => {
    isOver = true;
    return result;
  });
  await until(() => server.app.running > 0);
  assert.equal(isOver, false);
  const again = await whileTimePasses(time, over);
  assert.deepEqual(again.inputRequests, first.inputRequests);
  const last = retry(again.requestState);
  await press(await open(server, url), "done");
  assert.equal(await textOf(last), "said accept");
});

/** Lets time go by until there is an answer. */
async function whileTimePasses<T>(
  time: FakeTime,
  promise: Promise<T>,
): Promise<T> {
  const clock = setInterval(() => time.tick(2), 10);
  return await promise.finally(() => clearInterval(clock));
}

Deno.test("2026: rounds are bounded: then the model is given the link", async () => {
  using time = new FakeTime();
  await using server = await start();
  const call = await clientOf(server, "2026", { capabilities: OPENS });
  const input = { until: "done" };
  let result = await resultOf(call("pay", input));
  const { url } = result.inputRequests.pay.params;
  let rounds = 1;
  for (; result.inputRequests; rounds++) {
    const waiting = call("pay", input, {
      requestState: result.requestState,
      inputResponses: { pay: { action: "accept" } },
    });
    result = await whileTimePasses(time, waiting.then(resultOf));
  }
  assert.equal(rounds, 8);
  assert.equal(linkOf(result), url);
});

Deno.test("2026: what a client declines waits no longer", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026", { capabilities: OPENS });
  const input = { until: "done" };
  const { requestState, inputRequests } = await resultOf(call("pay", input));
  assert.equal(
    await textOf(call("pay", input, {
      requestState,
      inputResponses: { pay: { action: "decline" } },
    })),
    "said decline",
  );
  const visitor = await open(server, inputRequests.pay.params.url);
  assert.match(visitor.words, /Nothing waits for you here/);
});

Deno.test("2026: a task goes on once its person is done, although its client has not answered", async () => {
  await using server = await start();
  server.provider.subject = "42";
  const { headers } = await server.person();
  const options = { headers, capabilities: { ...OPENS, ...TASKS } };
  const { taskId } = await resultOf(
    server.call("tools/call", { name: "settle", arguments: {} }, options),
  );
  let task: Json = {};
  const reach = (status: string) =>
    until(async () => {
      task = await resultOf(server.call("tasks/get", { taskId }, options));
      return task.status === status;
    });
  await reach("input_required");
  const [{ params }] = Object.values<Json>(task.inputRequests);
  await press(await open(server, params.url), "done");
  await reach("completed");
  assert.equal(task.result.content[0].text, "said accept");
});

Deno.test("2025: elicitation/create names the page, and is told to be complete when the person is done", async () => {
  await using server = await start();
  server.provider.subject = "42";
  const { headers } = await server.person();
  const { headers: session } = await server.openSession({
    headers,
    capabilities: OPENS,
  });
  const events = new Events(
    await server.post(
      rpc("tools/call", { name: "pay", arguments: { until: "done" } }),
      session,
    ),
  );
  const { id, method, params } = await events.read();
  assert.deepEqual([method, params.mode], ["elicitation/create", "url"]);
  const accepted = await server.post(
    { jsonrpc: "2.0", id, result: { action: "accept" } },
    session,
  );
  assert.equal(accepted.status, 202);
  await press(await open(server, params.url), "done");
  const told = await events.read();
  assert.deepEqual([told.method, told.params], [
    "notifications/elicitation/complete",
    { elicitationId: params.elicitationId },
  ]);
  const { result } = await events.read();
  assert.equal(result.content[0].text, "said accept");
});

Deno.test("a task goes on after its person has answered, and tells the link in its status until then", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const slow = tool({
    name: "slow",
    task: "optional",
    async run(_input, { ask }) {
      const url = "https://pay.example.com/";
      const { action } = await ask({ message: "Pay 5 €", url });
      await held;
      return `said ${action}`;
    },
  });
  await using server = await start({ tools: [slow] });
  const capabilities = {
    ...FORMS,
    extensions: { "io.modelcontextprotocol/tasks": {} },
  };
  server.provider.subject = "42";
  const { headers } = await server.person();
  const ask = (method: string, params: Json) =>
    resultOf(server.call(method, params, { headers, capabilities }));
  const { taskId } = await ask("tools/call", { name: "slow" });
  let task: Json = {};
  await until(async () => {
    task = await ask("tasks/get", { taskId });
    return task.statusMessage !== undefined;
  });
  const [message, link] = task.statusMessage.split("\n");
  assert.equal(message, "Pay 5 €");
  await press(await open(server, link), "done");
  await until(async () => {
    task = await ask("tasks/get", { taskId });
    return task.statusMessage === undefined;
  });
  assert.equal(task.status, "working");
  release();
  await until(async () => {
    task = await ask("tasks/get", { taskId });
    return task.status === "completed";
  });
  assert.equal(task.result.content[0].text, "said accept");
});

Deno.test("a caller without a page to sign in to is refused in plain words, as before", async () => {
  const env = { AUTH_STRATEGY: "bearer", BEARER_TOKEN: "x".repeat(40) };
  await using server = await startServer({ ...TOOLS, env });
  const headers = { authorization: `Bearer ${"x".repeat(40)}` };
  const params = { name: "pay", arguments: {} };
  const { status, error } = await outcome(
    server.call("tools/call", params, { headers, capabilities: FORMS }),
  );
  assert.deepEqual([status, error.code], [400, -32021]);
  const session = await server.post(initialize("2025-11-25", FORMS), headers);
  await session.body?.cancel();
  const { isError, content } = await resultOf(
    server.post(rpc("tools/call", params), {
      ...headers,
      "mcp-session-id": session.headers.get("mcp-session-id")!,
    }),
  );
  assert.equal(isError, true);
  assert.match(content[0].text, /does not support elicitation/);
  const done = { name: "pay", arguments: { until: "done" } };
  assert.match(
    await textOf(
      server.call("tools/call", done, { headers, capabilities: OPENS }),
    ),
    /cannot sign in to a page/,
  );
});

// Every way to answer in someone's place. None does.

Deno.test("a person who opens another's link sees that it is not theirs, and nothing else", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay")));
  const eve = await open(server, link, "666");
  assert.equal(eve.page.status, 404);
  assert.match(
    eve.words,
    /Either it is over.* Or this link is for someone else/,
  );
  assert.doesNotMatch(eve.page.text, /pay|App|€/);
  const unknown = await eve.browser.open(`${BASE_URL}/wait/${"a".repeat(43)}`);
  const plain = (text: string) => text.replaceAll(/value="[^"]*"/g, "");
  assert.equal(plain(unknown.text), plain(eve.page.text));
  // Her own token, another's wait.
  const form = formOf(eve.page, "/account/sign-out");
  const path = new URL(link).pathname;
  const sent = await eve.browser.press(
    { ...form, text: form.text.replace("/account/sign-out", path) },
    "answer",
    "done",
  );
  assert.equal(sent.status, 404);
  linkOf(await resultOf(call("pay")));
});

test.inMemory("a client that signed in elsewhere is verified by no ID of there", async ({ kv }) => {
  const ours = {
    client_id: "ours",
    client_name: "Ours",
    redirect_uris: ["https://ours.example.com/callback"],
    token_endpoint_auth_method: "none",
  };
  await using server = await start({
    kv,
    environment: { OAUTH_CLIENTS: JSON.stringify([ours]) },
  });
  await server.app.start();
  const waits = waitStore(new Database(kv));
  for (const clientId of ["https://bank.example.com/app", "ours", undefined]) {
    const { id } = await waits.open({
      subject: "github:42",
      kind: "page",
      asker: `${clientId}`,
      question: "pay",
      tool: "pay",
      clientId,
    }, { message: "Pay", url: "https://pay.example.com/" });
    const visitor = await open(server, `${BASE_URL}/wait/${id}`);
    assert.match(visitor.words, /Unverified/, clientId);
    assert.doesNotMatch(visitor.page.text, /badge good/, clientId);
  }
});

Deno.test("the page calls a client that registered itself unverified, and a token of the person not", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const visitor = await open(server, linkOf(await resultOf(call("pay"))));
  assert.match(visitor.words, /Unverified/);
  const token = await visitor.makeToken({ name: "Nightly" });
  const asked = await server.call("tools/call", { name: "pay" }, {
    headers: { authorization: `Bearer ${token}` },
    capabilities: FORMS,
  });
  visitor.page = await visitor.browser.open(linkOf(await resultOf(asked)));
  assert.match(visitor.words, /Nightly/);
  assert.doesNotMatch(visitor.words, /Unverified/);
});

Deno.test("a stranger who opens a link sees a sign-in and nothing else, and comes back to the page", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay")));
  const browser = server.browser();
  const page = await browser.open(link);
  assert.equal(page.status, 200);
  assert.doesNotMatch(page.text, /pay\.example|App”|€/);
  server.provider.subject = "42";
  const back = await browser.press(formOf(page, "/account/sign-in"), "", "");
  assert.equal(back.url, link);
  assert.match(back.text, /pay\.example\.com/);
  // The next sign-in is not led there.
  const account = await browser.open(`${BASE_URL}/account`);
  await browser.press(formOf(account, "/account/sign-out"), "", "");
  const signIn = await browser.open(`${BASE_URL}/account`);
  const again = await browser.press(formOf(signIn, "/account/sign-in"), "", "");
  assert.equal(again.url, `${BASE_URL}/account`);
});

Deno.test("no GET answers, and no POST without the token of the page", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay")));
  const visitor = await open(server, link);
  const other = await open(server, link);
  const path = new URL(link).pathname;
  await visitor.browser.open(`${link}?answer=done`);
  for (
    const csrf of [
      "",
      "forged",
      /name="csrf" value="([^"]*)"/.exec(other.page.text)![1],
    ]
  ) {
    const { status } = await visitor.press(path, { answer: "done", csrf })
      .finally(async () => {
        visitor.page = await visitor.browser.open(link);
      });
    assert.equal(status, 403);
  }
  linkOf(await resultOf(call("pay")));
  const { status } = await visitor.press(path, { answer: "certainly" });
  assert.equal(status, 400);
});

Deno.test("no click counts of who is signed out or blocked meanwhile", async () => {
  await checkEndsWithSession(async (kv) => {
    const server = await start({ kv });
    const call = await clientOf(server, "2026");
    const visitor = await open(server, linkOf(await resultOf(call("pay"))));
    return {
      subject: "github:42",
      press: () => press(visitor, "done"),
      stored: () => waitsIn(kv),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
});

Deno.test("the first of two clicks counts, in two tabs and in two processes, and the log has it", async () => {
  const { log, events } = recordLog();
  await using server = await start({ log });
  await using second = await start({
    log,
    kv: server.kv,
    provider: server.provider,
  });
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay")));
  const one = await open(server, link);
  const other = await open(second, link);
  await Promise.all([press(one, "done"), press(other, "not-now")]);
  const said = /You said “(Done|Not now)”/;
  const [, first] = said.exec(one.words)!;
  const [, last] = said.exec(other.words)!;
  assert.equal(first, last);
  const told = events.filter(({ message }) => /^Answered/.test(message))
    .map(({ properties: { tool, answer } }) => [tool, answer]);
  const answer = first === "Done" ? "done" : "not-now";
  assert.deepEqual([...new Set(told.map(String))], [`pay,${answer}`]);
  assert.equal(
    await textOf(call("pay")),
    first === "Done" ? "said accept" : "said decline",
  );
});

Deno.test("two calls at once use an answer once", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  await press(await open(server, linkOf(await resultOf(call("pay")))), "done");
  const results = await Promise.all(
    Array.from({ length: 10 }, async () => await resultOf(await call("pay"))),
  );
  const done = results.filter(({ isError }) => !isError);
  assert.equal(done.length, 1);
});

Deno.test("a link is over with its hour, and so is an answer", async () => {
  using time = new FakeTime();
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay")));
  await press(await open(server, link), "done");
  time.tick(WAIT_SECONDS - 30);
  assert.match((await open(server, link)).words, /You said “Done”/);
  time.tick(31);
  assert.match((await open(server, link)).words, /Nothing waits for you here/);
});

Deno.test("a link is over with the connection of its client", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay")));
  const visitor = await AccountVisitor.signIn(server);
  assert.match(visitor.words, /Waiting for you “ ?App ?” .* Pay 5 €/);
  await visitor.press("/account/end");
  assert.doesNotMatch(visitor.words, /Waiting for you/);
  visitor.page = await visitor.browser.open(link);
  assert.equal(visitor.page.status, 404);
});

Deno.test("an answer counts only while its browser is signed in", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const visitor = await open(server, linkOf(await resultOf(call("pay"))));
  const { page } = visitor;
  await visitor.look();
  await visitor.press("/account/sign-out");
  visitor.page = page;
  const { status } = await press(visitor, "done");
  assert.equal(status, 403);
  linkOf(await resultOf(call("pay")));
});

test.inMemory("who may no longer use the server answers nothing", async ({ kv }) => {
  await using server = await start({ kv });
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("pay")));
  const visitor = await open(server, link);
  await using strict = await start({
    kv,
    environment: { OAUTH_ALLOWED_USERS: "github:7" },
  });
  const there = await open(strict, link);
  assert.equal(there.page.status, 403);
  there.page = visitor.page;
  const csrf = csrfOf(await there.browser.open(`${BASE_URL}/account`));
  await there.press(new URL(link).pathname, { answer: "done", csrf });
  assert.equal(there.page.status, 403);
  linkOf(await resultOf(call("pay")));
});

Deno.test("another amount is another question: an answer to the first does not count", async () => {
  const kv = await Deno.openKv(":memory:");
  let amount = "5 €";
  const changing = tool({
    name: "changing",
    run: async (_input, { ask }) =>
      (await ask({ message: `Pay ${amount}`, url: "https://pay.example.com" }))
        .action,
  });
  {
    await using server = await startOAuthServer({ tools: [changing], kv });
    const call = await clientOf(server, "2026");
    const link = linkOf(await resultOf(call("changing")));
    await press(await open(server, link), "done");
    amount = "500 €";
    const next = linkOf(await resultOf(call("changing")));
    assert.notEqual(next, link);
    assert.match((await open(server, next)).words, /Pay 500 €/);
  }
  kv.close();
});

Deno.test("a resource, which has no result for a model, is answered with an error that has the link", async () => {
  await using server = await start({
    resources: [resource({
      uri: "notes://paid",
      name: "paid",
      read: async (_variables, { ask }) =>
        (await ask({ message: "Pay", url: "https://pay.example.com" })).action,
    })],
  });
  server.provider.subject = "42";
  const { headers } = await server.person();
  const read = () =>
    outcome(server.call("resources/read", { uri: "notes://paid" }, {
      headers,
      capabilities: FORMS,
    }));
  const { error } = await read();
  assert.equal(error.code, -32600);
  const [, link] = /first, then try again:\n\nPay\n(http\S+)$/.exec(
    error.message,
  )!;
  await press(await open(server, link), "done");
  assert.equal((await read()).result.contents[0].text, "accept");
});
