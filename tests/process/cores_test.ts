/** `deno task ts cores`, on its own port. */
import assert from "node:assert/strict";
import { statusOf } from "../kit/answer.ts";
import { childrenOf, Cores, isAlive } from "./cores.ts";
import { freePort } from "../kit/port.ts";
import { CoreProcesses } from "../../src/core/process/core_processes.ts";
import { recordLog, silentLogger } from "../kit/log.ts";
import { rpc } from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import { Collector } from "./collector.ts";
import {
  callHealth,
  openSession,
  post,
  Process,
  TemporaryDirectory,
} from "../kit/process.ts";

/** Calls over a new connection, which any of the processes may get. */
async function call(url: string, session: string): Promise<number> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  return await statusOf(fetch(`${url}/mcp`, {
    client,
    method: "DELETE",
    headers: { "mcp-session-id": session },
  }));
}

const ignore = Deno.build.os !== "linux";

Deno.test({
  name:
    "processes on one port know each other's sessions, and end together with 0",
  ignore,
  async fn() {
    await using cores = await Cores.listening();
    const { origin: url } = cores;
    const children = await childrenOf(cores);
    assert.equal(children.length, 2);
    // All twenty connections go to one process in one of 500,000 runs.
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
    await using cores = await Cores.listening();
    const { origin: url } = cores;
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
  name: "processes that all die at once are all replaced",
  ignore,
  async fn() {
    await using cores = await Cores.listening();
    const victims = await childrenOf(cores);
    for (const victim of victims) Deno.kill(victim, "SIGKILL");
    await cores.prints(/"SIGKILL"[\s\S]*("Listening"[\s\S]*){2}/);
    assert.equal(cores.output.match(/A process ended/g)!.length, 2);
    await openSession(cores.origin);
  },
});

Deno.test({
  name:
    "CoreProcesses.run() starts processes that end as they start for as long as it takes",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const port = freePort();
    const starts = `${directory.path}/starts`;
    // Listens the first time, until it is looked at, and again the sixth time.
    const program = `
      Deno.writeTextFileSync("${starts}", ".", { append: true });
      const { size } = Deno.statSync("${starts}");
      if (size > 1 && size < 6) Deno.exit(3);
      const listener = Deno.listen({ hostname: "127.0.0.1", port: ${port} });
      await listener.accept();`;
    const path = `${directory.path}/program.ts`;
    await Deno.writeTextFile(path, program);
    await Deno.writeTextFile(starts, "");
    const supervisor = new CoreProcesses({
      command: [Deno.execPath(), "run", "--allow-all", path],
      processes: 1,
      hostname: "127.0.0.1",
      port,
      log: silentLogger,
      longestPauseMilliseconds: 100,
    });
    const running = supervisor.run();
    await until(async () => (await Deno.stat(starts)).size === 6);
    supervisor.stop("SIGTERM");
    assert.equal(await running, 0);
  },
});

Deno.test({
  name: "a program that is away for a moment is started again when it is back",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const program = `${directory.path}/program`;
    await Deno.symlink(Deno.execPath(), program);
    const port = freePort();
    const source = `${directory.path}/program.ts`;
    const pids = `${directory.path}/pids`;
    await Deno.mkdir(pids);
    await Deno.writeTextFile(
      source,
      `Deno.listen({ hostname: "127.0.0.1", port: ${port}, reusePort: true });
      Deno.writeTextFileSync("${pids}/" + Deno.pid, "");
      setInterval(() => {}, 1000);`,
    );
    const { events, logger } = recordLog();
    const supervisor = new CoreProcesses({
      command: [program, "run", "--unstable-net", "--allow-all", source],
      processes: 2,
      hostname: "127.0.0.1",
      port,
      log: logger,
    });
    const running = supervisor.run();
    const started = async () => {
      const all = [...Deno.readDirSync(pids)].map(({ name }) => Number(name));
      const alive = await Promise.all(all.map(isAlive));
      return all.filter((_, n) => alive[n]);
    };
    await until(async () => (await started()).length === 2);
    await Deno.rename(program, `${program}-away`);
    Deno.kill((await started())[0], "SIGKILL");
    const fails = () =>
      events.filter(({ message }) => /could not be started/.test(message));
    await until(() => fails().length >= 2);
    assert.equal((await started()).length, 1);
    await Deno.rename(`${program}-away`, program);
    await until(async () => (await started()).length === 2);
    supervisor.stop("SIGTERM");
    // It ends by the signal, not having a handler.
    assert.equal(await running, 0);
  },
});

