/**
 * Calls that run without a press because one for a call like them said so: for
 * whom, for what, and how long; and a client that wants more of it.
 */
import assert from "node:assert/strict";
import { createServer } from "../../../src/server.ts";
import { tool, type ToolApproval, z } from "../../../src/mod.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { openRegister } from "../../../packages/operate/register.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { openTestKv, test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { recordLog, silentLogger } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { IMPLEMENTATION } from "../../kit/server.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";
import { kvThrough } from "../../kit/kv.ts";
import {
  type Call,
  clientOf,
  followTask,
  FORMS,
  linkOf,
  open,
} from "./approving.ts";
import { TASKS } from "../../kit/task.ts";
import { receiptStore } from "../../../src/features/approvals/receipts.ts";

/** The approvals of the runs that began. */
let ran: Json[] = [];

const INPUT = z.object({
  buyer: z.string(),
  cents: z.int().default(100),
});

type Input = z.infer<typeof INPUT>;

const APPROVAL: ToolApproval<Input> = {
  show: ({ buyer }) => ({ title: `Refund ${buyer}` }),
  remember: ({ buyer, cents }) =>
    cents > 5000
      ? undefined
      : { key: buyer, label: `up to €50 for ${buyer}`, seconds: 3600 },
};

const refund = (name = "refund", more: object = {}) =>
  tool({
    name,
    input: INPUT,
    approval: APPROVAL,
    ...more,
    run({ buyer, cents }, { approval }) {
      ran.push({ name, buyer, cents, approval });
      return "refunded";
    },
  });

function start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  ran = [];
  return startOAuthServer({ tools: [refund(), refund("credit")], ...options });
}

/** Approves the call that waits, and lets others like it run. */
async function remember(
  visitor: AccountVisitor,
  call: Call,
  input: Json = { buyer: "ann" },
  fields: Record<string, string> = { remember: "on" },
): Promise<void> {
  const link = linkOf(await resultOf(call("refund", input)));
  visitor.page = await visitor.browser.open(link);
  await visitor.press(new URL(link).pathname, { answer: "approve", ...fields });
  assert.match(visitor.words, /Approved/);
  assert.equal(
    /approved without being asked, for 1 hour: up to €50 for ann ?\. You can end/
      .test(visitor.words),
    fields.remember === "on" && input.buyer === "ann",
  );
  assert.equal(await textOf(call("refund", input)), "refunded");
}

/** Asserts that a call waits. */
async function waits(
  call: Call,
  name = "refund",
  input: Json = { buyer: "ann" },
) {
  const { length } = ran;
  linkOf(await resultOf(call(name, input)));
  assert.equal(ran.length, length);
}

test.onDatabases("calls like one that its person has let run need no press for a while, in every process, and leave receipts", async ({ kv, other }) => {
  await using server = await start({ kv });
  await using second = await start({ kv: other, provider: server.provider });
  server.provider.subject = "42";
  const { headers } = await server.person();
  const at = (one: OAuthServer): Call => (name, input = {}) =>
    one.call("tools/call", { name, arguments: input }, {
      headers,
      capabilities: FORMS,
    });
  const call = at(server);
  const { tools } = await resultOf(server.call("tools/list", {}, { headers }));
  assert.equal(tools[0]._meta["tool-server/approval"], "sometimes");
  const jo = await AccountVisitor.signIn(server);
  const link = linkOf(await resultOf(call("refund", { buyer: "ann" })));
  jo.page = await jo.browser.open(link);
  assert.match(jo.words, /without asking me, for 1 hour: up to €50 for ann/);
  await remember(jo, call);
  assert.equal(ran[0].approval.remembered, undefined);
  for (const [process, cents] of [[server, 100], [second, 4999]] as const) {
    const input = { buyer: "ann", cents };
    assert.equal(await textOf(at(process)("refund", input)), "refunded");
  }
  const [, one, two] = ran.map(({ approval }) => approval);
  assert.equal(one.remembered, true);
  assert.equal(one.by, "github:42");
  assert.match(one.id, /^[\w-]{43}$/);
  assert.notEqual(one.id, two.id);
  // Other keys, tools, clients and people ask.
  await waits(call, "refund", { buyer: "bob" });
  await waits(call, "refund", { buyer: "ann", cents: 5001 });
  await waits(call, "credit");
  await waits(await clientOf(server, "2026"));
  await waits(await clientOf(second, "2026", { as: "666" }));
  await jo.look("/calls");
  assert.equal(
    jo.words.match(/You, by an earlier approval: up to €50 for ann/g)?.length,
    2,
  );
  // It is shown, and ended, by its person alone.
  const eve = await AccountVisitor.signIn(server, { as: "666" });
  assert.doesNotMatch(await eve.look(), /Without asking you/);
  assert.match(
    await jo.look(),
    /Without asking you up to €50 for ann .*“ App ” may use refund for it until .* Runs so far: 2/,
  );
  const { page } = jo;
  await jo.press("/account/remembered");
  assert.match(jo.words, /Ended: “ up to €50 for ann ”/);
  await waits(at(server));
  await waits(at(second));
  jo.page = page;
  await jo.press("/account/remembered");
  assert.match(jo.words, /had already ended/);
});

