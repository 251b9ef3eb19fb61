/** Approvals whose client or person ends them, before or while they run. */
import assert from "node:assert/strict";
import { callApprovals } from "../../../src/features/approvals/approval_store.ts";
import { tool, z } from "../../../src/mod.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { LimitError } from "../../../src/core/errors.ts";
import { MAX_WAITS_PER_CLIENT } from "../../../src/features/questions/waits.ts";
import type { LogOptions } from "../../../src/core/log/log.ts";
import { recordLog, silentLogger } from "../../kit/log.ts";
import { openRegister } from "../../../packages/operate/register.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { Events, resultOf, textOf } from "../../kit/answer.ts";
import { openTestKv, test } from "../../kit/databases.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { FaultyKv } from "../../kit/faulty_kv.ts";
import type { HeadersOf, Json } from "../../kit/message.ts";
import { TASKS } from "../../kit/task.ts";
import { until } from "../../kit/wait.ts";
import {
  CALL,
  clientOf,
  FORMS,
  linkOf,
  open,
  OPENS,
  PAYLOAD,
  press,
} from "./approving.ts";

let runs = 0;
let held = Promise.withResolvers<void>();

const pay = tool({
  name: "pay",
  approval: {},
  async run() {
    runs++;
    await held.promise;
    return "paid";
  },
});

/** A tool whose calls need no second press once a box was ticked. */
const buy = tool({
  name: "buy",
  input: z.object({ n: z.int().default(0) }),
  approval: { remember: () => ({ key: "a", label: "more", seconds: 3600 }) },
  run: () => `bought ${++runs}`,
});

const long = tool({
  name: "long",
  task: "required",
  approval: {},
  async run() {
    const text = `lasted ${++runs}`;
    await held.promise;
    return text;
  },
});

/** A tool whose calls someone else approves. */
const wipe = tool({
  name: "wipe",
  approval: { by: { scope: "wipe:approve" } },
  run: () => `wiped ${++runs}`,
});

function start(
  kv: Deno.Kv,
  first?: OAuthServer,
  log?: LogOptions,
): Promise<OAuthServer> {
  runs = 0;
  held = Promise.withResolvers();
  return startOAuthServer({
    tools: [pay, buy, wipe, long],
    kv,
    log,
    provider: first?.provider,
    environment: {
      OAUTH_PERMISSIONS: "boss@example.com=wipe:approve",
    },
  });
}

/** Calls a tool in the 2026 generation, and reads the question. */
async function ask(
  server: OAuthServer,
  name: string,
  headers: HeadersOf,
  input: Json = {},
) {
  const asked: Json = await resultOf(
    server.call("tools/call", { name, arguments: input }, {
      headers,
      capabilities: OPENS,
    }),
  );
  const [[key, { params }]] = Object.entries<Json>(asked.inputRequests);
  const answer = (action: string, at = server) =>
    at.call("tools/call", {
      name,
      arguments: input,
      requestState: asked.requestState,
      inputResponses: { [key]: { action } },
    }, { headers, capabilities: OPENS });
  return { link: params.url as string, answer };
}

/** Starts a task, whose client opens pages. */
async function startTask(
  server: OAuthServer,
  name: string,
  headers: HeadersOf,
) {
  const options = { headers, capabilities: { ...OPENS, ...TASKS } };
  const { taskId } = await resultOf(
    server.call("tools/call", { name, arguments: {} }, options),
  );
  return {
    /** Waits until the task has a status, and returns it. */
    async reach(status: string, at = server): Promise<Json> {
      let task: Json = {};
      await until(async () => {
        task = await resultOf(at.call("tasks/get", { taskId }, options));
        return task.status === status;
      });
      return task;
    },
    answer(key: string, action: string, at = server): Promise<Json> {
      const inputResponses = { [key]: { action } };
      return resultOf(
        at.call("tasks/update", { taskId, inputResponses }, options),
      );
    },
  };
}

