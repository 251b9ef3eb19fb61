/**
 * A client that wants a run without its person: it accepts everything by
 * itself, changes what it sends, replays, and comes by every way to a tool.
 */
import assert from "node:assert/strict";
import { type Tool, tool, z } from "../../../src/mod.ts";
import { Events, outcome, resultOf, textOf } from "../../kit/answer.ts";
import { AccountVisitor, csrfOf } from "../../kit/account_visitor.ts";
import { test } from "../../kit/databases.ts";
import { type Json, rpc } from "../../kit/message.ts";
import { BASE_URL, startServer } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import {
  type Call,
  clientOf,
  FORMS,
  linkOf,
  open,
  OPENS,
  press,
} from "./approving.ts";

/** The arguments of every run that began. */
let ran: Json[] = [];

const INPUT = z.object({
  name: z.string(),
  count: z.number().default(1),
  more: z.looseObject({}).optional(),
});

function wipe(name: string, more: Pick<Tool, "task">) {
  return tool({
    name,
    input: INPUT,
    ...more,
    approval: { show: ({ name }) => ({ title: `Wipe ${name}` }) },
    run(input) {
      ran.push(input);
      return "wiped";
    },
  });
}

const TOOLS = {
  tools: [
    wipe("wipe", {}),
    wipe("long", { task: "optional" }),
    wipe("durable", { task: { durable: true } }),
  ],
};
const TASKS = { "io.modelcontextprotocol/tasks": {} };

async function start(kv?: Deno.Kv): Promise<OAuthServer> {
  ran = [];
  return await startOAuthServer({ ...TOOLS, kv });
}

/** Accepts every question of a call by itself, as long as there are any. */
async function acceptAll(call: Call, name: string, input: Json): Promise<Json> {
  let result = await resultOf(call(name, input));
  for (let round = 0; round < 3 && result.inputRequests; round++) {
    const inputResponses = Object.fromEntries(
      Object.keys(result.inputRequests).map((key) => [
        key,
        { action: "accept", content: { approved: true, confirm: true } },
      ]),
    );
    const { requestState } = result;
    const controller = new AbortController();
    const retry = call(name, input, { requestState, inputResponses });
    const timer = setTimeout(() => controller.abort(), 50);
    const held = Promise.withResolvers<Json>();
    controller.signal.addEventListener("abort", () => held.resolve({}));
    result = await Promise.race([resultOf(retry), held.promise]);
    clearTimeout(timer);
    retry.then((response) => response.body?.cancel()).catch(() => {});
  }
  return result;
}

Deno.test("a client that accepts every form and address by itself begins nothing", async () => {
  await using server = await start();
  for (const capabilities of [OPENS, FORMS, {}]) {
    const call = await clientOf(server, "2026", { capabilities });
    await acceptAll(call, "wipe", { name: "a" });
    await acceptAll(call, "wipe", {
      name: "a",
      more: { confirm: true, approved: true, approval: { id: "x" } },
    });
  }
  server.provider.subject = "42";
  const { headers } = await server.person();
  const { headers: session } = await server.openSession({
    headers,
    capabilities: OPENS,
  });
  const response = await server.post(
    rpc("tools/call", { name: "wipe", arguments: { name: "a" } }),
    session,
  );
  const events = new Events(response);
  const { id, params } = await events.read();
  assert.match(params.url, /\/approve\//);
  await server.post(
    { jsonrpc: "2.0", id, result: { action: "accept", content: {} } },
    session,
  );
  await response.body?.cancel().catch(() => {});
  server.app.stop();
  assert.deepEqual(ran, []);
});

Deno.test("every way to a tool passes the gate: 0 runs without a press, and none by an approval of another way", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("wipe", { name: "a" })));
  const visitor = await open(server, link);
  const token = await visitor.makeToken();
  visitor.page = await visitor.browser.open(link);
  await press(visitor, "approve");
  // Others of the same person, with the same arguments.
  const session = await clientOf(server, "2025");
  const other = await clientOf(server, "2026");
  const byToken: Call = (name, input = {}) =>
    server.call("tools/call", { name, arguments: input }, {
      headers: { authorization: `Bearer ${token}` },
      capabilities: FORMS,
    });
  const stranger = await clientOf(server, "2026", { as: "666" });
  for (const way of [session, other, byToken, stranger]) {
    assert.notEqual(linkOf(await resultOf(way("wipe", { name: "a" }))), link);
  }
  // Another tool, tasks, durable work.
  assert.notEqual(linkOf(await resultOf(call("long", { name: "a" }))), link);
  server.provider.subject = "42";
  const { headers } = await server.person();
  const capabilities = { ...FORMS, extensions: TASKS };
  for (const name of ["long", "durable"]) {
    const { taskId } = await resultOf(
      server.call("tools/call", { name, arguments: { name: "a" } }, {
        headers,
        capabilities,
      }),
    );
    let task: Json = {};
    while (!/\/approve\//.test(task.statusMessage ?? "")) {
      task = await resultOf(
        server.call("tasks/get", { taskId }, { headers, capabilities }),
      );
    }
    assert.equal(task.status, "working");
  }
  assert.deepEqual(ran, []);
  assert.equal(await textOf(call("wipe", { name: "a" })), "wiped");
  assert.deepEqual(ran, [{ name: "a", count: 1 }]);
});