Deno.test("durable work that runs without a press has one receipt, which tells that it was cancelled in a sleep, and that it has ended", async () => {
  using time = new FakeTime();
  let steps = 0;
  const move = tool({
    name: "move",
    input: INPUT,
    task: { durable: true },
    approval: APPROVAL,
    async run(_, { step, sleep, approval }) {
      await step("first", () => void steps++);
      await sleep("rest", 60);
      return `moved ${approval?.remembered}`;
    },
  });
  await using kv = await openTestKv();
  await using server = await startOAuthServer({ kv, tools: [move] });
  const { headers } = await server.person();
  const options = { headers, capabilities: { ...FORMS, ...TASKS } };
  const begin = () =>
    followTask(server, { headers, name: "move", input: { buyer: "ann" } });
  const { statusMessage } = await begin();
  const visitor = await AccountVisitor.signIn(server, { as: "42" });
  const link = /http\S*/.exec(statusMessage)![0];
  visitor.page = await visitor.browser.open(link);
  const fields = { answer: "approve", remember: "on" };
  await visitor.press(new URL(link).pathname, fields);
  await until(() => steps === 1);
  const start = async () => {
    const params = { name: "move", arguments: { buyer: "ann" } };
    const { taskId } = await resultOf(
      server.call("tools/call", params, options),
    );
    return { taskId };
  };
  const ended = await start();
  const cancelled = await start();
  await until(() => steps === 3);
  await resultOf(server.call("tasks/cancel", cancelled, options));
  time.tick(61);
  let text = "";
  await until(async () => {
    const { result } = await resultOf(server.call("tasks/get", ended, options));
    text = result?.content[0].text ?? "";
    return text !== "";
  });
  assert.equal(text, "moved true");
  const receipts = receiptStore(new Database(kv), 86_400);
  await until(async () => {
    const all = (await receipts.list()).receipts;
    assert.equal(all.length, 3);
    return all.map(({ outcome }) => outcome).sort().join() ===
      "cancelled,ok,ok";
  });
});

Deno.test("what was not ticked or not offered is not remembered", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const jo = await AccountVisitor.signIn(server);
  await remember(jo, call, { buyer: "ann" }, { remember: "" });
  await waits(call);
  await remember(jo, call, { buyer: "bob", cents: 6000 });
  await waits(call, "refund", { buyer: "bob", cents: 6000 });
  await waits(call, "refund", { buyer: "bob" });
  // A refusal remembers nothing.
  const link = linkOf(await resultOf(call("refund", { buyer: "cy" })));
  jo.page = await jo.browser.open(link);
  assert.match(jo.words, /without asking me/);
  await jo.press(new URL(link).pathname, { answer: "refuse", remember: "on" });
  await waits(call, "refund", { buyer: "cy", cents: 1 });
});

Deno.test("a call that waits already runs at once when one like it is remembered, and no approval is left", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  await waits(call, "refund", { buyer: "ann", cents: 7 });
  const jo = await AccountVisitor.signIn(server);
  await remember(jo, call);
  assert.equal(
    await textOf(call("refund", { buyer: "ann", cents: 7 })),
    "refunded",
  );
  assert.doesNotMatch(await jo.look(), /Waiting for you/);
});

