/**
 * The memory that clients can hold without reading or writing: directly, and
 * behind each proxy with its file in deploy/. Many more clients hold no more.
 *
 * @module
 */
import assert from "node:assert/strict";
import { connect } from "node:http2";
import { STATELESS_REVISION } from "../../src/core/protocol/revisions.ts";
import { statusOf } from "../kit/answer.ts";
import { keyServer } from "../kit/key_server.ts";
import { rpc, statelessMeta } from "../kit/message.ts";
import { freePort } from "../kit/port.ts";
import {
  type Process,
  startProcess,
  TemporaryDirectory,
} from "../kit/process.ts";
import { needing, PROXIES } from "../kit/proxies.ts";
import { until } from "../kit/wait.ts";

/**
 * The most memory that clients may hold by bodies, and by answers, in MB: what
 * the collector has not freed counts too. Without their bounds it is 500 and
 * more, and 1,700.
 */
const MAX_BODIES = 250;
const MAX_ANSWERS = 900;

const ISSUER = "https://issuer.example";

/** Makes the headers of a person's call of a tool. */
function callOf(tool: string, token: string) {
  return {
    ":method": "POST",
    ":path": "/mcp",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${token}`,
    "mcp-protocol-version": STATELESS_REVISION,
    "mcp-method": "tools/call",
    "mcp-name": tool,
  };
}

/** A server, and the address at which clients reach it. */
interface Reached {
  server: Process;
  /** The token of a person. */
  token: string;
  port: number;
  /** The certificate to trust, if a proxy is in front. */
  ca?: string;
  /** True if a proxy sends the headers with the first bytes of the body. */
  holdsHeaders?: boolean;
}

function megabytes({ server: { pid } }: Reached): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1000;
}

/** Opens connections that announce many bytes each and send one. */
async function announce(reached: Reached, count: number, bytes: number) {
  const stack = new DisposableStack();
  for (let sent = 0; sent < count; sent++) {
    stack.use(await post(reached, bytes, "a"));
  }
  // A server takes connections in their order: it reads the others by now.
  using whole = await post(reached, 1, "a");
  const answer = await whole.readable.getReader().read();
  assert.match(new TextDecoder().decode(answer.value), /^HTTP\/1.1 200 /);
  return stack;
}

/** Posts the beginning of a body that announces its bytes. */
async function post({ port, ca }: Reached, bytes: number, beginning: string) {
  const connection = ca === undefined
    ? await Deno.connect({ hostname: "127.0.0.1", port })
    : await Deno.connectTls({ hostname: "localhost", port, caCerts: [ca] });
  await connection.write(
    new TextEncoder().encode(
      `POST /webhook HTTP/1.1\r\nhost: localhost:${port}\r\n` +
        `content-length: ${bytes}\r\n\r\n${beginning}`,
    ),
  );
  return connection;
}

/** The answers to request, and in whose name. */
interface Asked {
  /** True for the calls of a person; else a stranger asks for pages. */
  isPerson: boolean;
  /** The tool, and the page, that answers. */
  name: "long" | "short";
  connections: number;
}

/** Requests answers on connections of HTTP/2 with a window of 0. */
async function request(
  reached: Reached,
  { isPerson, name, connections }: Asked,
) {
  const { server, port, ca, token, holdsHeaders } = reached;
  let answered = 0;
  const begun = server.output.length;
  const stack = new DisposableStack();
  const settings = { initialWindowSize: 0 };
  const params = { name, _meta: statelessMeta() };
  const body = JSON.stringify(rpc("tools/call", params));
  for (let opened = 0; opened < connections; opened++) {
    const session = ca === undefined
      ? connect(`http://127.0.0.1:${port}`, { settings })
      : connect(`https://localhost:${port}`, { ca, settings });
    stack.defer(() => session.destroy());
    session.on("error", () => {});
    for (let sent = 0; sent < 32; sent++) {
      const stream = session.request(
        isPerson ? callOf(name, token) : { ":path": `/${name}` },
      );
      stream.on("error", () => {});
      stream.on("response", () => answered++);
      stream.end(isPerson ? body : undefined);
    }
    await new Promise((resolve) => session.ping(resolve));
  }
  const seen = () =>
    server.output.slice(begun).split(/"tools\/call"|GET \/(?:long|short)/)
      .length - 1;
  // Refused pages are in no log.
  await until(() =>
    holdsHeaders
      ? seen() >= (isPerson ? 32 * connections : 2)
      : answered === 32 * connections
  );
  return stack;
}

