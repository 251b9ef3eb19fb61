/** `deno task start:cores`, on its own port. */
import assert from "node:assert/strict";
import { freePort } from "../flow/processes.ts";
import { until } from "../kit.ts";
import {
  callHealth,
  openSession,
  Process,
  REPOSITORY,
  TemporaryDirectory,
} from "./kit.ts";

/** Starts two processes on one database file. */
async function startCores(
  directory: TemporaryDirectory,
  env: Record<string, string> = {},
  shell?: string,
): Promise<{ cores: Process; url: string }> {
  const { tasks } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", REPOSITORY)),
  );
  const [, ...args] = (tasks["start:cores"] as string).split(" ");
  const { path } = directory;
  const server = args.lastIndexOf("run") + 1;
  args.splice(server, 0, `--allow-read=${path}`, `--allow-write=${path}`);
  const port = freePort();
  const cores = new Process(shell ? ["-c", shell, "sh", ...args] : args, {
    command: shell && "sh",
    env: {
      PORT: String(port),
      PROCESSES: "2",
      KV_PATH: `${path}/tools.db`,
      ...env,
    },
  });
  return { cores, url: `http://127.0.0.1:${port}` };
}

/** The processes that a process started. */
async function childrenOf({ pid }: Pick<Process, "pid">): Promise<number[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`);
  return text.trim().split(" ").filter(Boolean).map(Number);
}

/** Calls over a connection of its own, which any of the processes may get. */
async function call(url: string, session: string): Promise<number> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(`${url}/mcp`, {
    client,
    method: "DELETE",
    headers: { "mcp-session-id": session },
  });
  await response.body?.cancel();
  return response.status;
}

const ignore = Deno.build.os !== "linux";

Deno.test({
  name:
    "processes on one port know each other's sessions, and end together with 0",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const { cores, url } = await startCores(directory);
    await using _cores = cores;
    await cores.prints(/"Listening"[\s\S]*"Listening"/);
    const children = await childrenOf(cores);
    assert.equal(children.length, 2);
    // Of twenty connections, all go to one process in one of 500,000 runs.
    const sessions = await Promise.all(
      Array.from({ length: 20 }, () => openSession(url)),
    );
    for (const session of sessions) assert.equal(await call(url, session), 202);
    for (const line of cores.output.trim().split("\n")) JSON.parse(line);
    Deno.kill(cores.pid, "SIGTERM");
    assert.equal(await cores.end(), 0);
    assert.equal(cores.output.match(/"Stopping"/g)!.length, 2);
    for (const pid of children) {
      await assert.rejects(Deno.stat(`/proc/${pid}`));
    }
  },
});

Deno.test({
  name: "a process that dies is replaced, and the others answer meanwhile",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const { cores, url } = await startCores(directory);
    await using _cores = cores;
    await cores.prints(/"Listening"[\s\S]*"Listening"/);
    const session = await openSession(url);
    const [victim, other] = await childrenOf(cores);
    Deno.kill(victim, "SIGKILL");
    await cores.prints(/A process ended.*"signal":"SIGKILL"/);
    assert.equal(await callHealth(url, session), 200);
    await until(async () => (await childrenOf(cores)).length === 2);
    await cores.prints(/A process ended[\s\S]*"Listening"/);
    const now = await childrenOf(cores);
    assert(now.includes(other) && !now.includes(victim));
  },
});

Deno.test({
  name: "a mistake in the settings is told once, and ends all with its code",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const { cores } = await startCores(directory, { AUTH_STRATEGY: "magic" });
    await using _cores = cores;
    assert.equal(await cores.end(), 1);
    assert.equal(cores.output.match(/AUTH_STRATEGY: got/g)!.length, 1);
  },
});

Deno.test({
  name: "a port that another service shares is not shared with it",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const { cores, url } = await startCores(directory);
    await using _cores = cores;
    await cores.prints(/"Listening"/);
    const { port } = new URL(url);
    const { cores: second } = await startCores(directory, { PORT: port });
    await using _second = second;
    assert.equal(await second.end(), 1);
    assert.match(second.output, /^PORT: \d+ on 127\.0\.0\.1: .*in use.*\n$/);
  },
});

Deno.test({
  name: "servers go on when no one reads their log any more",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const shell = `"${Deno.execPath()}" "$@" | head -n 1; sleep 1000`;
    const { cores, url } = await startCores(
      directory,
      { LOG_LEVEL: "debug" },
      shell,
    );
    await using _cores = cores;
    await cores.prints(/"Listening"/);
    const session = await openSession(url);
    // The first that the shell started.
    const [pid] = await childrenOf(cores);
    await until(async () => (await childrenOf({ pid })).length === 2);
    // Each call is a line in the log that cannot be written.
    for (let n = 0; n < 30; n++) {
      assert.equal(await callHealth(url, session), 200);
    }
    const [victim] = await childrenOf({ pid });
    Deno.kill(victim, "SIGKILL");
    await until(async () => {
      const now = await childrenOf({ pid });
      return now.length === 2 && !now.includes(victim);
    });
    assert.equal(cores.output.trim().split("\n").length, 1);
  },
});