const DECLINED = /^This was declined or cancelled in the client/;

for (const action of ["decline", "cancel"]) {
  test.onDatabases(`a client's ${action} after the press withdraws the approval, at another process too, and its page and the log say so`, async ({ kv, other }) => {
    const { log, events } = recordLog();
    await using server = await start(kv, undefined, log);
    await using second = await start(other, server, log);
    server.provider.subject = "42";
    const { headers } = await server.person();
    const { link, answer } = await ask(server, "pay", headers);
    const visitor = await open(server, link);
    const { page } = visitor;
    await press(visitor, "approve");
    assert.match(visitor.words, /Approved\. It begins/);
    // A client that repeats its request gets the same.
    for (const at of [second, server]) {
      assert.match(await textOf(answer(action, at)), DECLINED);
    }
    const told = events.filter(({ message }) => /withdrawn/.test(message));
    assert.deepEqual(
      told.map(({ audit, properties }) => [
        audit,
        properties?.tool,
        properties?.subject,
      ]),
      [[true, "pay", "github:42"]],
    );
    visitor.page = page;
    await press(visitor, "approve");
    assert.match(visitor.words, /^.*The app has withdrawn it, and nothing/);
    assert.match(await visitor.look("/calls"), /Not used .*pay/);
    assert.doesNotMatch(await visitor.look(), /Wants your approval/);
    assert.notEqual((await ask(second, "pay", headers)).link, link);
    assert.equal(runs, 0);
  });
}

Deno.test("a client that asks and withdraws without end keeps 25 approvals, and takes no room from others", async () => {
  await using kv = await openTestKv();
  await using server = await start(kv);
  server.provider.subject = "42";
  const people = await Promise.all(
    Array.from({ length: 5 }, () => server.person()),
  );
  const kept = async () => {
    const all = await Array.fromAsync(kv.list<Json>({ prefix: ["wait"] }));
    // An ended record is a mark without content, until it is deleted.
    return all.filter(({ value }) => value.sealed).length;
  };
  for (const [index, { headers }] of people.slice(0, 4).entries()) {
    for (let n = 0; n < 30; n++) {
      const { answer } = await ask(server, "buy", headers, { n });
      assert.match(await textOf(answer("decline")), DECLINED);
    }
    assert.equal(await kept(), 25 * (index + 1));
  }
  // The person's list is full of withdrawn calls: one of them makes room.
  const { link } = await ask(server, "buy", people[4].headers);
  assert.equal(await kept(), 100);
  const visitor = await open(server, link);
  await press(visitor, "approve");
  assert.match(visitor.words, /Approved\. It begins/);
});

Deno.test("a call that is held learns that another one has declined, and a press that comes then begins nothing", async () => {
  await using kv = await openTestKv();
  await using server = await start(kv);
  server.provider.subject = "42";
  const { headers } = await server.person();
  const { link, answer } = await ask(server, "pay", headers);
  const visitor = await open(server, link);
  const accepted = resultOf(answer("accept"));
  await until(() => server.app.running === 1);
  assert.match(await textOf(answer("decline")), DECLINED);
  const { content, inputRequests } = await accepted;
  // A call whose decline came before it was held asks anew.
  if (inputRequests) assert.ok(!JSON.stringify(inputRequests).includes(link));
  else assert.match(content[0].text, DECLINED);
  await press(visitor, "approve");
  assert.match(visitor.words, /The app has withdrawn it/);
  assert.equal(runs, 0);
});

