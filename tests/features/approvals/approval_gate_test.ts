/**
 * The gate of approvals: what authors get wrong, what changes between asking
 * and pressing, and runs whose end no one has seen.
 */
import assert from "node:assert/strict";
import { createServer } from "../../../src/server.ts";
import { testServer } from "../../../packages/testing/mod.ts";
import { type Tool, tool, type ToolApproval, z } from "../../../src/mod.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { callApprovals } from "../../../src/features/approvals/approval_store.ts";
import { outcome, resultOf, textOf } from "../../kit/answer.ts";
import { openTestKv } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import { LINKS_META } from "../../../src/core/protocol/not_yet.ts";
import { type Json, rpc } from "../../kit/message.ts";
import { MortalServer } from "../../kit/mortal_server.ts";
import { BASE_URL, IMPLEMENTATION } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import { until } from "../../kit/wait.ts";
import { clientOf, FORMS, linkOf, open, OPENS, press } from "./approving.ts";

function servers(...tools: Tool[]) {
  return startOAuthServer({ tools });
}

/** Approves the call that waits at a link. */
async function approve(server: OAuthServer, link: string) {
  await press(await open(server, link), "approve");
}

Deno.test("when and show that throw, give nonsense or take too long begin nothing, and are in the log", async () => {
  const { log, events } = recordLog("error");
  let runs = 0;
  const run = () => {
    runs++;
    return "ran";
  };
  const hang = () => new Promise<never>(() => {});
  const fail = (): never => {
    throw new Error("no such charge");
  };
  const cases = {
    throws: { show: fail },
    rejects: { show: () => Promise.reject(new Error("no such charge")) },
    hangs: { show: hang },
    untitled: { show: () => ({ title: " " }) },
    wrong: { show: () => ({ title: "a", facts: { a: {} } }) as never },
    nothing: { show: () => undefined as never },
    when_throws: { when: fail },
    when_hangs: { when: hang },
    when_undefined: { when: () => undefined as never, show: fail },
  };
  const tools = Object.entries(cases).map(([name, approval]) =>
    tool({ name, approval, run })
  );
  await using server = await startOAuthServer({ tools, log });
  const call = await clientOf(server, "2026");
  const results = await Promise.all(
    tools.map(({ name }) => call(name).then(resultOf)),
  );
  for (const [index, { isError, content: [{ text }] }] of results.entries()) {
    assert.equal(isError, true, tools[index].name);
    assert.match(text, /Internal error.*reference/, tools[index].name);
  }
  assert.equal(runs, 0);
  const thrown = events.filter(({ properties }) => properties.error);
  assert.equal(thrown.length, tools.length);
});

Deno.test("when, show and remember change neither what is approved nor what runs", async () => {
  const input = z.object({ to: z.array(z.object({ cents: z.int() })) });
  const change = (given: z.infer<typeof input>) => {
    given.to[0].cents = 1;
    given.to.length = 1;
    given.to = [...given.to, ...given.to, { cents: 9 }];
  };
  const offer = { key: "a", label: "all", seconds: 60 };
  const cases: Record<string, ToolApproval<z.infer<typeof input>>> = {
    waits: { when: (it) => (change(it), true) },
    runs: { when: (it) => (change(it), false) },
    shows: { show: (it) => (change(it), { title: "Pay" }) },
    remembers: { remember: (it) => (change(it), offer) },
  };
  const tools = Object.entries(cases).map(([name, approval]) =>
    tool({
      name,
      input,
      approval: { show: (it) => ({ title: JSON.stringify(it) }), ...approval },
      run: (it) => JSON.stringify(it),
    })
  );
  await using server = await testServer({ tools });
  const ann = server.as({ subject: "ann" });
  const given = { to: [{ cents: 500 }, { cents: 700 }] };
  for (const { name } of tools) {
    const asked = name !== "runs";
    for (const again of [false, true]) {
      const isSilent = !asked || again && name === "remembers";
      const { text } = await ann.call(
        name,
        given,
        isSilent
          ? {}
          : { approval: name === "remembers" ? "remember" : "approve" },
      );
      assert.equal(text, JSON.stringify(given), name);
    }
  }
});

