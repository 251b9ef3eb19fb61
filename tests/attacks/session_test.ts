/** Sessions, tasks and states of other people, and states that were changed. */
import assert from "node:assert/strict";
import { Events } from "../kit/answer.ts";
import { type Json, rpc, statelessMeta } from "../kit/message.ts";
import {
  attacks,
  each,
  type Person,
  rpcRefusal,
  startTarget,
  type Target,
} from "../kit/target.ts";
import { RemoteServer } from "../kit/server.ts";

const ELICITATION = { elicitation: { form: {} } };
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Signs two people in, and opens a session of the first. */
async function victimAndThief(target: Target) {
  const victim = await target.person("victim");
  const session = await target.session(victim.auth);
  const thief = await target.person("thief");
  return { victim, thief, session };
}

function inSession(
  target: Target,
  { auth }: Person,
  session: string,
  body: unknown,
) {
  return target.json("/mcp", body, { ...auth, "mcp-session-id": session });
}

attacks("a session opens for no one but its person", {
  "to nothing that is posted": async (target) => {
    const { thief, session } = await victimAndThief(target);
    for (
      const body of [
        rpc("ping"),
        [rpc("ping")],
        { jsonrpc: "2.0", method: "notifications/cancelled", params: {} },
        { jsonrpc: "2.0", id: 1, result: {} },
      ]
    ) {
      const answer = await inSession(target, thief, session, body);
      assert.equal(rpcRefusal(answer), "404 -32001");
    }
  },
  "to its end": async (target) => {
    const { victim, thief, session } = await victimAndThief(target);
    const answer = await target.ask("/mcp", {
      method: "DELETE",
      headers: { ...thief.auth, "mcp-session-id": session },
    });
    assert.equal(answer.status, 404);
    const own = await inSession(target, victim, session, rpc("ping"));
    assert.equal(own.status, 200);
  },
  "and sounds the same as one that does not exist": async (target) => {
    const { thief, session } = await victimAndThief(target);
    const other = `${session.slice(0, -1)}${session.endsWith("A") ? "B" : "A"}`;
    const [theirs, none] = await Promise.all(
      [session, other].map((id) => inSession(target, thief, id, rpc("ping"))),
    );
    assert.equal(theirs.status, none.status);
    assert.equal(theirs.text, none.text);
  },
  "to a question's answer by someone else": async (target) => {
    const { victim, thief, session } = await victimAndThief(target);
    const response = await new RemoteServer(target.url).post(
      rpc("tools/call", { name: "meet" }, 7),
      { ...victim.auth, "mcp-session-id": session },
    );
    const events = new Events(response);
    const question = await events.read();
    const answer = (name: string) => ({
      jsonrpc: "2.0",
      id: question.id,
      result: { action: "accept", content: { name } },
    });
    const forged = await inSession(target, thief, session, answer("Thief"));
    assert.equal(forged.status, 404);
    const own = await target.session(thief.auth);
    await inSession(target, thief, own, answer("Thief"));
    await inSession(target, victim, session, answer("Victim"));
    const result = await events.read();
    assert.match(JSON.stringify(result), /Hello Victim/);
    await events.close();
  },
});

attacks(
  "a session's name is never guessed or taken apart",
  each([
    "",
    "1",
    "null",
    "../x",
    "a".repeat(3000),
    "__proto__",
    "%00",
    "x y",
    '{"binding":"x"}',
  ], async (target, session) => {
    const { auth } = await target.person("jo");
    const headers = { ...auth, "mcp-session-id": session };
    const { status } = await target.json("/mcp", rpc("ping"), headers);
    assert.equal(status, session === "" ? 400 : 404);
  }),
);

/** Sends one round of a request that asks, and gives its state. */
async function round(
  target: Target,
  { auth }: Person,
  params: Json = {},
): Promise<{ requestState: string; key: string; text: string }> {
  const answer = await target.call(
    "tools/call",
    { name: "meet", arguments: {}, ...params },
    auth,
    ELICITATION,
  );
  const { result } = JSON.parse(answer.text);
  const [key] = Object.keys(result?.inputRequests ?? {});
  return { requestState: result?.requestState, key, text: answer.text };
}

function answering(
  target: Target,
  { auth }: Person,
  { requestState, key }: { requestState: unknown; key: string },
  params: Json = {},
) {
  return target.call(
    "tools/call",
    {
      name: "meet",
      arguments: {},
      inputResponses: { [key]: { action: "accept", content: { name: "X" } } },
      requestState,
      ...params,
    },
    auth,
    ELICITATION,
  );
}

