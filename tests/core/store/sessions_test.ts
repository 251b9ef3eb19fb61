import assert from "node:assert/strict";
import { STRANGER } from "../../../src/core/caller.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { markErased } from "../../../src/core/store/erased.ts";
import { sessionKey, sessionsOfKey } from "../../../src/core/kv/keys.ts";
import { now } from "../../../src/core/clock.ts";
import {
  type McpSession,
  SESSION_SECONDS,
  sessionStore,
  UNUSED_SESSION_SECONDS,
} from "../../../src/core/store/sessions.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { losing, overtaken } from "../../kit/overtaken_kv.ts";

const SESSION = {
  binding: "ada",
  revision: "2025-11-25",
  clientInfo: { name: "c", version: "1" },
  capabilities: { roots: {} },
} as const;

const HOUR = 60 * 60;

async function stored(
  kv: Deno.Kv,
  id: string,
): Promise<McpSession | undefined> {
  return (await new Database(kv).find<McpSession>(sessionKey(id)))?.value;
}

test.onDatabases("save() makes a session that every process finds", async ({ kv, other }) => {
  using _ = new FakeTime();
  const id = await sessionStore(new Database(kv)).save(SESSION);
  assert.match(id, /^[\x21-\x7e]{43}$/);
  const unused = (await stored(kv, id))!.expiresAt - now();
  assert.equal(unused, UNUSED_SESSION_SECONDS);
  const found = (await sessionStore(new Database(other)).find(id))!;
  const { expiresAt, startedMilliseconds, ...rest } = found;
  assert.deepEqual(rest, SESSION);
  assert.equal(startedMilliseconds, Date.now());
  assert.equal(expiresAt - now(), UNUSED_SESSION_SECONDS);
  assert.equal((await stored(kv, id))!.expiresAt - now(), SESSION_SECONDS);
});

test.onDatabases("save() makes a session that is over in an hour unless it is used", async ({ kv }) => {
  using time = new FakeTime();
  const sessions = sessionStore(new Database(kv));
  const unused = await sessions.save(SESSION);
  const used = await sessions.save(SESSION);
  time.tick(UNUSED_SESSION_SECONDS - 1);
  await sessions.find(used);
  time.tick(1);
  assert.equal(await sessions.find(unused), undefined);
  assert(await sessions.find(used));
});

test.onDatabases("no session id is stored", async ({ kv }) => {
  const id = await sessionStore(new Database(kv)).save(SESSION);
  for await (const { key, value } of kv.list({ prefix: [] })) {
    assert.ok(!JSON.stringify([key, value]).includes(id));
  }
});

test.onDatabases("adopt() gives a stranger's session to one person, however many try", async ({ kv, other }) => {
  const sessions = sessionStore(new Database(kv));
  const id = await sessions.save({ ...SESSION, binding: STRANGER.binding });
  const all = await fiftyAtOnce(
    kv,
    other,
    sessionStore,
    (store, n) =>
      store.adopt(id, { binding: `person ${n}`, grantId: `grant ${n}` }),
  );
  const adopted = all.filter((session) => session !== undefined);
  assert.equal(adopted.length, 1);
  const { binding, grantId } = adopted[0];
  assert.deepEqual(await stored(kv, id), adopted[0]);
  assert.equal((await sessions.countsOf(binding)).of.get(grantId!), 1);
  const again = await sessions.adopt(id, { binding, grantId });
  assert.equal(again?.binding, binding);
  assert.equal(await sessions.close(id, STRANGER.binding), false);
  assert.equal(await sessions.close(id, binding), true);
  assert.equal(await sessions.adopt(id, { binding, grantId }), undefined);
});

test.inMemory("adopt() gives a session though something else is written at the same time, and none to whom was erased", async ({ kv }) => {
  const database = new Database(kv);
  const sessions = sessionStore(database);
  const save = () => sessions.save({ ...SESSION, binding: STRANGER.binding });
  const id = await save();
  const slow = overtaken(kv, () => sessions.setLogLevel(id, "error"));
  const ada = { binding: "ada", grantId: "g" };
  const adopted = await sessionStore(new Database(slow)).adopt(id, ada);
  assert.deepEqual([adopted?.binding, adopted?.logLevel], ["ada", "error"]);
  // A session that is the caller's already keeps the grant that used it last.
  await sessions.adopt(id, { ...ada, grantId: "other" });
  assert.equal((await stored(kv, id))?.grantId, "g");
  await markErased(database, ["erased"]);
  const erased = { binding: "bob", grantId: "erased" };
  assert.equal(await sessions.adopt(await save(), erased), undefined);
});

test.onDatabases("adopt() leaves a person's session alone", async ({ kv }) => {
  const sessions = sessionStore(new Database(kv));
  const id = await sessions.save(SESSION);
  assert.equal(await sessions.adopt(id, { binding: "bob" }), undefined);
  assert.equal((await stored(kv, id))?.binding, "ada");
});

test.onDatabases("find() knows no session that was never made", async ({ kv }) => {
  assert.equal(await sessionStore(new Database(kv)).find("x"), undefined);
});