Deno.test("arguments that are no JSON once parsed are the author's fault, in words", async () => {
  const { log, events } = recordLog("error");
  let runs = 0;
  const tools = [
    tool({
      name: "date",
      input: z.object({ at: z.iso.datetime().transform((it) => new Date(it)) }),
      approval: {},
      run: () => `${++runs}`,
    }),
    tool({
      name: "map",
      input: z.object({
        at: z.array(z.string()).transform((it) => [new Map([[it, 1]])]),
      }),
      approval: {},
      run: () => `${++runs}`,
    }),
    tool({
      name: "none",
      input: z.object({ at: z.number().transform(() => NaN) }),
      approval: {},
      run: () => `${++runs}`,
    }),
  ];
  await using server = await startOAuthServer({ tools, log });
  const call = await clientOf(server, "2026");
  const inputs = ["2026-11-28T00:00:00Z", ["a"], 1];
  for (const [index, { name }] of tools.entries()) {
    events.length = 0;
    const { isError } = await resultOf(call(name, { at: inputs[index] }));
    assert.equal(isError, true);
    const { error } = events.at(-1)!.properties;
    assert.match(
      `${error}`,
      new RegExp(`tool ${name}: its input\\.at.* no JSON`),
    );
  }
  assert.equal(runs, 0);
});

Deno.test("numbers that no JSON gives back are the client's fault, in words, where arguments are kept", async () => {
  const { log, events } = recordLog("error");
  let runs = 0;
  const options = { input: z.object({ at: z.any() }), run: () => `${++runs}` };
  const tools = [
    tool({ name: "asks", approval: {}, ...options }),
    tool({ name: "lasts", task: { durable: true }, ...options }),
  ];
  await using server = await startOAuthServer({ tools, log });
  const session = await server.openSession(await server.person());
  for (const { name } of tools) {
    for (
      const at of ["1E400", "[-1e999]", `{"a":[{"b":1${"0".repeat(400)}}]}`]
    ) {
      const message = rpc("tools/call", { name, arguments: { at: "AT" } });
      const body = JSON.stringify(message).replace('"AT"', at);
      const { result, error } = await outcome(session.post(body));
      assert.match(
        error?.message ?? result.content[0].text,
        /number (that )?is too large/,
      );
    }
  }
  const failed = events.filter(({ message }) => message === "Internal error");
  assert.deepEqual([runs, failed], [0, []]);
});

Deno.test("arguments that are too long to be kept are refused in words", async () => {
  await using server = await servers(tool({
    name: "send",
    input: z.object({ text: z.string() }),
    approval: {
      show: ({ text }) => ({
        title: text,
        facts: Object.fromEntries(
          Array.from({ length: 500 }, (_, at) => [`fact ${at}`, text]),
        ),
      }),
    },
    run: () => "sent",
  }));
  const call = await clientOf(server, "2026");
  const long = await textOf(call("send", { text: "€".repeat(300_000) }));
  assert.match(long, /too long to be approved/);
  // Words that are too long are cut.
  linkOf(await resultOf(call("send", { text: "€".repeat(3000) })));
});

Deno.test("a release, another definition, and a time that is over ask again", async () => {
  using time = new FakeTime();
  await using kv = await openTestKv();
  const ran: string[] = [];
  const make = (scopes: string[], title: string) =>
    tool({
      name: "wipe",
      title,
      scopes,
      approval: { expiresIn: 120 },
      run: () => {
        ran.push(title);
        return "wiped";
      },
    });
  const provider = undefined;
  await using server = await startOAuthServer({
    kv,
    tools: [make([], "Wipe")],
    provider,
  });
  const { headers } = await server.person();
  const capabilities = FORMS;
  const call = (at: OAuthServer) =>
    resultOf(
      at.call("tools/call", { name: "wipe", arguments: {} }, {
        headers,
        capabilities,
      }),
    );
  const first = linkOf(await call(server));
  await approve(server, first);
  await using other = await startOAuthServer({
    kv,
    tools: [make([], "Wipe all")],
    provider: server.provider,
  });
  const second = linkOf(await call(other));
  assert.notEqual(second, first);
  await approve(server, second);
  const app = createServer({
    ...IMPLEMENTATION,
    version: "9.9.9",
    tools: [make([], "Wipe all")],
    kv,
    provider: server.provider,
    log: { level: "off" },
    env: {
      BASE_URL,
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "github",
      OAUTH_CLIENT_ID: "our-client",
      OAUTH_CLIENT_SECRET: "our-secret",
    },
  });
  const released = new (server.constructor as new (
    ...of: unknown[]
  ) => OAuthServer)(app, kv);
  await using _released = released;
  const third = linkOf(await call(released));
  assert.notEqual(third, second);
  // Two minutes to press, and two more to begin.
  time.tick(119);
  await approve(server, third);
  time.tick(119);
  assert.equal((await call(released)).content[0].text, "wiped");
  const fourth = linkOf(await call(released));
  time.tick(121);
  const visitor = await open(server, fourth);
  assert.equal(visitor.page.status, 404);
  assert.notEqual(linkOf(await call(released)), fourth);
  assert.deepEqual(ran, ["Wipe all"]);
});

