import assert from "node:assert/strict";
import { isService, openKv } from "../../src/core/process/kv.ts";
import {
  announce,
  warnOfSettings,
} from "../../src/core/process/announcement.ts";
import { ConfigError, StartError } from "../../src/core/settings/complaint.ts";
import { type Config, parseConfig } from "../../src/core/settings/config.ts";
import { deleteExpiredRecords } from "../../src/core/process/file_collection.ts";
import { guardFile } from "../../src/core/process/kv_file.ts";
import { SteadyTime } from "../kit/fake_time.ts";
import { recordLog, silentLogger } from "../kit/log.ts";
import { TemporaryDirectory } from "../kit/process.ts";
import { startServer } from "../kit/server.ts";
import { settled, until } from "../kit/wait.ts";

/** The database of the process, by `KV_PATH`. */

const ignore = Deno.build.os === "windows";

function at(kvPath: string): Config {
  return { ...parseConfig({}), kvPath };
}

async function rightsOf(path: string): Promise<number> {
  return (await Deno.stat(path)).mode! & 0o777;
}

/** Addresses that are wrong in some way, all with this password. */
const PASSWORD = "hush";
const WRONG = [
  "postgres://jo:hush@127.0.0.1/tools?schema=a;b",
  "postgresql://jo:a%40hush%2F@127.0.0.1/tools?schema=a;b",
  "postgres://jo:a hush@127.0.0.1/tools?schema=a;b",
  "postgres://jo@127.0.0.1/tools?password=hush",
  "postgres://jo:%hush@127.0.0.1/tools",
  "postgres://jo:1/hush@127.0.0.1/tools",
  "postgres://jo:1?hush@127.0.0.1/tools",
  "postgres://jo:1#hush@127.0.0.1/tools",
  "postgres://jo:a/hush@127.0.0.1/tools",
  "postgres:///jo:hush@127.0.0.1/tools",
  "postgres:/jo:hush@127.0.0.1/tools",
  "postgres:jo:hush@127.0.0.1/tools",
  "Postgres://jo:hush@127.0.0.1/tools",
  "POSTGRESQL://jo:hush@127.0.0.1/tools",
  "postgre://jo:hush@127.0.0.1/tools",
  "jo:hush@127.0.0.1/tools",
  "//jo:hush@127.0.0.1/tools",
  "http://jo:hush@127.0.0.1:4512",
  "http:jo:hush@127.0.0.1:4512",
  "HTTP://jo:hush@127.0.0.1:4512",
  "https://127.0.0.1/hush@127.0.0.1:4512",
];

for (const address of WRONG) {
  Deno.test(`the password of ${address} is nowhere in what a start says`, async () => {
    const { logger, events } = recordLog("debug");
    await assert.rejects(openKv(at(address), logger), (error) => {
      assert(error instanceof StartError);
      assert(!Deno.inspect(error).includes(PASSWORD), error.message);
      return true;
    });
    for (const name of ["KV_PATH", "DATABASE_URL"]) {
      for (const deployed of [{}, { DENO_DEPLOYMENT_ID: "d" }]) {
        try {
          const config = parseConfig({ [name]: address, ...deployed });
          warnOfSettings(config, logger);
          announce(config, {
            log: logger,
            baseUrl: "http://localhost:3000",
            isDevelopment: false,
          });
        } catch (error) {
          assert(error instanceof ConfigError);
          assert(!Deno.inspect(error).includes(PASSWORD), error.message);
        }
      }
    }
    assert(!Deno.inspect(events, { depth: 9 }).includes(PASSWORD));
  });
}

Deno.test({
  name: "openKv() refuses what is not a database, and leaves its rights alone",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const { path } = directory;
    await Deno.mkdir(`${path}/folder`);
    await Deno.writeTextFile(`${path}/notes.txt`, "Not of SQLite, but longer");
    await Deno.writeTextFile(`${path}/short`, "SQLite");
    await new Deno.Command("mkfifo", { args: [`${path}/pipe`] }).output();
    await Deno.symlink(`${path}/folder`, `${path}/link`);
    for (
      const [name, why] of [
        ["folder", /it is a directory/],
        ["folder/", /it is a directory/],
        ["link", /it is a directory/],
        ["pipe", /it is a device, a pipe or a socket/],
        ["notes.txt", /file is not a database/],
        ["short", /file is not a database/],
      ] as const
    ) {
      const kvPath = `${path}/${name}`;
      await Deno.chmod(kvPath, 0o707);
      await assert.rejects(openKv(at(kvPath), silentLogger), (error) => {
        assert(error instanceof StartError);
        assert.match(error.message, why);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      });
      assert.equal(await rightsOf(kvPath), 0o707, name);
    }
  },
});

Deno.test({
  name:
    "openKv() takes an empty file and a database, and keeps both from others",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const path = `${directory.path}/tools.db`;
    await Deno.writeTextFile(path, "");
    // Empty the first time, and a database the second time.
    for (let n = 0; n < 2; n++) {
      await Deno.chmod(path, 0o666);
      (await openKv(at(path), silentLogger)).close();
      assert.equal(await rightsOf(path), 0o660);
      assert.equal((await Deno.stat(path)).size > 0, true);
    }
  },
});