test.onDatabases("find() knows no session that has expired", async ({ kv }) => {
  using time = new FakeTime();
  const sessions = sessionStore(new Database(kv));
  const id = await sessions.save(SESSION);
  await sessions.find(id);
  time.tick(SESSION_SECONDS);
  assert.equal(await sessions.find(id), undefined);
});

test.onDatabases("close() is known elsewhere within a second", async ({ kv, other }) => {
  using time = new FakeTime();
  const here = sessionStore(new Database(kv));
  const there = sessionStore(new Database(other));
  const id = await here.save(SESSION);
  assert.ok(await there.find(id));
  assert.equal(await here.close(id, "ada"), true);
  assert.equal(await here.find(id), undefined);
  time.tick(1);
  assert.equal(await there.find(id), undefined);
});

test.onDatabases("close() lets one of fifty through", async ({ kv, other }) => {
  const id = await sessionStore(new Database(kv)).save(SESSION);
  const ended = await fiftyAtOnce(
    kv,
    other,
    sessionStore,
    (sessions) => sessions.close(id, "ada"),
  );
  assert.equal(ended.filter(Boolean).length, 1);
});

test.onDatabases("close() leaves another caller's session alone", async ({ kv }) => {
  const sessions = sessionStore(new Database(kv));
  const id = await sessions.save(SESSION);
  assert.equal(await sessions.close(id, "eve"), false);
  assert.ok(await sessions.find(id));
});

test.onDatabases("setLogLevel() is remembered at once, and elsewhere within a second", async ({ kv, other }) => {
  using time = new FakeTime();
  const here = sessionStore(new Database(kv));
  const there = sessionStore(new Database(other));
  const id = await here.save(SESSION);
  await here.find(id);
  await there.find(id);
  await here.setLogLevel(id, "error");
  assert.equal((await here.find(id))?.logLevel, "error");
  time.tick(1);
  assert.equal((await there.find(id))?.logLevel, "error");
});

test.onDatabases("setLogLevel() writes no level that is set already", async ({ kv }) => {
  const sessions = sessionStore(new Database(kv));
  const id = await sessions.save(SESSION);
  await sessions.setLogLevel(id, "error");
  const { versionstamp } = await kv.get(sessionKey(id));
  await sessions.setLogLevel(id, "error");
  assert.equal((await kv.get(sessionKey(id))).versionstamp, versionstamp);
});

test.onDatabases("setLogLevel() makes no session of one that has ended", async ({ kv }) => {
  const sessions = sessionStore(new Database(kv));
  const id = await sessions.save(SESSION);
  await sessions.close(id, "ada");
  await sessions.setLogLevel(id, "error");
  assert.equal(await stored(kv, id), undefined);
});

test.onDatabases("a session that ends while its level is set fifty times stays ended", async ({ kv, other }) => {
  const id = await sessionStore(new Database(kv)).save(SESSION);
  await fiftyAtOnce(kv, other, sessionStore, async (sessions, n) => {
    if (n === 25) await sessions.close(id, "ada");
    else await sessions.setLogLevel(id, n % 2 ? "error" : "debug");
  });
  assert.equal(await stored(kv, id), undefined);
});

test.onDatabases("closeAllOf() ends the sessions that one grant used last", async ({ kv, other }) => {
  using time = new FakeTime();
  const database = new Database(kv);
  const sessions = sessionStore(database);
  const first = { ...SESSION, grantId: "first" };
  const ids = [await sessions.save(first), await sessions.save(first)];
  const moved = await sessions.save(first);
  const foreign = await sessions.save({ ...first, binding: "bob" });
  await sessionStore(new Database(other)).use(moved, "second");
  for (const id of [...ids, moved, foreign]) await sessions.find(id);
  await database.commit(
    (await sessions.closeAllOf("ada", new Set(["first"]))).write,
  );
  time.tick(1);
  for (const id of ids) assert.equal(await sessions.find(id), undefined);
  assert.equal((await sessions.find(moved))?.grantId, "second");
  assert.ok(await sessions.find(foreign));
  assert.equal((await sessions.countsOf("ada")).of.get("first"), undefined);
  assert.equal((await sessions.countsOf("ada")).of.get("second"), 1);
});

Deno.test("closeAllOf() ends more sessions than one commit takes", async () => {
  using kv = await Deno.openKv(":memory:");
  const database = new Database(kv);
  const sessions = sessionStore(database);
  const session = { ...SESSION, grantId: "g" };
  await Promise.all(Array.from({ length: 501 }, () => sessions.save(session)));
  assert.equal((await sessions.countsOf("ada")).of.get("g"), 501);
  await database.commit(
    (await sessions.closeAllOf("ada", new Set(["g"]))).write,
  );
  assert.deepEqual(await database.list([]), []);
});

