/** People's accounts at other services, and their keys. */
import assert from "node:assert/strict";
import { keyRing } from "../../../src/core/crypto/crypto.ts";
import { HttpError } from "../../../src/core/errors.ts";
import {
  findBegun,
  findReplaced,
} from "../../../src/features/accounts/begun_account.ts";
import {
  type AccountRecord,
  accountStore,
} from "../../../src/features/accounts/accounts.ts";
import {
  accountVault,
  MAX_ACCOUNTS,
} from "../../../src/features/accounts/account_vault.ts";
import { resealAll } from "../../../src/features/accounts/reseal.ts";
import {
  queuedTokens,
  revocationQueue,
} from "../../../src/features/accounts/revocation_queue.ts";
import { Database, type Write } from "../../../src/core/kv/database.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { OTHER_SECRETS_KEY, SECRETS_KEY } from "../../kit/key_service.ts";
import { until } from "../../kit/wait.ts";

const NOW = 1_800_000_000;
const IDLE = 1000;
const ADA = { subject: "github:ada", service: "linear" };

function open(
  kv: Deno.Kv,
  { keys = [SECRETS_KEY], clock }: {
    keys?: readonly string[];
    clock?: () => number;
  } = {},
) {
  const database = new Database(kv, { clock });
  const sealing = keyRing(keys);
  return {
    database,
    vault: accountVault(database, { sealing, idleSeconds: IDLE }),
  };
}

const freely = () => {};

test.onDatabases("save() keeps a key that every process of the ring opens, for its person alone", async ({ kv, other }) => {
  const { vault } = open(kv);
  assert.ok(await vault.save({ ...ADA, label: "ada@acme" }, "secret", freely));
  const there = open(other, { keys: [OTHER_SECRETS_KEY, SECRETS_KEY] }).vault;
  const [found] = await there.find(ADA.subject);
  assert.equal(found.value.label, "ada@acme");
  assert.equal(await there.open(found), "secret");
  assert.deepEqual(await there.find("github:eve"), []);
  const alone = open(other, { keys: [OTHER_SECRETS_KEY] }).vault;
  assert.equal(await alone.open(found), undefined);
  const others = [
    { label: "eve@acme" },
    { label: undefined },
    { formerLabels: ["eve@acme"] },
    { accountId: "another" },
    { api: "https://eve.example" },
  ];
  for (const changed of others) {
    const value = { ...found.value, ...changed };
    assert.equal(await there.open({ ...found, value }), undefined);
  }
});

test.onDatabases("fifty saves at once leave one account, with one of the keys", async ({ kv, other }) => {
  const saved = await fiftyAtOnce(
    kv,
    other,
    (database) =>
      accountVault(database, {
        sealing: keyRing([SECRETS_KEY]),
        idleSeconds: IDLE,
      }),
    (vault, index) => vault.save(ADA, `secret-${index}`, freely),
  );
  assert.ok(saved.every(Boolean));
  const { vault } = open(kv);
  const found = await vault.find(ADA.subject);
  assert.equal(found.length, 1);
  assert.match(await vault.open(found[0]) ?? "", /^secret-\d+$/);
});

test.onDatabases("save() rests on the checks of the caller", async ({ kv }) => {
  const { vault, database } = open(kv);
  const key = ["block", "ada"];
  await kv.set(key, { expiresAt: NOW });
  const checked = await vault.save(
    ADA,
    "secret",
    (transaction) => transaction.check({ key, versionstamp: null }),
  );
  assert.equal(checked, undefined);
  assert.deepEqual(await accountStore(database).read(ADA.subject), []);
});

test.onDatabases("nothing brings a forgotten account back", async ({ kv, other }) => {
  const { vault, database } = open(kv);
  await vault.save(ADA, "secret", freely);
  const [found] = await vault.find(ADA.subject);
  const [{ id }] = await vault.listOf(ADA.subject);
  const there = open(other, { keys: [OTHER_SECRETS_KEY, SECRETS_KEY] });
  assert.equal(await there.vault.forget("github:eve", id), undefined);
  const gone = await there.vault.forget(ADA.subject, id);
  assert.equal(gone?.service, "linear");
  assert.equal(await there.vault.forget(ADA.subject, id), undefined);
  // A use, and a sealing anew, that began before.
  vault.noteUse(found, { tool: "who" });
  assert.equal(await there.vault.reseal(found), false);
  await Promise.all([database.idle(), there.database.idle()]);
  assert.deepEqual(await vault.find(ADA.subject, true), []);
});

