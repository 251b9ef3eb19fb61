import assert from "node:assert/strict";
import { Database } from "../../src/store/database.ts";
import {
  ACCOUNT_SESSION_SECONDS,
  accountSessionStore,
} from "../../src/store/account_sessions.ts";
import { accountSessionKey } from "../../src/store/keys.ts";
import { now } from "../../src/clock.ts";
import { withKv } from "../kit/databases.ts";

const WHO = { subject: "github:1", identity: { subject: "1" } };

Deno.test("find() knows a session until it is ended", () =>
  withKv(async (kv) => {
    const sessions = accountSessionStore(new Database(kv));
    const id = await sessions.save(WHO);
    const found = await sessions.find(id);
    assert.equal(found?.subject, "github:1");
    assert.ok(found.expiresAt <= now() + ACCOUNT_SESSION_SECONDS);
    await sessions.end(id);
    assert.equal(await sessions.find(id), undefined);
  }));

Deno.test("tokensOf() opens a session's tokens by its cookie alone, and none that outlives it", () =>
  withKv(async (kv) => {
    const sessions = accountSessionStore(new Database(kv));
    const tokens = { accessToken: "theirs", tokenType: "Bearer", expiresAt: 9 };
    const kept = { ...tokens, refreshToken: "for ever", idToken: "who" };
    const id = await sessions.save(WHO, kept);
    const session = (await sessions.find(id))!;
    assert.deepEqual(await sessions.tokensOf(id, session), tokens);
    assert(!JSON.stringify(session).includes("theirs"));
    await assert.rejects(sessions.tokensOf(id.slice(1), session));
    const other = { ...session, subject: "github:2" };
    await assert.rejects(sessions.tokensOf(id, other));
    const without = await sessions.save(WHO);
    const found = (await sessions.find(without))!;
    assert.equal(await sessions.tokensOf(without, found), undefined);
  }));

Deno.test("find() knows no session that has expired", () =>
  withKv(async (kv) => {
    const sessions = accountSessionStore(new Database(kv));
    const id = await sessions.save(WHO);
    await kv.set(accountSessionKey(id), { ...WHO, expiresAt: now() });
    assert.equal(await sessions.find(id), undefined);
  }));

Deno.test("the database does not hold what a session's cookie says", () =>
  withKv(async (kv) => {
    const id = await accountSessionStore(new Database(kv)).save(WHO);
    for await (const entry of kv.list({ prefix: [] })) {
      assert.ok(!JSON.stringify(entry).includes(id));
    }
  }));

Deno.test("takeMade() shows a new token once, however many load its page", () =>
  withKv(async (kv) => {
    const database = new Database(kv);
    const sessions = accountSessionStore(database);
    const id = await sessions.save(WHO);
    await database.commit(await sessions.keepMade(id, "grant", "the token"));
    const shown = await Promise.all(
      Array.from({ length: 50 }, () => sessions.takeMade(id, "grant")),
    );
    assert.deepEqual(shown.filter(Boolean), ["the token"]);
    assert.equal(await sessions.takeMade(id, "grant"), undefined);
  }));
