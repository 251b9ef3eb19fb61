/**
 * Two real processes on one database file under mixed load, one of which is
 * killed again and again. Every promise is kept, by either of them.
 *
 *     deno task test:kills 100
 */
import assert from "node:assert/strict";
import { STATELESS_REVISION } from "../../src/protocol/revisions.ts";
import { DIED } from "../../src/store/task_end.ts";
import { type Arrival, browserOf } from "../kit/browser.ts";
import { BASE_URL } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import {
  type OpenIdProvider,
  signInAt,
  startOpenIdProvider,
} from "../kit/open_id_provider.ts";
import { Processes } from "../kit/processes.ts";
import { Events, messagesOf, statusOf } from "../kit/answer.ts";
import { initialize, type Json, rpc, statelessMeta } from "../kit/message.ts";

const KILLS = Number(Deno.args[0] ?? 6);
const PATIENCE_MILLISECONDS = 90_000;

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The processes behind a proxy that takes turns. */
class Line {
  kills = 0;
  constructor(
    readonly processes: Processes,
    readonly provider: OpenIdProvider,
  ) {}

  /**
   * Sends a request. 503 if the process died before its answer. No request may
   * be answered with 500.
   */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    this.processes.next();
    let response: Response;
    try {
      response = await this.processes.fetch(path, init);
    } catch {
      return Response.json({ error: "gone" }, { status: 503 });
    }
    if (response.headers.get("content-type") === "text/event-stream") {
      return response;
    }
    const { status, headers } = response;
    const body = await response.arrayBuffer().catch(() => undefined);
    if (!body) return Response.json({ error: "gone" }, { status: 503 });
    assert.notEqual(status, 500, new TextDecoder().decode(body));
    return new Response(body.byteLength > 0 ? body : null, { status, headers });
  }

  /** Posts a message, repeatedly until the answer is not 503. */
  async post(
    message: Json,
    token: string,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return await persistent(() =>
      this.fetch("/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          authorization: `Bearer ${token}`,
          ...headers,
        },
        body: JSON.stringify(message),
      })
    );
  }

  /** Sends a 2026 request. */
  stateless(method: string, params: Json, token: string): Promise<Response> {
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    const _meta = statelessMeta({ extensions });
    return this.post(rpc(method, { ...params, _meta }), token, {
      "mcp-protocol-version": STATELESS_REVISION,
      "mcp-method": method,
      "mcp-name": params.name ?? params.taskId,
    });
  }
}

/** Takes a step, and repeats it while it is answered with 503. */
async function persistent<T extends { status: number }>(
  step: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    const answer = await step();
    if (answer.status !== 503) return answer;
    assert(performance.now() < deadline, "503 for ever");
    await pause(50);
  }
}

/** Gives the last message of an answer; undefined if its process was killed. */
async function lastOf(response: Response): Promise<Json> {
  try {
    return (await messagesOf(response)).at(-1);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return undefined;
  }
}

/** Walks to the code; undefined if a page says to begin again. */
async function authorize(
  line: Line,
  client: Client,
): Promise<string | undefined> {
  const { issuer } = line.provider;
  const browser = browserOf(line, { issuer });
  const page = await persistent(() => browser.open(client.authorizationUrl()));
  assert.equal(page.status, 200, page.text);
  const approve = () => browser.press(page, "decision", "approve");
  let arrival: Arrival = await approve();
  for (let tries = 0; tries < 20; tries++) {
    arrival = await signInAt(issuer, browser, arrival);
    if (arrival.url.startsWith(client.redirectUri)) {
      return client.codeFrom(arrival);
    }
    if (arrival.status !== 503) break;
    await pause(100);
    arrival = arrival.url.endsWith("/authorize")
      ? await approve()
      : await browser.open(arrival.url);
  }
  assert(arrival.status >= 400 && arrival.status < 600, arrival.text);
  return undefined;
}

/** Signs in; begins again only if a kill happened after a step was used up. */
async function signIn(line: Line, client: Client): Promise<Json> {
  for (let tries = 0; tries < 10; tries++) {
    const { kills } = line;
    const code = await authorize(line, client);
    if (code !== undefined) {
      const { status, body } = await persistent(() => client.redeem(code));
      if (status === 200) return body;
      assert.equal(body.error, "invalid_grant");
    }
    assert(line.kills > kills, "without a kill, no sign-in is lost");
  }
  throw new Error("Signing in is wedged");
}

async function checkCall(line: Line, token: string): Promise<void> {
  const answer = await line.stateless("tools/call", { name: "whoami" }, token);
  assert.equal(answer.status, 200);
  const { result } = await answer.json();
  assert.equal(result.content[0].text, "jo of the tests");
}