Deno.test("hostile words in a label are one line that hides nothing; a label of none is the author's fault", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const buyer = "x\u202e\n\u200b<b>[all](https://evil.example)</b>";
  const jo = await AccountVisitor.signIn(server);
  await remember(jo, call, { buyer });
  jo.page = await jo.browser.open(
    linkOf(await resultOf(call("refund", { buyer: `${buyer}2` }))),
  );
  for (const page of [jo.page.text, (await jo.look(), jo.page.text)]) {
    assert.match(page, /up to €50 for x &lt;b&gt;\[all\]\(https:/);
    assert.doesNotMatch(
      page,
      /[\u202a-\u202e\u200b]|<b>\[all|href="https:\/\/evil/,
    );
  }
});

Deno.test("it is over when its time is, and when the clock was set back", async () => {
  using time = new FakeTime();
  await using server = await start();
  const call = await clientOf(server, "2026");
  const jo = await AccountVisitor.signIn(server);
  await remember(jo, call);
  time.tick(3599);
  assert.equal(await textOf(call("refund", { buyer: "ann" })), "refunded");
  time.tick(1);
  await waits(await clientOf(server, "2026"));

  await using other = await start();
  const again = await clientOf(other, "2026");
  await remember(await AccountVisitor.signIn(other), again);
  time.set(-120);
  await waits(again);
});

Deno.test("it ends with its connection, with everything of its person, and with their data", async () => {
  await using server = await start();
  const register = openRegister(new Database(server.kv), silentLogger);
  const kept = async () => {
    const { remembered } = await register.gather("github:42") as Json;
    return remembered as unknown[];
  };
  for (const how of ["connection", "everything", "erasure"] as const) {
    const call = await clientOf(server, "2026");
    const jo = await AccountVisitor.signIn(server);
    await remember(jo, call);
    assert.match(await jo.look(), /Without asking you/);
    assert.equal((await kept()).length, 1);
    if (how === "connection") {
      await jo.press("/account/end");
      assert.doesNotMatch(await jo.look(), /Without asking you/);
    } else if (how === "everything") {
      await register.endPerson("github:42");
      assert.equal((await kept()).length, 0);
    } else await register.erase("github:42");
    // The server learns of the end a moment later.
    await until(async () => (await call("none")).status === 401);
    const { length } = ran;
    assert.equal((await call("refund", { buyer: "ann" })).status, 401);
    await waits(await clientOf(server, "2026"));
    assert.equal(ran.length, length);
    if (how === "connection") await register.endPerson("github:42");
  }
  assert.deepEqual(await kept(), []);
});

Deno.test("a release, another definition, and an operator who tightens ask again", async () => {
  await using kv = await openTestKv();
  await using server = await start({ kv });
  const { headers } = await server.person();
  const at = (one: Pick<OAuthServer, "call">): Call => (name, input = {}) =>
    one.call("tools/call", { name, arguments: input }, {
      headers,
      capabilities: FORMS,
    });
  const jo = await AccountVisitor.signIn(server, {
    as: server.provider.subject,
  });
  await remember(jo, at(server));
  for (
    const options of [
      { tools: [refund("refund", { title: "Refund all" })] },
      { tools: [refund("refund", { scopes: [], description: "More" })] },
      { environment: { APPROVALS: "ref*=caller" } },
    ] as OAuthServerOptions[]
  ) {
    await using changed = await start({
      kv,
      provider: server.provider,
      ...options,
    });
    await waits(at(changed));
  }
  assert.equal(
    await textOf(at(server)("refund", { buyer: "ann" })),
    "refunded",
  );
  // A page that was opened before the setting may still have the box.
  const link = linkOf(await resultOf(at(server)("refund", { buyer: "bob" })));
  const later = await start({
    kv,
    provider: server.provider,
    environment: { APPROVALS: "ref*=caller" },
  });
  await using _later = later;
  const bob = await AccountVisitor.signIn(later, {
    as: server.provider.subject,
  });
  bob.page = await bob.browser.open(link);
  assert.doesNotMatch(bob.words, /without asking me/);
  await bob.press(new URL(link).pathname, {
    answer: "approve",
    remember: "on",
  });
  assert.match(bob.words, /Approved/);
  await at(server)("refund", { buyer: "bob" });
  await waits(at(server), "refund", { buyer: "bob" });
});

Deno.test("one that a release or an operator has ended says so on the account page, and can be removed there", async () => {
  await using kv = await openTestKv();
  const { log, events } = recordLog();
  await using server = await start({ kv });
  const call = await clientOf(server, "2026");
  const jo = await AccountVisitor.signIn(server, { as: "42" });
  await remember(jo, call);
  const seenAt = async (one: OAuthServer) => {
    const visitor = await AccountVisitor.signIn(one, { as: "42" });
    await visitor.look();
    return visitor;
  };
  const good = (await seenAt(server)).words;
  assert.match(good, /may use refund for it until/);
  assert.doesNotMatch(good, /allows nothing|was allowed/);
  const changed = /has changed since, so this allows nothing any more/;
  const { remember: _, ...asking } = APPROVAL;
  const cases: [RegExp, OAuthServerOptions][] = [
    [changed, { version: "2.0.0" }],
    [changed, { tools: [refund("refund", { title: "Refund all" })] }],
    [changed, { tools: [refund("credit")] }],
    [changed, { environment: { APPROVALS: "ref*=caller" } }],
    // `tools/list` has the same `_meta` as before.
    [
      changed,
      {
        tools: [
          refund("refund", { approval: { ...asking, when: () => true } }),
        ],
      },
    ],
    [
      /asks for no approval any more/,
      { tools: [refund("refund", { approval: undefined })] },
    ],
  ];
  for (const [words, options] of cases) {
    const { provider } = server;
    await using other = await start({ kv, provider, log, ...options });
    const visitor = await seenAt(other);
    assert.match(visitor.words, words);
    assert.match(visitor.words, /was allowed to use/);
    assert.doesNotMatch(visitor.words, /may use refund for it/);
    if (options !== cases.at(-1)![1]) continue;
    await visitor.press("/account/remembered");
    await visitor.look();
    assert.doesNotMatch(visitor.words, /Without asking you/);
  }
  const { properties } = events.find(({ message }) =>
    message === "Remembered approval ended on the account page"
  )!;
  const { subject, tool, client, grantId } = properties;
  const kept = await Array.fromAsync(kv.list({ prefix: ["grant"] }));
  assert.deepEqual([subject, tool, client], ["github:42", "refund", "App"]);
  assert.deepEqual(kept.map(({ key }) => key[1]), [grantId]);
});

Deno.test("remember that throws, hangs or lies begins nothing, and is in the log", async () => {
  const { log, events } = recordLog("error");
  const offer = { key: "a", label: "all", seconds: 60 };
  const cases: Record<string, NonNullable<ToolApproval["remember"]>> = {
    throws: () => {
      throw new Error("no such buyer");
    },
    hangs: () => new Promise<never>(() => {}),
    long: () => ({ ...offer, seconds: 86_401 }),
    nan: () => ({ ...offer, seconds: NaN }),
    keyless: () => ({ ...offer, key: 1 }) as never,
    wordless: () => ({ ...offer, label: "\u200b\u202e " }),
    text: () => "all" as never,
  };
  ran = [];
  const tools = Object.entries(cases).map(([name, remember]) =>
    refund(name, { approval: { remember } })
  );
  await using server = await startOAuthServer({ tools, log });
  const call = await clientOf(server, "2026");
  const results = await Promise.all(
    tools.map(({ name }) => call(name, { buyer: "a" }).then(resultOf)),
  );
  for (const [index, { isError, content: [{ text }] }] of results.entries()) {
    assert.equal(isError, true, tools[index].name);
    assert.match(text, /Internal error.*reference/, tools[index].name);
  }
  assert.deepEqual(ran, []);
  const { length } = events.filter(({ properties }) => properties.error);
  assert.equal(length, tools.length);
});

Deno.test("one entry is for a hundred runs, and a person has fifty entries", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const jo = await AccountVisitor.signIn(server);
  await remember(jo, call);
  const inputs = Array.from({ length: 120 }, (_, cents) => ({
    buyer: "ann",
    cents: cents + 1,
  }));
  const texts: string[] = [];
  for (let start = 0; start < inputs.length; start += 10) {
    texts.push(
      ...await Promise.all(
        inputs.slice(start, start + 10).map((input) =>
          textOf(call("refund", input))
        ),
      ),
    );
  }
  assert.equal(texts.filter((text) => text === "refunded").length, 100);
  assert.equal(new Set(ran.map(({ approval }) => approval.id)).size, 101);
  assert.match(
    await jo.look(),
    /Runs so far: 100 ?, so the next call asks you\./,
  );
  for (let n = 1; n < 50; n++) await remember(jo, call, { buyer: `b${n}` });
  const link = linkOf(await resultOf(call("refund", { buyer: "last" })));
  jo.page = await jo.browser.open(link);
  assert.doesNotMatch(jo.words, /without asking me/);
  // A page that offers nothing can be sent with the answer all the same.
  await remember(jo, call, { buyer: "last" });
  await waits(call, "refund", { buyer: "last", cents: 2 });
});