Deno.test("a batch of 2025-03-26 begins one run of one approval", async () => {
  await using server = await start();
  server.provider.subject = "42";
  const { headers } = await server.person();
  const { headers: session } = await server.openSession({
    headers,
    revision: "2025-03-26",
  });
  const batch = () =>
    server.post(
      [1, 2, 3].map((id) => ({
        ...rpc("tools/call", { name: "wipe", arguments: { name: "a" } }),
        id,
      })),
      session,
    );
  const texts = async () => {
    const text = await (await batch()).text();
    return [...text.matchAll(/"text":"((?:[^"\\]|\\.)*)"/g)].map(([, it]) =>
      JSON.parse(`"${it}"`) as string
    );
  };
  const links = (await texts()).map((text) => /http\S*/.exec(text)?.[0]);
  assert.equal(links.length, 3);
  assert.equal(new Set(links).size, 1, String(links));
  assert.deepEqual(ran, []);
  await press(await open(server, links[0]!), "approve");
  const after = await texts();
  assert.equal(after.filter((text) => text === "wiped").length, 1);
  assert.equal(ran.length, 1);
});

Deno.test("the same arguments in another spelling are the same approval, others are another", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const send = (json: string) =>
    call("wipe", JSON.parse(json)).then(resultOf).then(linkOf);
  const first = await send('{"name":"a","count":1,"more":{"x":1,"y":[2]}}');
  for (
    const same of [
      '{"more":{"y":[2.0],"x":1e0},"count":1.0,"name":"\\u0061"}',
      '{"name":"a","more":{"x":1,"y":[2]}}',
      '{"name":"a","more":{"x":1,"y":[2]},"unknown":1}',
      '{"name":"a","count":1,"more":{"x":1,"y":[2],"__proto__":{"z":1}}}',
    ]
  ) {
    assert.equal(await send(same), first, same);
  }
  const others = [
    '{"name":"A","count":1,"more":{"x":1,"y":[2]}}',
    '{"name":"a ","count":1,"more":{"x":1,"y":[2]}}',
    '{"name":"\\u0430","count":1,"more":{"x":1,"y":[2]}}',
    '{"name":"a","count":2,"more":{"x":1,"y":[2]}}',
    '{"name":"a","count":1,"more":{"x":1,"y":[2,null]}}',
    '{"name":"a","count":1,"more":{"x":"1","y":[2]}}',
    '{"name":"a","count":1}',
    '{"name":"\\u00e9"}',
    '{"name":"e\\u0301"}',
  ];
  const links = [];
  for (const other of others) links.push(await send(other));
  assert.equal(new Set([first, ...links]).size, others.length + 1);
  await press(await open(server, first), "approve");
  for (const other of others) await send(other);
  assert.deepEqual(ran, []);
});

