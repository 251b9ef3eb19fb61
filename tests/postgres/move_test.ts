/**
 * `deno task move` between a file and Postgres.
 *
 * @module
 */
import assert from "node:assert/strict";
import { layoutKey } from "../../src/store/keys.ts";
import { LAYOUT } from "../../src/store/layout.ts";
import { Process, TemporaryDirectory } from "../kit/process.ts";
import { PASSWORD } from "../kit/postgres.ts";
import { postgresTest } from "./schema.ts";

const SECONDS = Math.floor(Date.now() / 1000) + 9000;

/** Runs `deno task move`, and gives its code and its output. */
async function moved(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string }> {
  await using process = new Process(["task", "--quiet", "move", ...args], {
    env,
  });
  const code = await process.end();
  assert(!process.output.includes(PASSWORD), process.output);
  return { code, output: process.output };
}

postgresTest(
  "deno task move moves from a file to Postgres and back, and a dry run counts",
  async ({ url, open }) => {
    await using directory = new TemporaryDirectory();
    const [first, last] = ["first.db", "last.db"].map((name) =>
      `${directory.path}/${name}`
    );
    const record = { expiresAt: SECONDS, name: "Jo" };
    {
      using kv = await Deno.openKv(first);
      await kv.set(layoutKey(), LAYOUT);
      await kv.set(["grant", "a"], record);
      await kv.set(["secret", "state"], new Uint8Array([1]));
    }
    const plain = new URL(url);
    plain.password = "";
    const env = { TO_PGPASSWORD: PASSWORD, PGPASSWORD: "another's" };
    const dry = await moved([first, plain.href, "--dry-run"], env);
    assert.equal(dry.code, 0, dry.output);
    assert.match(
      dry.output,
      /1 grant, 1 KiB\n1 layout, 1 KiB\n1 secret, 1 KiB\n3 records; not/,
    );
    const kv = await open();
    assert.deepEqual(await Array.fromAsync(kv.list({ prefix: [] })), []);
    const there = await moved([first, plain.href], env);
    assert.equal(there.code, 0, there.output);
    assert.match(there.output, /3 records are moved and compared/);
    const again = await moved([first, url]);
    assert.equal(again.code, 1);
    assert.match(again.output, /has records \(grant\): use an empty one/);
    const back = await moved([url, last]);
    assert.equal(back.code, 0, back.output);
    using file = await Deno.openKv(last);
    assert.deepEqual((await file.get(["grant", "a"])).value, record);
  },
);

Deno.test("deno task move says what is wrong, and does nothing", async () => {
  await using directory = new TemporaryDirectory();
  const none = `${directory.path}/none.db`;
  for (
    const [args, code, words] of [
      [[], 2, /Usage: deno task move FROM TO/],
      [["a.db"], 2, /Usage/],
      [["a.db", ":memory:"], 2, /Usage/],
      [["a.db", "b.db", "--dry"], 2, /Usage/],
      [[none, "postgres://a:b@localhost/c"], 1, /There is no database at/],
      [[none, none], 1, /the same/],
    ] as const
  ) {
    const { code: found, output } = await moved([...args]);
    assert.equal(found, code, output);
    assert.match(output, words);
  }
  assert.deepEqual(await Array.fromAsync(Deno.readDir(directory.path)), []);
});
