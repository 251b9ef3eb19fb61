/**
 * Releases as machines start them, by the files for containers and systemd.
 *
 * @module
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { freePort } from "../kit/port.ts";
import {
  callHealth,
  openSession,
  Process,
  REPOSITORY,
  startArgs,
  TemporaryDirectory,
} from "../kit/process.ts";
import { Release } from "./release.ts";

function read(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, REPOSITORY));
}

/** Parses variables such as `NAME=value NAME=value`. */
function parseVariables(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(" ").map((it) => /^(\w+)=(.*)$/.exec(it)!.slice(1)),
  );
}

/** Lists the modules that Deno keeps as compiled code. */
function keptSources(directory: string): unknown[] {
  using code = new DatabaseSync(`${directory}/v8_code_cache_v2`);
  return code.prepare("select specifier from codecache").all()
    .map(({ specifier }) => specifier);
}

async function checkServes(server: Process): Promise<string> {
  const url = await server.url();
  const session = await openSession(url);
  assert.equal(await callHealth(url, session), 200);
  return session;
}

Deno.test("the Dockerfile's command serves its files, and its health check tells", async () => {
  const dockerfile = await read("Dockerfile");
  // The last stage has only these files.
  const copied = [...dockerfile.matchAll(/^COPY --from=build .*?(\S+)$/gm)];
  assert.deepEqual(copied.map(([, to]) => to), [
    "deno.json",
    "dist",
    "cache",
    "data",
  ]);
  const command = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)![1]);
  const check = JSON.parse(
    /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(dockerfile)![1],
  );
  assert.equal(check.shift(), "/bin/deno");
  await using release = await Release.make();
  const { DENO_DIR, ...variables } = parseVariables(
    /^ENV (.*)$/m.exec(dockerfile)![1],
  );
  assert.equal(DENO_DIR, "/app/cache");
  const env = {
    ...variables,
    PORT: String(freePort()),
    DENO_DIR: `${release.path}/cache`,
  };
  await Deno.mkdir(env.DENO_DIR);
  const warming = /^RUN (for start [^]*?true)$/m.exec(dockerfile)![1];
  await new Deno.Command("sh", {
    args: [
      "-c",
      warming.replace("/tmp", release.path).replace("/app", release.path),
    ],
    cwd: release.path,
    env: { PORT: env.PORT },
    stdout: "null",
  }).output();
  assert(
    keptSources(env.DENO_DIR).includes(`file://${release.path}/dist/main.js`),
  );
  // Docker passes its configured proxy on to every container.
  const proxy = { HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: "inside" };
  const isHealthy = async () => {
    await using checking = release.run(check, { ...env, ...proxy });
    return await checking.end() === 0;
  };
  await using server = release.run(command, env);
  await checkServes(server);
  assert(await isHealthy());
  assert((await Deno.stat(`${release.path}/data/tools.db`)).isFile);
  server.kill("SIGTERM");
  assert.equal(await server.end(), 0);
  assert(!await isHealthy());
});

Deno.test("the systemd unit's command keeps the database outside of the release", async () => {
  const unit = await read("deploy/tool-server.service");
  const text = unit.replaceAll("\\\n", " ");
  await using state = new TemporaryDirectory();
  const here = (text: string) =>
    text.replaceAll("/var/lib/tool-server", state.path);
  const [program, ...args] = here(/^ExecStart=(.*)$/m.exec(text)![1])
    .split(/\s+/);
  assert.equal(program, "/usr/local/bin/deno");
  const env = parseVariables(
    [...here(text).matchAll(/^Environment=(.*)$/gm)].map(([, it]) => it)
      .join(" "),
  );
  let session;
  {
    await using release = await Release.make();
    await using server = release.run(args, env);
    session = await checkServes(server);
  }
  await using next = await Release.make();
  await using server = next.run(args, env);
  assert.equal(await callHealth(await server.url(), session), 200);
});

/** True if systemd can verify units that are not installed. */
function judges(): boolean {
  try {
    const { stdout } = new Deno.Command("systemd-analyze", {
      args: ["--version"],
    }).outputSync();
    const [, version] = /^systemd (\d+)/.exec(
      new TextDecoder().decode(stdout),
    )!;
    return Number(version) >= 250;
  } catch {
    return false;
  }
}

const ignore = !judges();

