/**
 * A database and the processes on it, killed in turns under refreshes and
 * durable work. By hand: `deno task test remote`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { connect } from "../kit/walk.ts";
import { postJson } from "../kit/server.ts";
import { anyOf, Refreshing } from "../kit/refreshing.ts";
import { type Json, rpc, statelessMeta } from "../kit/message.ts";
import { messagesOf } from "../kit/answer.ts";
import { pause, underLoad } from "../kit/mixed_load.ts";
import { until } from "../kit/wait.ts";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { remoteTest } from "../kit/remote.ts";

const CLIENTS = 20;
const TASKS = 10;
const ROUNDS = Number(Deno.args[0] ?? 8);

remoteTest(
  `${ROUNDS} kills of a database and of a process on it end no connection, and repeat no kept step`,
  async ({ database, provider, start }) => {
    const log = await Deno.makeTempFile();
    const processes = await start(undefined, "tests/process/walk_server.ts", {
      WALK_LOG: log,
      CALLS_PER_MINUTE: "0",
    });
    const server = anyOf(processes);
    const { tokens } = await connect(processes, provider.issuer);
    const refreshing: Refreshing[] = [];
    for (let n = 0; n < CLIENTS; n++) {
      const { client, tokens } = await connect(processes, provider.issuer);
      client.server = server;
      refreshing.push(new Refreshing(client, tokens.refresh_token));
    }
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    const _meta = statelessMeta({ extensions, elicitation: {} });
    /** Repeats a request until a process that lives answers it. */
    const ask = async (method: string, params: Json): Promise<Json> => {
      for (;;) {
        const message = rpc(method, { ...params, _meta });
        const response = await postJson(server, "/mcp", message, {
          accept: "application/json, text/event-stream",
          authorization: `Bearer ${tokens.access_token}`,
          "mcp-protocol-version": STATELESS_REVISION,
          "mcp-method": method,
          "mcp-name": params.name ?? params.taskId,
        }).catch(() => undefined);
        const last = await response?.clone().json().catch(() => undefined) ??
          (response && (await messagesOf(response).catch(() => [])).at(-1));
        if (last?.result) return last.result;
        const isAway = !response || response.status === 503 || !last;
        assert(isAway, JSON.stringify(last));
        await pause(200);
      }
    };
    const begun: string[] = [];
    for (let n = 0; n < TASKS; n++) {
      begun.push((await ask("tools/call", { name: "walk" })).taskId);
    }
    const ends = Promise.all(begun.map(async (taskId) => {
      for (;;) {
        const task = await ask("tasks/get", { taskId });
        if (task.status === "input_required") {
          const on = { action: "accept", content: { sure: true } };
          await ask("tasks/update", { taskId, inputResponses: { on } });
        } else if (task.status !== "working") return task;
        await pause(300);
      }
    }));
    for (let round = 0; round < ROUNDS; round++) {
      await pause(Math.random() * 2000);
      if (round % 2 === 0) {
        await database.kill();
        await pause(Math.random() * 3000);
        await database.start();
      } else {
        processes.next();
        await processes.replace();
      }
    }
    const tasks = await ends;
    const lines = (await Deno.readTextFile(log)).trim().split("\n");
    await Deno.remove(log);
    const kept = new Map<string, string>();
    for (const line of lines) {
      const [what, taskId, step, value] = line.split(" ");
      if (what !== "kept") continue;
      const known = kept.get(`${taskId} ${step}`);
      assert.equal(known ?? value, value, `${step} was repeated`);
      kept.set(`${taskId} ${step}`, value);
    }
    for (const [index, task] of tasks.entries()) {
      assert.equal(task.status, "completed", JSON.stringify(task));
      const values: Json = JSON.parse(task.result.content[0].text);
      for (const [step, value] of Object.entries(values)) {
        assert.equal(kept.get(`${begun[index]} ${step}`), value, step);
      }
    }
    const before = refreshing.map(({ refreshed }) => refreshed);
    await Promise.race([
      until(() =>
        refreshing.every(({ refreshed }, n) => refreshed >= before[n] + 3)
      ),
      Promise.all(refreshing.map(({ over }) => over)),
    ]);
    const ended = await Promise.allSettled(
      refreshing.map((client) => client.end()),
    );
    const lost = ended.filter(({ status }) => status === "rejected");
    assert.deepEqual(lost, []);
  },
);

remoteTest(
  `${ROUNDS} kills of a database and of a process on it under mixed load cost nothing that was promised`,
  async ({ database, provider, start }) => {
    const processes = await start(undefined, "tests/process/mixed_server.ts", {
      CALLS_PER_MINUTE: "0",
    });
    const rounds = await underLoad(processes, provider, async (line) => {
      for (let round = 0; round < ROUNDS; round++) {
        await pause(500 + Math.random() * 2000);
        line.kills++;
        if (round % 2 === 0) {
          await database.kill();
          await pause(Math.random() * 3000);
          await database.start();
        } else await processes.replace();
      }
    });
    console.log(JSON.stringify(rounds));
  },
);