Deno.test("a decline does not end a run that has begun, nor take a refusal away", async () => {
  await using kv = await openTestKv();
  await using server = await start(kv);
  server.provider.subject = "42";
  const { headers } = await server.person();
  const { link, answer } = await ask(server, "buy", headers);
  const visitor = await open(server, link);
  await press(visitor, "refuse", "Too dear");
  for (const action of ["decline", "accept"]) {
    assert.match(await textOf(answer(action)), /refused this.*Too dear/);
  }
  const other = await ask(server, "pay", headers);
  visitor.page = await visitor.browser.open(other.link);
  await press(visitor, "approve");
  const running = textOf(other.answer("accept"));
  await until(() => runs === 1);
  const declined = textOf(other.answer("decline"));
  held.resolve();
  assert.equal(await running, "paid");
  assert.match(await declined, /A run of pay .* began at .* was not run again/);
  assert.equal(runs, 1);
});

Deno.test("a decline also takes back the offer that its press has accepted, and comes before an older one", async () => {
  await using kv = await openTestKv();
  await using server = await start(kv);
  server.provider.subject = "42";
  const { headers } = await server.person();
  const tick = async (link: string) => {
    const visitor = await open(server, link);
    const path = new URL(link).pathname;
    await visitor.press(path, { answer: "approve", remember: "on" });
    return visitor;
  };
  const first = await ask(server, "buy", headers);
  const visitor = await tick(first.link);
  assert.match(await visitor.look(), /Without asking you .*more/);
  assert.match(await textOf(first.answer("decline")), DECLINED);
  assert.doesNotMatch(await visitor.look(), /Without asking you/);
  const [second, third] = [
    await ask(server, "buy", headers, { n: 2 }),
    await ask(server, "buy", headers, { n: 3 }),
  ];
  await tick(second.link);
  // The offer would let this call run at once.
  assert.match(await textOf(third.answer("decline")), DECLINED);
  assert.equal(runs, 0);
  assert.equal(await textOf(second.answer("accept")), "bought 1");
});

for (const late of ["accept", "decline"]) {
  test.onDatabases(`a task goes on at the press at another process, and a client's later ${late} changes nothing`, async ({ kv, other }) => {
    await using server = await start(kv);
    await using second = await start(other, server);
    server.provider.subject = "42";
    const { headers } = await server.person();
    const task = await startTask(server, "long", headers);
    const { inputRequests } = await task.reach("input_required");
    const [[key, { params }]] = Object.entries<Json>(inputRequests);
    const visitor = await open(second, params.url);
    await press(visitor, "approve");
    await until(() => runs === 1);
    const running = await task.reach("working", second);
    assert.equal(running.inputRequests, undefined);
    await task.answer(key, late, second);
    held.resolve();
    const { result } = await task.reach("completed");
    assert.equal(result.content[0].text, "lasted 1");
    assert.match(await visitor.look("/calls"), /Done .*long/);
    assert.equal(runs, 1);
  });
}

test.onDatabases("a task ends by a decline before the press, and nothing is run", async ({ kv, other }) => {
  await using server = await start(kv);
  await using second = await start(other, server);
  server.provider.subject = "42";
  const { headers } = await server.person();
  const task = await startTask(server, "long", headers);
  const { inputRequests } = await task.reach("input_required");
  const [[key, { params }]] = Object.entries<Json>(inputRequests);
  const visitor = await open(server, params.url);
  await task.answer(key, "decline", second);
  const { result } = await task.reach("completed", second);
  assert.match(result.content[0].text, DECLINED);
  await press(visitor, "approve");
  assert.match(visitor.words, /The app has withdrawn it/);
  assert.match(await visitor.look("/work"), /Refused .*long/);
  assert.equal(runs, 0);
});

