import assert from "node:assert/strict";
import { DEFAULT_LIFETIMES } from "../../../src/core/oauth/lifetimes.ts";
import {
  makeMachineGrant,
  openPersonalGrant,
} from "../../../src/core/oauth/new_grant.ts";
import { accessTokenStore } from "../../../src/core/store/access_tokens.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore, setGrant } from "../../../src/core/store/grants.ts";
import { ledgerKey } from "../../../src/core/kv/keys.ts";
import { countedOn, test } from "../../kit/databases.ts";
import { ISSUER, signIn } from "../../kit/records.ts";

const NOW = 1_800_000_000;
const WHOSE = { issuer: ISSUER, resource: `${ISSUER}/mcp`, scopes: [] };

const MACHINE = makeMachineGrant({
  ...WHOSE,
  clientId: "ci",
  clientName: "Nightly build",
  now: NOW,
}, DEFAULT_LIFETIMES);

const PERSONAL = openPersonalGrant({
  ...WHOSE,
  subject: "dev:jo",
  identity: { subject: "jo" },
  name: "Backup",
  seconds: 3600,
  now: NOW,
});

/** Opens a database that counts its commits, at a time that a test sets. */
function openAt(kv: Deno.Kv) {
  const at = { time: NOW };
  const { place, database } = countedOn(kv, { clock: () => at.time * 1000 });
  return { at, place, database, grants: grantStore(database) };
}

test.onDatabases("touch() notes the first use of a live grant, and others at most once a minute", async ({ kv }) => {
  const { at, place, database, grants } = openAt(kv);
  await accessTokenStore(database).issue(MACHINE);
  const touchedAt = async (time: number) => {
    at.time = time;
    grants.touch(MACHINE.id);
    await database.idle();
    return (await grants.find(MACHINE.id))?.value.usedAt;
  };
  // In the second in which it was made, too.
  assert.equal(await touchedAt(NOW), NOW + 1);
  assert.equal(await touchedAt(NOW + 60), NOW + 1);
  assert.equal(await touchedAt(NOW + 61), NOW + 61);
  assert.equal(await touchedAt(NOW + 120), NOW + 61);
  await grants.close(MACHINE.id);
  const { commits } = place;
  const { usedAt } = (await grants.find(MACHINE.id))!.value;
  assert.equal(await touchedAt(NOW + 600), usedAt);
  assert.equal(place.commits, commits, "a grant that ended is not written");
});

test.onDatabases("close() writes nothing for a grant that is none, or has ended", async ({ kv }) => {
  const { place, database, grants } = openAt(kv);
  await grants.close("none");
  assert.equal(place.commits, 0);
  await accessTokenStore(database).issue(MACHINE);
  await grants.close(MACHINE.id);
  const { commits } = place;
  await grants.close(MACHINE.id);
  assert.equal(place.commits, commits);
});

test.onDatabases("close() ends what ends with a grant, though that is none or has ended", async ({ kv }) => {
  const { database, grants } = openAt(kv);
  const ended: string[] = [];
  const extraWrites = (name: string) => ({
    extraWrites: () => ended.push(name),
  });
  await grants.close("none", extraWrites("none"));
  await accessTokenStore(database).issue(MACHINE);
  await grants.close(MACHINE.id, extraWrites("live"));
  const { versionstamp } = (await grants.find(MACHINE.id))!;
  await grants.close(MACHINE.id, extraWrites("closed"));
  assert.deepEqual(ended, ["none", "live", "closed"]);
  const found = await grants.find(MACHINE.id);
  assert.equal(found?.versionstamp, versionstamp, "a tombstone stays as it is");
});

test.onDatabases("close() takes a person's ledger with it, and leaves a machine's", async ({ kv }) => {
  const { database, grants } = openAt(kv);
  const ledgers = [PERSONAL.id, MACHINE.subject].map(ledgerKey);
  for (const grant of [PERSONAL, MACHINE]) {
    await database.commit((transaction) => setGrant(transaction, grant));
  }
  await database.commit((transaction) => {
    for (const key of ledgers) transaction.set(key, { expiresAt: NOW + 60 });
  });
  await grants.close(PERSONAL.id);
  await grants.close(MACHINE.id);
  const kept = await database.getMany(ledgers);
  assert.deepEqual(kept.map(({ value }) => value !== undefined), [false, true]);
});

test.inMemory("find() of access tokens takes those of people and of clients, and no other credential", async ({ kv }) => {
  const database = new Database(kv, { clock: () => NOW * 1000 });
  const tokens = accessTokenStore(database);
  for (
    const [grant, token] of [
      [MACHINE, (await tokens.issue(MACHINE))!.accessToken],
      [PERSONAL, (await tokens.issuePersonal(PERSONAL))!],
    ] as const
  ) {
    const found = await tokens.find(token);
    assert.equal(found?.grant.id, grant.id);
    assert.equal(found.dataKey, undefined, "there is no provider");
  }
  const { code } = await signIn(kv);
  const reads = { count: 0 };
  const getMany = database.getMany.bind(database);
  database.getMany = (keys) => {
    reads.count++;
    return getMany(keys);
  };
  assert.equal(await tokens.find(code), undefined);
  assert.equal(await tokens.find("junk"), undefined);
  assert.equal(reads.count, 0, "it is told by its looks");
});
