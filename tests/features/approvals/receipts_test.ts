/**
 * Receipts of approvals: on the pages of both, for operators by outcome, in the
 * log by reference, and as long as they may be kept.
 */
import assert from "node:assert/strict";
import { tool, ToolError, z } from "../../../src/mod.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { receiptStore } from "../../../src/features/approvals/receipts.ts";
import { openTestKv, test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { receiptIdOf } from "../../../src/features/questions/wait_receipt.ts";
import { recordLog } from "../../kit/log.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { BASE_URL } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";
import { type Call, clientOf, linkOf, press } from "./approving.ts";

const begun = new Set<string>();
const held = new Map<string, PromiseWithResolvers<void>>();

const refund = tool({
  name: "refund",
  input: z.object({ charge: z.string(), how: z.string().default("ok") }),
  approval: {
    show: ({ charge }) => ({
      title: `Refund ${charge}`,
      facts: { Charge: charge },
    }),
  },
  async run({ charge, how }) {
    if (how === "empty") throw new ToolError("There is no money");
    if (how === "fails") throw new Error("no");
    begun.add(charge);
    await held.get(charge)?.promise;
    return "refunded";
  },
});

const pay = tool({
  name: "pay",
  approval: {
    by: { scope: "pay:approve" },
    show: () => ({ title: "Pay <b>5</b>\u202e" }),
  },
  run: () => "paid",
});

function start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  return startOAuthServer({
    tools: [refund, pay],
    ...options,
    environment: {
      OAUTH_PERMISSIONS: "boss@example.com=pay:approve",
      OAUTH_ADMINS: "root@example.com",
      ...options.environment,
    },
  });
}

/** Signs people in under their own names. */
function visit(server: OAuthServer, name: keyof typeof PEOPLE) {
  server.provider.personName = name;
  return AccountVisitor.signIn(server, {
    as: PEOPLE[name],
    email: `${name}@example.com`,
  });
}

const PEOPLE = { jo: "42", boss: "1", eve: "666", root: "root" };

/** Asks for a call, and presses; calls again unless it shall not begin. */
async function decide(
  visitor: AccountVisitor,
  call: () => Promise<Response>,
  { answer = "approve", reason = "", begins = true }: {
    answer?: string;
    reason?: string;
    begins?: boolean;
  } = {},
): Promise<string> {
  const link = linkOf(await resultOf(call()));
  visitor.page = await visitor.browser.open(link);
  await press(visitor, answer, reason);
  return begins && answer === "approve" ? await textOf(call()) : "";
}

