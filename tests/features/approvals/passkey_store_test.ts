/**
 * Passkeys on every kind of database, in two processes of one: a removed one is
 * refused by the other at once, and of two uses at once one counts.
 */
import assert from "node:assert/strict";
import { SoftwarePasskey } from "../../../packages/testing/software_passkey.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { tool } from "../../../src/mod.ts";
import {
  type Passkey,
  passkeyStore,
} from "../../../src/features/approvals/passkey_store.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { clientOf, linkOf } from "./approving.ts";
import {
  make,
  openPasskeys,
  send,
  sign,
  withPasskey,
} from "./with_passkeys.ts";

const JO = "github:42";
const NOW_SECONDS = 1_800_000_000;
const DAY_SECONDS = 24 * 60 * 60;
const NOTHING_MORE = () => {};

/** A passkey that is made; it counts its signatures from 1 on. */
const made = (id: string, name = id) => ({
  id,
  name,
  publicKey: "key",
  counter: 1,
});

const storeOf = (database: Database) => ({
  database,
  ...passkeyStore(database),
});

/** Stores in two processes, whose time the test sets. */
function stores({ kv, other }: { kv: Deno.Kv; other: Deno.Kv }) {
  const time = { seconds: NOW_SECONDS };
  const clock = () => time.seconds * 1000;
  const [first, second] = [kv, other].map((kv) =>
    storeOf(new Database(kv, { clock }))
  );
  return { time, first, second };
}

type Store = ReturnType<typeof storeOf>;

