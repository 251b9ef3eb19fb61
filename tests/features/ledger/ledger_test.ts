import assert from "node:assert/strict";
import { DEFAULT_LIFETIMES } from "../../../src/core/oauth/lifetimes.ts";
import { silentLogger } from "../../kit/log.ts";
import { extendGrant } from "../../../src/core/oauth/grant.ts";
import {
  addCall,
  type EndedCall,
  failuresFirst,
  type LedgerEntry,
  ledgerStore,
  listCalls,
  MAX_LEDGER_ENTRIES,
} from "../../../src/features/ledger/ledger.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore } from "../../../src/core/store/grants.ts";
import { ledgerKey } from "../../../src/core/kv/keys.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import {
  call,
  DAY,
  ledgerOn,
  newGrant,
  newMachineGrant,
  range,
} from "./ledger_fixture.ts";
import { switchable } from "../../kit/switchable_kv.ts";

const NOW = 1_800_000_000;

const WENT: LedgerEntry = {
  at: NOW,
  firstAt: NOW,
  tool: "search",
  outcome: "ok",
  count: 1,
};
const FAILED: LedgerEntry = { ...WENT, tool: "send", outcome: "tool_error" };

Deno.test("listCalls() puts alike calls together, newest first", () => {
  assert.deepEqual(
    listCalls([
      WENT,
      { ...WENT, at: NOW + 20, firstAt: NOW + 20, count: 4 },
      { ...FAILED, at: NOW + 30, firstAt: NOW + 30 },
      { ...WENT, at: NOW + 40, firstAt: NOW + 40 },
    ], 0),
    [
      { ...WENT, at: NOW + 40, count: 6 },
      { ...FAILED, at: NOW + 30, firstAt: NOW + 30 },
    ],
  );
});

Deno.test("listCalls() keeps calls apart that are an hour apart", () => {
  const later = (at: number) => ({ ...WENT, at, firstAt: at });
  assert.equal(listCalls([WENT, later(NOW + 3599)], 0).length, 1);
  assert.equal(listCalls([WENT, later(NOW + 3600)], 0).length, 2);
  // A chain of calls ends after an hour too.
  const chain = range(100).map((n) => later(NOW + n * 60));
  assert.deepEqual(listCalls(chain, 0).map(({ count }) => count), [60, 40]);
});

Deno.test("listCalls() lets no number of calls push out what failed last", () => {
  const many = range(1000).map((n) => ({
    ...WENT,
    tool: `tool-${n}`,
    at: NOW + n,
    firstAt: NOW + n,
  }));
  const list = listCalls([FAILED, ...many], 0);
  assert.deepEqual(list.at(-1), FAILED);
  assert.equal(list[0].tool, "tool-999");
  const failures = many.map((call): LedgerEntry => ({
    ...call,
    outcome: "refused",
  }));
  assert.equal(listCalls([...many, ...failures], 0).length, MAX_LEDGER_ENTRIES);
});

Deno.test("listCalls() keeps the latest forty, and ten older failures", () => {
  const calls = (outcome: EndedCall["outcome"]) =>
    range(100).map((n) => ({ ...WENT, tool: `${n}`, outcome }));
  assert.equal(listCalls(calls("ok"), 0).length, 40);
  assert.equal(listCalls(calls("internal_error"), 0).length, 50);
});

Deno.test("listCalls() leaves out what is older than is wanted", () => {
  assert.deepEqual(listCalls([WENT, FAILED], NOW + 1), []);
  assert.equal(listCalls([WENT, FAILED], NOW).length, 2);
});

Deno.test("addCall() keeps few, however many there are", () => {
  const waiting: LedgerEntry[] = [];
  addCall(waiting, FAILED);
  for (const n of range(10_000)) {
    addCall(waiting, { ...WENT, tool: `tool-${n}`, at: NOW + n });
    assert(waiting.length <= 2 * MAX_LEDGER_ENTRIES);
  }
  assert.equal(waiting[0].tool, "send");
  assert.equal(waiting.at(-1)!.tool, "tool-9999");
  for (const _ of range(10)) addCall(waiting, { ...WENT, at: NOW + 20_000 });
  assert.equal(waiting.at(-1)!.count, 10);
});