/** Lists the rows of the receipts on the page of calls. */
async function rowsOf(visitor: AccountVisitor, query = ""): Promise<string[]> {
  await visitor.look(`/calls${query}`);
  const [, section = ""] = visitor.page.text.split("<h2>Approvals</h2>");
  return section.split("</table>")[0].split('<tr role="row">').slice(2).map((
    row,
  ) => row.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ").trim());
}

async function ask(server: OAuthServer): Promise<Call> {
  server.provider.email = "jo@example.com";
  server.provider.personName = "jo";
  return await clientOf(server, "2026");
}

test.onDatabases("the caller, who approved, and operators see what came of an approval", async ({ kv }) => {
  const { log, events } = recordLog();
  await using server = await start({ kv, log });
  const call = await ask(server);
  const jo = await visit(server, "jo");
  assert.deepEqual(await rowsOf(jo), []);
  const refunds = (charge: string, how = "ok") => () =>
    call("refund", { charge, how });
  assert.equal(await decide(jo, refunds("c1")), "refunded");
  await decide(jo, refunds("c2", "empty"));
  await decide(jo, refunds("c3", "fails"));
  await decide(jo, refunds("c4"), { answer: "refuse", reason: "Too much" });
  await decide(jo, refunds("c5"), { begins: false });
  begun.delete("c6");
  held.set("c6", Promise.withResolvers());
  await decide(jo, refunds("c6"), { begins: false });
  const underWay = refunds("c6")();
  await until(() => begun.has("c6"));
  const boss = await visit(server, "boss");
  assert.equal(await decide(boss, () => call("pay")), "paid");

  const of = (outcome: string, charge: string, more = "") =>
    `${outcome} just now Refund ${charge} refund · Charge: ${charge}${more} “ App ” You`;
  const paid = "Done just now Pay &lt;b&gt;5&lt;/b&gt; pay “ App ”";
  const own = [
    of("Done", "c1"),
    of("Failed", "c2"),
    of("Failed in the server", "c3"),
    of("Refused", "c4", " Too much"),
    of("Not used", "c5"),
    of("End not known", "c6"),
  ];
  assert.deepEqual(
    (await rowsOf(jo)).sort(),
    [...own, `${paid} boss`].sort(),
  );
  assert.deepEqual(await rowsOf(boss), [`${paid} for jo You`]);
  const other = await visit(server, "eve");
  assert.deepEqual(await rowsOf(other), []);
  assert.deepEqual(await rowsOf(other, "?person=jo"), []);

  const root = await visit(server, "root");
  const all = await rowsOf(root);
  assert.equal(all.length, 7);
  assert.match(
    all.find((row) => row.includes("Pay"))!,
    /for jo \( github:42 \) boss \( github:1 \)$/,
  );
  for (
    const [outcome, titles] of [
      ["ok", ["c1", "Pay"]],
      ["tool_error", ["c2"]],
      ["internal_error", ["c3"]],
      ["refused", ["c4"]],
      ["cancelled", ["c5"]],
      ["stopped", ["c6"]],
    ] as const
  ) {
    const rows = await rowsOf(root, `?outcome=${outcome}`);
    assert.equal(rows.length, titles.length, `${outcome}: ${rows}`);
    for (const title of titles) {
      assert.ok(rows.some((row) => row.includes(title)), title);
    }
  }
  assert.equal((await rowsOf(root, "?person=boss")).length, 1);
  assert.deepEqual(await rowsOf(root, "?client=other"), []);
  // The log tells it by the reference that operators see.
  const [row] = await rowsOf(root, "?outcome=tool_error");
  const ended = events.filter(({ message, properties }) =>
    message === "A run with an approval has ended" &&
    row.includes(String(properties.reference))
  );
  assert.deepEqual(ended.map(({ properties }) => properties.outcome), [
    "tool_error",
  ]);
  assert.doesNotMatch(JSON.stringify(ended), /c2|money/);
  // Each of its lines names the approval, and so does that of a refusal.
  const toldOf = (row: string) =>
    events.filter(({ properties: { approval } }) =>
      approval && row.includes(String(approval))
    ).map(({ message }) => message);
  assert.deepEqual(toldOf(row), [
    "A call waits for an approval",
    "A call was approved",
    "A run has begun with an approval",
    "A run with an approval has ended",
  ]);
  const [refused] = await rowsOf(root, "?outcome=refused");
  assert.ok(toldOf(refused).includes("A call was refused"));
  held.get("c6")!.resolve();
  await textOf(underWay);
  assert.ok((await rowsOf(jo)).includes(of("Done", "c6")));
});

Deno.test("receipts are kept for OAUTH_LEDGER_DAYS, also once the connection has ended; with 0 none is", async () => {
  using time = new FakeTime();
  await using server = await start({
    environment: { OAUTH_LEDGER_DAYS: "2" },
  });
  const call = await ask(server);
  const jo = await visit(server, "jo");
  await decide(jo, () => call("refund", { charge: "c1" }));
  await jo.look();
  await jo.press("/account/end");
  assert.equal((await rowsOf(jo)).length, 1);
  time.tick(2 * 24 * 60 * 60);
  assert.deepEqual(await rowsOf(await visit(server, "jo")), []);

  await using none = await start({
    environment: { OAUTH_LEDGER_DAYS: "0" },
  });
  const other = await ask(none);
  const visitor = await visit(none, "jo");
  await decide(visitor, () => other("refund", { charge: "c1" }));
  await visitor.look("/data");
  await visitor.press("/account/export");
  assert.deepEqual(JSON.parse(visitor.page.text).receipts, []);
  // No page promises what is not kept.
  const gone = `${BASE_URL}/approve/${"x".repeat(43)}`;
  visitor.page = await visitor.browser.open(gone);
  assert.match(visitor.words, /Either it is over/);
  assert.doesNotMatch(visitor.words, /latest calls|came of it/);
});

test.onDatabases("a copy has a person's receipts; their erasure takes the calls with it, and their name from those of others", async ({ kv }) => {
  await using server = await start({ kv });
  const call = await ask(server);
  const boss = await visit(server, "boss");
  await decide(boss, () => call("pay"));
  const jo = await visit(server, "jo");
  await decide(jo, () => call("refund", { charge: "c1" }));
  await jo.look("/data");
  await jo.press("/account/export");
  const { receipts } = JSON.parse(jo.page.text);
  assert.deepEqual(
    receipts.map(({ tool, outcome }: Record<string, string>) => [tool, outcome])
      .sort(),
    [["pay", "ok"], ["refund", "ok"]],
  );
  const copy = JSON.stringify(receipts);
  assert.doesNotMatch(copy, /"(sealed|id)":/);
  // The copy has the other person's name, not their ID at the provider.
  assert.match(copy, /"approver":"boss"/);
  assert.doesNotMatch(jo.page.text, /github:1"/);
  await boss.look("/data");
  await boss.press("/account/export");
  assert.match(boss.page.text, /"caller": *"jo"/);
  assert.doesNotMatch(boss.page.text, /github:42"/);

  server.provider.subject = PEOPLE.boss;
  server.provider.email = "boss@example.com";
  await boss.signInToErase();
  await boss.press("/account/erase", { erase: "on" });
  const rows = await rowsOf(jo);
  assert.equal(rows.length, 2);
  assert.match(rows.join("\n"), /Pay.* Someone who has erased their data/);
  assert.doesNotMatch(rows.join("\n"), /boss/);
  assert.deepEqual(await rowsOf(await visit(server, "boss")), []);

  const again = await visit(server, "jo");
  await again.signInToErase();
  await again.press("/account/erase", { erase: "on" });
  const root = await visit(server, "root");
  assert.deepEqual(await rowsOf(root), []);
  const left: string[] = [];
  for await (const { key, value } of kv.list({ prefix: [] })) {
    const { expiresAt = 0 } = value as { expiresAt?: number };
    if (/^receipt/.test(String(key[0])) && expiresAt > 0) left.push(`${key}`);
  }
  assert.deepEqual(left, []);
});

Deno.test("a refusal keeps its own receipt when someone else approves after all, and each goes with its person", async () => {
  await using server = await start({
    environment: {
      OAUTH_PERMISSIONS:
        "boss@example.com=pay:approve; eve@example.com=pay:approve",
    },
  });
  const call = await ask(server);
  const boss = await visit(server, "boss");
  const link = linkOf(await resultOf(call("pay")));
  boss.page = await boss.browser.open(link);
  await press(boss, "refuse", "Not yet");
  const eve = await visit(server, "eve");
  eve.page = await eve.browser.open(link);
  await press(eve, "approve");
  assert.equal(await textOf(call("pay")), "paid");
  const jo = await visit(server, "jo");
  const decided = async () =>
    (await rowsOf(jo)).map((row) =>
      `${/^\w+/.exec(row)}: ${/boss|eve|erased/.exec(row)}`
    ).sort();
  assert.deepEqual(await decided(), ["Done: eve", "Refused: boss"]);
  assert.match((await rowsOf(boss)).join("\n"), /^Refused.*You$/);
  for (const [visitor, name] of [[boss, "boss"], [eve, "eve"]] as const) {
    server.provider.subject = PEOPLE[name];
    server.provider.email = `${name}@example.com`;
    server.provider.personName = name;
    await visitor.signInToErase();
    await visitor.press("/account/erase", { erase: "on" });
    assert.deepEqual(
      await decided(),
      name === "boss"
        ? ["Done: eve", "Refused: erased"]
        : ["Done: erased", "Refused: erased"],
    );
  }
});

Deno.test("a filter reads on behind the newest 200 receipts, and says when there may be more", async () => {
  await using kv = await openTestKv();
  await using server = await start({ kv });
  const call = await ask(server);
  const jo = await visit(server, "jo");
  await decide(jo, () => call("refund", { charge: "c1" }), {
    answer: "refuse",
  });
  const database = new Database(kv);
  const receipts = receiptStore(database, 3600);
  const at = database.now() + 60;
  const press = { subject: "github:7", by: "github:7", tool: "pay", at };
  const words = { title: "Pay", facts: {}, caller: "mallory" };
  const add = async (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const write = await receipts.writing(
        receiptIdOf(at, `${n}`),
        press,
        words,
      );
      await database.commit((transaction) => write(transaction));
    }
  };
  await add(0, 210);
  const root = await visit(server, "root");
  assert.equal((await rowsOf(root, "?outcome=refused")).length, 1);
  assert.doesNotMatch(root.words, /There may be more/);
  assert.equal((await rowsOf(root)).length, 200);
  assert.match(root.words, /There may be more/);
  const older = () =>
    /href="\/account\/calls(\?[^"]*before=[^"]*)"/.exec(root.page.text)![1]
      .replaceAll("&amp;", "&");
  assert.equal((await rowsOf(root, older())).length, 11);
  await add(210, 2000);
  assert.deepEqual(await rowsOf(root, "?outcome=refused"), []);
  assert.match(root.words, /There may be more/);
  assert.equal((await rowsOf(root, older())).length, 1);
  assert.doesNotMatch(root.words, /There may be more/);
  // An address may have any text.
  const long = `?before=${"x".repeat(5000)}`;
  assert.equal((await rowsOf(root, long)).length, 200);
});
