/**
 * `deno task ts move` between a file and Postgres.
 *
 * @module
 */
import assert from "node:assert/strict";
import { layoutKey } from "../../src/core/kv/keys.ts";
import { LAYOUT } from "../../src/core/kv/layout.ts";
import { callSignedIn, signInByName } from "../kit/dev_server.ts";
import { freePort } from "../kit/port.ts";
import { PASSWORD } from "../kit/postgres.ts";
import { Process, startProcess, TemporaryDirectory } from "../kit/process.ts";
import type { RememberedSignIn } from "../kit/remembered_sign_in.ts";
import { postgresTest } from "./schema.ts";

/** Runs `deno task ts move`, and gives its code and its output. */
async function moved(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string }> {
  await using process = new Process(
    ["task", "--quiet", "ts", "move", ...args],
    {
      env,
    },
  );
  const code = await process.end();
  assert(!process.output.includes(PASSWORD), process.output);
  return { code, output: process.output };
}

postgresTest(
  "deno task ts move moves from a file to Postgres and back, a dry run counts, and no one signs in again",
  async ({ url, open }) => {
    await using directory = new TemporaryDirectory();
    const [first, last] = ["first.db", "last.db"].map((name) =>
      `${directory.path}/${name}`
    );
    const port = freePort();
    const address = new URL(`http://127.0.0.1:${port}/mcp`);
    /** Runs a server on a database. */
    const served = async (kvPath: string, act: () => Promise<unknown>) => {
      await using server = await startProcess({
        // In place of the folders of deno.json, packages/postgres among them.
        directory: kvPath === url ? undefined : directory.path,
        env: {
          PORT: String(port),
          KV_PATH: kvPath,
          AUTH_STRATEGY: "oauth",
          OAUTH_PROVIDER: "dev",
        },
      });
      await server.url();
      await act();
      await server.stop("SIGTERM");
    };
    const people: RememberedSignIn[] = [];
    await served(first, async () => {
      for (const name of ["Ada", "Jo"]) {
        people.push(await signInByName(address, name));
      }
    });
    /** Has everyone call with a refreshed token. */
    const callAll = async () => {
      for (const person of people) {
        person.kept.tokens.access_token = "gone";
        const { content } = await callSignedIn(address, person, "health");
        assert.match(JSON.stringify(content), /"ok/);
      }
    };
    const plain = Object.assign(new URL(url), { password: "" }).href;
    const env = { TO_PGPASSWORD: PASSWORD, PGPASSWORD: "another's" };
    const dry = await moved([first, plain, "--dry-run"], env);
    assert.equal(dry.code, 0, dry.output);
    assert.match(dry.output, /^2 grant, \d+ KiB$/m);
    const [, records] = /^(\d+) records; nothing was/m.exec(dry.output)!;
    {
      await using kv = await open();
      assert.deepEqual(await Array.fromAsync(kv.list({ prefix: [] })), []);
    }
    const there = await moved([first, plain], env);
    assert.equal(there.code, 0, there.output);
    assert.match(
      there.output,
      new RegExp(`^${records} records are moved`, "m"),
    );
    await served(url, callAll);
    const again = await moved([first, url]);
    assert.equal(again.code, 1);
    assert.match(
      again.output,
      /has records \(.*\): use an empty one, which is another file/,
    );
    const back = await moved([url, last]);
    assert.equal(back.code, 0, back.output);
    await served(last, callAll);
  },
);

postgresTest(
  "deno task ts move refuses databases that a process has open, idle or not",
  async ({ url, open }) => {
    await using directory = new TemporaryDirectory();
    const path = `${directory.path}/tools.db`;
    const refuses = async (...args: [string, string]) => {
      const { code, output } = await moved(args);
      assert.equal(code, 1, output);
      assert.match(output, /is open in another process: stop every server/);
    };
    const kv = await open();
    await kv.atomic().set(layoutKey(), LAYOUT).commit();
    await refuses(url, path);
    await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
    {
      using file = await Deno.openKv(path);
      await file.set(layoutKey(), LAYOUT);
      await refuses(path, `${directory.path}/other.db`);
      await refuses(url, path);
    }
    await refuses(path, url);
    await kv[Symbol.asyncDispose]();
    const { code, output } = await moved([url, `${directory.path}/other.db`]);
    assert.equal(code, 0, output);
  },
);

Deno.test("deno task ts move says what is wrong, and does nothing", async () => {
  await using directory = new TemporaryDirectory();
  const none = `${directory.path}/none.db`;
  for (
    const [args, code, words] of [
      [[], 2, /Usage: deno task ts move FROM TO/],
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