Deno.test("failuresFirst() puts what was not done first, each newest first", () => {
  const outcomes: EndedCall["outcome"][] = [
    "ok",
    "refused",
    "cancelled",
    "internal_error",
    "stopped",
  ];
  const calls = outcomes.map((outcome, n) => ({ outcome, at: NOW + n }));
  assert.deepEqual(failuresFirst(calls).map(({ outcome }) => outcome), [
    "stopped",
    "internal_error",
    "refused",
    "cancelled",
    "ok",
  ]);
});

test.onDatabases("note() of two processes for one connection loses nothing", async ({ kv, other }) => {
  const grant = await newGrant(kv);
  const ledgers = [ledgerOn(kv), ledgerOn(other)];
  for (const n of range(50)) {
    ledgers[n % 2].note(grant.id, call(`tool-${n % 5}`));
    // Both write at once from time to time.
    if (n % 10 === 9) await Promise.all(ledgers.map((it) => it.list([])));
  }
  await Promise.all(ledgers.map((ledger) => ledger.close()));
  const [calls] = await ledgerOn(other).list([grant.id]);
  assert.equal(calls.reduce((sum, { count }) => sum + count, 0), 50);
});

test.onDatabases("note() of more connections than a commit takes is written", async ({ kv, other }) => {
  const grants = await Promise.all(range(95).map(() => newGrant(kv)));
  const ledger = ledgerOn(kv);
  for (const { id } of grants) ledger.note(id, call());
  await ledger.close();
  const lists = await ledgerOn(other).list(grants.map(({ id }) => id));
  assert.deepEqual(
    new Set(lists.map(([{ tool }]) => tool)),
    new Set(["search"]),
  );
});

test.onDatabases("a ledger ends with its grant, and no late call brings it back", async ({ kv, other }) => {
  const grant = await newGrant(kv);
  const ledger = ledgerOn(kv);
  ledger.note(grant.id, call());
  assert.equal((await ledger.list([grant.id]))[0].length, 1);
  await grantStore(new Database(other)).close(grant.id);
  assert.deepEqual(await ledger.list([grant.id]), [[]]);
  ledger.note(grant.id, call());
  await ledger.close();
  assert.equal((await other.get(ledgerKey(grant.id))).value, null);
});

test.onDatabases("a grant that ends while its calls are written keeps none", async ({ kv, other }) => {
  for (const _ of range(10)) {
    const grant = await newGrant(kv);
    const ledger = ledgerOn(kv);
    ledger.note(grant.id, call());
    await Promise.all([
      ledger.close(),
      grantStore(new Database(other)).close(grant.id),
    ]);
    assert.equal((await other.get(ledgerKey(grant.id))).value, null);
  }
});

test.onDatabases("a machine's calls go on with its next grant", async ({ kv, other }) => {
  const grants = [await newMachineGrant(kv), await newMachineGrant(kv)];
  const ledger = ledgerOn(kv);
  for (const { id } of grants) ledger.note(id, call());
  await ledger.close();
  for (const { id } of grants) {
    await grantStore(new Database(other)).close(id);
  }
  const [[{ count }]] = await ledgerOn(other).list([grants[0].subject]);
  assert.equal(count, 2);
});

test.inMemory("a full ledger fits a value, and a commit takes as many as it should", async ({ kv }) => {
  const grants = await Promise.all(range(40).map(() => newGrant(kv)));
  const ledger = ledgerOn(kv);
  for (const { id } of grants) {
    for (const n of range(MAX_LEDGER_ENTRIES)) {
      ledger.note(id, call(`${n}`.padEnd(128, "x"), "internal_error"));
    }
  }
  await ledger.close();
  const lists = await ledgerOn(kv).list(grants.map(({ id }) => id));
  assert(lists.every(({ length }) => length === MAX_LEDGER_ENTRIES));
});

