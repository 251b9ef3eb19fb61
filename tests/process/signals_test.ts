import assert from "node:assert/strict";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { Events } from "../kit/answer.ts";
import { rpc, statelessMeta } from "../kit/message.ts";
import { until } from "../kit/wait.ts";
import {
  callHealth,
  openSession,
  post,
  Process,
  startProcess,
} from "../kit/process.ts";

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  Deno.test(`${signal} ends an idle server with 0`, async () => {
    await using server = await startProcess();
    await server.url();
    server.kill(signal);
    assert.equal(await server.end(), 0);
  });
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`${signal} tells a running tool to stop, and lets its answer out`, async () => {
    await using server = await startProcess({
      entry: "tests/process/waiting.ts",
    });
    const url = await server.url();
    const call = rpc("tools/call", {
      name: "wait",
      arguments: {},
      _meta: { progressToken: "p" },
    });
    const response = await post(url, call, await openSession(url));
    const reader = response.body!.pipeThrough(new TextDecoderStream())
      .getReader();
    let text = "";
    while (!text.includes("notifications/progress")) {
      text += (await reader.read()).value;
    }
    // Sent twice, because `deno task` passes on a signal that the terminal
    // sends to both.
    server.kill(signal);
    server.kill(signal);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    assert.match(text, /"id":1/);
    assert.equal(await server.end(), 0);
    assert.match(server.output, /"tool":"wait".*"outcome":"stopped"/);
  });
}

/** Sends a part of a request, and waits until the server has it. */
async function stick(url: string): Promise<Deno.Conn> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(
    new TextEncoder().encode(
      "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n" +
        "content-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    ),
  );
  // Once a later request is served, the first one is being read.
  await openSession(url);
  return connection;
}

/** Begins a call that takes two seconds. */
async function countDown(url: string): Promise<Response> {
  const call = rpc("tools/call", {
    name: "countdown",
    arguments: { from: 2 },
    _meta: { progressToken: "p" },
  });
  return await post(url, call, await openSession(url));
}

Deno.test("a terminal that closes lets a call finish, and ends the server", async () => {
  await using server = await startProcess({ terminal: true });
  const url = await server.url();
  const response = await countDown(url);
  // The holder of the other end of the terminal.
  Deno.kill(server.pid, "SIGKILL");
  assert.match(await response.text(), /Lift-off/);
  await until(() =>
    fetch(`${url}/health`).then(
      async (it) => !await it.body!.cancel().then(() => true),
      () => true,
    )
  );
});

Deno.test("a server that deno task started ends in good order when the task is killed", async () => {
  await using task = new Process(["task", "--quiet", "start"], {
    env: { KV_PATH: ":memory:" },
  });
  const url = await task.url();
  const response = await countDown(url);
  Deno.kill(task.pid, "SIGKILL");
  assert.match(await response.text(), /Lift-off/);
  // Its output ends with the last process that writes to it.
  assert.notEqual(await task.end(), 0);
  assert.match(task.output, /"Stopping"/);
  await assert.rejects(fetch(url));
});

Deno.test("SIGTERM lets a call finish that takes seconds, and its answer is no error", async () => {
  await using server = await startProcess();
  const url = await server.url();
  const response = await countDown(url);
  const reader = response.body!.pipeThrough(new TextDecoderStream())
    .getReader();
  let text = (await reader.read()).value!;
  server.kill("SIGTERM");
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += read.value;
  }
  assert.doesNotMatch(text, /isError/);
  assert.match(text, /"id":1/);
  assert.equal(await server.end(), 0);
  assert.match(server.output, /"tool":"countdown".*"outcome":"ok"/);
});

/** Listens to changes of tools. */
async function listen(url: string): Promise<Events> {
  const method = "subscriptions/listen";
  const notifications = { toolsListChanged: true };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": STATELESS_REVISION,
      "mcp-method": method,
    },
    body: JSON.stringify(
      rpc(method, { notifications, _meta: statelessMeta() }),
    ),
  });
  const events = new Events(response);
  await events.read();
  return events;
}

Deno.test("SIGTERM ends what only listens at once, and calls go on", async () => {
  await using server = await startProcess();
  const url = await server.url();
  const listening = await listen(url);
  const call = rpc("tools/call", {
    name: "countdown",
    arguments: { from: 2 },
    _meta: { progressToken: "p" },
  });
  const counting = new Events(await post(url, call, await openSession(url)));
  await counting.read();
  const ended: string[] = [];
  const drain = async (name: string, events: Events) => {
    const messages = await Array.fromAsync(events);
    ended.push(name);
    return messages.at(-1).result;
  };
  server.kill("SIGTERM");
  const [complete, counted] = await Promise.all([
    drain("listening", listening),
    drain("counting", counting),
  ]);
  assert.deepEqual(ended, ["listening", "counting"]);
  assert.equal(complete.resultType, "complete");
  assert.notEqual(counted.isError, true);
  assert.equal(await server.end(), 0);
});

Deno.test("SIGTERM makes a server unready, whose answers then end their connections", async () => {
  await using server = await startProcess();
  const url = await server.url();
  const sessionId = await openSession(url);
  server.kill("SIGTERM");
  await server.prints(/Stopping/);
  const ready = await fetch(`${url}/ready`);
  assert.equal(ready.status, 503);
  assert.equal(ready.headers.get("connection"), "close");
  assert.deepEqual(await ready.json(), { status: "stopping" });
  assert.equal(await callHealth(url, sessionId), 200);
  assert.equal(await server.end(), 0);
});

/** Measures the time from SIGTERM to a good end, while a request is stuck. */
async function secondsToEnd(server: Process): Promise<number> {
  using _stuck = await stick(await server.url());
  const killed = performance.now();
  server.kill("SIGTERM");
  assert.equal(await server.end(), 0);
  return (performance.now() - killed) / 1000;
}

Deno.test("SIGTERM waits for a stuck request no longer than ten seconds", async () => {
  await using server = await startProcess();
  const seconds = await secondsToEnd(server);
  assert(seconds > 9 && seconds < 15, `${seconds} s`);
});

Deno.test("SIGTERM waits for a stuck request no longer than five seconds on Deno Deploy", async () => {
  await using server = await startProcess({
    env: {
      DENO_DEPLOYMENT_ID: "d1",
      KV_PATH: "",
      // The place where Deno.openKv() opens the platform's database.
      DENO_KV_DEFAULT_PATH: ":memory:",
    },
  });
  const seconds = await secondsToEnd(server);
  assert(seconds > 4 && seconds < 8, `${seconds} s`);
});

Deno.test("a second signal ends the server at once", async () => {
  await using server = await startProcess();
  using _stuck = await stick(await server.url());
  server.kill("SIGTERM");
  await server.prints(/Stopping/);
  const again = setInterval(() => {
    try {
      server.kill("SIGTERM");
    } catch {
      // It has ended.
    }
  }, 100);
  assert.notEqual(await server.end().finally(() => clearInterval(again)), 0);
});