Deno.test("an approval ends with its connection, waits while that is paused, and goes with its person", async () => {
  await using server = await servers(
    tool({ name: "wipe", approval: {}, run: () => "wiped" }),
  );
  const call = await clientOf(server, "2026");
  const link = linkOf(await resultOf(call("wipe")));
  const visitor = await open(server, link);
  const { page } = visitor;
  assert.match(
    await visitor.look(),
    /Waiting for you .*Wants your approval: wipe/,
  );
  await visitor.press("/account/pause");
  const row = /Paused .*Resume its connection, then answer here\./;
  const list = await visitor.look();
  assert.match(list, row);
  assert.doesNotMatch(visitor.page.text, /href="[^"]*\/approve\//);
  visitor.page = await visitor.browser.open(link);
  assert.match(visitor.words, /Its connection is paused: resume it on/);
  assert.doesNotMatch(visitor.page.text, /name="answer"/);
  visitor.page = page;
  await press(visitor, "approve");
  assert.match(visitor.words, /Its connection is paused/);
  await visitor.look();
  await visitor.press("/account/resume");
  assert.doesNotMatch(await visitor.look(), row);
  visitor.page = await visitor.browser.open(link);
  assert.match(visitor.page.text, /name="answer"/);
  await visitor.look("/data");
  await visitor.press("/account/export");
  assert.match(visitor.page.text, /"kind": "approval"/);
  await visitor.look();
  await visitor.press("/account/end");
  assert.equal((await visitor.browser.open(link)).status, 404);
  visitor.page = page;
  await press(visitor, "approve");
  assert.equal(visitor.page.status, 404);
});

Deno.test("the end of a run is kept once the database is back, and an equal call that is held learns it", async () => {
  await using kv = await openTestKv();
  const place = { isUp: true };
  const failing = kvWith(kv, {
    atomic: atomicWith(kv, (commit) => {
      if (!place.isUp) throw new Error("no database");
      return commit();
    }),
  });
  const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
  const ran: unknown[] = [];
  const wipe = tool({
    name: "wipe",
    approval: {},
    async run(_, { approval }) {
      ran.push(approval);
      await goOn;
      place.isUp = false;
      return "wiped";
    },
  });
  await using server = await startOAuthServer({ kv: failing, tools: [wipe] });
  const { headers } = await server.person();
  const options = { headers, capabilities: OPENS };
  const asked = await resultOf(
    server.call("tools/call", { name: "wipe" }, options),
  );
  const [[key, { params }]] = Object.entries<Json>(asked.inputRequests);
  const again = {
    name: "wipe",
    requestState: asked.requestState,
    inputResponses: { [key]: { action: "accept" } },
  };
  const held = [0, 1].map(() =>
    resultOf(server.call("tools/call", again, options))
  );
  await until(() => server.app.running === 2);
  const visitor = await open(server, params.url);
  await press(visitor, "approve");
  await until(() => ran.length === 1);
  release();
  await until(() => !place.isUp);
  place.isUp = true;
  const texts = (await Promise.all(held)).map(({ content }) => content[0].text);
  assert.deepEqual(texts.filter((text) => text === "wiped"), ["wiped"]);
  assert.match(texts.join(), /It has ended \(ok\), and another call like this/);
  visitor.page = await visitor.browser.open(params.url);
  assert.match(visitor.words, /It was done\./);
  assert.equal(ran.length, 1);
});