test.onDatabases("a refusal is noted of the key that was used, and rests on the checks of the caller", async ({ kv }) => {
  let now = NOW;
  const { vault, database } = open(kv, { clock: () => now * 1000 });
  const refusedAt = async () => (await vault.listOf(ADA.subject))[0]?.refusedAt;
  await vault.save(ADA, "secret", freely);
  const [found] = await vault.find(ADA.subject);
  vault.noteUse(found, { tool: "who" });
  vault.noteRefusalLater(found, true);
  vault.noteRefusalLater(found, false);
  vault.noteRefusalLater(found, true);
  await database.idle();
  assert.equal(await refusedAt(), NOW);
  const [marked] = await vault.find(ADA.subject, true);
  assert.equal(await vault.open(marked), "secret");
  const fails: Write = (transaction) =>
    transaction.check({ key: marked.key, versionstamp: null });
  assert.equal(await vault.noteRefusal(marked, false, fails), false);
  assert.equal(await refusedAt(), NOW);
  now++;
  await vault.save(ADA, "another", freely);
  assert.equal(await vault.noteRefusal(found, true), false);
  assert.equal(await refusedAt(), undefined);
  await vault.endAllOf(ADA.subject);
  assert.equal(await vault.noteRefusal(marked, true), false);
  assert.deepEqual(await vault.listOf(ADA.subject), []);
});

test.onDatabases("an account ends unless it is used, which is noted once a minute", async ({ kv }) => {
  let now = NOW;
  const { vault, database } = open(kv, { clock: () => now * 1000 });
  await vault.save(ADA, "secret", freely);
  const usedAt = async () => (await vault.listOf(ADA.subject))[0]?.usedAt;
  const use = async () => {
    const [found] = await vault.find(ADA.subject, true);
    vault.noteUse(found, { client: "App", tool: "who" });
  };
  now += IDLE - 1;
  await use();
  await until(async () => await usedAt() === now);
  now += 59;
  await use();
  now += 1;
  assert.equal(await usedAt(), NOW + IDLE - 1);
  await use();
  await until(async () => await usedAt() === now);
  const [{ usedBy }] = await vault.listOf(ADA.subject);
  assert.deepEqual(usedBy, { client: "App", tool: "who" });
  now += IDLE - 1;
  const [last] = await vault.find(ADA.subject, true);
  assert.ok(await vault.replace(last, "refreshed"));
  now += IDLE - 1;
  assert.equal((await vault.find(ADA.subject, true)).length, 1);
  now++;
  assert.deepEqual(await vault.find(ADA.subject, true), []);
  await database.idle();
});

test.onDatabases("processes with two orders of the keys seal a key to and fro at most once a minute", async ({ kv, other }) => {
  let now = NOW;
  const clock = () => now * 1000;
  const one = open(kv, { clock, keys: [SECRETS_KEY, OTHER_SECRETS_KEY] });
  const two = open(other, { clock, keys: [OTHER_SECRETS_KEY, SECRETS_KEY] });
  await one.vault.save(ADA, "secret", freely);
  const use = async ({ vault, database }: typeof one) => {
    const [found] = await vault.find(ADA.subject, true);
    assert.equal(await vault.open(found), "secret");
    vault.noteUse(found, { tool: "who" });
    await database.idle();
    return found.versionstamp;
  };
  const versions = new Set<string | null>();
  for (let second = 0; second < 120; second += 10) {
    now = NOW + second;
    versions.add(await use(one));
    versions.add(await use(two));
  }
  // As it was saved, and as each minute's first use sealed it.
  assert.equal(versions.size, 3);
  const [{ value }] = await two.vault.find(ADA.subject, true);
  assert.equal(value.keyId, one.vault.keyId);
  now += 60;
  await use(two);
  const [anew] = await two.vault.find(ADA.subject, true);
  assert.equal(anew.value.keyId, two.vault.keyId);
});