Deno.test({
  name: "CoreProcesses.run() ends with 1 where the program is not there at all",
  ignore,
  async fn() {
    const { events, logger } = recordLog();
    const supervisor = new CoreProcesses({
      command: ["/nowhere/program"],
      processes: 2,
      hostname: "127.0.0.1",
      port: freePort(),
      log: logger,
    });
    assert.equal(await supervisor.run(), 1);
    const [{ message, properties }, ...others] = events;
    assert.equal(message, "No process can be started");
    assert.match(String(properties.error), /NotFound/);
    assert.deepEqual(others, []);
  },
});

for (const second of [false, true]) {
  Deno.test({
    name: `a process that stalls is killed ${
      second ? "soon after a second signal" : "when its time is over"
    }`,
    ignore,
    async fn() {
      await using directory = new TemporaryDirectory();
      const port = freePort();
      const source = `${directory.path}/program.ts`;
      // Stopped as soon as it listens.
      await Deno.writeTextFile(
        source,
        `Deno.listen({ hostname: "127.0.0.1", port: ${port} });
        Deno.writeTextFileSync("${source}.pid", String(Deno.pid));
        Deno.kill(Deno.pid, "SIGSTOP");`,
      );
      const { events, logger } = recordLog();
      const supervisor = new CoreProcesses({
        command: [Deno.execPath(), "run", "--allow-all", source],
        processes: 1,
        hostname: "127.0.0.1",
        port,
        log: logger,
        // The default would be longer than a test waits.
        killMilliseconds: second ? 2 ** 31 - 1 : 100,
      });
      const running = supervisor.run();
      await until(async () => {
        const pid = await Deno.readTextFile(`${source}.pid`).catch(() => "");
        if (pid === "") return false;
        return /\) T/.test(await Deno.readTextFile(`/proc/${pid}/stat`));
      });
      supervisor.stop("SIGTERM");
      if (second) {
        // Until the same signal counts as a second one.
        let isOver = false;
        running.then(() => isOver = true);
        await until(() => {
          supervisor.stop("SIGINT");
          return isOver;
        });
      }
      assert.equal(await running, 1);
      assert.match(events.at(-1)!.message, /Killing/);
    },
  });
}

Deno.test({
  name: "SIGTERM while a process starts ends all with 0",
  ignore,
  async fn() {
    await using cores = await Cores.listening();
    const [victim, other] = await childrenOf(cores);
    Deno.kill(victim, "SIGKILL");
    await until(async () =>
      (await childrenOf(cores)).some((pid) => pid !== victim && pid !== other)
    );
    Deno.kill(cores.pid, "SIGTERM");
    assert.equal(await cores.end(), 0);
  },
});

Deno.test({
  name: "a wrong setting of ts cores ends it in one line, with its fix",
  ignore,
  async fn() {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = taken.addr as Deno.NetAddr;
    for (
      const [env, words] of [
        [{ PORT: `${port}` }, /^PORT: got "\d+", wants a port that is free/],
        [
          { PORT: "3000", PROCESSES: "x" },
          /^PROCESSES: got "x", wants a number above 0\./,
        ],
      ] as const
    ) {
      await using task = new Process(["task", "--quiet", "ts", "cores"], {
        env: { KV_PATH: ":memory:", ...env },
      });
      assert.notEqual(await task.end(), 0);
      assert.match(task.output, words);
      assert.match(task.output, / Fix: .*\n$/);
    }
  },
});

Deno.test({
  name: "SIGKILL to the deno task that starts them ends all in good order",
  ignore,
  async fn() {
    const port = freePort();
    await using task = new Process(["task", "--quiet", "ts", "cores"], {
      env: { PROCESSES: "2", KV_PATH: ":memory:", PORT: String(port) },
    });
    await task.prints(/"Listening"[\s\S]*"Listening"/);
    Deno.kill(task.pid, "SIGKILL");
    // Its output ends with the last process that writes to it.
    await task.end();
    assert.equal(task.output.match(/"Stopping"/g)!.length, 2);
    Deno.listen({ hostname: "127.0.0.1", port }).close();
  },
});

