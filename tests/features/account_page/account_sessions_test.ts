import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import {
  ACCOUNT_SESSION_SECONDS,
  accountSessionStore,
} from "../../../src/features/account_page/account_sessions.ts";
import { accountSessionKey } from "../../../src/core/kv/keys.ts";
import { now } from "../../../src/core/clock.ts";
import { test } from "../../kit/databases.ts";

const WHO = { subject: "github:1", identity: { subject: "1" } };

test.inMemory("find() knows a session until it is ended", async ({ kv }) => {
  const sessions = accountSessionStore(new Database(kv));
  const id = await sessions.save(WHO);
  const found = await sessions.find(id);
  assert.equal(found?.subject, "github:1");
  assert.ok(found.expiresAt <= now() + ACCOUNT_SESSION_SECONDS);
  await sessions.close(id);
  assert.equal(await sessions.find(id), undefined);
});

test.inMemory("find() knows no session that has expired", async ({ kv }) => {
  const sessions = accountSessionStore(new Database(kv));
  const id = await sessions.save(WHO);
  await kv.set(accountSessionKey(id), { ...WHO, expiresAt: now() });
  assert.equal(await sessions.find(id), undefined);
});

test.inMemory("the database does not hold what a session's cookie says", async ({ kv }) => {
  const id = await accountSessionStore(new Database(kv)).save(WHO);
  for await (const entry of kv.list({ prefix: [] })) {
    assert.ok(!JSON.stringify(entry).includes(id));
  }
});

test.inMemory("findMade() shows a new token as often as its browser loads the page", async ({ kv }) => {
  const database = new Database(kv);
  const sessions = accountSessionStore(database);
  const id = await sessions.save(WHO);
  await database.commit(await sessions.keepMade(id, "grant", "the token"));
  for (let time = 0; time < 2; time++) {
    assert.equal(await sessions.findMade(id, "grant"), "the token");
  }
});