Deno.test("a run without a known end never begins again until its person has looked", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await using kv = await openTestKv();
  const ran: Json[] = [];
  const wipe = tool({
    name: "wipe",
    input: z.object({ dies: z.boolean() }),
    approval: {},
    async run({ dies }, { approval }) {
      ran.push(approval);
      if (dies) await held;
      return "wiped";
    },
  });
  await using server = await startOAuthServer({ kv, tools: [wipe] });
  const { headers } = await server.person();
  const input = { name: "wipe", arguments: { dies: true } };
  const call = (at: Pick<OAuthServer, "call"> = server) =>
    at.call("tools/call", input, { headers, capabilities: FORMS });
  const link = linkOf(await resultOf(call()));
  await approve(server, link);
  const dying = call();
  await until(() => ran.length === 1);
  for (let time = 0; time < 3; time++) {
    const { isError, content: [{ text }], _meta } = await resultOf(call());
    assert.equal(isError, true);
    assert.match(text, /approved and began at 20\d\d-.*its end is not known/);
    assert.ok(text.endsWith(`\n${link}`), text);
    assert.equal(_meta[LINKS_META][0].url, link);
  }
  const visitor = await open(server, link);
  assert.match(visitor.words, /It has begun, and its end is not known yet/);
  await press(visitor, "looked");
  assert.match(visitor.words, /someone said that they have looked/);
  const next = linkOf(await resultOf(call()));
  assert.notEqual(next, link);
  assert.equal(ran.length, 1);
  release();
  assert.equal(await textOf(dying), "wiped");
  // The page of the run tells its end, and the approval opened since then
  // stays.
  assert.match((await visitor.browser.open(link)).text, /It was done/);
  assert.equal(linkOf(await resultOf(call())), next);
});

for (
  const [result, told] of [
    ["wiped", /^wiped$/],
    [
      "w".repeat(20_000),
      /began at .* has ended \(ok\), and its result was too long/,
    ],
  ] as const
) {
  Deno.test(`a result of ${result.length} characters whose client has left, or its end, is kept for the same call, once`, async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    let runs = 0;
    await using server = await servers(tool({
      name: "wipe",
      approval: {},
      async run() {
        runs++;
        begun.resolve();
        await held;
        return result;
      },
    }));
    server.provider.subject = "42";
    const { headers } = await server.person();
    const input = { name: "wipe", arguments: {} };
    const call = (signal?: AbortSignal) =>
      server.call("tools/call", input, {
        headers,
        capabilities: FORMS,
        signal,
      });
    const link = linkOf(await resultOf(call()));
    await approve(server, link);
    const leaving = new AbortController();
    const left = call(leaving.signal);
    await begun.promise;
    leaving.abort();
    release();
    await left.then((response) => response.body?.cancel()).catch(() => {});
    const texts: string[] = [];
    await until(async () => {
      texts.push(await textOf(call()));
      return !texts.at(-1)!.includes("its end is not known");
    });
    assert.match(texts.at(-1)!, told);
    assert.notEqual(linkOf(await resultOf(call())), link);
    assert.equal(runs, 1);
  });
}

Deno.test("prepare, which acts first, is refused at the start; so are unknown options", () => {
  using kv = memoryKv();
  const start = (approval: Json, more: Json = {}) => () =>
    createServer({
      ...IMPLEMENTATION,
      kv,
      env: { AUTH_STRATEGY: "none" },
      tools: [tool({ name: "wipe", approval, run: () => "", ...more })],
    });
  assert.throws(
    start({}, { prepare: () => 1 }),
    /tool wipe: prepare acts before anyone has approved/,
  );
  assert.throws(
    start({ wen: () => true }),
    /approval\.wen is no option: is when meant/,
  );
  assert.throws(start({ expiresIn: 5 }), /approval\.expiresIn must be 60 to/);
});

