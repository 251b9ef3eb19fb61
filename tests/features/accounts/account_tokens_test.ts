/** The tokens of accounts, and the lease under which they are refreshed. */
import assert from "node:assert/strict";
import { keyRing } from "../../../src/core/crypto/crypto.ts";
import { StorageError } from "../../../src/core/errors.ts";
import { accountTokenStore } from "../../../src/features/accounts/account_tokens.ts";
import {
  type AccountVault,
  accountVault,
} from "../../../src/features/accounts/account_vault.ts";
import type { AccountRecord } from "../../../src/features/accounts/accounts.ts";
import {
  Database,
  type Found,
  isFound,
} from "../../../src/core/kv/database.ts";
import { REFRESH_LEASE_SECONDS } from "../../../src/core/oauth/lifetimes.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { OTHER_SECRETS_KEY, SECRETS_KEY } from "../../kit/key_service.ts";
import { StalledKv } from "../../kit/stalled_kv.ts";
import { until } from "../../kit/wait.ts";

const ADA = {
  subject: "github:ada",
  service: "crm",
  label: "ada@acme",
  oauth: { application: "ours" },
};

const OLD = JSON.stringify({ accessToken: "old" });
const NEW = JSON.stringify({ accessToken: "new" });

/** A process on a database. */
function open(kv: Deno.Kv, keys = [SECRETS_KEY]) {
  const database = new Database(kv);
  const sealing = keyRing(keys);
  const vault = accountVault(database, { sealing, idleSeconds: 1000 });
  const tokens = accountTokenStore(database, vault);
  return {
    database,
    vault,
    tokens,
    /** Finds Ada's tokens as they are now. */
    async find() {
      const [found] = await vault.find(ADA.subject, true);
      return (await tokens.find(found))!;
    },
  };
}

/** Two processes, one of which has the lease for Ada's tokens. */
async function leasedIn(kv: Deno.Kv, other: Deno.Kv) {
  const one = open(kv);
  await one.vault.save(ADA, OLD, () => {});
  const leased = (await one.tokens.lease(await one.find()))!;
  const two = open(other);
  assert.equal(await two.tokens.lease(await two.find()), undefined);
  return { one, two, leased };
}

test.onDatabases("release() frees the lease, whatever was written into its record since", async ({ kv, other }) => {
  const { one, two, leased } = await leasedIn(kv, other);
  const found = await two.find();
  assert.ok(await two.vault.noteRefusal(found, true));
  await one.tokens.release(leased);
  assert.ok(await two.tokens.lease(await two.find()));
  // A late release is not that of another process's lease.
  await kv.set(found.key, { ...found.value, leaseUntil: 1 });
  await one.tokens.release(leased);
  const entry = await kv.get<{ leaseUntil?: number }>(found.key);
  assert.equal(entry.value?.leaseUntil, 1);
});

test.onDatabases("lease() takes at once a lease whose holder was answered that it has none", async ({ kv, other }) => {
  const { one, two, leased } = await leasedIn(kv, other);
  one.database.giveUp(leased);
  // It writes that down, and is done with it.
  await one.database.idle();
  assert.ok(await two.tokens.lease(await two.find()));
});

/** The writes that keep a lease. */
const KEEPING: Record<
  string,
  (vault: AccountVault, found: Found<AccountRecord>) => unknown
> = {
  noteUse: (vault, found) => vault.noteUse(found, { tool: "crm" }),
  reseal: (vault, found) => vault.reseal(found),
  noteRefusal: (vault, found) => vault.noteRefusal(found, true),
  standIn: (vault, found) => vault.standIn(found, { at: 1 }, () => {}),
};

