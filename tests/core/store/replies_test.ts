import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { replyKey } from "../../../src/core/kv/keys.ts";
import { REPLY_SECONDS, replyStore } from "../../../src/core/store/replies.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { overtaken } from "../../kit/overtaken_kv.ts";

const never = new AbortController().signal;

function answer(id: string | number, text = "yes") {
  return { kind: "response", id, result: { text } } as const;
}

/** Asks the question `q` in the session `s`. */
async function asking(kv: Deno.Kv) {
  const database = new Database(kv);
  const replies = replyStore(database);
  await replies.expect("s", "q");
  return { database, replies };
}

/** Lists the keys of a database when nothing is going on in it any more. */
async function keysIn(kv: Deno.Kv, database: Database): Promise<Deno.KvKey[]> {
  await database.idle();
  return (await Array.fromAsync(kv.list({ prefix: [] }))).map(({ key }) => key);
}

test.onDatabases("take() gives the answer that another process was given", async ({ kv, other }) => {
  const { database, replies } = await asking(kv);
  const taken = replies.take("s", "q", never);
  assert.equal(
    await replyStore(new Database(other)).save("s", answer("q")),
    true,
  );
  assert.deepEqual(await taken, answer("q"));
  assert.deepEqual(await keysIn(kv, database), []);
});

test.onDatabases("save() accepts one of fifty answers, whole", async ({ kv, other }) => {
  const { database, replies } = await asking(kv);
  const text = (n: number) => `${n}`.padStart(2, "0").repeat(50_000);
  const accepted = await fiftyAtOnce(
    kv,
    other,
    replyStore,
    (replies, n) => replies.save("s", answer("q", text(n))),
  );
  assert.equal(accepted.filter(Boolean).length, 1);
  const reply = await replies.take("s", "q", never);
  assert.equal(reply?.result?.text, text(accepted.indexOf(true)));
  await database.idle();
});

test.onDatabases("save() refuses an answer to what no one asked", async ({ kv }) => {
  const replies = replyStore(new Database(kv));
  assert.equal(await replies.save("s", answer("q")), false);
  await replies.expect("s", "1");
  assert.equal(await replies.save("s", answer(1)), false);
  assert.equal(await replies.save("t", answer("1")), false);
  assert.equal(await replies.save("s", answer("1")), true);
});

test.onDatabases("save() refuses a second answer", async ({ kv }) => {
  const { database, replies } = await asking(kv);
  assert.equal(await replies.save("s", answer("q")), true);
  assert.equal(await replies.save("s", answer("q")), false);
  await replies.take("s", "q", never);
  assert.equal(await replies.save("s", answer("q")), false);
  await database.idle();
});

for (const characters of [64 * 1024, 3 * 1024 * 1024]) {
  test.onDatabases(`an answer of ${characters} characters arrives whole`, async ({ kv, other }) => {
    const { database, replies } = await asking(kv);
    const long = answer("q", "é世\u{1f600}".repeat(characters / 4));
    assert.equal(await replyStore(new Database(other)).save("s", long), true);
    assert.deepEqual(await replies.take("s", "q", never), long);
    assert.deepEqual(await keysIn(kv, database), []);
  });
}

test.onDatabases("take() ends with the signal's reason and closes the question", async ({ kv }) => {
  const { replies } = await asking(kv);
  const abort = new AbortController();
  const taken = replies.take("s", "q", abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(taken, /enough/);
  assert.equal(await replies.save("s", answer("q")), false);
});

test.onDatabases("take() waits no longer than a question lives", async ({ kv }) => {
  using time = new FakeTime();
  const { replies } = await asking(kv);
  const taken = replies.take("s", "q", never);
  time.tick(REPLY_SECONDS);
  assert.equal(await replies.save("s", answer("q")), false);
  assert.equal(await taken, undefined);
});

test.onDatabases("take() ends when the question is gone", async ({ kv, other }) => {
  const { replies } = await asking(kv);
  const taken = replies.take("s", "q", never);
  await other.delete(replyKey("s", "q"));
  assert.equal(await taken, undefined);
});

const long = "x".repeat(100_000);

test.onDatabases("take() leaves nothing behind when it ends after the answer came", async ({ kv }) => {
  const { database, replies } = await asking(kv);
  await replies.save("s", answer("q", long));
  const taken = replies.take("s", "q", AbortSignal.abort());
  await assert.rejects(taken, { name: "AbortError" });
  assert.deepEqual(await keysIn(kv, database), []);
});

test.onDatabases("save() leaves nothing of the answer that came second", async ({ kv, other }) => {
  const { database, replies } = await asking(kv);
  const saved = await Promise.all([
    replies.save("s", answer("q", long)),
    replyStore(new Database(other)).save("s", answer("q", long)),
  ]);
  assert.deepEqual(saved.sort(), [false, true]);
  await replies.take("s", "q", never);
  assert.deepEqual(await keysIn(kv, database), []);
});

test.onDatabases("deleteAllOf() ends the waits of that session, and no others", async ({ kv, other }) => {
  const database = new Database(kv);
  const replies = replyStore(database);
  for (const session of ["s", "t"]) await replies.expect(session, "q");
  const ended = replies.take("s", "q", never);
  const open = replies.take("t", "q", never);
  await replyStore(new Database(other)).deleteAllOf("s");
  assert.equal(await ended, undefined);
  assert.equal(await replies.save("s", answer("q")), false);
  assert.equal(await replies.save("t", answer("q")), true);
  assert.deepEqual(await open, answer("q"));
  await database.idle();
});

test.onDatabases("take() leaves nothing of an answer that comes as it gives up", async ({ kv, other }) => {
  const others = replyStore(new Database(other));
  const slow = new Database(
    overtaken(kv, () => others.save("s", answer("q", long))),
  );
  await others.expect("s", "q");
  const abort = new AbortController();
  const taken = replyStore(slow).take("s", "q", abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(taken, /enough/);
  assert.deepEqual(await keysIn(kv, slow), []);
});