test.onDatabases("countsOf() counts the live sessions of each grant, and says where it stopped", async ({ kv }) => {
  using time = new FakeTime();
  const sessions = sessionStore(new Database(kv));
  const session = { ...SESSION, grantId: "g" };
  await sessions.find(await sessions.save(session));
  time.tick(SESSION_SECONDS - HOUR / 2);
  const ended = await sessions.save(session);
  await sessions.save(session);
  await sessions.save(SESSION);
  await sessions.save({ ...session, binding: "bob" });
  await sessions.close(ended, "ada");
  assert.deepEqual(await sessions.countsOf("ada"), {
    // The third belongs to no grant.
    of: new Map([["g", 2], [undefined, 1]]),
    hasMore: false,
  });
  assert.equal((await sessions.countsOf("ada", 3)).hasMore, false);
  assert.equal((await sessions.countsOf("ada", 2)).hasMore, true);
  time.tick(HOUR / 2);
  assert.equal((await sessions.countsOf("ada")).of.get("g"), 1);
});

for (
  const [what, step] of [
    [
      "its end is moved",
      async (sessions: ReturnType<typeof sessionStore>, id: string) => {
        await sessions.find(id);
      },
    ],
    [
      "another grant begins to use it",
      async (sessions: ReturnType<typeof sessionStore>, id: string) => {
        await sessions.use(id, "other");
      },
    ],
  ] as const
) {
  test.onDatabases(`a session that ends while ${what} stays ended`, async ({ kv, other }) => {
    using time = new FakeTime();
    const others = sessionStore(new Database(other));
    const id = await others.save(SESSION);
    await others.find(id);
    time.tick(48 * HOUR);
    let hasEnded = false;
    const slow = overtaken(kv, async () => {
      hasEnded = await others.close(id, SESSION.binding);
    });
    await step(sessionStore(new Database(slow)), id);
    assert(hasEnded);
    assert.equal(await stored(kv, id), undefined);
  });
}

test.onDatabases("save() ends the sessions that a person used least when there are too many", async ({ kv }) => {
  using time = new FakeTime();
  const database = new Database(kv);
  const sessions = sessionStore(database, { most: 6, countedAfter: 0.5 });
  const save = async () => {
    const id = await sessions.save(SESSION);
    // Sessions that make room for it end before its first use.
    await database.idle();
    await sessions.find(id);
    return id;
  };
  const used = await save();
  time.tick(1);
  const unused = await save();
  time.tick(48 * HOUR);
  await sessions.find(used);
  const later = [];
  for (let n = 0; n < 6; n++) {
    time.tick(1);
    later.push(await save());
  }
  time.tick(1);
  assert.equal(await sessions.find(unused), undefined);
  for (const id of [used, ...later]) assert.ok(await sessions.find(id));
  const kept = await database.list([]);
  assert.equal(kept.length, 2 * 7);
});

test.onDatabases("save() ends the sessions of one network's strangers, and of no other's", async ({ kv }) => {
  using time = new FakeTime();
  const database = new Database(kv);
  const sessions = sessionStore(database, {
    most: 1,
    mostOfNetwork: 2,
    countedAfter: 1.5,
  });
  const stranger = { ...SESSION, binding: STRANGER.binding };
  const quiet = await sessions.save({ ...stranger, list: "network 1" });
  const open = () => sessions.save({ ...stranger, list: "network 2" });
  const ids = [await open(), await open(), await open()];
  time.tick(60);
  // The count comes with the fifth, and no new one ends by it.
  ids.push(await open());
  await database.idle();
  assert(await sessions.find(quiet));
  const left = await Promise.all(ids.map((id) => sessions.find(id)));
  assert.equal(left.filter(Boolean).length, 2);
  assert(left.at(-1));
  assert(await sessions.adopt(quiet, { binding: "ada" }));
  const lists = await Array.fromAsync(kv.list({
    prefix: sessionsOfKey("network 1"),
  }));
  assert.deepEqual(lists, [], "what is adopted is the person's");
});

Deno.test("the end of a session moves once a day", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");
  const sessions = sessionStore(new Database(kv));
  const id = await sessions.save(SESSION);
  await sessions.find(id);
  const left = async () => {
    await sessions.find(id);
    return (await stored(kv, id))!.expiresAt - now();
  };
  time.tick(24 * HOUR);
  assert.equal(await left(), SESSION_SECONDS - 24 * HOUR);
  time.tick(1);
  assert.equal(await left(), SESSION_SECONDS);
});

Deno.test("setLogLevel() is kept though something else is written at the same time", async () => {
  using kv = await Deno.openKv(":memory:");
  const sessions = sessionStore(new Database(kv));
  const id = await sessions.save(SESSION);
  const slow = overtaken(kv, () => sessions.use(id, "grant"));
  await sessionStore(new Database(slow)).setLogLevel(id, "error");
  const { logLevel, grantId } = (await stored(kv, id))!;
  assert.deepEqual([logLevel, grantId], ["error", "grant"]);
});

Deno.test("use() of a session is known at once, and writes nothing where nothing changes", async () => {
  using kv = await Deno.openKv(":memory:");
  const sessions = sessionStore(new Database(kv));
  const id = await sessions.save(SESSION);
  assert.equal((await sessions.find(id))?.grantId, undefined);
  await sessions.use(id, "grant");
  assert.equal((await sessions.find(id))?.grantId, "grant");
  const place = losing(kv);
  const others = sessionStore(new Database(place.kv));
  await others.use(id, "grant");
  await others.use("none", "grant");
  assert.equal(place.commits, 0);
});