for (const [name, write] of Object.entries(KEEPING)) {
  test.onDatabases(`lease() takes no lease that is held, although ${name}() was given up since`, async ({ kv, other }) => {
    const { one, leased } = await leasedIn(kv, other);
    const three = open(other, [OTHER_SECRETS_KEY, SECRETS_KEY]);
    const find = async () => (await three.vault.find(ADA.subject, true))[0];
    const before = await find();
    await write(three.vault, before);
    await until(async () =>
      (await find()).versionstamp !== before.versionstamp
    );
    const [listed] = await three.vault.listOf(ADA.subject);
    assert(!("leaseMark" in listed));
    // The database has carried it out after its request was answered with 503.
    three.database.giveUp(await find());
    await three.database.idle();
    const { tokens } = open(other);
    const lease = async () =>
      await tokens.lease(tokens.known(await find(), OLD));
    assert.equal(await lease(), undefined);
    // It is void all the same once its own request is given up.
    one.database.giveUp(leased);
    await one.database.idle();
    assert(await lease());
    assert.equal(await lease(), undefined);
  });
}

for (const [name, write] of Object.entries(KEEPING)) {
  test.onDatabases(`lease() takes the lease of a dead process in time, although ${name}() wrote its record meanwhile`, async ({ kv, other }) => {
    using time = new FakeTime();
    const { two, leased } = await leasedIn(kv, other);
    const three = open(other, [OTHER_SECRETS_KEY, SECRETS_KEY]);
    const find = async () => (await three.vault.find(ADA.subject, true))[0];
    const lease = async () =>
      await two.tokens.lease(two.tokens.known(await find(), OLD));
    time.tick(REFRESH_LEASE_SECONDS - 1);
    await write(three.vault, await find());
    await three.database.idle();
    assert.notEqual((await find()).versionstamp, leased.versionstamp);
    assert.equal(await lease(), undefined);
    time.tick(1);
    const taken = await lease();
    assert.ok(taken);
    // The next lease is watched anew, also one that ends at the same time.
    const { leaseUntil } = leased.value;
    await two.database.replace(taken, { ...taken.value, leaseUntil });
    assert.equal(await lease(), undefined);
  });
}

test.onDatabases("find() gives leased tokens that were sealed anew with a key that is not here, and no others", async ({ kv, other }) => {
  const { one, leased } = await leasedIn(kv, other);
  const { vault } = open(other, [OTHER_SECRETS_KEY, SECRETS_KEY]);
  const reseal = async () => {
    const [found] = await vault.find(ADA.subject, true);
    assert.ok(await vault.reseal(found));
  };
  await reseal();
  assert.equal((await one.tokens.find(leased))?.tokens, OLD);
  const [found] = await vault.find(ADA.subject, true);
  await vault.replace(found, NEW);
  assert.equal(await one.tokens.find(leased), undefined);
  // Without a lease they may be any.
  const { leaseUntil: _, ...value } = leased.value;
  assert.equal(await one.tokens.find({ ...leased, value }), undefined);
});

test.onDatabases("end() notes a refusal of the last tokens, whatever else was written since, and none of new ones", async ({ kv, other }) => {
  const { one, two, leased } = await leasedIn(kv, other);
  const refusedAt = async () =>
    (await two.vault.listOf(ADA.subject))[0].refusedAt;
  const { get } = one.database;
  one.database.get = async (key) => {
    const entry = await get.call(one.database, key);
    if (isFound(entry)) {
      one.database.get = get;
      const [found] = await two.vault.find(ADA.subject, true);
      await two.database.replace(found, { ...found.value, usedAt: 1 });
    }
    return entry as never;
  };
  await one.tokens.end(leased);
  assert.notEqual(await refusedAt(), undefined);
  assert.ok(await two.vault.replace(await two.find(), NEW));
  await one.tokens.end(leased);
  assert.equal(await refusedAt(), undefined);
  assert.equal((await two.find()).tokens, NEW);
});

test.onDatabases("endAllOf() ends an account for good, also for a save before that is carried out after it", async ({ kv, other }) => {
  const stalled = new StalledKv(kv);
  const database = new Database(stalled.kv, { deadlineMilliseconds: 50 });
  const sealing = keyRing([SECRETS_KEY]);
  const vault = accountVault(database, { sealing, idleSeconds: 1000 });
  stalled.beginAtCommit();
  await assert.rejects(vault.save(ADA, OLD, () => {}), StorageError);
  const two = open(other);
  await two.vault.save(ADA, NEW, () => {});
  assert.equal(await two.vault.endAllOf(ADA.subject), 1);
  await stalled.end();
  assert.deepEqual(await two.vault.find(ADA.subject, true), []);
  await database.idle();
});
