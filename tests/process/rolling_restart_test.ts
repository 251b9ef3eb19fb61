/**
 * Two real processes behind a proxy, restarted in turns under load.
 *
 *     deno task test restarts 20
 */
import assert from "node:assert/strict";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { type Answering, BASE_URL } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import { browserOf } from "../kit/browser.ts";
import { freePort } from "../kit/port.ts";
import { Events, messagesOf } from "../kit/answer.ts";
import {
  type HeadersOf,
  initialize,
  type Json,
  rpc,
  statelessMeta,
} from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import {
  callHealth,
  openSession,
  type Process,
  startProcess,
  TemporaryDirectory,
} from "../kit/process.ts";

const RESTARTS = Number(Deno.args[0] ?? 6);
const CLIENTS = 16;

/** The pause between a proxy's probes of a server, as in the guide. */
const PROBE_MILLISECONDS = 1000;

/** A server as the proxy sees it. */
interface Upstream {
  url: string;
  isReady: boolean;
}

/**
 * Sends requests to ready servers in turns over persistent connections, as
 * proxies do. A request that was sent is never repeated: a tool may have run.
 */
class Proxy implements AsyncDisposable {
  readonly upstreams: Upstream[] = [];
  #turn = 0;
  #probes = setInterval(() => this.#probe(), PROBE_MILLISECONDS);
  #listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => this.#pass(request),
  );

  get url(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}`;
  }

  async #probe(): Promise<void> {
    for (const upstream of this.upstreams) {
      const { url } = upstream;
      upstream.isReady = await fetch(`${url}/ready`).then(async (response) => {
        await response.body?.cancel();
        return response.ok;
      }, () => false);
    }
  }

  async #pass(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const body = request.body ? await request.bytes() : undefined;
    const sent = { method, headers, body, redirect: "manual" } as const;
    const ready = this.upstreams.filter(({ isReady }) => isReady);
    const first = this.#turn++;
    for (let tries = 0;; tries++) {
      const { url } = ready[(first + tries) % ready.length];
      try {
        return await fetch(url + pathname + search, sent);
      } catch (error) {
        const { cause } = error as Error;
        // Nothing was sent yet, so the next server may get it.
        const isRefused = `${cause}`.includes("Connection refused");
        if (!isRefused || tries === ready.length) {
          return Response.json({ result: `${cause}` }, { status: 502 });
        }
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#probes);
    await this.#listener.shutdown();
  }
}

Deno.test(`${RESTARTS} rolling restarts under load fail no call and lose no session`, async () => {
  await using directory = new TemporaryDirectory();
  const start = () =>
    startProcess({
      directory: directory.path,
      env: { KV_PATH: `${directory.path}/tools.db` },
    });
  await using stack = new AsyncDisposableStack();
  const servers: Process[] = [];
  const proxy = stack.use(new Proxy());
  for (let n = 0; n < 2; n++) {
    servers.push(stack.use(await start()));
    proxy.upstreams.push({ url: await servers[n].url(), isReady: true });
  }

  let calls = 0;
  let isOver = false;
  const failures: string[] = [];
  const sessionId = await openSession(proxy.url);
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver) {
      calls++;
      try {
        const status = await callHealth(proxy.url, sessionId);
        if (status !== 200) failures.push(String(status));
      } catch (error) {
        failures.push(String(error));
      }
    }
  });
  for (let restart = 0; restart < RESTARTS; restart++) {
    const turn = restart % 2;
    const before = calls;
    servers[turn].kill("SIGTERM");
    assert.equal(await servers[turn].end(), 0);
    servers[turn] = stack.use(await start());
    const url = await servers[turn].url();
    proxy.upstreams[turn] = { url, isReady: true };
    assert(calls > before, "there was no load");
  }
  isOver = true;
  await Promise.all(clients);
  assert.deepEqual(failures, [], `of ${calls} calls`);
  console.log(`${RESTARTS} restarts: ${calls} calls, all answered with 200`);
});

/** The state of a client that the next restart must not lose. */
interface Connected {
  client: Client;
  tokens: Json;
  sessionId: string;
}

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Signs in through the development provider's page. */
async function connect(server: Answering): Promise<Connected> {
  const client = await Client.register(server);
  const browser = browserOf(server);
  const consent = await browser.open(client.authorizationUrl());
  const page = await browser.press(consent, "decision", "approve");
  const arrival = await browser.press(page, "name", "Ada Lovelace");
  const { status, body } = await client.redeem(client.codeFrom(arrival));
  assert.equal(status, 200, JSON.stringify(body));
  const response = await send(
    server,
    body,
    initialize("2025-11-25", { elicitation: {} }),
  );
  await response.body?.cancel();
  const sessionId = response.headers.get("mcp-session-id")!;
  return { client, tokens: body, sessionId };
}

async function send(
  server: Answering,
  tokens: Json,
  message: Json,
  headers: HeadersOf = {},
): Promise<Response> {
  const response = await server.fetch("/mcp", {
    method: "POST",
    headers: {
      authorization: `Bearer ${tokens.access_token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify(message),
  });
  assert(response.ok, `${response.status} ${message.method}`);
  return response;
}