test.onDatabases("every press with the box counts, however many come at once", async ({ kv }) => {
  await using server = await start({ kv });
  const call = await clientOf(server, "2026");
  const visitors = await Promise.all(
    Array.from({ length: 8 }, async (_, n) => {
      const input = { buyer: `b${n}` };
      const link = linkOf(await resultOf(call("refund", input)));
      return await open(server, link);
    }),
  );
  await Promise.all(
    visitors.map((visitor) =>
      visitor.press(new URL(visitor.page.url).pathname, {
        answer: "approve",
        remember: "on",
      })
    ),
  );
  for (const { words } of visitors) {
    assert.match(words, /Approved\. .* without being asked, for 1 hour/);
  }
});

Deno.test("a press that cannot be stored says so, and counts once pressed again", async () => {
  await using real = await openTestKv();
  let isLosing = false;
  let tries = 0;
  const kv = kvThrough(real, async (operation, key) => {
    const result = await operation();
    const isHead = key?.[0] === "remembered" && key.length === 2;
    if (isHead && isLosing) await real.set(key, { expiresAt: ++tries });
    return result;
  });
  await using server = await start({ kv });
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("refund", { buyer: "ann" })));
  const jo = await open(server, link);
  const { page } = jo;
  const fields = { answer: "approve", remember: "on" };
  isLosing = true;
  await jo.press(new URL(link).pathname, fields);
  isLosing = false;
  assert.equal(jo.page.status, 503);
  assert.equal(tries, 100);
  assert.match(
    jo.words,
    /Nothing was lost or used up\. .* press the button there again/,
  );
  jo.page = page;
  await jo.press(new URL(link).pathname, fields);
  assert.match(jo.words, /Approved/);
});