Deno.test("a caller takes back what someone else has to approve: by the client after the press, and on the page before it", async () => {
  await using kv = await openTestKv();
  await using server = await start(kv);
  const visit = async (as: string, email: string, link: string) => {
    const visitor = await AccountVisitor.signIn(server, { as, email });
    visitor.page = await visitor.browser.open(link);
    return visitor;
  };
  server.provider.email = "jo@example.com";
  server.provider.subject = "42";
  const { headers } = await server.person();
  const first = await ask(server, "wipe", headers);
  const boss = await visit("1", "boss@example.com", first.link);
  await press(boss, "approve");
  assert.match(await textOf(first.answer("decline")), DECLINED);
  boss.page = await boss.browser.open(first.link);
  assert.match(boss.words, /The app has withdrawn it/);

  const second = await ask(server, "wipe", headers);
  const jo = await visit("42", "jo@example.com", second.link);
  boss.page = await boss.browser.open(second.link);
  const { page } = boss;
  assert.match(boss.words, /Approve.*Refuse/);
  assert.match(jo.words, /It waits for someone else, .*Withdraw/);
  await press(jo, "refuse", "Wrong one");
  const withdrawn = /Withdrawn by the person who asked\. .*Wrong one/;
  assert.match(jo.words, withdrawn);
  assert.doesNotMatch(await boss.look(), /Wants your approval/);
  boss.page = page;
  await press(boss, "approve");
  assert.match(boss.words, withdrawn);
  assert.match(
    await textOf(second.answer("accept")),
    /^The person who asked has withdrawn this, and said: "Wrong one"\. .* gets this answer/,
  );
  assert.match(await jo.look("/calls"), /Withdrawn .*wipe.*Wrong one.*You/);
  assert.equal(runs, 0);
});

for (const action of ["decline", "cancel"]) {
  test.onDatabases(`a client's ${action} of a call that is approved twice leaves the run of the other one known`, async ({ kv, other }) => {
    await using server = await start(kv);
    await using second = await start(other, server);
    server.provider.subject = "42";
    const { headers } = await server.person();
    const calls = [];
    for (const at of [server, second]) {
      const session = await at.openSession({ headers, capabilities: OPENS });
      const events = new Events(
        await session.request("tools/call", { name: "pay", arguments: {} }),
      );
      calls.push({ session, events, question: await events.read() });
    }
    const [link, same] = calls.map(({ question }) => question.params.url);
    assert.equal(link, same);
    const visitor = await open(server, link);
    await press(visitor, "approve");
    await until(() => runs === 1);
    for (const { session, question: { id } } of calls) {
      const message = { jsonrpc: "2.0", id, result: { action } };
      await (await session.post(message)).body?.cancel();
    }
    const input = { name: "pay", arguments: {} };
    const again = server.call("tools/call", input, {
      headers,
      capabilities: FORMS,
    });
    assert.equal(linkOf(await resultOf(again)), link);
    visitor.page = await visitor.browser.open(link);
    assert.match(visitor.words, /its end is not known yet/);
    held.resolve();
    const texts = await Promise.all(calls.map(async ({ events }) => {
      for await (const { result } of events) {
        if (result) return result.content[0].text as string;
      }
    }));
    assert.deepEqual(texts.filter((text) => text === "paid"), ["paid"]);
    const [told] = texts.filter((text) => text !== "paid");
    assert.match(told!, /A run of pay .* began at .* It was not run again/s);
    assert.equal(runs, 1);
    assert.match(await visitor.look("/calls"), /pay .*Done/);
  });
}

for (
  const [who, aheadMilliseconds] of [
    ["an operator", 0],
    // It did not see the time of the run's commit.
    ["a command that has just begun", 2000],
  ] as const
) {
  Deno.test(`a run under way stays known when ${who} ends everything of its person, until they are erased`, async () => {
    await using kv = await openTestKv();
    await using server = await start(kv);
    const clock = () => Date.now() + aheadMilliseconds;
    const register = openRegister(new Database(kv, { clock }), silentLogger);
    const call = await clientOf(server, "2026");
    const link = linkOf(await resultOf(call("pay")));
    await press(await open(server, link), "approve");
    // The end of everything may answer the call before its run has ended.
    const answered = call("pay").then((response) => response.text());
    await until(() => runs === 1);
    const waiting = linkOf(
      await resultOf((await clientOf(server, "2026"))("pay")),
    );
    await register.endPerson("github:42");
    const visitor = await open(server, link);
    assert.match(visitor.words, /its end is not known yet/);
    assert.equal((await visitor.browser.open(waiting)).status, 404);
    held.resolve();
    await answered;
    await until(async () =>
      /It was done/.test((await visitor.browser.open(link)).text)
    );
    assert.match(await visitor.look("/calls"), /Done .*pay/);
    await register.erase("github:42");
    assert.equal(
      (await (await open(server, link)).browser.open(link)).status,
      404,
    );
  });
}