test.inMemory("calls of more connections than are gathered are left out, and counted", async ({ kv }) => {
  const warnings: unknown[] = [];
  const log = {
    ...silentLogger,
    warning: (_: string, facts: unknown) => void warnings.push(facts),
  };
  const grant = await newGrant(kv);
  const ledger = ledgerStore(new Database(kv), { keepSeconds: DAY, log });
  for (const n of range(10_000)) ledger.note(`grant-${n}`, call());
  ledger.note(grant.id, call());
  assert.deepEqual(await ledger.list([grant.id]), [[]]);
  assert.deepEqual(warnings, [{ leftOut: 1 }]);
  await ledger.close();
});

test.inMemory("calls are kept while the database is away, and written later", async ({ kv }) => {
  const grant = await newGrant(kv);
  const place = switchable(kv, false);
  const ledger = ledgerOn(place.kv);
  ledger.note(grant.id, call());
  await assert.rejects(ledger.list([grant.id]));
  ledger.note(grant.id, call());
  place.isUp = true;
  const [[{ count }]] = await ledger.list([grant.id]);
  assert.equal(count, 2);
  await ledger.close();
});

test.inMemory("calls are kept for as long as the operator says, and not longer than the grant", async ({ kv }) => {
  using time = new FakeTime();
  const [long, short] = [await newGrant(kv), await newGrant(kv, DAY)];
  const ledger = ledgerOn(kv, 7 * DAY);
  for (const { id } of [long, short]) ledger.note(id, call("old"));
  await ledger.list([]);
  const expiry = async (id: string) =>
    (await kv.get<{ expiresAt: number }>(ledgerKey(id))).value!.expiresAt -
    Date.now() / 1000;
  assert.equal(Math.round(await expiry(long.id) / DAY), 7);
  assert.equal(Math.round(await expiry(short.id) / DAY), 1);

  time.tick(4 * DAY);
  ledger.note(long.id, call("new"));
  assert.equal((await ledger.list([long.id]))[0].length, 2);
  // A shorter setting takes effect at once.
  const [shorter] = await ledgerOn(kv, DAY).list([long.id]);
  assert.deepEqual(shorter.map(({ tool }) => tool), ["new"]);
  time.tick(4 * DAY);
  const [left] = await ledger.list([long.id]);
  assert.deepEqual(left.map(({ tool }) => tool), ["new"]);
  await ledger.close();
});

test.onDatabases("change() of a grant loses to nothing that changes it meanwhile", async ({ kv, other }) => {
  const grant = await newGrant(kv);
  const [one, two] = [kv, other].map((it) => grantStore(new Database(it)));
  const found = await one.find(grant.id);
  await Promise.all([
    one.change(found, (grant) => ({ ...grant, pausedAt: NOW })),
    two.change(
      found,
      (grant) =>
        extendGrant(grant, {
          lifetimes: DEFAULT_LIFETIMES,
          refreshable: true,
          now: NOW + 5,
        }),
    ),
  ]);
  const { pausedAt, usedAt } = (await two.find(grant.id))!.value;
  assert.deepEqual([pausedAt, usedAt], [NOW, NOW + 5]);
});

test.onDatabases("change() does nothing to a grant that ends meanwhile", async ({ kv, other }) => {
  const grant = await newGrant(kv);
  const grants = grantStore(new Database(kv));
  const found = await grants.find(grant.id);
  await grantStore(new Database(other)).close(grant.id);
  const pause = { change: (it: typeof grant) => ({ ...it, pausedAt: NOW }) };
  assert.equal(await grants.change(found, pause.change), undefined);
  assert.equal((await grants.find(grant.id))!.value.status, "closed");
});
