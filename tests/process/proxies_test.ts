/**
 * A server behind nginx and behind Caddy, each with its file in deploy/. If one
 * is not installed, its test says so and is left out.
 *
 * @module
 */
import assert from "node:assert/strict";
import { REACH_CHECKS } from "../../packages/doctor/checks_reach.ts";
import type { Fault } from "../../packages/doctor/finding.ts";
import { Site } from "../../packages/doctor/site.ts";
import { freePort } from "../kit/port.ts";
import { Events, statusOf } from "../kit/answer.ts";
import { initialize, rpc } from "../kit/message.ts";
import { Sender } from "../kit/server.ts";
import { until } from "../kit/wait.ts";
import { startProcess, TemporaryDirectory } from "../kit/process.ts";
import { needing, PROXIES, SHORT, startCaddy } from "../kit/proxies.ts";

/**
 * The client's address, which the proxy must pass on: the proxy itself is at
 * 127.0.0.1.
 */
const CLIENT_ADDRESS = "127.0.0.9";
const FORGED_ADDRESS = "198.51.100.7";

/** A client on another machine. */
class Client extends Sender implements Disposable {
  readonly #client: Deno.HttpClient;

  constructor(readonly origin: string, private readonly ca: string) {
    super();
    this.#client = Deno.createHttpClient({
      caCerts: [ca],
      localAddress: CLIENT_ADDRESS,
    });
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(new URL(path, this.origin), { ...init, client: this.#client });
  }

  /** Opens a connection and sends the beginning of a request. */
  async begin(text: string): Promise<Deno.TlsConn> {
    const { hostname, port } = new URL(this.origin);
    const caCerts = [this.ca];
    const connection = await Deno.connectTls({
      hostname,
      port: Number(port),
      caCerts,
    });
    await connection.write(new TextEncoder().encode(text));
    return connection;
  }

  /** Waits for the proxy: it may listen before it has its certificate. */
  isServed(): Promise<void> {
    return until(() =>
      statusOf(this.fetch("/health")).catch(() => 0)
        .then((status) => status === 200)
    );
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

/** Reads the first text on a connection; "" if it ends before. */
async function firstText(connection: Deno.TlsConn): Promise<string> {
  const reader = connection.readable.getReader();
  const { value } = await reader.read().catch(() => ({ value: undefined }));
  reader.releaseLock();
  return new TextDecoder().decode(value);
}

/** Reads events until there are no more, or it fails. */
async function readOn(events: Events): Promise<void> {
  while (await events.read());
}

/** Makes a call that goes on until its client leaves. */
function wait(client: Client, signal?: AbortSignal): Promise<Response> {
  const meta = { progressToken: 1 };
  return client.call("tools/call", { name: "wait" }, { meta, signal });
}

for (const [program, startProxy] of Object.entries(PROXIES)) {
  Deno.test(needing(program, `a server behind ${program}`), async (t) => {
    await using directory = new TemporaryDirectory();
    const ports = {
      http: freePort(),
      https: freePort(),
      servers: [freePort()],
    };
    const origin = `https://localhost:${ports.https}`;
    await using server = await startProcess({
      entry: "tests/process/waiting.ts",
      env: {
        BASE_URL: origin,
        PORT: String(ports.servers[0]),
        TRUSTED_PROXIES: "127.0.0.1",
        LOG_LEVEL: "debug",
      },
    });
    await server.prints(/"Listening"/);
    const proxy = await startProxy(directory.path, ports, SHORT[program]);
    await using _process = proxy.process;
    using client = new Client(origin, proxy.ca);
    await client.isServed();

    await t.step("is called over https", async () => {
      const response = await client.post(initialize("2025-11-25"));
      await response.body?.cancel();
      const session = response.headers.get("mcp-session-id")!;
      const headers = { "mcp-session-id": session };
      const list = await client.post(rpc("tools/list"), headers);
      assert.equal((await list.json()).result.tools[0].name, "wait");
      assert.match(
        list.headers.get("strict-transport-security")!,
        /^max-age=\d{8}/,
      );
    });

    await t.step("http is sent to https, and a POST stays one", async () => {
      const response = await fetch(`http://127.0.0.1:${ports.http}/mcp?a=b`, {
        method: "POST",
        redirect: "manual",
      });
      await response.body?.cancel();
      assert.equal(response.status, 308);
      const { protocol, hostname, pathname, search } = new URL(
        response.headers.get("location")!,
      );
      assert.deepEqual(
        [protocol, hostname, pathname, search],
        ["https:", "127.0.0.1", "/mcp", "?a=b"],
      );
    });

    await t.step("an event arrives while its call still runs", async () => {
      const leaving = new AbortController();
      const events = new Events(await wait(client, leaving.signal));
      assert.equal((await events.read()).method, "notifications/progress");
      // A client that leaves is noticed behind the proxy too.
      leaving.abort();
      await assert.rejects(readOn(events));
      await server.prints(/"tool":"wait".*"outcome":"cancelled"/);
    });

    await t.step(
      "the client's address counts, and not its claims",
      async () => {
        await statusOf(client.fetch("/nowhere", {
          headers: {
            "forwarded": `for=${FORGED_ADDRESS}`,
            "x-forwarded-for": FORGED_ADDRESS,
          },
        }));
        await server.prints(new RegExp(`"address":"${CLIENT_ADDRESS}"`));
        assert.doesNotMatch(server.output, new RegExp(FORGED_ADDRESS));
      },
    );

    await t.step("a method that there is not ends at the proxy", async () => {
      const response = await client.fetch("/health", { method: "DREAMT" });
      assert.equal(response.status, 405);
      assert(!(await response.text()).includes("must be one of"));
    });

    await t.step(
      "a body of 4 MB arrives, and one of 6 MB does not",
      async () => {
        const text = (megabytes: number) => `"${"a".repeat(megabytes << 20)}"`;
        assert.equal(await statusOf(client.post(text(3.9))), 400);
        assert.equal(await statusOf(client.post(text(6))), 413);
      },
    );

    await t.step("a body that is announced too long is refused", async () => {
      using connection = await client.begin(
        "POST /nowhere HTTP/1.1\r\nhost: localhost\r\n" +
          "content-length: 33000000\r\n\r\na",
      );
      assert.match(await firstText(connection), /^HTTP\/1.1 413 /);
    });

    await t.step("headers that do not end, end the connection", async () => {
      using connection = await client.begin("POST /mcp HTTP/1.1\r\nhost: l");
      assert.match(await firstText(connection), /^(HTTP\/1.1 408 |$)/);
    });

    await t.step("the doctor sees that both are bounded", async () => {
      assert.match(await halfSent(origin, proxy.ca), /^a request .* is ended$/);
    });

    await t.step("a stream goes on longer than any of these", async () => {
      const leaving = new AbortController();
      const events = new Events(await wait(client, leaving.signal));
      // It says something every 100 ms, and each time in the files is 1 s here.
      for (let read = 0; read < 20; read++) {
        assert.equal((await events.read()).method, "notifications/progress");
      }
      leaving.abort();
      await assert.rejects(readOn(events));
    });

    await t.step("what a query says is in no log", async () => {
      const code = "a-code-that-is-secret";
      const path = `/oauth/callback?code=${code}`;
      const written = async () =>
        proxy.process.output + server.output +
        (proxy.log ? await Deno.readTextFile(proxy.log) : "");
      await statusOf(client.fetch(path));
      if (proxy.log) {
        await until(async () => (await written()).includes("/oauth/callback"));
      }
      assert(!(await written()).includes(code));
      server.kill("SIGKILL");
      await server.end();
      const isAway = async () => await statusOf(client.fetch(path)) > 500;
      await until(isAway);
      await until(async () =>
        /\/oauth\/callback.*50[23]/.test(await written())
      );
      assert(!(await written()).includes(code), await written());
    });
  });
}

/** Runs the doctor's check of requests that do not end. */
async function halfSent(origin: string, ca?: string): Promise<string> {
  const { run } = REACH_CHECKS.find(({ name }) => /do not end/.test(name))!;
  const { hostname, port } = new URL(origin);
  const to = { hostname, port: Number(port) };
  return await run(
    new Site(origin, {
      connect: () =>
        ca ? Deno.connectTls({ ...to, caCerts: [ca] }) : Deno.connect(to),
      halfSentMilliseconds: ca ? 15_000 : 1500,
    }),
  );
}

const LESS = {
  nginx: [
    [[/add_header Strict.*/g, ""], /^Strict-Transport-Security/],
    [["client_max_body_size 5m", "client_max_body_size 1m"], /^Long bodies/],
  ],
  caddy: [
    [[/header Strict.*/g, ""], /^Strict-Transport-Security/],
    [["max_size 5MB", "max_size 1MB"], /^Long bodies/],
  ],
} satisfies Record<string, [[string | RegExp, string], RegExp][]>;

for (const [program, cases] of Object.entries(LESS)) {
  Deno.test(
    needing(
      program,
      `the doctor names what is taken from the file of ${program}`,
    ),
    async () => {
      const port = freePort();
      const https = freePort();
      const origin = `https://localhost:${https}`;
      await using server = await startProcess({
        entry: "tests/process/waiting.ts",
        env: {
          BASE_URL: origin,
          PORT: String(port),
          TRUSTED_PROXIES: "127.0.0.1",
        },
      });
      await server.prints(/"Listening"/);
      for (
        const [change, expected] of [undefined, ...cases].map((it) => it ?? [])
      ) {
        await using directory = new TemporaryDirectory();
        const ports = { http: freePort(), https, servers: [port] };
        const proxy = await PROXIES[program as keyof typeof PROXIES](
          directory.path,
          ports,
          [...SHORT[program], ...change ? [change] : []],
        );
        await using _process = proxy.process;
        using client = new Client(origin, proxy.ca);
        await client.isServed();
        if (!change) {
          await Deno.writeTextFile(`${directory.path}/ca.pem`, proxy.ca);
          const { stdout } = await new Deno.Command(Deno.execPath(), {
            args: ["run", "-qA", "packages/doctor/mod.ts", origin],
            env: { DENO_CERT: `${directory.path}/ca.pem` },
          }).output();
          assert.match(
            new TextDecoder().decode(stdout),
            /Well: .*Requests that do not end.*Long bodies.*Strict-Transport/,
          );
        }
        const site = new Site(origin, {
          fetch: (input, init) =>
            client.fetch(new URL(String(input)).pathname, init),
        });
        const named: string[] = [];
        for (const { name, run } of REACH_CHECKS) {
          if (!/^(Long bodies|Strict)/.test(name)) continue;
          await Promise.resolve(run(site)).catch((fault) =>
            named.push(`${name}: ${fault.found ?? fault}`)
          );
        }
        assert.equal(named.length, expected ? 1 : 0, named.join("\n"));
        if (expected) assert.match(named[0], expected);
      }
    },
  );
}

Deno.test("the doctor names a proxy that passes all on", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => new Response(await request.text().catch(String)),
  );
  const proxy = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const both: Promise<unknown>[] = [];
  const passing = (async () => {
    for await (const client of proxy) {
      const { hostname, port } = server.addr;
      const upstream = await Deno.connect({ hostname, port });
      both.push(
        client.readable.pipeTo(upstream.writable).catch(() => {}),
        upstream.readable.pipeTo(client.writable).catch(() => {}),
      );
    }
  })();
  const origin = `http://127.0.0.1:${proxy.addr.port}`;
  await assert.rejects(
    halfSent(origin),
    ({ result, found }: Fault) => {
      assert.equal(result, "warning");
      assert.match(found, /by headers .* and by a long body/);
      return true;
    },
  );
  proxy.close();
  await passing;
  await Promise.all(both);
});

