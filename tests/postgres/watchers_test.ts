import assert from "node:assert/strict";
import { keyHash } from "../../packages/postgres/atomic.ts";
import { packBytes } from "../../packages/postgres/packed_key.ts";
import { Watchers } from "../../packages/postgres/watchers.ts";
import type { KvEntryMaybe, KvKey } from "../../src/core/kv/kv.ts";
import { settled } from "../kit/wait.ts";

/** Watchers of a database that counts what is read from it. */
class Setting {
  reads = 0;
  /** Keeps the database from answering. */
  holding: Promise<void> = Promise.resolve();
  readonly watchers = new Watchers(async (keys) => {
    const value = ++this.reads;
    // Ends a loop that would never end.
    if (value > 20) throw new Error("too many reads");
    await this.holding;
    return keys.map((key): KvEntryMaybe => ({
      key,
      value,
      versionstamp: "1",
    }));
  });

  /** Announces a change of a key. */
  async change(key: KvKey): Promise<void> {
    this.watchers.notice(String(keyHash(packBytes(key))));
    await settled();
  }

  /** Lists what a stream gives, as it comes. */
  async seen(stream: ReadableStream<KvEntryMaybe[]>): Promise<unknown[]> {
    const seen: unknown[] = [];
    (async () => {
      for await (const [{ value }] of stream) seen.push(value);
      seen.push("end");
    })();
    await settled();
    return seen;
  }
}

Deno.test("watch() gives the present entries, and the newest after a change of one of its keys", async () => {
  const setting = new Setting();
  const { watchers } = setting;
  const seen = await setting.seen(watchers.watch([["a"], ["b"]]));
  const others = await setting.seen(watchers.watch([["a"]]));
  assert.deepEqual([seen, others], [[1], [2]]);
  await setting.change(["c"]);
  await setting.change(["b"]);
  assert.deepEqual([seen, others], [[1, 3], [2]]);
  await setting.change(["a"]);
  assert.deepEqual([seen, others], [[1, 3, 4], [2, 5]]);
  watchers.noticeAll();
  await settled();
  assert.deepEqual([seen, others], [[1, 3, 4, 6], [2, 5, 7]]);
  assert.throws(() => watchers.watch(Array(11).fill(["a"])), /keys/);
});

Deno.test("changes during a read make the watch read once more", async () => {
  const setting = new Setting();
  const goOn = Promise.withResolvers<void>();
  setting.holding = goOn.promise;
  const seen = await setting.seen(setting.watchers.watch([["a"]]));
  await setting.change(["a"]);
  await setting.change(["a"]);
  assert.equal(setting.reads, 1);
  goOn.resolve();
  await settled();
  assert.deepEqual(seen, [1, 2]);
});

Deno.test("a change during a read reaches a reader that has asked for more", async () => {
  const setting = new Setting();
  const goOn = Promise.withResolvers<void>();
  setting.holding = goOn.promise;
  const reader = setting.watchers.watch([["a"]]).getReader();
  const seen: unknown[] = [];
  for (let asked = 0; asked < 2; asked++) {
    reader.read().then(({ value }) => seen.push(value?.[0].value));
  }
  await settled();
  await setting.change(["a"]);
  goOn.resolve();
  await settled();
  assert.deepEqual(seen, [1, 2]);
});

Deno.test("a watch reads again only for a reader that has taken what was read", async () => {
  const setting = new Setting();
  const reader = setting.watchers.watch([["a"]]).getReader();
  await settled();
  await setting.change(["a"]);
  await setting.change(["a"]);
  assert.equal(setting.reads, 1);
  const { value } = await reader.read();
  assert.equal(value?.[0].value, 1);
  await settled();
  assert.equal(setting.reads, 2);
});

Deno.test("a watch that is cancelled reads no more, and others of its key do", async () => {
  const setting = new Setting();
  const { watchers } = setting;
  const reader = watchers.watch([["a"]]).getReader();
  const seen = await setting.seen(watchers.watch([["a"]]));
  await reader.cancel();
  await setting.change(["a"]);
  assert.deepEqual([setting.reads, seen], [3, [2, 3]]);
  watchers.noticeAll();
  await settled();
  assert.deepEqual([setting.reads, seen], [4, [2, 3, 4]]);
});

Deno.test("a read that fails is repeated for a reader, and after a change", async () => {
  const setting = new Setting();
  const fail = () => {
    setting.holding = Promise.reject(new Error("away"));
    setting.holding.catch(() => {});
  };
  fail();
  const stream = setting.watchers.watch([["a"]]);
  await settled();
  assert.equal(setting.reads, 1);
  const seen = await setting.seen(stream);
  assert.deepEqual([setting.reads, seen], [2, []]);
  setting.holding = Promise.resolve();
  await setting.change(["a"]);
  assert.deepEqual(seen, [3]);
  fail();
  await setting.change(["a"]);
  setting.holding = Promise.resolve();
  await setting.change(["a"]);
  assert.deepEqual(seen, [3, 5]);
});

Deno.test("end() closes the streams, also during a read, and of those whose reader has left", async () => {
  const setting = new Setting();
  const { watchers } = setting;
  await watchers.watch([["a"]]).cancel();
  const seen = await setting.seen(watchers.watch([["a"]]));
  const goOn = Promise.withResolvers<void>();
  setting.holding = goOn.promise;
  await setting.change(["a"]);
  watchers.end();
  goOn.resolve();
  await settled();
  await setting.change(["a"]);
  assert.deepEqual([setting.reads, seen], [2, [1, "end"]]);
});