/** Checks that a changed state is refused, and that its owner's still works. */
function tampered(change: (state: string) => unknown) {
  return async (target: Target) => {
    const person = await target.person("jo");
    const asked = await round(target, person);
    const requestState = change(asked.requestState);
    const answer = await answering(target, person, { ...asked, requestState });
    assert.equal(rpcRefusal(answer), "200 -32602");
    const own = await answering(target, person, asked);
    assert.match(own.text, /Hello X/);
  };
}

attacks("a request state opens for its person, its request and a while", {
  "not with a letter changed": tampered((state) =>
    `${state.slice(0, 40)}${state[40] === "A" ? "B" : "A"}${state.slice(41)}`
  ),
  "not cut": tampered((state) => state.slice(0, -4)),
  "not longer": tampered((state) => `${state}AAAA`),
  "not as JSON in the clear": tampered(() =>
    JSON.stringify({ answered: {}, asked: {}, expiresAt: 9e9 })
  ),
  "not as a JWE of direct encryption with a key of zeros": tampered(() =>
    `${btoa('{"alg":"dir","enc":"A256GCM"}')}..AAAA.AAAA.AAAA`
  ),
  "not of another server": async (target) => {
    await using other = await startTarget();
    const asked = await round(other, await other.person("jo"));
    const answer = await answering(target, await target.person("jo"), asked);
    assert.equal(rpcRefusal(answer), "200 -32602");
  },
  "and says nothing in the clear": async (target) => {
    const { requestState } = await round(target, await target.person("jo"));
    // These words are too long to appear in random letters by chance.
    assert.doesNotMatch(requestState, /elicitation|inputRequests|boundTo/);
    assert.doesNotMatch(
      requestState.split(".").map((part) => atobSafe(part)).join(),
      /victim|"who"|expiresAt/,
    );
  },
});

function atobSafe(text: string): string {
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}

async function startTask(target: Target, { auth }: Person): Promise<string> {
  const answer = await target.call(
    "tools/call",
    { name: "wait", arguments: {} },
    auth,
    TASKS,
  );
  const { result } = JSON.parse(answer.text);
  assert(result?.taskId, answer.text);
  return result.taskId;
}

/**
 * Compares the answers to a thief for a victim's task and for one that does not
 * exist.
 */
function forTask(method: string, params: Json = {}) {
  return async (target: Target) => {
    const victim = await target.person("victim");
    const taskId = await startTask(target, victim);
    const thief = await target.person("thief");
    const ask = (taskId: string, { auth }: Person) =>
      target.call(method, { taskId, ...params }, auth, TASKS);
    const theirs = await ask(taskId, thief);
    assert.equal(rpcRefusal(theirs), "200 -32602");
    const unknown = taskId.slice(0, -1) + (taskId.endsWith("A") ? "B" : "A");
    const none = await ask(unknown, thief);
    assert.equal(theirs.text, none.text.replace(unknown, taskId));
    for (const wrong of [1, undefined]) {
      const refused = target.call(
        method,
        { taskId: wrong, ...params },
        victim.auth,
        TASKS,
      );
      assert.equal(rpcRefusal(await refused), "200 -32602");
    }
    const get = target.call("tasks/get", { taskId }, victim.auth, TASKS);
    assert.equal(JSON.parse((await get).text).result.status, "working");
    const own = await ask(taskId, victim);
    assert.equal(JSON.parse(own.text).error, undefined, own.text);
    await target.call("tasks/cancel", { taskId }, victim.auth, TASKS);
  };
}

attacks("a task is its person's", {
  "to look at": forTask("tasks/get"),
  "to answer": forTask("tasks/update", { inputResponses: {} }),
  "to cancel": forTask("tasks/cancel"),
  ...each([
    "x",
    "__proto__",
    "../x",
    "a".repeat(3000),
    "\u0000",
  ], async (target, taskId) => {
    const { auth } = await target.person("jo");
    const body = rpc("tasks/get", { taskId, _meta: statelessMeta(TASKS) });
    const answer = await target.json("/mcp", body, {
      ...auth,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tasks/get",
      "mcp-name": `=?base64?${btoa(taskId)}?=`,
    });
    assert.equal(rpcRefusal(answer), "200 -32602");
  }),
  "and no list names others'": async (target) => {
    const { auth } = await target.person("jo");
    const answer = await target.call("tasks/list", {}, auth, TASKS);
    assert.equal(JSON.parse(answer.text).error.code, -32601);
  },
});