const person = { pid: 500, ppid: 400, terminal: false };

Deno.test("isService() knows whom systemd started, and who merely inherited its word", () => {
  assert(isService({ ...person, systemdPid: "500" }));
  // Started by `deno task`.
  assert(isService({ ...person, systemdPid: "400" }));
  assert(!isService({ ...person, systemdPid: "300" }));
  assert(!isService(person));
});

Deno.test("isService() knows the first process of a container, and no orphan", () => {
  assert(isService({ ...person, pid: 1, ppid: 0 }));
  // Started in Deno's image, whose first process is an init.
  assert(isService({ ...person, pid: 8, ppid: 1, image: "1" }));
  // Started by a person in it.
  assert(!isService({ ...person, image: "1" }));
  // Left in the background by a shell that has ended.
  assert(!isService({ ...person, ppid: 1 }));
});

Deno.test("isService() takes nothing that a person looks at for a service", () => {
  assert(!isService({ pid: 1, ppid: 0, terminal: true }));
  assert(!isService({ pid: 8, ppid: 1, image: "1", terminal: true }));
  assert(!isService({ ...person, systemdPid: "500", terminal: true }));
});

Deno.test({
  name: "openKv() tells of a file that was removed, and so does /ready",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const path = `${directory.path}/tools.db`;
    using kv = await openKv(at(path), silentLogger) as Deno.Kv;
    await using server = await startServer({ kv });
    const isReady = async () => (await server.fetch("/ready")).status === 200;
    assert(await isReady());
    await Deno.remove(path);
    await until(async () => !await isReady());
  },
});

Deno.test("guardFile() writes in the log that a file was removed or replaced, once a minute, until it is closed", async () => {
  using time = new SteadyTime();
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  await Deno.writeTextFile(path, "");
  const kv = await Deno.openKv(":memory:");
  const { logger, events } = recordLog();
  let looks = 0;
  const stat = Deno.stat;
  let failure: Error | undefined;
  Deno.stat = (path) => {
    looks++;
    return failure ? Promise.reject(failure) : stat(path);
  };
  const messages = async () => {
    const before = looks;
    await until(() => looks >= before + 3);
    return events.splice(0).map(({ level, message }) => `${level} ${message}`);
  };
  try {
    await guardFile(kv, path, logger, 1);
    assert.deepEqual(await messages(), []);
    failure = new Deno.errors.PermissionDenied("not now");
    assert.deepEqual(await messages(), []);
    failure = undefined;
    await Deno.rename(path, `${path}.old`);
    const [message, ...rest] = await messages();
    assert.match(
      message,
      /^error .*tools\.db was removed or replaced: .* lost/,
    );
    assert.deepEqual([...rest, ...await messages()], []);
    // A file of the same name is another one.
    await Deno.writeTextFile(path, "");
    time.tick(60);
    assert.deepEqual(await messages(), [message]);
    await Deno.rename(`${path}.old`, path);
    // A look that began before is over.
    assert.deepEqual(await messages(), []);
    time.tick(60);
    assert.deepEqual(await messages(), []);
    await Deno.remove(path);
  } finally {
    kv.close();
    Deno.stat = stat;
  }
  const before = looks;
  await settled();
  await settled();
  assert.equal(looks, before);
});

/** Opens a file, and collects from it all the time. */
async function openCollecting(
  path: string,
  checkPlace = () => Promise.resolve(),
): Promise<Deno.Kv> {
  const kv = Object.assign(await Deno.openKv(path), { checkPlace });
  deleteExpiredRecords(kv, path, 1);
  return kv;
}

Deno.test("deleteExpiredRecords() deletes what has expired, some at a time, and nothing of another program", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  using application = await Deno.openKv(path);
  await application.set(["application"], 1, { expireIn: 60_000 });
  using kv = await openCollecting(path);
  const operation = kv.atomic().set(["ever"], 1).set(["later"], 1, {
    expireIn: 60_000,
  });
  for (let n = 0; n < 120; n++) operation.set(["old", n], n, { expireIn: 0 });
  await operation.commit();
  const keys = async () =>
    (await Array.fromAsync(kv.list({ prefix: [] }))).map(({ key }) => key[0]);
  await until(async () => !(await keys()).includes("old"));
  assert.deepEqual(await keys(), ["application", "ever", "later"]);
});

Deno.test("deleteExpiredRecords() makes no file where the database was removed", async () => {
  await using directory = new TemporaryDirectory();
  const path = `${directory.path}/tools.db`;
  let checks = 0;
  const checkPlace = () => {
    checks++;
    return Promise.reject(new Error("The file was removed"));
  };
  using _kv = await openCollecting(path, checkPlace);
  await Deno.remove(path);
  await until(() => checks > 2);
  await assert.rejects(Deno.stat(path), Deno.errors.NotFound);
});