test.onDatabases("a person has so many accounts at most, and many of one service where they have names", async ({ kv, other }) => {
  const { vault } = open(kv);
  const save = (label: string, by = vault) =>
    by.save({ ...ADA, label, several: true }, "secret", freely);
  for (let n = 0; n < MAX_ACCOUNTS - 1; n++) await save(`account ${n}`);
  const there = open(other).vault;
  const last = [vault, there, vault].map((by, n) => save(`last ${n}`, by));
  const kept = await Promise.allSettled(last);
  assert.equal(kept.filter((it) => it.status === "fulfilled").length, 1);
  await assert.rejects(
    save("one more"),
    (error) => error instanceof HttpError && error.status === 409,
  );
  // One that is there is replaced.
  assert.ok(await save("account 1"));
  assert.equal((await vault.listOf(ADA.subject)).length, MAX_ACCOUNTS);
  assert.equal(await vault.endAllOf(ADA.subject), MAX_ACCOUNTS);
  assert.deepEqual(await vault.listOf(ADA.subject), []);
});

test.inMemory("standIn() counts for what has begun by a clock that is ahead, and keeps the last five", async ({ kv }) => {
  const { vault } = open(kv, { clock: () => NOW * 1000 });
  await vault.save({ ...ADA, label: "bob" }, "key", freely);
  const find = async () => (await vault.find(ADA.subject, true))[0];
  const begun = { label: "ada", at: NOW + 3600 };
  assert.ok(await vault.standIn(await find(), begun, freely));
  const own = await find();
  assert.deepEqual(findBegun([own], begun), own);
  for (let nth = 0; nth < 20; nth++) {
    const other = { label: `${nth}`, at: NOW };
    assert.ok(await vault.standIn(await find(), other, freely));
  }
  const { standsInFor = [] } = (await find()).value;
  assert.deepEqual([standsInFor.length, standsInFor[0].label], [5, "19"]);
});

test.onDatabases("resealAll() seals everyone's keys and queued tokens with the first of the ring, and counts what it cannot open", async ({ kv, other }) => {
  const { vault, database } = open(kv);
  for (let n = 0; n < 250; n++) {
    await vault.save({ ...ADA, subject: `github:${n}` }, `key ${n}`, freely);
  }
  const gone = { ...ADA, oauth: { application: "app" } };
  await vault.revoke(gone, JSON.stringify({ accessToken: "gone" }));
  const alone = open(other, { keys: [OTHER_SECRETS_KEY] });
  await alone.vault.save({ ...ADA, subject: "github:new" }, "new", freely);
  const reseal = (...keys: string[]) => resealAll(database, keyRing(keys));
  const counts = { sealed: 252, left: 0 };
  assert.deepEqual(await reseal(OTHER_SECRETS_KEY), {
    sealed: 252,
    resealed: 0,
    left: 251,
  });
  const ring = [OTHER_SECRETS_KEY, SECRETS_KEY];
  assert.deepEqual(await reseal(...ring), { ...counts, resealed: 251 });
  assert.deepEqual(await reseal(...ring), { ...counts, resealed: 0 });
  const [found] = await alone.vault.find("github:7");
  assert.equal(await alone.vault.open(found), "key 7");
  const tokens = queuedTokens(alone.database, keyRing([OTHER_SECRETS_KEY]));
  for await (const [queued] of revocationQueue(database).read()) {
    assert.match(await tokens.open(queued) ?? "", /gone/);
  }
});

/** A record of an account at the place of several. */
function placed(
  value: Partial<AccountRecord>,
): Parameters<typeof findReplaced>[0][number] {
  return {
    key: ["account", ADA.subject, String(value.label)],
    value: { ...ADA, ...value } as AccountRecord,
    versionstamp: "1",
  };
}

for (
  const [before, label, now] of [
    [{ label: "ada" }, "ada", undefined],
    [{ label: "ada" }, "ada@acme", ["ada"]],
    [{ label: undefined }, "ada", undefined],
    [{ label: "ada", formerLabels: ["a"] }, "ada", ["a"]],
    [{ label: "ada", formerLabels: ["a"] }, "ada@acme", ["ada", "a"]],
    [
      { label: "f", formerLabels: [..."edcba"] },
      "g",
      [..."fedcb"],
    ],
  ] as const
) {
  Deno.test(`an account that was ${before.label}, and is connected as ${label}, was called ${now ?? "nothing else"} before`, () => {
    const there = [placed({ ...before, accountId: "1" })];
    const account = { ...ADA, label, accountId: "1", several: true };
    const found = findReplaced(there, account);
    assert.equal(found.replaced, there[0]);
    assert.equal(found.label, label);
    assert.deepEqual(found.formerLabels, now);
  });
}