Deno.test("a client that withdraws a call and makes it again has no more open approvals than others", async () => {
  await using kv = await openTestKv();
  const store = callApprovals(new Database(kv));
  const ask = (asker: string) => store.open({ ...CALL, asker }, PAYLOAD);
  const first = await ask("first");
  for (let n = 1; n < MAX_WAITS_PER_CLIENT; n++) await ask(`${n}`);
  assert(await store.withdraw(first));
  assert.notEqual((await ask("first")).id, first.id);
  await assert.rejects(ask("other"), LimitError);
  const open = await store.listOpen({ subject: CALL.subject, scopes: [] });
  assert.equal(open.length, MAX_WAITS_PER_CLIENT);
});

test.onDatabases(
  "withdraw() or begin() wins, however they meet a press, and wherever their process ends",
  async ({ kv, other }) => {
    const waiting = (asker: string) => ({
      subject: "dev:42",
      kind: "approval" as const,
      asker,
      question: "q",
      tool: "pay",
      approval: { seconds: 600 },
    });
    const payload = {
      id: "i",
      input: {},
      accounts: [],
      definition: "d",
      title: "Pay",
      facts: {},
      caller: { name: "Jo", account: "jo", addresses: [] },
    };
    const jo = { subject: "dev:42", scopes: [] };
    const store = (at: Deno.Kv) => callApprovals(new Database(at));
    const [one, two] = [store(kv), store(other)];
    const pressOf = () =>
      ({ action: "accept", by: jo.subject, at: one.now() }) as const;
    const ends = new Set<string>();
    /** True if the approval began a run; no other end then tells otherwise. */
    async function check(approval: { key: Deno.KvKey }, isWithdrawn?: boolean) {
      const read = await two.read(approval);
      const { outcome, begunAt } = read?.approval ?? {};
      const hasBegun = begunAt !== undefined;
      if (isWithdrawn !== undefined) assert.equal(hasBegun, !isWithdrawn);
      assert.equal(hasBegun, outcome !== "withdrawn");
      ends.add(hasBegun ? "begun" : "withdrawn");
    }
    for (let at = 0; at < 10; at++) {
      const approval = await one.open(waiting(`race ${at}`), payload);
      const pressed = () => two.press(approval.id!, pressOf(), jo);
      if (at % 2) await pressed();
      const [isWithdrawn] = await Promise.all([
        one.withdraw(approval),
        at % 2 ? two.begin(approval, "r", "") : pressed(),
      ]);
      await two.begin(approval, "r", "");
      await check(approval, isWithdrawn);
    }
    for (const kind of ["dies", "dies later"] as const) {
      let hasFailed = true;
      for (let at = 1; hasFailed; at++) {
        const approval = await one.open(waiting(`${kind} ${at}`), payload);
        await two.press(approval.id!, pressOf(), jo);
        const faulty = new FaultyKv(kv, { kind, at });
        const withdrawing = store(faulty.kv).withdraw(approval);
        await Promise.race([withdrawing, faulty.death]);
        hasFailed = faulty.hasFailed;
        await two.begin(approval, "r", "");
        await check(approval);
      }
    }
    assert.deepEqual([...ends].sort(), ["begun", "withdrawn"]);
    // A dead process keeps its timers, so this test is the last.
  },
  { sanitizeOps: false, sanitizeResources: false },
);