/** Holds memory in each way, and looks at the most that is in use. */
async function attack(t: Deno.TestContext, reached: Reached): Promise<void> {
  const before = megabytes(reached);
  const asked: Omit<Asked, "isPerson">[] = [
    { name: "long", connections: 1 },
    { name: "long", connections: 10 },
  ];
  // A proxy takes short answers in at once.
  if (!reached.ca) asked.push({ name: "short", connections: 100 });
  for (
    const [held, bound, hold] of [
      ["30 bodies of 33 MB", MAX_BODIES, () => announce(reached, 30, 33e6)],
      ["150 bodies of 4 MB", MAX_BODIES, () => announce(reached, 150, 4e6)],
      ["300 short bodies after 300 others", MAX_BODIES, async () => {
        (await announce(reached, 300, 4000)).dispose();
        return await announce(reached, 300, 4000);
      }],
      ...[true, false].flatMap((isPerson) =>
        asked.map((it) =>
          [
            `${32 * it.connections} ${it.name} answers to a ${
              isPerson ? "person" : "stranger"
            }`,
            MAX_ANSWERS,
            () => request(reached, { isPerson, ...it }),
          ] as const
        )
      ),
    ] as const
  ) {
    await t.step(held, async () => {
      using _held = await hold();
      let most = 0;
      let looksSince = 0;
      await until(() => {
        const more = megabytes(reached) - before;
        looksSince = more > most + 1 ? 0 : looksSince + 1;
        most = Math.max(most, more);
        return looksSince > 70;
      });
      assert(most < bound, `${Math.round(most)} MB more`);
    });
  }
}

/** Starts the server, behind a proxy at an address if there is one. */
async function start(port: number, jwks: string, baseUrl?: string) {
  const server = await startProcess({
    entry: "tests/process/unread_server.ts",
    env: {
      PORT: String(port),
      LOG_LEVEL: "info",
      AUTH_STRATEGY: "jwt",
      JWT_ISSUER: ISSUER,
      JWT_AUDIENCE: "unread",
      JWT_JWKS_URL: jwks,
      CALLS_PER_MINUTE: "0",
      BASE_URL: baseUrl ?? `http://localhost:${port}`,
      ...baseUrl && { TRUSTED_PROXIES: "127.0.0.1" },
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

/** Makes the token of a person. */
function tokenOf(keys: Awaited<ReturnType<typeof keyServer>>) {
  const seconds = Math.floor(Date.now() / 1000);
  return keys.sign({
    iss: ISSUER,
    aud: "unread",
    sub: "ada",
    iat: seconds,
    exp: seconds + 3600,
  });
}

Deno.test("what clients hold of a server is bounded", async (t) => {
  const port = freePort();
  await using keys = await keyServer();
  await using server = await start(port, keys.url);
  await attack(t, { server, port, token: await tokenOf(keys) });
});

for (const [program, startProxy] of Object.entries(PROXIES)) {
  Deno.test(
    needing(program, `what clients hold behind ${program} is bounded`),
    async (t) => {
      await using directory = new TemporaryDirectory();
      const [http, https, port] = [freePort(), freePort(), freePort()];
      await using keys = await keyServer();
      const origin = `https://localhost:${https}`;
      await using server = await start(port, keys.url, origin);
      const ports = { http, https, servers: [port] };
      const proxy = await startProxy(directory.path, ports);
      await using _process = proxy.process;
      using client = Deno.createHttpClient({ caCerts: [proxy.ca] });
      await isServed(`https://localhost:${https}`, client);
      await attack(t, {
        server,
        token: await tokenOf(keys),
        port: https,
        ca: proxy.ca,
        holdsHeaders: program === "nginx",
      });
    },
  );
}