/** Refreshes, and calls in the existing session. */
async function refreshAndCall(
  server: Answering,
  connected: Connected,
): Promise<void> {
  const { client, tokens: { refresh_token }, sessionId } = connected;
  const { status, body } = await client.refresh(refresh_token);
  assert.equal(status, 200, JSON.stringify(body));
  connected.tokens = body;
  const call = rpc("tools/call", { name: "whoami", arguments: {} });
  const response = await send(server, body, call, {
    "mcp-session-id": sessionId,
  });
  const [{ result }] = await messagesOf(response);
  assert.match(result.content[0].text, /^dev:/);
}

/** Gets a question, does something else, and answers. */
async function beAsked(
  server: Answering,
  { tokens, sessionId }: Connected,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const headers = { "mcp-session-id": sessionId };
  const call = rpc("tools/call", { name: "confirm", arguments: {} });
  const events = new Events(await send(server, tokens, call, headers));
  const { id } = await events.read();
  await meanwhile();
  const result = { action: "accept", content: { word: "yes" } };
  const answer = { jsonrpc: "2.0", id, result };
  await (await send(server, tokens, answer, headers)).body?.cancel();
  const told = await events.read();
  assert.equal(told.result.content[0].text, "yes");
  await events.close();
}

/** Starts a task and waits for its result. */
async function work(server: Answering, { tokens }: Connected): Promise<void> {
  async function request(method: string, params: Json): Promise<Json> {
    const message = rpc(method, { ...params, _meta: statelessMeta(TASKS) });
    const response = await send(server, tokens, message, {
      "mcp-protocol-version": STATELESS_REVISION,
      "mcp-method": method,
      "mcp-name": params.name ?? params.taskId,
    });
    return (await messagesOf(response))[0].result;
  }

  const params = { name: "work", arguments: {} };
  const { taskId } = await request("tools/call", params);
  let task: Json;
  await until(async () => {
    task = await request("tasks/get", { taskId });
    return task.status !== "working";
  });
  assert.equal(task.status, "completed");
  assert.equal(task.result.content[0].text, "done");
}

Deno.test("rolling restarts lose no sign-in, session, question or task", async () => {
  await using directory = new TemporaryDirectory();
  await using stack = new AsyncDisposableStack();
  const proxy = stack.use(new Proxy());
  async function start(): Promise<{ process: Process; upstream: Upstream }> {
    const port = freePort();
    const process = stack.use(
      await startProcess({
        directory: directory.path,
        entry: "tests/process/restart_server.ts",
        env: {
          KV_PATH: `${directory.path}/tools.db`,
          AUTH_STRATEGY: "oauth",
          OAUTH_PROVIDER: "dev",
          BASE_URL,
          CALLS_PER_MINUTE: "0",
          PORT: String(port),
        },
      }),
    );
    await process.url();
    const url = `http://127.0.0.1:${port}`;
    return { process, upstream: { url, isReady: true } };
  }
  const servers = [await start(), await start()];
  proxy.upstreams.push(...servers.map(({ upstream }) => upstream));
  const server: Answering = {
    async fetch(path, init) {
      for (;;) {
        const response = await fetch(proxy.url + path, {
          ...init,
          redirect: "manual",
        });
        // A server that is stopping begins no task, so nothing has happened
        // yet.
        if (!response.headers.has("retry-after")) return response;
        await response.body?.cancel();
      }
    },
  };

  let isOver = false;
  const done = { "sign-ins": 0, refreshes: 0, questions: 0, tasks: 0 };
  const repeat = async (
    what: keyof typeof done,
    action: () => Promise<unknown>,
  ) => {
    while (!isOver) {
      await action();
      done[what]++;
    }
  };
  const [first, second, third] = [
    await connect(server),
    await connect(server),
    await connect(server),
  ];
  const clients = Promise.all([
    repeat("sign-ins", () => connect(server)),
    repeat("refreshes", () => refreshAndCall(server, first)),
    repeat(
      "questions",
      () => beAsked(server, second, () => work(server, second)),
    ),
    repeat("tasks", () => work(server, third)),
  ]);
  clients.catch(() => isOver = true);
  for (let restart = 0; restart < 4 && !isOver; restart++) {
    const turn = restart % 2;
    const before = { ...done };
    servers[turn].process.kill("SIGTERM");
    assert.equal(await servers[turn].process.end(), 0);
    servers[turn] = await start();
    proxy.upstreams[turn] = servers[turn].upstream;
    await until(() =>
      isOver || done["sign-ins"] > before["sign-ins"] &&
        done.refreshes > before.refreshes &&
        done.questions > before.questions && done.tasks > before.tasks
    );
  }
  isOver = true;
  await clients;
});