Deno.test(
  needing(
    "caddy",
    "each of two servers behind caddy is restarted, and no call fails",
  ),
  async () => {
    await using directory = new TemporaryDirectory();
    const ports = {
      http: freePort(),
      https: freePort(),
      servers: [freePort(), freePort()],
    };
    const origin = `https://localhost:${ports.https}`;
    await using stack = new AsyncDisposableStack();
    const start = async (port: number) => {
      const server = stack.use(
        await startProcess({
          directory: directory.path,
          env: {
            BASE_URL: origin,
            PORT: String(port),
            KV_PATH: `${directory.path}/tools.db`,
            LOG_LEVEL: "debug",
          },
        }),
      );
      await server.prints(/"Listening"/);
      return server;
    };
    const servers = await Promise.all(ports.servers.map(start));
    const proxy = await startCaddy(directory.path, ports);
    stack.use(proxy.process);
    using client = new Client(origin, proxy.ca);
    await client.isServed();
    let isOver = false;
    const statuses: number[] = [];
    const load = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        statuses.push(await statusOf(client.post(initialize("2025-11-25"))));
      }
    });
    for (const [index, server] of servers.entries()) {
      const before = statuses.length;
      await until(() => statuses.length > before + 50);
      server.kill("SIGTERM");
      assert.equal(await server.end(), 0);
      const next = await start(ports.servers[index]);
      // The proxy notices it before the other one leaves.
      await next.prints(/"GET \/ready","status":200/);
    }
    isOver = true;
    await Promise.all(load);
    const failed = statuses.filter((status) => status !== 200);
    assert.deepEqual(failed, [], `of ${statuses.length} calls`);
  },
);