Deno.test("two presses at once do not both become the last entry that a person may have", async () => {
  await using server = await start();
  const call = await clientOf(server, "2026");
  const jo = await AccountVisitor.signIn(server);
  for (let n = 0; n < 49; n++) await remember(jo, call, { buyer: `b${n}` });
  const links = [];
  for (const buyer of ["one", "two", "three"]) {
    links.push(linkOf(await resultOf(call("refund", { buyer }))));
  }
  await Promise.all(links.map(async (link) => {
    const visitor = await AccountVisitor.signIn(server);
    visitor.page = await visitor.browser.open(link);
    const { pathname } = new URL(link);
    await visitor.press(pathname, { answer: "approve", remember: "on" });
  }));
  const entries = await Array.fromAsync(
    server.kv.list<Json>({ prefix: ["remembered"] }),
  );
  assert.equal(entries.filter(({ value }) => value.sealed).length, 50);
});

test.onDatabases("a record whose words cannot be read breaks no page: its entry can be ended, and its calls ask again", async ({ kv }) => {
  await using server = await start({ kv });
  const call = await clientOf(server, "2026");
  const jo = await AccountVisitor.signIn(server);
  await remember(jo, call);
  await remember(jo, call, { buyer: "bob" });
  await waits(call, "refund", { buyer: "cy" });
  const kinds = new Set<string>();
  for await (const { key, value } of kv.list<Json>({ prefix: [] })) {
    const [kind] = key.map(String);
    if (!value?.sealed || !/^(remembered|receipt|wait)$/.test(kind)) continue;
    kinds.add(kind);
    await kv.set(key, { ...value, sealed: `${value.sealed.slice(0, -9)}A` });
  }
  assert.deepEqual([...kinds].sort(), ["receipt", "remembered", "wait"]);
  await jo.look("/calls");
  assert.equal(jo.words.match(/Words that cannot be read refund/g)?.length, 2);
  await jo.look("/data");
  await jo.press("/account/export");
  assert.equal(JSON.parse(jo.page.text).remembered.length, 2);
  for (const left of [1, 0]) {
    assert.match(
      await jo.look(),
      /Without asking you Words that cannot be read/,
    );
    await waits(call, "refund", { buyer: left ? "ann" : "bob", cents: 3 });
    await jo.press("/account/remembered");
  }
  assert.match(jo.words, /Ended: “ Words that cannot be read ”/);
  assert.doesNotMatch(await jo.look(), /Without asking you/);
  await remember(jo, call, { buyer: "cy" });
});

Deno.test("only callers remember, by a button: next to a scope or a passkey it is a fault at the start", () => {
  using kv = memoryKv();
  for (
    const more of [{ by: { scope: "pay:approve" } }, { passkey: "wanted" }]
  ) {
    const approval = { ...APPROVAL, ...more };
    assert.throws(
      () =>
        createServer({
          ...IMPLEMENTATION,
          kv,
          env: { AUTH_STRATEGY: "none" },
          tools: [refund("refund", { approval })],
        }),
      /tool refund: approval\.remember is for callers who press a button/,
    );
  }
});
