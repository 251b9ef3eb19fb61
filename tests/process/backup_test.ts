import assert from "node:assert/strict";
import { until } from "../kit/wait.ts";
import {
  grantKey,
  layoutKey,
  movingKey,
  secretKey,
  sessionKey,
} from "../../src/core/kv/keys.ts";
import { LAYOUT } from "../../src/core/kv/layout.ts";
import {
  callHealth,
  openSession,
  Process,
  startProcess,
  TemporaryDirectory,
} from "../kit/process.ts";

function backUp(...paths: string[]): Process {
  return new Process(["task", "--quiet", "ts", "backup", ...paths]);
}

function restore(...paths: string[]): Process {
  return new Process(["task", "--quiet", "ts", "restore", ...paths]);
}

async function fileNames(path: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(path));
  return entries.map(({ name }) => name).sort();
}

Deno.test("a copy that is made while servers write has all that was acknowledged, and serves", async () => {
  await using directory = new TemporaryDirectory();
  await using other = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const copy = `${other.path}/copy.db`;
  let before: string[];
  {
    const options = { directory: directory.path, env: { KV_PATH: path } };
    await using first = await startProcess(options);
    await using second = await startProcess(options);
    const acknowledged: string[] = [];
    let isOver = false;
    const writing = [await first.url(), await second.url()].map(async (url) => {
      while (!isOver) acknowledged.push(await openSession(url));
    });
    await until(() => acknowledged.length > 20);
    before = [...acknowledged];
    await using copying = backUp(path, copy);
    assert.equal(await copying.end(), 0, copying.output);
    assert(acknowledged.length > before.length, "there was no load");
    isOver = true;
    await Promise.all(writing);
  }
  assert.equal((await Deno.stat(copy)).mode! & 0o777, 0o600);
  assert.deepEqual(await fileNames(other.path), ["copy.db"]);
  // As after the loss of a disk: elsewhere, and only with the copy.
  await using restored = await startProcess({
    directory: other.path,
    env: { KV_PATH: copy },
  });
  const url = await restored.url();
  for (const session of [...before, await openSession(url)]) {
    assert.equal(await callHealth(url, session), 200);
  }
});

Deno.test("a backup replaces no other and leaves nothing behind when it fails", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const kv = await Deno.openKv(path);
  await kv.set(["a"], 1);
  kv.close();
  const older = `${directory.path}/older.db`;
  await Deno.writeTextFile(older, "older");
  const before = await fileNames(directory.path);
  for (
    const [from, to, words] of [
      [path, older, `${older} is there already: use another name`],
      [
        `${directory.path}/nowhere.db`,
        `${directory.path}/new.db`,
        `There is no database at ${directory.path}/nowhere.db`,
      ],
      [
        "postgres://127.0.0.1/tools",
        `${directory.path}/new.db`,
        "A database in Postgres is copied by pg_dump",
      ],
      [
        older,
        `${directory.path}/new.db`,
        `${older} cannot be copied: file is not a database`,
      ],
      [
        path,
        `${directory.path}/none/new.db`,
        `There is no folder ${directory.path}/none`,
      ],
    ]
  ) {
    await using copying = backUp(from, to);
    assert.equal(await copying.end(), 1, copying.output);
    assert.equal(copying.output.trim(), words);
  }
  for (const run of [backUp, restore]) {
    await using helped = run("--help");
    assert.equal(await helped.end(), 0);
    assert.match(helped.output, /^Usage: .+\n\n(?:.+\n)+$/);
    // The shell makes several names of backups/*.db.
    for (const names of [[path], [path, `${directory.path}/new.db`, older]]) {
      await using misused = run(...names);
      assert.equal(await misused.end(), 2);
      assert.match(misused.output, /^Name two files\n\nUsage: /);
    }
  }
  assert.equal(await Deno.readTextFile(older), "older");
  assert.deepEqual(await fileNames(directory.path), before);
});

