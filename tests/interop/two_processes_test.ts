import assert from "node:assert/strict";
import { until } from "../kit/wait.ts";
import { startOn } from "./fixture_server.ts";
import type { ServerProcess } from "../kit/server_process.ts";
import { Events, isStream, statusOf } from "../kit/answer.ts";
import { rpc } from "../kit/message.ts";
import { RemoteServer, type TestSession } from "../kit/server.ts";

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

/** Opens a session at one process, and gives it at both. */
async function openOn(
  { url }: ServerProcess,
  other: ServerProcess,
  capabilities = {},
): Promise<[TestSession, TestSession]> {
  const session = await new RemoteServer(url).openSession({ capabilities });
  return [session, session.at(new RemoteServer(other.url))];
}

/** Calls a tool in a session and gives the status and the text. */
async function call(
  session: TestSession,
  name: string,
  args = {},
): Promise<[number, string]> {
  const params = { name, arguments: args };
  const response = await session.request("tools/call", params);
  return [response.status, await response.text()];
}

const ADA = { name: "Ada" };

Deno.test("a session survives the crash of the process that made it", () =>
  withTwo(async (first, second, kvPath) => {
    const [here, there] = await openOn(first, second);
    assert.equal((await call(here, "greet", ADA))[0], 200);
    await first.crash();
    assert.match((await call(there, "greet", ADA))[1], /Ada/);
    await using third = await startOn(kvPath);
    const later = here.at(new RemoteServer(third.url));
    assert.match((await call(later, "greet", ADA))[1], /Ada/);
  }));

Deno.test("a session that ended on one process is soon gone on the other", () =>
  withTwo(async (first, second) => {
    const [here, there] = await openOn(first, second);
    assert.equal((await call(there, "greet", ADA))[0], 200);
    assert.equal(await statusOf(here.end()), 202);
    await until(async () => (await call(there, "greet", ADA))[0] === 404);
  }));

Deno.test("an answer posted to the other process reaches the tool that asked", () =>
  withTwo(async (first, second) => {
    const [here, there] = await openOn(first, second, { elicitation: {} });
    const params = { name: "test_elicitation", arguments: { message: "?" } };
    for (let n = 1; n <= 50; n++) {
      const response = await here.request("tools/call", params);
      assert(isStream(response));
      let result;
      for await (const message of new Events(response)) {
        if (message.method === "elicitation/create") {
          const content = { username: `u${n}`, email: "a@example.com" };
          const answer = { action: "accept", content };
          const { id } = message;
          const taken = there.post({ jsonrpc: "2.0", id, result: answer });
          assert.equal(await statusOf(taken), 202);
        } else result = JSON.stringify(message.result);
      }
      assert.match(`${result}`, new RegExp(`u${n}\\b`));
    }
  }));

Deno.test("a cancellation posted to the other process ends the call without an answer", () =>
  withTwo(async (first, second) => {
    const [here, there] = await openOn(first, second);
    let answer: string | undefined;
    const calling = call(here, "slow_compute", { seconds: 60 })
      .then(([_, text]) => answer = text);
    // The call may not have begun when the first one arrives.
    await until(async () => {
      const cancelled = { requestId: 1 };
      const taken = there.notify("notifications/cancelled", cancelled);
      assert.equal(await statusOf(taken), 202);
      return answer !== undefined;
    });
    assert.doesNotMatch(await calling, /jsonrpc/);
  }));

Deno.test("sessions of one process are those of the other, and made-up ones of none", () =>
  withTwo(async (first, second) => {
    const both = await openOn(second, first);
    for (const session of both) {
      const { id, server } = session;
      const made = id.replace(/.$/, (last) => last === "a" ? "b" : "a");
      assert.equal((await call(session, "greet", ADA))[0], 200);
      const ping = rpc("ping");
      const wrong = server.post(ping, { "mcp-session-id": made });
      assert.equal(await statusOf(wrong), 404);
      assert.equal(await statusOf(server.post(ping)), 400);
    }
  }));