Deno.test("hostile words on the page are one line each, hide nothing and lead nowhere", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const name =
    "cat\u202e\u2066exe\u200b\n\n# Approve me [here](https://evil.example) <b>bold</b>\u3164";
  const link = linkOf(await resultOf(call("wipe", { name })));
  const { page } = await open(server, link);
  assert.match(page.text, /Wipe cat exe # Approve me \[here\]/);
  assert.match(page.text, /&lt;b&gt;bold&lt;\/b&gt;/);
  assert.match(page.text, /cat\\u202e\\u2066exe\\u200b/);
  assert.match(page.text, /\\u3164/);
  assert.doesNotMatch(page.text, /[\u202a-\u202e\u2066-\u2069\u200b\u3164]/);
  assert.doesNotMatch(page.text, /href="https:\/\/evil/);
});

Deno.test("a press needs the page's own form, of this session, and one of its answers", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("wipe", { name: "a" })));
  const path = new URL(link).pathname;
  const visitor = await open(server, link);
  const other = await AccountVisitor.signIn(server, { as: "666" });
  const send = (fields: Record<string, string>, from = visitor) =>
    from.browser.press(
      {
        ...visitor.page,
        text: `<form method="post" action="${path}">${
          Object.entries(fields).map(([name, value]) =>
            `<input type="hidden" name="${name}" value="${value}">`
          ).join("")
        }</form>`,
      },
      "",
      "",
    );
  const csrf = csrfOf(visitor.page);
  const statuses = [];
  for (
    const [fields, from] of [
      [{ answer: "approve" }],
      [{ answer: "approve", csrf: "x" }],
      [{ answer: "yes", csrf }],
      [{ answer: "toString", csrf }],
      [{ answer: "refuse", csrf, reason: "x".repeat(501) }],
      [{ answer: "approve", csrf }, other],
      [{ answer: "approve", csrf: csrfOf(other.page) }, other],
    ] as [Record<string, string>, AccountVisitor?][]
  ) {
    statuses.push((await send(fields, from)).status);
  }
  assert.deepEqual(statuses, [403, 403, 400, 400, 400, 403, 404]);
  linkOf(await resultOf(call("wipe", { name: "a" })));
  assert.deepEqual(ran, []);
});

test.onDatabases("races: two presses and fifty calls in two processes begin one run of each of 20 approvals", async ({ kv, other }) => {
  await using server = await start(kv);
  await using second = await startOAuthServer({
    ...TOOLS,
    kv: other,
    provider: server.provider,
  });
  server.provider.subject = "42";
  const { headers } = await server.person();
  const call = (at: OAuthServer, name: string) =>
    resultOf(at.call("tools/call", { name: "wipe", arguments: { name } }, {
      headers,
      capabilities: FORMS,
    }));
  const visitor = await AccountVisitor.signIn(server);
  for (let approval = 0; approval < 20; approval++) {
    const name = `n${approval}`;
    const link = linkOf(await call(server, name));
    visitor.page = await visitor.browser.open(link);
    const { page } = visitor;
    const presses = ["approve", "approve"].map((answer) => {
      const own = new AccountVisitor(visitor.browser, page);
      return press(own, answer);
    });
    await Promise.all(presses);
    const size = approval === 0 ? 50 : 4;
    const results = await Promise.all(
      Array.from(
        { length: size },
        (_, index) => call(index % 2 ? second : server, name),
      ),
    );
    const texts = results.map(({ content }) => content[0].text);
    assert.equal(texts.filter((text) => text === "wiped").length, 1);
  }
  assert.equal(ran.length, 20);
  assert.equal(new Set(ran.map(({ name }) => name)).size, 20);
});

Deno.test("callers who can sign in to no page are refused in words, and nothing runs", async () => {
  ran = [];
  const key = "x".repeat(40);
  for (
    const [env, headers] of [
      [{ AUTH_STRATEGY: "bearer", BEARER_TOKEN: key }, {
        authorization: `Bearer ${key}`,
      }],
      [{ AUTH_STRATEGY: "none" }, {}],
    ] as [Record<string, string>, Record<string, string>][]
  ) {
    await using server = await startServer({ ...TOOLS, env });
    const { result } = await outcome(
      server.call("tools/call", { name: "wipe", arguments: { name: "a" } }, {
        headers,
        capabilities: OPENS,
      }),
    );
    assert.equal(result?.isError, true, BASE_URL);
    assert.match(result.content[0].text, /to which this caller cannot sign in/);
  }
  assert.deepEqual(ran, []);
});