Deno.test({
  name: "a backup or a restore that finds no room leaves nothing behind",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using directory = new TemporaryDirectory();
    const path = `${directory.path}/tools.db`;
    const copy = `${directory.path}/copy.db`;
    {
      using kv = await Deno.openKv(path);
      for (let n = 0; n < 100; n++) {
        await kv.set([n], crypto.getRandomValues(new Uint8Array(60_000)));
      }
    }
    await Deno.copyFile(path, copy);
    const before = await fileNames(directory.path);
    for (
      const [task, ...paths] of [
        ["backup", path, `${directory.path}/new.db`],
        ["restore", copy, path],
        ["restore", copy, `${directory.path}/new.db`],
      ]
    ) {
      // A file of no more than a megabyte: further writes fail.
      const shell = 'trap "" XFSZ; ulimit -f 1000; exec "$@"';
      await using full = new Process(
        ["-c", shell, "sh", Deno.execPath(), "run", "--allow-all"]
          .concat(`packages/operate/${task}.ts`, paths),
        { command: "sh" },
      );
      assert.equal(await full.end(), 1, full.output);
      assert.deepEqual(await fileNames(directory.path), before);
    }
    using kv = await Deno.openKv(path);
    assert(await kv.get([99]));
  },
});

Deno.test("of two commands that make one file one is refused, and none waits for one that died", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const copy = `${directory.path}/copy.db`;
  await open(path, 1);
  await open(copy, 2);
  const before = await fileNames(directory.path);
  for (
    const { run, from, to } of [
      { run: backUp, from: path, to: `${directory.path}/new.db` },
      { run: restore, from: copy, to: path },
    ]
  ) {
    {
      using other = await Deno.open(`${to}.lock`, {
        create: true,
        write: true,
      });
      await other.lock(true);
      await using refused = run(from, to);
      assert.equal(await refused.end(), 1, refused.output);
      assert.equal(
        refused.output.trim(),
        `Another command is making ${to}`,
      );
    }
    assert.deepEqual(
      await fileNames(directory.path),
      [...before, `${to.split("/").at(-1)}.lock`].sort(),
    );
    await Deno.writeTextFile(`${to}.partial`, "half");
    await Deno.writeTextFile(`${to}.restored.partial-journal`, "half");
    await using made = run(from, to);
    assert.equal(await made.end(), 0, made.output);
    await Deno.remove(`${directory.path}/new.db`).catch(() => {});
    await Deno.remove(`${to}.partial`).catch(() => {});
    await Deno.remove(`${to}.restored.partial-journal`).catch(() => {});
  }
  assert.deepEqual(
    await fileNames(directory.path),
    [...before, "tools.db.replaced"].sort(),
  );
  assert.equal(await open(path), 2);
});

/** Writes a value into a database, or reads the present one. */
async function open(path: string, value?: number): Promise<unknown> {
  using kv = await Deno.openKv(path);
  if (value !== undefined) await kv.set(["value"], value);
  return (await kv.get(["value"])).value;
}

Deno.test("a restore puts the copy in the place of a database, and keeps what was there", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const copy = `${directory.path}/copy.db`;
  await open(path, 1);
  {
    await using copying = backUp(path, copy);
    assert.equal(await copying.end(), 0, copying.output);
  }
  {
    // The files that a killed server leaves.
    using kv = await Deno.openKv(path);
    await kv.set(["value"], 2);
    for (const end of ["", "-wal"]) {
      await Deno.copyFile(path + end, `${directory.path}/killed${end}`);
    }
  }
  for (const end of ["", "-wal"]) {
    await Deno.rename(`${directory.path}/killed${end}`, path + end);
  }
  // The file that a killed restore leaves.
  await Deno.writeTextFile(`${path}.restored`, "half");
  await using restoring = restore(copy, path);
  assert.equal(await restoring.end(), 0, restoring.output);
  assert.deepEqual(await fileNames(directory.path), [
    "copy.db",
    "tools.db",
    "tools.db.replaced",
  ]);
  assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
  assert.equal(await open(path), 1);
  assert.equal(await open(`${path}.replaced`), 2);
});

Deno.test("a restore into an empty folder leaves nothing of another database", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const copy = `${directory.path}/copy.db`;
  await open(copy, 1);
  const other = `${directory.path}/other.db`;
  {
    using kv = await Deno.openKv(other);
    await kv.set(["value"], 2);
    for (const end of ["-wal", "-shm"]) {
      await Deno.copyFile(other + end, path + end);
    }
  }
  await using restoring = restore(copy, path);
  assert.equal(await restoring.end(), 0, restoring.output);
  assert.deepEqual(await fileNames(directory.path), [
    "copy.db",
    "other.db",
    "tools.db",
  ]);
  assert.equal(await open(path), 1);
});

