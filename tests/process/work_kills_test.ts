/**
 * Durable work on two real processes, one of which is killed, or paused until
 * its work was taken over.
 *
 *     deno task test work 20
 */
import assert from "node:assert/strict";
import type { Json } from "../kit/message.ts";
import { resultOf } from "../kit/answer.ts";
import { Process, TemporaryDirectory } from "../kit/process.ts";
import { RemoteServer } from "../kit/server.ts";

/** One kill each; the work of many tasks is in the process that is killed. */
const ROUNDS = Number(Deno.args[0] ?? 1);
const TASKS = 25;
const TAKEOVER_SECONDS = 35;
const PATIENCE_MILLISECONDS = 120_000;
const capabilities = {
  extensions: { "io.modelcontextprotocol/tasks": {} },
  elicitation: {},
};

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Processes on one database, and the log of what their work did. */
class Walk implements AsyncDisposable {
  readonly #directory = new TemporaryDirectory();
  readonly #processes: Process[] = [];

  async start(): Promise<{ process: Process; server: RemoteServer }> {
    const process = new Process(
      ["run", "--quiet", "--allow-all", "tests/process/walk_server.ts"],
      {
        env: {
          HOST: "127.0.0.1",
          KV_PATH: `${this.#directory.path}/walk.db`,
          WALK_LOG: this.#path,
          CALLS_PER_MINUTE: "0",
        },
      },
    );
    this.#processes.push(process);
    return { process, server: new RemoteServer(await process.url()) };
  }

  async lines(): Promise<Line[]> {
    const text = await Deno.readTextFile(this.#path).catch(() => "");
    return text.trim().split("\n").filter(Boolean).map((line) => {
      const [what, taskId, step, value, pid, at] = line.split(" ");
      return { what, taskId, step, value, pid: Number(pid), at: Number(at) };
    });
  }

  get #path(): string {
    return `${this.#directory.path}/walk.log`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#processes) {
      await process[Symbol.asyncDispose]();
    }
    await this.#directory[Symbol.asyncDispose]();
  }
}

interface Line {
  what: string;
  taskId: string;
  step: string;
  value: string;
  pid: number;
  at: number;
}

async function begin(server: RemoteServer, name: string): Promise<string> {
  const { taskId } = await resultOf(
    server.call("tools/call", { name }, { capabilities }),
  );
  return taskId;
}

/** Follows a task to its end, and answers its question. */
async function follow(server: RemoteServer, taskId: string): Promise<Json> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    assert(performance.now() < deadline, "a task goes on for ever");
    const task = await resultOf(
      server.call("tasks/get", { taskId }, { capabilities }),
    );
    if (task.status === "input_required") {
      const on = { action: "accept", content: { sure: true } };
      const inputResponses = { on };
      const answer = { taskId, inputResponses };
      await resultOf(server.call("tasks/update", answer, { capabilities }));
    } else if (task.status !== "working") return task;
    await pause(200);
  }
}

Deno.test(`${ROUNDS} kills of a process with ${TASKS} tasks repeat no kept step, and lose none`, async () => {
  await using walk = new Walk();
  let one = await walk.start();
  const other = await walk.start();
  const counts = { tasks: 0, hit: 0, repeated: 0, lost: 0, slowest: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const taskIds = await Promise.all(
      Array.from({ length: TASKS }, () => begin(one.server, "walk")),
    );
    const following = Promise.all(
      taskIds.map((taskId) => follow(other.server, taskId)),
    );
    // Before its sleep, or after it and in its question.
    const isLate = Math.random() < 0.5;
    await pause(Math.random() * 800 + (isLate ? 7000 : 0));
    const { pid } = one.process;
    const at = Date.now();
    await one.process.stop("SIGKILL");
    one = await walk.start();
    const ends = await following;
    const lines = await walk.lines();
    for (const [index, taskId] of taskIds.entries()) {
      const { status, result } = ends[index];
      assert.equal(status, "completed", JSON.stringify(ends[index]));
      const own = lines.filter((line) => line.taskId === taskId);
      counts.tasks++;
      const values = JSON.parse(result.content[0].text);
      const kept = new Map<string, string>();
      for (const { what, step, value } of own) {
        if (what === "run" && kept.has(step)) counts.repeated++;
        if (what !== "kept") continue;
        if (kept.has(step) && kept.get(step) !== value) counts.repeated++;
        kept.set(step, value);
      }
      for (const [step, value] of Object.entries(values)) {
        if (kept.get(step) !== value) counts.lost++;
      }
      if (kept.size !== 21) counts.lost++;
      // Begun by the one that died, and not in it afterwards.
      const last = own.findLast((line) => line.pid === pid && line.at <= at);
      const next = own.find((line) => line.at > at && line.pid !== pid);
      const isHit = last && at - last.at < 1000 && last.step !== "s7" &&
        last.step !== "s14" && last.step !== "s20";
      if (!isHit || !next) continue;
      counts.hit++;
      counts.slowest = Math.max(counts.slowest, (next.at - at) / 1000);
    }
  }
  console.log(JSON.stringify(counts));
  assert.deepEqual([counts.repeated, counts.lost], [0, 0]);
  assert(counts.slowest < TAKEOVER_SECONDS, `${counts.slowest} s`);
});

Deno.test("a process that was paused until its work was taken over keeps nothing", async () => {
  await using walk = new Walk();
  const paused = await walk.start();
  const other = await walk.start();
  const taskId = await begin(paused.server, "hold");
  const runs = async (what: string) =>
    (await walk.lines()).filter((line) => line.what === what);
  while ((await runs("run")).length === 0) await pause(20);
  paused.process.kill("SIGSTOP");
  const { result } = await follow(other.server, taskId);
  assert.equal(result.content[0].text, `${other.process.pid}`);
  paused.process.kill("SIGCONT");
  while ((await runs("done")).length < 2) await pause(20);
  // It has thrown away what it did, and goes on serving.
  const again = await follow(paused.server, taskId);
  assert.deepEqual(again.result, result);
});