Deno.test("a person has 100 open approvals, and 25 with one client, whose oldest refusal makes room for another", async () => {
  // A list that was full is read again a second later.
  using time = new FakeTime();
  await using server = await servers(tool({
    name: "wipe",
    input: z.object({ n: z.number() }),
    approval: {},
    run: () => "wiped",
  }));
  const isFull =
    /Too many calls wait for this person: try again in 600 seconds/;
  const calls = await Promise.all(
    Array.from({ length: 5 }, () => clientOf(server, "2026")),
  );
  const [call, , , , fifth] = calls;
  const links: string[] = [];
  for (const one of calls.slice(0, 4)) {
    for (let n = 0; n < 25; n++) {
      links.push(linkOf(await resultOf(one("wipe", { n }))));
    }
    assert.match(await textOf(one("wipe", { n: 25 })), isFull);
    // A call that waits already gets its link again.
    linkOf(await resultOf(one("wipe", { n: 0 })));
  }
  assert.equal(new Set(links).size, 100);
  assert.match(await textOf(fifth("wipe", { n: 0 })), isFull);

  const visitor = await open(server, links[0]);
  await press(visitor, "refuse");
  time.tick(1);
  const pressed = async (link: string, answer: string) => {
    visitor.page = await visitor.browser.open(link);
    await press(visitor, answer);
  };
  await pressed(links[1], "refuse");
  await pressed(links[2], "approve");
  // Another client gets none of its room.
  assert.match(await textOf(fifth("wipe", { n: 0 })), isFull);
  assert.match(await textOf(call("wipe", { n: 1 })), /refused this/);
  linkOf(await resultOf(call("wipe", { n: 25 })));
  assert.equal((await visitor.browser.open(links[0])).status, 404);
  assert.match(await textOf(call("wipe", { n: 1 })), /refused this/);
  linkOf(await resultOf(call("wipe", { n: 26 })));
  assert.match(await textOf(call("wipe", { n: 27 })), isFull);
  assert.equal(await textOf(call("wipe", { n: 2 })), "wiped");
});

Deno.test("a refusal answers for an hour, however long the call might have waited", async () => {
  using _time = new FakeTime();
  const expiresIn = 24 * 3600;
  await using server = await servers(
    tool({ name: "wipe", approval: { expiresIn }, run: () => "wiped" }),
  );
  const call = await clientOf(server, "2026");
  const visitor = await open(server, linkOf(await resultOf(call("wipe"))));
  const ends = () =>
    /approved until\s*<time datetime="([^"]+)"/.exec(visitor.page.text)![1];
  const first = Date.parse(ends());
  const { url } = visitor.page;
  await press(visitor, "refuse");
  visitor.page = await visitor.browser.open(url);
  assert.equal(first - Date.parse(ends()), 23 * 3_600_000);
});

/** The operations on the database of a call that begins its run. */
const MOST_OPERATIONS = 60;

// The dead processes leave what they had open.
const leaking = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "a process killed at any operation of a call runs nothing twice, and loses no approval",
  leaking,
  async () => {
    await using kv = await openTestKv();
    const runs = new Map<string, number>();
    const tools = [tool({
      name: "wipe",
      input: z.object({ id: z.string() }),
      approval: {},
      run({ id }) {
        runs.set(id, (runs.get(id) ?? 0) + 1);
        return "wiped";
      },
    })];
    await using server = await startOAuthServer({ kv, tools });
    const { subject } = server.provider;
    const { headers } = await server.person();
    const env = {
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "github",
      OAUTH_CLIENT_ID: "our-client",
      OAUTH_CLIENT_SECRET: "our-secret",
    };
    const store = callApprovals(new Database(kv));
    const call = (at: Pick<OAuthServer, "call">, id: string) =>
      at.call("tools/call", { name: "wipe", arguments: { id } }, {
        headers,
        capabilities: FORMS,
      });
    const seen = { wiped: 0, unknown: 0, asked: 0 };
    let approvals = 0;
    for (const kind of ["dies", "dies later"] as const) {
      for (let at = 1; at <= MOST_OPERATIONS; at++) {
        const id = `${kind} ${at}`;
        const link = linkOf(await resultOf(call(server, id)));
        const pressed = await store.press(new URL(link).pathname.slice(9), {
          action: "accept",
          by: `github:${subject}`,
          at: 0,
        }, { subject: `github:${subject}`, scopes: [] });
        assert.ok(pressed);
        approvals++;
        await using dying = new MortalServer(kv, { tools, env }, { kind, at });
        const first = await resultOf(call(dying, id)).catch(() => undefined);
        if (first && !dying.isDead) {
          assert.equal(runs.get(id), 1);
          break;
        }
        const { content: [{ text }] } = await resultOf(call(server, id));
        if (text === "wiped") seen.wiped++;
        else if (/its end is not known/.test(text)) seen.unknown++;
        else {
          seen.asked++;
          // A call asks again only after its run has ended.
          if (/\/approve\//.test(text)) assert.equal(runs.get(id), 1, text);
        }
        assert.ok((runs.get(id) ?? 0) <= 1, `${id}: twice`);
        if (text === "wiped") assert.equal(runs.get(id), 1);
      }
    }
    assert.ok(seen.wiped > 0 && seen.unknown > 0, JSON.stringify(seen));
    assert.ok(approvals > 10);
  },
);
