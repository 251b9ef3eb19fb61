/**
 * `deno task ts cores` under load, while its processes are killed and stopped,
 * and the one that starts them is stopped.
 *
 *     deno task test cores 100
 */
import assert from "node:assert/strict";
import { freePort } from "../kit/port.ts";
import { rpc } from "../kit/message.ts";
import { openSession } from "../kit/process.ts";
import { until } from "../kit/wait.ts";
import { childrenOf, Cores, isAlive } from "./cores.ts";

const ROUNDS = Number(Deno.args[0] ?? 3);
const CLIENTS = 6;
/** Longer than a process runs before it counts as one that stays. */
const STEADY_MILLISECONDS = 5500;

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function pick<T>(all: readonly T[]): T {
  return all[Math.floor(Math.random() * all.length)];
}

/** Stops a process for a while. */
async function stall(pid: number): Promise<void> {
  Deno.kill(pid, "SIGSTOP");
  await pause(Math.random() * 2000);
  Deno.kill(pid, "SIGCONT");
}

const seen = new Map<number, number>();

/**
 * Waits until some processes have run for long enough to be started again at
 * once: those that end soon after their start are given up, which is right.
 */
async function steady(cores: Cores, count: number): Promise<number[]> {
  for (;;) {
    const now = performance.now();
    const pids = await childrenOf(cores);
    for (const pid of pids) if (!seen.has(pid)) seen.set(pid, now);
    const old = pids.filter((pid) =>
      now - seen.get(pid)! > STEADY_MILLISECONDS
    );
    if (old.length >= count) return old;
    await pause(50);
  }
}

async function kill(cores: Cores, count: number): Promise<void> {
  const pids = await steady(cores, count);
  for (const pid of pids.slice(0, count)) Deno.kill(pid, "SIGKILL");
}

/** Kills and stalls of the processes, and of the one that starts them. */
const BLOWS: Record<string, (cores: Cores) => Promise<void>> = {
  "a kill": (cores) => kill(cores, 1),
  async "a stall"(cores) {
    await stall(pick(await childrenOf(cores)));
  },
  async "a kill while the one that starts them stalls"(cores) {
    const [pid] = await steady(cores, 1);
    const stalled = stall(cores.pid);
    Deno.kill(pid, "SIGKILL");
    await stalled;
  },
  "a kill of all": (cores) => kill(cores, 2),
  "a stall of the one that starts them": (cores) => stall(cores.pid),
};

/** A client whose every call goes over a new connection, to any process. */
class Caller {
  calls = 0;
  /** Calls whose connection was cut. */
  cut = 0;
  /** The longest call, in milliseconds. */
  slowest = 0;

  constructor(readonly url: string, readonly session: string) {}

  async call(): Promise<void> {
    const began = performance.now();
    try {
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      const response = await fetch(`${this.url}/mcp`, {
        client,
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-session-id": this.session,
        },
        body: JSON.stringify(rpc("tools/call", { name: "health" })),
      });
      assert.equal(response.status, 200);
      const { result } = await response.json();
      assert.equal(result.structuredContent.status, "ok");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.cut++;
    }
    this.calls++;
    this.slowest = Math.max(this.slowest, performance.now() - began);
    // Some load, and not all that the machine has.
    await pause(10);
  }
}

Deno.test({
  name:
    `${ROUNDS} kills and stalls of processes on one port lose no session, and all calls are answered again`,
  ignore: Deno.build.os !== "linux",
  async fn() {
    const port = String(freePort());
    await using cores = new Cores({ CALLS_PER_MINUTE: "0", PORT: port });
    await cores.prints(/"Listening"[\s\S]*"Listening"/);
    const { origin } = cores;
    let isOver = false;
    const callers = await Promise.all(
      Array.from(
        { length: CLIENTS },
        async () => new Caller(origin, await openSession(origin)),
      ),
    );
    const calling = Promise.all(callers.map(async (caller) => {
      while (!isOver) await caller.call();
    }));
    calling.catch(() => isOver = true);
    const names = Object.keys(BLOWS);
    for (let round = 0; round < ROUNDS && !isOver; round++) {
      const name = round < names.length ? names[round] : pick(names);
      await BLOWS[name](cores);
      await until(async () => (await childrenOf(cores)).length === 2);
      // Each of them answers again.
      const before = callers.map(({ calls, cut }) => calls - cut);
      await until(() =>
        isOver ||
        callers.every(({ calls, cut }, n) => calls - cut >= before[n] + 10)
      );
    }
    // The one that starts them dies under load: they end in good order.
    const children = await childrenOf(cores);
    Deno.kill(cores.pid, "SIGKILL");
    await until(async () =>
      !(await Promise.all(children.map(isAlive))).includes(true)
    );
    isOver = true;
    await calling;
    Deno.listen({ hostname: "127.0.0.1", port: Number(port) }).close();
    console.log(JSON.stringify(callers.map(({ calls, cut, slowest }) => ({
      calls,
      cut,
      slowest: Math.round(slowest),
    }))));
  },
});
