import assert from "node:assert/strict";
import { until } from "../kit/wait.ts";
import { startOn } from "./fixture_server.ts";
import type { ServerProcess } from "../kit/server_process.ts";
import { initialize, messages, post, postIn, statusOf } from "./wire.ts";

/** Runs `use` with two processes on one database file. */
async function withTwo(
  use: (
    first: ServerProcess,
    second: ServerProcess,
    kvPath: string,
  ) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const kvPath = `${directory}/two.db`;
    await using first = await startOn(kvPath);
    await using second = await startOn(kvPath);
    await use(first, second, kvPath);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Calls a tool in a session and gives the status and the text. */
async function call(
  url: string,
  session: string,
  name: string,
  args = {},
): Promise<[number, string]> {
  const response = await postIn(url, session, {
    id: 1,
    method: "tools/call",
    params: { name, arguments: args },
  });
  return [response.status, await response.text()];
}

const ADA = { name: "Ada" };

Deno.test("a session survives the crash of the process that made it", () =>
  withTwo(async (first, second, kvPath) => {
    const session = await initialize(first.url);
    assert.equal((await call(first.url, session, "greet", ADA))[0], 200);
    await first.crash();
    assert.match((await call(second.url, session, "greet", ADA))[1], /Ada/);
    await using third = await startOn(kvPath);
    assert.match((await call(third.url, session, "greet", ADA))[1], /Ada/);
  }));

Deno.test("a session that ended on one process is soon gone on the other", () =>
  withTwo(async (first, second) => {
    const session = await initialize(first.url);
    assert.equal((await call(second.url, session, "greet", ADA))[0], 200);
    const ended = await fetch(`${first.url}/mcp`, {
      method: "DELETE",
      headers: { "mcp-session-id": session },
    });
    assert.equal(await statusOf(ended), 202);
    await until(async () =>
      (await call(second.url, session, "greet", ADA))[0] === 404
    );
  }));

Deno.test("an answer posted to the other process reaches the tool that asked", () =>
  withTwo(async (first, second) => {
    const session = await initialize(first.url, { elicitation: {} });
    let answered = 0;
    for (let id = 1; id <= 50; id++) {
      const response = await postIn(first.url, session, {
        id,
        method: "tools/call",
        params: { name: "test_elicitation", arguments: { message: "?" } },
      });
      for await (const message of messages(response)) {
        if (message.method === "elicitation/create") {
          const taken = await postIn(second.url, session, {
            id: message.id,
            result: {
              action: "accept",
              content: { username: `u${id}`, email: "a@example.com" },
            },
          });
          assert.equal(await statusOf(taken), 202);
        } else {
          assert.match(JSON.stringify(message.result), new RegExp(`u${id}\\b`));
          answered++;
        }
      }
    }
    assert.equal(answered, 50);
  }));

Deno.test("a cancellation posted to the other process ends the call without an answer", () =>
  withTwo(async (first, second) => {
    const session = await initialize(first.url);
    const calling = postIn(first.url, session, {
      id: 7,
      method: "tools/call",
      params: { name: "slow_compute", arguments: { seconds: 60 } },
    }).then((response) => response.text());
    let answer: string | undefined;
    calling.then((text) => answer = text);
    // The call may not have begun when the first one arrives.
    await until(async () => {
      const taken = await postIn(second.url, session, {
        method: "notifications/cancelled",
        params: { requestId: 7 },
      });
      assert.equal(await statusOf(taken), 202);
      return answer !== undefined;
    });
    assert.doesNotMatch(await calling, /jsonrpc/);
  }));

Deno.test("sessions of one process are those of the other, and made-up ones of none", () =>
  withTwo(async (first, second) => {
    const session = await initialize(second.url);
    const made = session.replace(/.$/, (last) => last === "a" ? "b" : "a");
    for (const { url } of [first, second]) {
      assert.equal((await call(url, session, "greet", ADA))[0], 200);
      assert.equal((await call(url, made, "greet", ADA))[0], 404);
      const without = await post(url, { id: 1, method: "ping" });
      assert.equal(await statusOf(without), 400);
    }
  }));
