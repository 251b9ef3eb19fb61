import assert from "node:assert/strict";
import { systemClock } from "../../../src/core/clock.ts";
import { movingKey } from "../../../src/core/kv/keys.ts";
import { LAYOUT } from "../../../src/core/kv/layout.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { Client } from "../../kit/client.ts";
import { openTestKv, test } from "../../kit/databases.ts";
import { kvWith } from "../../kit/kv.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import {
  countKinds,
  MoveError,
  moveRecords,
} from "../../../src/core/kv/moving.ts";

const clock = systemClock;

const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;

/** Values that JSON could not carry, in the order of their keys. */
const RECORDS: readonly [Deno.KvKey, unknown][] = [
  [["a", "1"], { expiresAt: seconds(9000), map: new Map([[1, new Date(0)]]) }],
  [["a", 1], { expiresAt: seconds(9000), it: undefined, big: 10n }],
  [["layout"], LAYOUT],
  [["secret", "state"], new Uint8Array([1, 2, 3])],
  [["wake", "address", 1.5, "id"], { expiresAt: seconds(9000) }],
];

async function fill(kv: Deno.Kv): Promise<void> {
  for (const [key, value] of RECORDS) await kv.set(key, value);
  await kv.set(["ended"], { expiresAt: seconds(-1) });
}

/** Lists what a database has. */
async function all(kv: Deno.Kv): Promise<[Deno.KvKey, unknown][]> {
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  return entries.map(({ key, value }) => [key, value]);
}

test.onDatabases("moveRecords() copies what has not ended, to and from each kind of database", async ({ kv }) => {
  using first = memoryKv();
  using last = memoryKv();
  await fill(first);
  for (const [from, to] of [[first, kv], [kv, last]]) {
    assert.equal(await moveRecords(from, to, { clock }), RECORDS.length);
    assert.deepEqual(await all(to), RECORDS);
  }
});

test.onDatabases("moveRecords() moves more than one commit takes, and lets nothing end late", async ({ kv }) => {
  using from = memoryKv();
  for (let n = 0; n < 1201; n++) {
    const size = n < 30 ? 60_000 : 10;
    const value = { expiresAt: seconds(90), bytes: new Uint8Array(size) };
    await from.set(["many", n], value);
  }
  await from.set(["layout"], LAYOUT);
  const written: (number | undefined)[] = [];
  const commits: number[] = [];
  const to = kvWith(kv, {
    atomic() {
      const operation = kv.atomic();
      const set = operation.set.bind(operation);
      operation.set = (key, value, options) => {
        if (key[0] === "many") written.push(options?.expireIn);
        return set(key, value, options);
      };
      return operation;
    },
  });
  await moveRecords(from, to, { clock, onProgress: (n) => commits.push(n) });
  assert.equal((await all(kv)).length, 1202);
  assert(commits.length > 4 && commits.at(-1) === 1202, `${commits}`);
  assert(
    written.every((expireIn) => expireIn! > 60_000 && expireIn! < 110_000),
  );
});

test.onDatabases("after moveRecords() no one signs in again", async ({ kv }) => {
  await using moved = await openTestKv();
  let client: Client;
  let tokens;
  {
    await using server = await startOAuthServer({ kv });
    client = await Client.register(server);
    tokens = await client.connect();
  }
  await moveRecords(kv, moved, { clock });
  await using server = await startOAuthServer({ kv: moved });
  client.server = server;
  const called = await client.call(tokens.access_token, "whoami");
  assert.equal(called.status, 200);
  await called.body?.cancel();
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
});

test.inMemory("moveRecords() refuses a database with records, and leaves it as it was", async ({ kv }) => {
  using from = memoryKv();
  await fill(from);
  await kv.set(["session", "a"], 1);
  await assert.rejects(moveRecords(from, kv, { clock }), MoveError);
  assert.deepEqual(await all(kv), [[["session", "a"], 1]]);
});

test.inMemory("moveRecords() and countKinds() refuse another layout, and write nothing", async ({ kv }) => {
  for (const layout of [undefined, LAYOUT + 1]) {
    using from = memoryKv();
    await fill(from);
    await (layout ? from.set(["layout"], layout) : from.delete(["layout"]));
    const refusal = new RegExp(
      `got "${
        layout ? `layout ${layout}` : "no layout"
      }", wants layout ${LAYOUT};`,
    );
    await assert.rejects(moveRecords(from, kv, { clock }), refusal);
    await assert.rejects(countKinds(from, clock), refusal);
    assert.deepEqual(await all(kv), []);
  }
});

test.inMemory("moveRecords() begins again after a move that was interrupted", async ({ kv }) => {
  using from = memoryKv();
  await fill(from);
  await kv.set(movingKey(), true);
  await kv.set(["session", "of a record that has gone meanwhile"], 1);
  await moveRecords(from, kv, { clock });
  assert.deepEqual(await all(kv), RECORDS);
});

test.onDatabases("moveRecords() refuses one of two moves into one database, and mixes nothing", async ({ kv }) => {
  const sources = [memoryKv(), memoryKv()];
  for (
    const [from, name] of [[sources[0], "one"], [sources[1], "two"]] as const
  ) {
    await from.set(["layout"], LAYOUT);
    for (let n = 0; n < 700; n++) await from.set(["many", n], name);
  }
  const moving = sources.map((from) => moveRecords(from, kv, { clock }));
  const [one, two] = await Promise.allSettled(moving);
  const [refused, moved] = one.status === "rejected" ? [one, two] : [two, one];
  assert.equal(moved.status, "fulfilled");
  assert.equal(refused.status, "rejected");
  assert(refused.reason instanceof MoveError, `${refused.reason}`);
  assert.deepEqual(await all(kv), await all(sources[moved === one ? 0 : 1]));
  for (const from of sources) from.close();
});

test.inMemory("moveRecords() writes nothing more once another move has begun", async ({ kv }) => {
  using from = memoryKv();
  await fill(from);
  for (let n = 0; n < 700; n++) await from.set(["many", n], 1);
  let later: Promise<number> | undefined;
  /** Resolves once the later move has written. */
  let begun: Promise<void> | undefined;
  const to = kvWith(kv, {
    atomic() {
      const operation = kv.atomic();
      const commit = operation.commit.bind(operation);
      operation.commit = async () => {
        await begun;
        return await commit();
      };
      return operation;
    },
  });
  const moving = moveRecords(from, to, {
    clock,
    onProgress() {
      begun ??= new Promise((resolve) =>
        later = moveRecords(from, kv, { clock, onProgress: () => resolve() })
      );
    },
  });
  await assert.rejects(moving, /^MoveError: Another move to this database/);
  assert.equal(await later, 700 + RECORDS.length);
  assert.equal((await all(kv)).length, 700 + RECORDS.length);
});

test.inMemory("moveRecords() refuses when a server writes meanwhile, and marks what it has written", async ({ kv }) => {
  using from = memoryKv();
  await fill(from);
  const moving = moveRecords(from, kv, {
    clock,
    onProgress: () => void from.set(["session", "new"], 1),
  });
  await assert.rejects(moving, /differ: stop every server/);
  assert.equal((await kv.get(movingKey())).value, true);
});

test.inMemory("countKinds() counts what moveRecords() writes, by kind", async ({ kv }) => {
  await fill(kv);
  const counts = (await countKinds(kv, clock)).map(({ kind, records }) => [
    kind,
    records,
  ]);
  assert.deepEqual(counts, [
    ["a", 2],
    ["layout", 1],
    ["secret", 1],
    ["wake", 1],
  ]);
});