Deno.test({
  name: "a restored database belongs to whom the one before did, or its folder",
  // Only root can give files away.
  ignore: Deno.uid() !== 0,
  async fn() {
    const SERVICE = 65532;
    await using directory = new TemporaryDirectory();
    await using other = new TemporaryDirectory();
    const copy = `${other.path}/copy.db`;
    const path = `${directory.path}/tools.db`;
    await open(copy, 1);
    await Deno.chown(directory.path, SERVICE, SERVICE);
    for (const owner of [SERVICE, SERVICE + 1]) {
      await using restoring = restore(copy, path);
      assert.equal(await restoring.end(), 0, restoring.output);
      const { uid, gid } = await Deno.stat(path);
      assert.deepEqual([uid, gid], [owner, owner]);
      await Deno.chown(path, SERVICE + 1, SERVICE + 1);
    }
  },
});

Deno.test("a restore changes nothing when a server runs, the copy is none or of another layout, or it would lose what it replaced before", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const copy = `${directory.path}/copy.db`;
  const none = `${directory.path}/none.db`;
  await open(path, 2);
  await open(copy, 1);
  await Deno.writeTextFile(none, "none");
  const other = `${directory.path}/other.db`;
  {
    using kv = await Deno.openKv(other);
    await kv.set(layoutKey(), LAYOUT + 1);
  }
  const moving = `${directory.path}/moving.db`;
  {
    using kv = await Deno.openKv(moving);
    await kv.set(layoutKey(), LAYOUT);
    await kv.set(movingKey(), true);
  }
  const kinds = [sessionKey("a"), grantKey("a"), secretKey("a")];
  for (const key of kinds) {
    using kv = await Deno.openKv(`${directory.path}/${key[0]}.db`);
    await kv.set(key, 1);
  }
  const refuse = async (from: string, reason: RegExp) => {
    const before = await fileNames(directory.path);
    await using restoring = restore(from, path);
    assert.equal(await restoring.end(), 1, restoring.output);
    assert.match(restoring.output.trim(), reason);
    assert.deepEqual(await fileNames(directory.path), before);
  };
  {
    using _kv = await Deno.openKv(path);
    await refuse(
      copy,
      /^\S+tools\.db: database is locked\. Stop every \S+ that has it open\. Nothing was changed\.$/,
    );
  }
  await refuse(
    other,
    /^The copy has layout \d+, and this release wants layout \d+: .*$/,
  );
  await refuse(moving, /^The copy has half of a move, and .*$/);
  for (const [kind] of kinds) {
    await refuse(
      `${directory.path}/${String(kind)}.db`,
      /^The copy has no layout, and .*$/,
    );
  }
  await refuse(none, /none\.db cannot be copied: file is not a database$/);
  await refuse(
    `${directory.path}/nowhere.db`,
    /^There is no database at .+nowhere\.db$/,
  );
  await Deno.writeTextFile(`${path}.replaced`, "older");
  await refuse(copy, /^\S+\.replaced is there from .+ move it away$/);
  assert.equal(await open(path), 2);
  assert.equal(await Deno.readTextFile(`${path}.replaced`), "older");
});

Deno.test("a restore in the place of a link to no file says so, and changes nothing", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const copy = `${directory.path}/copy.db`;
  await open(copy, 1);
  await Deno.symlink(`${directory.path}/volume/tools.db`, path);
  const before = await fileNames(directory.path);
  await using restoring = restore(copy, path);
  assert.equal(await restoring.end(), 1, restoring.output);
  assert.match(
    restoring.output.trim(),
    /^\S+tools\.db is a link to no file\. Nothing was changed\.$/,
  );
  assert.deepEqual(await fileNames(directory.path), before);
  assert((await Deno.lstat(path)).isSymlink);
});

Deno.test("a restore in the place of a link to a database replaces the database, and the link stays", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  const volume = `${directory.path}/volume`;
  const copy = `${directory.path}/copy.db`;
  await Deno.mkdir(volume);
  await open(`${volume}/tools.db`, 2);
  await open(copy, 1);
  await Deno.symlink(`${volume}/tools.db`, path);
  await using restoring = restore(copy, path);
  assert.equal(await restoring.end(), 0, restoring.output);
  assert((await Deno.lstat(path)).isSymlink);
  assert.equal(await open(`${volume}/tools.db`), 1);
  assert.equal(await open(`${volume}/tools.db.replaced`), 2);
  assert.deepEqual(await fileNames(directory.path), [
    "copy.db",
    "tools.db",
    "volume",
  ]);
});