for (const first of [undefined, "SIGTERM"] as const) {
  Deno.test({
    name: `SIGKILL to the one that starts them ends the others in good order${
      first ? `, after ${first} too` : ""
    }`,
    ignore,
    async fn() {
      await using cores = await Cores.listening();
      const { origin } = cores;
      const children = await childrenOf(cores);
      const counting = rpc("tools/call", {
        name: "countdown",
        arguments: { from: 3 },
        _meta: { progressToken: "p" },
      });
      const response = await post(origin, counting, await openSession(origin));
      const reader = response.body!.pipeThrough(new TextDecoderStream())
        .getReader();
      let text = (await reader.read()).value!;
      if (first) {
        Deno.kill(cores.pid, first);
        text += (await reader.read()).value;
      }
      Deno.kill(cores.pid, "SIGKILL");
      for (let read; !(read = await reader.read()).done;) text += read.value;
      assert.match(text, /Lift-off/);
      await until(async () =>
        !(await Promise.all(children.map(isAlive))).includes(true)
      );
      const { hostname, port } = new URL(origin);
      Deno.listen({ hostname, port: Number(port) }).close();
    },
  });
}

Deno.test({
  name: "each process exports its metrics as an instance of the service",
  ignore,
  async fn() {
    await using collector = new Collector();
    await using _ = new Cores({
      ...collector.environment,
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    });
    const instances = new Set<unknown>();
    await until(() => {
      for (const resource of collector.resources) {
        const { "service.instance.id": instance, ...rest } = resource;
        assert.equal(rest["deployment.environment.name"], "test");
        if (instance !== undefined) instances.add(instance);
      }
      return instances.size === 2;
    });
  },
});

Deno.test({
  name: "a mistake in the settings is told once, and ends all with its code",
  ignore,
  async fn() {
    await using cores = new Cores({ AUTH_STRATEGY: "magic" });
    assert.equal(await cores.end(), 1);
    assert.equal(cores.output.match(/AUTH_STRATEGY: got/g)!.length, 1);
  },
});

Deno.test({
  name: "a port that another service shares is not shared with it",
  ignore,
  async fn() {
    await using cores = new Cores();
    await cores.prints(/"Listening"/);
    await using second = new Cores({ PORT: new URL(cores.origin).port });
    assert.equal(await second.end(), 1);
    assert.match(
      second.output,
      /^PORT: got "\d+", wants a port that is free on 127\.0\.0\.1\. Fix: .*\n$/,
    );
  },
});

Deno.test({
  name: "SIGTERM ends all though no one reads what they write",
  ignore,
  async fn() {
    await using directory = new TemporaryDirectory();
    const fifo = `${directory.path}/fifo`;
    // The shell holds the other end, and does not read.
    const shell =
      `mkfifo ${fifo}; exec 3<>${fifo}; "${Deno.execPath()}" "$@" ` +
      `>${fifo} & echo started; wait; echo over`;
    await using cores = new Cores({ LOG_LEVEL: "debug" }, shell);
    await cores.prints(/started/);
    const { origin: url } = cores;
    const reaches = () =>
      fetch(`${url}/health`).then((it) => it.body?.cancel());
    await until(() => reaches().then(() => true, () => false));
    const [pid] = await childrenOf(cores);
    const [server] = await childrenOf({ pid });
    // More lines than a pipe holds, of 64 KiB.
    for (let n = 0; n < 500; n++) await reaches();
    Deno.kill(pid, "SIGTERM");
    await cores.prints(/over/);
    assert(!await isAlive(server));
  },
});

Deno.test({
  name: "servers go on when no one reads their log any more",
  ignore,
  async fn() {
    const shell = `"${Deno.execPath()}" "$@" | head -n 1; sleep 1000`;
    await using cores = new Cores({ LOG_LEVEL: "debug" }, shell);
    const { origin: url } = cores;
    await cores.prints(/"Listening"/);
    const session = await openSession(url);
    // The process that the shell started first.
    const [pid] = await childrenOf(cores);
    await until(async () => (await childrenOf({ pid })).length === 2);
    // Each call is a log line that cannot be written.
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