/** Uses a passkey as a press does. Returns false if the press does not count. */
async function use(
  { database, find }: Store,
  use: { id: string; counter: number },
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<boolean> {
  const write = (await find(JO)).noting(use);
  await meanwhile();
  return write !== undefined && await database.commit(write) !== undefined;
}

const names = (passkeys: Passkey[]) => passkeys.map(({ name }) => name);

test.onDatabases("passkeys are made, named, used and removed in one process, and another knows it at once", async (kvs) => {
  const { time, first, second } = stores(kvs);
  assert.deepEqual((await second.find(JO)).own, []);
  await first.add(JO, made("a", "Phone 📱"), NOTHING_MORE);
  await second.add(JO, made("b"), NOTHING_MORE);
  const { own, usable, hasAny, from } = await second.find(JO);
  assert.deepEqual(names(own), ["Phone 📱", "b"]);
  assert.deepEqual(names(usable), ["Phone 📱"]);
  assert.deepEqual([hasAny, from], [true, NOW_SECONDS]);
  assert.deepEqual((await second.find("github:43")).own, []);
  // One that is there is not made again, in whichever process.
  assert.equal(await second.add(JO, made("a"), NOTHING_MORE), undefined);

  assert.equal(await use(second, { id: "b", counter: 2 }), false);
  time.seconds += 5;
  assert.equal(await use(second, { id: "a", counter: 2 }), true);
  const [{ usedAt, counter }] = (await first.find(JO)).own;
  assert.deepEqual([usedAt, counter], [NOW_SECONDS + 5, 2]);
  const confirmed = await first.confirm(
    JO,
    "b",
    { id: "a", counter: 3 },
    NOTHING_MORE,
  );
  assert.equal(confirmed?.countsFrom, NOW_SECONDS + 5);
  assert.equal((await second.find(JO)).usable.length, 2);

  await first.remove(JO, "a", NOTHING_MORE);
  assert.deepEqual(names((await second.find(JO)).usable), ["b"]);
  assert.equal(await use(second, { id: "a", counter: 4 }), false);
  assert.equal(await second.remove(JO, "a", NOTHING_MORE), undefined);
});

test.onDatabases("a press that read a passkey does not count once another process has removed or erased it", async (kvs) => {
  const { first, second } = stores(kvs);
  await first.add(JO, made("a"), NOTHING_MORE);
  const remove = () => first.remove(JO, "a", NOTHING_MORE);
  assert.equal(await use(second, { id: "a", counter: 2 }, remove), false);
  await first.add("github:43", made("z"), NOTHING_MORE);
  await first.reset(JO);
  await first.add(JO, made("a"), NOTHING_MORE);
  const erase = () => first.forgetAllOf(JO);
  assert.equal(await use(second, { id: "a", counter: 2 }, erase), false);
  assert.equal((await second.find("github:43")).own.length, 1);
  // A page on which a button was enough, until a passkey was made.
  await first.reset(JO);
  const { stays } = await second.find(JO);
  await first.add(JO, made("a"), NOTHING_MORE);
  assert.equal(await second.database.commit(stays), undefined);
});

test.onDatabases("who has lost all passkeys waits a day for the next one, also in another process, and after erasing", async (kvs) => {
  const { time, first, second } = stores(kvs);
  await first.add(JO, made("lost"), NOTHING_MORE);
  await second.remove(JO, "lost", NOTHING_MORE);
  assert.deepEqual((await first.find(JO)).own, []);
  assert.equal((await first.find(JO)).hasAny, true);
  await first.add(JO, made("next"), NOTHING_MORE);
  for (const store of [first, second]) {
    assert.equal(await use(store, { id: "next", counter: 2 }), false);
    assert.equal((await store.find(JO)).from, NOW_SECONDS + DAY_SECONDS);
  }
  time.seconds += DAY_SECONDS - 1;
  assert.equal(await use(second, { id: "next", counter: 2 }), false);
  time.seconds += 1;
  assert.equal(await use(second, { id: "next", counter: 2 }), true);

  await first.forgetAllOf(JO);
  const again = await second.add(JO, made("again"), NOTHING_MORE);
  assert.equal(again?.countsFrom, time.seconds + DAY_SECONDS);
  await second.reset(JO);
  const reset = await first.add(JO, made("reset"), NOTHING_MORE);
  assert.equal(reset?.countsFrom, time.seconds);
});

test.onDatabases("of fifty uses at once with one counter one counts, and of fifty first passkeys one counts at once", async ({ kv, other }) => {
  const setUp = passkeyStore(new Database(kv));
  const firsts = await fiftyAtOnce(
    kv,
    other,
    passkeyStore,
    (store, index) => store.add(JO, made(`k${index}`), NOTHING_MORE),
  );
  const kept = firsts.filter((it) => it !== undefined);
  // The most passkeys of a person.
  assert.equal(kept.length, 20);
  const { own, usable } = await setUp.find(JO);
  assert.equal(own.length, 20);
  assert.equal(usable.length, 1, JSON.stringify(usable));

  const { id } = usable[0];
  const used = await fiftyAtOnce(
    kv,
    other,
    storeOf,
    (store) => use(store, { id, counter: 2 }),
  );
  assert.equal(used.filter(Boolean).length, 1);
  const counters = await fiftyAtOnce(
    kv,
    other,
    storeOf,
    async (store, index) => {
      const counter = 3 + index;
      return await use(store, { id, counter }) ? counter : 0;
    },
  );
  const last = Math.max(...counters);
  assert.equal((await setUp.find(JO)).usable[0].counter, last);
  // An older one is that of a copy.
  const store = storeOf(new Database(other));
  assert.equal(await use(store, { id, counter: last }), false);
  assert.equal(await use(store, { id, counter: last + 1 }), true);
});

test.onDatabases("a passkey that is made in one process approves in another, and one that is removed there does not", async ({ kv, other }) => {
  let ran = 0;
  const pay = tool({
    name: "pay",
    approval: { passkey: "required" },
    run: () => `paid ${++ran}`,
  });
  await using server = await startOAuthServer({ kv, tools: [pay] });
  const { provider } = server;
  await using second = await startOAuthServer({
    kv: other,
    tools: [pay],
    provider,
  });
  const call = await clientOf(server, "2026");
  const { visitor, passkey } = await withPasskey(server);
  const there = await AccountVisitor.signIn(second);
  const link = linkOf(await resultOf(call("pay")));
  await send(there, link, await sign(there, link, passkey));
  assert.match(there.words, /Approved\. It begins/);
  assert.equal(await textOf(call("pay")), "paid 1");
  assert.match(await visitor.look("/passkeys"), /Used last just now/);

  const next = linkOf(await resultOf(call("pay")));
  const signed = await sign(visitor, next, passkey);
  await openPasskeys(there);
  await there.press("/account/passkeys/remove");
  assert.doesNotMatch(there.words, /Phone/);
  await send(visitor, next, signed);
  assert.match(visitor.words, /The passkey was not accepted/);
  assert.equal((await resultOf(call("pay"))).isError, true);
  await openPasskeys(visitor);
  await make(visitor, await SoftwarePasskey.make(), "Laptop");
  assert.match(
    await there.look("/passkeys"),
    /Laptop .* You can use it from \d{4}-/,
  );
  assert.equal(ran, 1);
});
