/**
 * Load of every kind on several processes, of which some die: people at work,
 * each in rounds that continue with the state of the last one.
 *
 * @module
 */
import assert from "node:assert/strict";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { DIED } from "../../src/features/work/tasks.ts";
import { Events, messagesOf, statusOf } from "./answer.ts";
import { type Arrival, type Browser, browserOf } from "./browser.ts";
import { Client } from "./client.ts";
import { initialize, type Json, rpc, statelessMeta } from "./message.ts";
import { type OpenIdProvider, signInAt } from "./open_id_provider.ts";
import type { Processes } from "./processes.ts";

const PATIENCE_MILLISECONDS = 90_000;

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The processes behind a proxy that sends each request to the next one. */
export class Line {
  /** The deaths so far, of processes and of their database. */
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
    const _meta = statelessMeta({ extensions, elicitation: {} });
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

/**
 * Returns the last message of an answer; undefined if its process was killed.
 */
async function lastOf(response: Response): Promise<Json> {
  try {
    return (await messagesOf(response)).at(-1);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return undefined;
  }
}

/** Signs in as far as the code; undefined if a page says to begin again. */
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
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  while (performance.now() < deadline) {
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
  assert(arrival.status >= 400 && arrival.status < 500, arrival.text);
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

/**
 * Reads a task until it has ended. Only a process that lives for a while takes
 * over from the dead, so the patience begins anew with each death.
 *
 * @param read gives undefined where its process died meanwhile
 */
async function ended(
  line: Line,
  read: () => Promise<Json | undefined>,
): Promise<Json> {
  let deadline = 0;
  for (let kills = -1;; await pause(100)) {
    if (line.kills > kills) {
      deadline = performance.now() + PATIENCE_MILLISECONDS;
    }
    kills = line.kills;
    assert(performance.now() < deadline, "a task goes on for ever");
    const found = await read();
    if (found === undefined) continue;
    assert(found.result, `a task is never lost: ${JSON.stringify(found)}`);
    if (found.result.status !== "working") return found.result;
  }
}

const working: Load = (line, _client, { access_token }) => async () => {
  const { kills } = line;
  const begun = await lastOf(
    await line.stateless("tools/call", { name: "work" }, access_token),
  );
  if (begun === undefined) return assert(line.kills > kills);
  const { taskId } = begun.result;
  const task = await ended(
    line,
    async () =>
      await lastOf(await line.stateless("tasks/get", { taskId }, access_token)),
  );
  if (task.status === "completed") {
    assert.equal(task.result.content[0].text.length, 100_000);
  } else {
    assert.deepEqual([task.status, task.error], ["failed", DIED]);
    assert(line.kills > kills, "a task fails with its process only");
  }
};

/** Answers a question of durable work, which sleeps before it. */
const resting: Load = (line, _client, { access_token }) => async () => {
  const { kills } = line;
  const ask = async (method: string, params: Json) =>
    await lastOf(await line.stateless(method, params, access_token));
  const begun = await ask("tools/call", { name: "rest" });
  if (begun === undefined) return assert(line.kills > kills);
  const { taskId } = begun.result;
  const task = await ended(line, async () => {
    const found = await ask("tasks/get", { taskId });
    if (found?.result?.status !== "input_required") return found;
    const on = { action: "accept", content: {} };
    const answered = await ask("tasks/update", {
      taskId,
      inputResponses: { on },
    });
    assert(answered === undefined || answered.result, JSON.stringify(answered));
  });
  assert.equal(task.status, "completed", JSON.stringify(task));
  assert.match(task.result.content[0].text, /^accept [\w-]{36}$/);
};

/** Follows a task on a stream, from one to the next where they end. */
const listening: Load = (line, _client, { access_token }) => async () => {
  const { kills } = line;
  const work = await line.stateless(
    "tools/call",
    { name: "work" },
    access_token,
  );
  const begun = await lastOf(work);
  if (begun === undefined) return assert(line.kills > kills);
  const notifications = { taskIds: [begun.result.taskId] };
  for (;;) {
    const { kills } = line;
    const events = new Events(
      await line.stateless(
        "subscriptions/listen",
        { notifications },
        access_token,
      ),
    );
    try {
      for await (const { params } of events) {
        const status = params?.status ?? "working";
        if (status !== "working") return;
      }
    } catch {
      // The process of the stream has died.
    } finally {
      await events.close().catch(() => {});
    }
    assert(line.kills > kills, "a stream ends with its process only");
  }
};

/** Opens a page, signed in as its person, and answers there. */
async function visit(
  { provider: { issuer } }: Line,
  browser: Browser,
  link: string,
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  let page = await browser.open(link);
  while (!/You said|has arrived/.test(page.text)) {
    assert(performance.now() < deadline, page.text);
    if (page.status === 503) await pause(100);
    if (page.text.includes('value="done"')) {
      page = await browser.press(page, "answer", "done");
    } else if (page.text.includes("/account/sign-in")) {
      const away = await browser.press(page, "", "");
      page = await signInAt(issuer, browser, away);
    } else page = await browser.open(link);
  }
}

/** Follows a link to a page, answers there, and calls again. */
const visiting: Load = (line, _client, { access_token }) => {
  const browser = browserOf(line, { issuer: line.provider.issuer });
  let order = 0;
  return async () => {
    const params = { name: "pay", arguments: { order: `${++order}` } };
    const call = async (): Promise<Json> => {
      for (;;) {
        const { kills } = line;
        const answer = await lastOf(
          await line.stateless("tools/call", params, access_token),
        );
        if (answer?.result) return answer.result;
        assert(line.kills > kills, JSON.stringify(answer));
      }
    };
    for (let visits = 0;; visits++) {
      const { kills } = line;
      const { isError, content: [{ text }] } = await call();
      if (!isError) return assert.equal(text, "accept");
      // An answer is lost only with the process that took it.
      assert(visits === 0 || line.kills > kills, text);
      const [link] = /^http\S*$/m.exec(text) ?? [];
      assert(link, text);
      await visit(line, browser, link);
    }
  };
};

const LOADS = {
  signingIn,
  refreshing,
  calling,
  asking,
  working,
  resting,
  listening,
  visiting,
};

/**
 * Lets a person do each kind of work until something has happened, and checks
 * that every promise was kept.
 *
 * @param kill lets processes die, and counts their deaths in `line.kills`
 */
export async function underLoad(
  processes: Processes,
  provider: OpenIdProvider,
  kill: (line: Line) => Promise<void>,
): Promise<Record<string, number>> {
  const line = new Line(processes, provider);
  const people = await Promise.all(
    Object.entries(LOADS).map(async ([name, load]) => {
      // A client for each kind of work: of too many sign-ins of one client, the
      // oldest end.
      const client = await Client.register(line);
      const tokens = await signIn(line, client);
      return {
        name,
        client,
        tokens,
        load: load(line, client, tokens),
        rounds: 0,
      };
    }),
  );

  let isOver = false;
  const working = Promise.all(people.map(async (person) => {
    while (!isOver) {
      await person.load();
      person.rounds++;
    }
  }));
  const killing = kill(line).finally(() => isOver = true);
  try {
    await Promise.race([working, killing.then(() => working)]);
  } finally {
    isOver = true;
    await Promise.allSettled([working, killing]);
  }

  for (const { name, client, tokens, rounds } of people) {
    assert(rounds > 0, `there was no ${name}`);
    // The many sign-ins of this client may have ended the first.
    if (name === "signingIn") continue;
    await refreshing(line, client, tokens)();
  }
  await signingIn(line, people[0].client, {})();
  return Object.fromEntries(people.map(({ name, rounds }) => [name, rounds]));
}
