/**
 * The memory that clients can hold without reading or writing: directly, and
 * behind each proxy with its file in deploy/. Five times as many clients hold
 * no more.
 *
 * @module
 */
import assert from "node:assert/strict";
import { connect } from "node:http2";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { statusOf } from "../kit/answer.ts";
import { rpc, statelessMeta } from "../kit/message.ts";
import { freePort } from "../kit/port.ts";
import {
  type Process,
  startProcess,
  TemporaryDirectory,
} from "../kit/process.ts";
import { needing, PROXIES } from "../kit/proxies.ts";
import { until } from "../kit/wait.ts";

/** The most memory that clients may hold, in MB. */
const MAX_MEGABYTES = 350;

/** A server, and the address at which clients reach it. */
interface Reached {
  server: Process;
  port: number;
  /** The certificate to trust, if a proxy is in front. */
  ca?: string;
}

function megabytes({ server: { pid } }: Reached): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1000;
}

/** The requests that the server has logged. */
function served({ server: { output } }: Reached): number {
  return output.split(/tools\/call|GET \/long/).length - 1;
}

/** Opens connections that announce 4 MB each and send one byte. */
async function announce(reached: Reached, count: number) {
  const stack = new DisposableStack();
  const { port, ca } = reached;
  const hostname = ca === undefined ? "127.0.0.1" : "localhost";
  for (let sent = 0; sent < count; sent++) {
    const connection = stack.use(
      ca === undefined
        ? await Deno.connect({ hostname, port })
        : await Deno.connectTls({ hostname, port, caCerts: [ca] }),
    );
    await connection.write(
      new TextEncoder().encode(
        `POST /webhook HTTP/1.1\r\nhost: localhost:${port}\r\n` +
          "content-length: 4000000\r\n\r\na",
      ),
    );
  }
  return stack;
}

/** Requests long answers on one connection of HTTP/2 with a window of 0. */
async function request(reached: Reached, count: number) {
  const { port, ca } = reached;
  const settings = { initialWindowSize: 0 };
  const session = ca === undefined
    ? connect(`http://127.0.0.1:${port}`, { settings })
    : connect(`https://localhost:${port}`, { ca, settings });
  session.on("error", () => {});
  const before = served(reached);
  for (let sent = 0; sent < count; sent++) {
    const isCall = sent % 2 === 0;
    const stream = session.request(
      isCall
        ? {
          ":method": "POST",
          ":path": "/mcp",
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": STATELESS_REVISION,
          "mcp-method": "tools/call",
          "mcp-name": "long",
        }
        : { ":path": "/long" },
    );
    stream.on("error", () => {});
    const params = { name: "long", _meta: statelessMeta() };
    stream.end(isCall ? JSON.stringify(rpc("tools/call", params)) : undefined);
  }
  // A proxy serves some, and leaves the others for later.
  await until(() => served(reached) >= before + Math.min(count, 20));
  const stack = new DisposableStack();
  stack.defer(() => session.destroy());
  return stack;
}

/** Holds memory in each way, and looks at the most that is in use. */
async function attack(t: Deno.TestContext, reached: Reached): Promise<void> {
  const before = megabytes(reached);
  for (const count of [30, 150]) {
    for (
      const [what, hold] of [
        ["bodies that are only announced", announce],
        ["answers that no one reads", request],
      ] as const
    ) {
      await t.step(`${count} ${what}`, async () => {
        using _held = await hold(reached, count);
        let most = 0;
        let looks = 0;
        await until(() => {
          most = Math.max(most, megabytes(reached) - before);
          return ++looks > 20;
        });
        assert(most < MAX_MEGABYTES, `${Math.round(most)} MB more`);
      });
    }
  }
}

/** Starts the server, behind a proxy at an address if there is one. */
async function start(port: number, baseUrl?: string) {
  const server = await startProcess({
    entry: "tests/process/unread_server.ts",
    env: {
      PORT: String(port),
      LOG_LEVEL: "info",
      ...baseUrl && { BASE_URL: baseUrl, TRUSTED_PROXIES: "127.0.0.1" },
    },
  });
  await isServed(`http://127.0.0.1:${port}`);
  return server;
}

/** Waits until a server answers, or a proxy with its certificate. */
async function isServed(origin: string, client?: Deno.HttpClient) {
  await until(async () =>
    await statusOf(fetch(`${origin}/health`, { client })).catch(() => 0) === 200
  );
}

Deno.test("what clients hold of a server is bounded", async (t) => {
  const port = freePort();
  await using server = await start(port);
  await attack(t, { server, port });
});

for (const [program, startProxy] of Object.entries(PROXIES)) {
  Deno.test(
    needing(program, `what clients hold behind ${program} is bounded`),
    async (t) => {
      await using directory = new TemporaryDirectory();
      const [http, https, port] = [freePort(), freePort(), freePort()];
      await using server = await start(port, `https://localhost:${https}`);
      const ports = { http, https, servers: [port] };
      const proxy = await startProxy(directory.path, ports);
      await using _process = proxy.process;
      using client = Deno.createHttpClient({ caCerts: [proxy.ca] });
      await isServed(`https://localhost:${https}`, client);
      await attack(t, { server, port: https, ca: proxy.ca });
    },
  );
}