Deno.test({
  name: "systemd finds nothing to complain of in its unit" +
    (ignore ? ", left out: systemd-analyze cannot tell here" : ""),
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const path = `${directory.path}/tool-server.service`;
    const unit = await read("deploy/tool-server.service");
    const here = unit.replace("/usr/local/bin/deno", Deno.execPath());
    await Deno.writeTextFile(path, here);
    await using judging = new Process(["verify", path], {
      command: "systemd-analyze",
    });
    assert.equal(await judging.end(), 0);
    // It only warns of lines that it ignores.
    assert.equal(judging.output, "");
    // By default it gives up after five failures within ten seconds.
    assert.match(unit, /^Restart=always$/m);
    assert.match(unit, /^StartLimitIntervalSec=0$/m);
  },
});

Deno.test({
  name: "the systemd unit is exposed to less than 3 of 10" +
    (ignore ? ", left out: systemd-analyze cannot tell here" : ""),
  ignore,
  async fn() {
    await using judging = new Process([
      ..."security --offline=true --no-pager --threshold=29".split(" "),
      "deploy/tool-server.service",
    ], { command: "systemd-analyze" });
    assert.equal(await judging.end(), 0, judging.output);
    assert.match(judging.output, /Overall exposure level/);
  },
});

/** Starts a server as systemd would, but without systemd as its parent. */
async function startAsService(
  args: readonly string[],
  env: Record<string, string>,
): Promise<Process> {
  const script = 'SYSTEMD_EXEC_PID=$$ exec "$@"';
  return new Process(
    ["-c", script, "sh", Deno.execPath(), ...await startArgs(), ...args],
    { command: "sh", env },
  );
}

Deno.test("a service that is not told where its database is does not start", async () => {
  await using server = await startAsService([], { KV_PATH: "" });
  assert.equal(await server.end(), 1);
  assert.match(
    server.output,
    /^KV_PATH: got nothing, wants the place of a service's database.*\n$/,
  );
});

/** The arguments of `unshare` for a process with the id 1. */
const FIRST = "--map-root-user --pid --fork --kill-child".split(" ");

/** True if the test's user may start such a process. */
function hasFirst(): boolean {
  try {
    return new Deno.Command("unshare", { args: [...FIRST, "true"] })
      .outputSync().success;
  } catch {
    return false;
  }
}

Deno.test({
  name: "nor does a container, by itself or behind the init of Deno's image" +
    (hasFirst() ? "" : ", left out: unshare cannot start one here"),
  ignore: !hasFirst(),
  async fn() {
    for (
      const [init, env] of [
        [[], {}],
        [["sh", "-c", '"$@"; exit $?', "sh"], { DENO_USE_CGROUPS: "1" }],
      ] as const
    ) {
      const deno = [Deno.execPath(), ...await startArgs()];
      await using server = new Process([...FIRST, ...init, ...deno], {
        command: "unshare",
        env: { ...env, KV_PATH: "" },
      });
      assert.equal(await server.end(), 1, server.output);
      assert.match(
        server.output,
        /^KV_PATH: got nothing, wants the place of a service's database.*\n$/,
      );
    }
  },
});

Deno.test("a service with a database starts, and what restarts on changes needs none", async () => {
  await using told = await startAsService([], { KV_PATH: ":memory:" });
  await checkServes(told);
  await using cache = new TemporaryDirectory();
  await using watched = await startAsService(["--no-drain"], {
    KV_PATH: "",
    // The place of its default database.
    DENO_DIR: cache.path,
  });
  await checkServes(watched);
});

Deno.test("two releases have two default databases, and the one that KV_PATH names", async () => {
  await using cache = new TemporaryDirectory();
  await using first = await Release.make();
  await using second = await Release.make();
  const args = (await startArgs(cache.path)).map((arg) =>
    arg === "main.ts" ? "dist/main.js" : arg
  );
  const run = (release: Release, kvPath: string) =>
    release.run(args, { DENO_DIR: cache.path, KV_PATH: kvPath });
  for (
    const [kvPath, status] of [["", 404], [`${cache.path}/kv`, 200]] as const
  ) {
    await using one = run(first, kvPath);
    const session = await checkServes(one);
    await using other = run(second, kvPath);
    assert.equal(await callHealth(await other.url(), session), status);
  }
});