/** A person at work: each round continues with the state of the last one. */
type Load = (line: Line, client: Client, tokens: Json) => () => Promise<void>;

const signingIn: Load = (line, client) => async () => {
  const { access_token } = await signIn(line, client);
  await checkCall(line, access_token);
};

const refreshing: Load = (line, client, tokens) => async () => {
  const { status, body } = await persistent(() =>
    client.refresh(tokens.refresh_token)
  );
  assert.equal(status, 200, JSON.stringify(body));
  Object.assign(tokens, body);
  await checkCall(line, tokens.access_token);
};

/** Opens a session whose client answers questions. */
async function openSession(line: Line, token: string) {
  const opened = await line.post(
    initialize("2025-11-25", { elicitation: {} }),
    token,
  );
  await opened.body?.cancel();
  assert.equal(opened.status, 200);
  return { "mcp-session-id": opened.headers.get("mcp-session-id")! };
}

const calling: Load = (line, _client, { access_token }) => {
  let session: Record<string, string> | undefined;
  return async () => {
    session ??= await openSession(line, access_token);
    const call = rpc("tools/call", { name: "whoami" });
    const answer = await line.post(call, access_token, session);
    assert.equal(answer.status, 200, "a session is never lost");
    const { result } = await answer.json();
    assert.equal(result.content[0].text, "jo of the tests");
  };
};

const asking: Load = (line, _client, { access_token }) => {
  let session: Record<string, string> | undefined;
  return async () => {
    session ??= await openSession(line, access_token);
    const { kills } = line;
    const call = rpc("tools/call", { name: "confirm" });
    const answer = await line.post(call, access_token, session);
    assert.equal(answer.status, 200);
    const events = new Events(answer);
    try {
      const { id, method } = await events.read();
      assert.equal(method, "elicitation/create");
      const reply = { jsonrpc: "2.0", id, result: { action: "decline" } };
      assert.equal(
        await statusOf(line.post(reply, access_token, session)),
        202,
      );
      const { result } = await events.read();
      assert.equal(result.content[0].text, "decline");
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      // A stream may end early only if its process died.
      assert(line.kills > kills, `${error}`);
    } finally {
      await events.close().catch(() => {});
    }
  };
};

const working: Load = (line, _client, { access_token }) => async () => {
  const { kills } = line;
  const begun = await lastOf(
    await line.stateless("tools/call", { name: "work" }, access_token),
  );
  if (begun === undefined) return assert(line.kills > kills);
  const { taskId } = begun.result;
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  let task: Json;
  do {
    assert(performance.now() < deadline, "a task goes on for ever");
    await pause(100);
    const found = await lastOf(
      await line.stateless("tasks/get", { taskId }, access_token),
    );
    assert(found.result, `a task is never lost: ${JSON.stringify(found)}`);
    task = found.result;
  } while (task.status === "working");
  if (task.status === "completed") {
    assert.equal(task.result.content[0].text.length, 100_000);
  } else {
    assert.deepEqual([task.status, task.error], ["failed", DIED]);
    assert(line.kills > kills, "a task fails with its process only");
  }
};

const LOADS = { signingIn, refreshing, calling, asking, working };

Deno.test(`${KILLS} kills of one of two processes under mixed load cost nothing that was promised`, async () => {
  await using provider = await startOpenIdProvider(BASE_URL);
  await using processes = new Processes(
    { ...provider.environment, CALLS_PER_MINUTE: "0" },
    { entry: "tests/process/mixed_server.ts" },
  );
  await Promise.all([processes.start(), processes.start()]);
  const line = new Line(processes, provider);
  const people = await Promise.all(
    Object.values(LOADS).map(async (load) => {
      // A client's own: of too many sign-ins of one, the oldest end.
      const client = await Client.register(line);
      const tokens = await signIn(line, client);
      return { client, tokens, load: load(line, client, tokens), rounds: 0 };
    }),
  );

  let isOver = false;
  const working = Promise.all(people.map(async (person) => {
    while (!isOver) {
      await person.load();
      person.rounds++;
    }
  }));
  const killing = (async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      await pause(200 + Math.random() * 800);
      line.kills++;
      await processes.replace();
    }
    isOver = true;
  })();
  try {
    await Promise.race([working, killing.then(() => working)]);
  } finally {
    isOver = true;
    await Promise.allSettled([working, killing]);
  }

  for (const [index, name] of Object.keys(LOADS).entries()) {
    const { client, tokens, rounds } = people[index];
    assert(rounds > 0, `there was no ${name}`);
    // Its many sign-ins may have ended the first.
    if (name === "signingIn") continue;
    await refreshing(line, client, tokens)();
  }
  await signingIn(line, people[0].client, {})();
});
