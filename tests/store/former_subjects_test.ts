import assert from "node:assert/strict";
import { now } from "../../src/clock.ts";
import { bindingOf, type Grant, ledgerIdOf } from "../../src/oauth/grant.ts";
import { Database } from "../../src/store/database.ts";
import { grantStore } from "../../src/store/grants.ts";
import {
  grantKey,
  grantsOfSubjectKey,
  ledgerKey,
  taskKey,
  tasksOfKey,
} from "../../src/store/keys.ts";
import { ledgerStore } from "../../src/store/ledger.ts";
import { taskStore } from "../../src/store/tasks.ts";
import { test } from "../kit/databases.ts";
import { silentLogger } from "../kit/log.ts";
import { ISSUER } from "../kit/records.ts";

const TODAY = "https://id.example.com#42";
const FORMER = "id.example.com:42";

/** Stores a grant as version 0.2 did. */
async function keepFormer(
  kv: Deno.Kv,
  id: string,
  grant: Partial<Grant> = {},
): Promise<void> {
  const time = now();
  const record: Grant & { v: number } = {
    id,
    issuer: ISSUER,
    resource: `${ISSUER}/mcp`,
    subject: FORMER,
    identity: { subject: "42" },
    clientId: "app",
    clientName: "App",
    scopes: [],
    status: "active",
    createdAt: time,
    usedAt: time,
    endsAt: time + 3600,
    expiresAt: time + 3600,
    v: 1,
    ...grant,
  };
  const { subject, expiresAt } = record;
  await kv.set(grantKey(id), record);
  await kv.set(grantsOfSubjectKey(subject, id), { expiresAt, v: 1 });
}

test.onDatabases("listOpen() misses none of a person's grants while fifty of 0.2 change, and gives each once", async ({ kv, other }) => {
  const ids = Array.from({ length: 50 }, (_, index) => `grant-${index}`);
  for (const id of ids) await keepFormer(kv, id);
  const changing = grantStore(new Database(kv));
  const listing = grantStore(new Database(other));
  const list = async () =>
    (await listing.listOpen(TODAY)).map(({ value }) => value.id).toSorted();
  const changes = ids.map(async (id) =>
    await changing.change(await changing.find(id), (grant) => ({
      ...grant,
      clientName: "Changed",
    }))
  );
  const lists = await Promise.all(ids.slice(0, 10).map(list));
  await Promise.all(changes);
  for (const listed of [...lists, await list()]) {
    assert.deepEqual(listed, ids.toSorted());
  }
  for (const { value } of await listing.listOpen(TODAY)) {
    assert.deepEqual([value.subject, value.clientName], [TODAY, "Changed"]);
  }
  assert.deepEqual(await listing.listOpen(FORMER), []);
});

test.onDatabases("a list gives no grant whose person is another", async ({ kv, other }) => {
  await keepFormer(kv, "theirs", {
    subject: "id.example.com:8443:1",
    identity: { subject: "1" },
  });
  // An entry that could be read as someone else's.
  await kv.set(grantsOfSubjectKey(FORMER, "theirs"), {
    expiresAt: now() + 3600,
  });
  const grants = grantStore(new Database(other));
  assert.deepEqual(await grants.listOpen(TODAY), []);
  const owner = "https://id.example.com:8443#1";
  assert.equal((await grants.listOpen(owner)).length, 1);
});

test.onDatabases("calls of whom an assertion named before are theirs, and go with them", async ({ kv, other }) => {
  const former = JSON.stringify([FORMER, "desk"]);
  await keepFormer(kv, "asserted", {
    kind: "assertion",
    clientId: "desk",
    identity: { subject: FORMER },
    assertedBy: "https://id.example.com",
  });
  const call = { tool: "mail", outcome: "ok", count: 1 };
  await kv.set(ledgerKey(former), {
    calls: [{ ...call, at: now(), firstAt: now() }],
    expiresAt: now() + 3600,
  });
  const database = new Database(other);
  const grants = grantStore(database);
  const [grant] = await grants.listOfSubject(TODAY);
  assert.equal(grant.identity.subject, TODAY);
  const ledger = ledgerStore(database, {
    keepSeconds: 3600,
    log: silentLogger,
  });
  ledger.note(grant.id, { at: now(), tool: "send", outcome: "ok" });
  const [calls] = await ledger.list([ledgerIdOf(grant)]);
  assert.deepEqual(calls.map(({ tool }) => tool).toSorted(), ["mail", "send"]);
  await grants.close(grant.id);
  for (const id of [former, ledgerIdOf(grant)]) {
    assert.equal((await kv.get(ledgerKey(id))).value, null);
  }
  await ledger.close();
});

test.onDatabases("the grant that used a task of 0.2 is known, and the next one is", async ({ kv, other }) => {
  const place = { issuer: ISSUER, resource: `${ISSUER}/mcp` };
  const former = bindingOf({ ...place, subject: FORMER });
  const binding = bindingOf({ ...place, subject: TODAY });
  const expiresAt = now() + 3600;
  await kv.set(taskKey("work"), {
    binding: former,
    status: "completed",
    createdMilliseconds: 1,
    updatedMilliseconds: 1,
    questions: {},
    outcome: { text: "{}" },
    expiresAt,
  });
  await kv.set(tasksOfKey(former, "work"), { grantId: "first", expiresAt });
  const tasks = taskStore(new Database(other));
  assert.equal(await tasks.userOf("work", binding), "first");
  await tasks.use("work", { binding, grantId: "second" });
  assert.equal(await tasks.userOf("work", binding), "second");
  assert.equal((await tasks.listOf(binding)).length, 1);
  const stranger = bindingOf({ ...place, subject: "https://id.example.com#4" });
  assert.equal(await tasks.find("work", stranger), undefined);
  await tasks.forgetAllOf(binding);
  assert.equal(await tasks.userOf("work", binding), undefined);
  assert.equal(await tasks.find("work", binding), undefined);
});
