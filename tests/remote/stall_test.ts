/**
 * A database that is stopped for 40 s and goes on, which carries out what
 * it was sent meanwhile. By hand: `deno task test remote`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { postJson } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import { signInAt } from "../kit/open_id_provider.ts";
import { browserOf } from "../kit/browser.ts";
import { anyOf, persistent, Refreshing } from "../kit/refreshing.ts";
import { connect } from "../kit/walk.ts";
import { type Json, rpc, statelessMeta } from "../kit/message.ts";
import { messagesOf } from "../kit/answer.ts";
import { until } from "../kit/wait.ts";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { remoteTest } from "../kit/remote.ts";

const STALL_SECONDS = 40;
const CLIENTS = 40;
const CODES = 10;
const TASKS = 10;

const pause = (milliseconds: number) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

remoteTest(
  `a database that stalls for ${STALL_SECONDS} s ends no connection and no code`,
  async ({ database, provider, start }) => {
    const processes = await start();
    const server = anyOf(processes);
    const codes: [Client, string][] = [];
    const refreshing: Refreshing[] = [];
    for (let n = 0; n < CLIENTS; n++) {
      const { client, tokens } = await connect(processes, provider.issuer);
      client.server = server;
      refreshing.push(new Refreshing(client, tokens.refresh_token));
    }
    for (let n = 0; n < CODES; n++) {
      const client = await Client.register(processes);
      const browser = browserOf(processes, { issuer: provider.issuer });
      const page = await browser.open(client.authorizationUrl());
      const away = await browser.press(page, "decision", "approve");
      const back = await signInAt(provider.issuer, browser, away);
      client.server = server;
      codes.push([client, client.codeFrom(back)]);
    }
    await database.stop();
    const redeemed = Promise.all(
      codes.map(([client, code]) => persistent(() => client.redeem(code))),
    );
    await pause(STALL_SECONDS * 1000);
    await database.goOn();
    const answers = await redeemed;
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
    const refused = answers.filter(({ status }) => status !== 200);
    console.log(
      `${lost.length} of ${CLIENTS} clients and ${refused.length} of ` +
        `${CODES} codes lost`,
    );
    assert.deepEqual(lost, []);
    assert.deepEqual(refused.map(({ body }) => body), []);
  },
);

remoteTest(
  `a database that stalls for ${STALL_SECONDS} s ends no task of a process that lives`,
  async ({ database, provider, start }) => {
    const processes = await start(undefined, "tests/remote/patient_server.ts");
    const { tokens } = await connect(processes, provider.issuer);
    const server = anyOf(processes);
    const _meta = statelessMeta({
      extensions: { "io.modelcontextprotocol/tasks": {} },
    });
    const ask = async (method: string, params: Json) => {
      const response = await postJson(
        server,
        "/mcp",
        rpc(method, { ...params, _meta }),
        {
          accept: "application/json, text/event-stream",
          authorization: `Bearer ${tokens.access_token}`,
          "mcp-protocol-version": STATELESS_REVISION,
          "mcp-method": method,
          "mcp-name": params.name ?? params.taskId,
        },
      );
      return (await messagesOf(response)).at(-1) ?? {};
    };
    const tasks: string[] = [];
    for (let n = 0; n < TASKS; n++) {
      const params = { name: "patient", arguments: {} };
      const answer = await ask("tools/call", params);
      assert(answer.result, JSON.stringify(answer));
      tasks.push(answer.result.taskId);
    }
    await database.stop();
    // Any process that looks meanwhile may judge.
    const ends = Promise.all(tasks.map(async (taskId) => {
      for (;;) {
        const { result } = await ask("tasks/get", { taskId });
        if (result && result.status !== "working") return result.status;
        await pause(500);
      }
    }));
    await pause(STALL_SECONDS * 1000);
    await database.goOn();
    assert.deepEqual(await ends, tasks.map(() => "completed"));
  },
);
