/**
 * Two real processes on one database, of which the one that calls another MCP
 * server is killed: in the call, and in the refresh of its person's tokens.
 */
import assert from "node:assert/strict";
import { sendOnce } from "../../src/core/net/send_once.ts";
import type { AccountRecord } from "../../src/features/accounts/accounts.ts";
import { formOf } from "../kit/account_visitor.ts";
import { Browser } from "../kit/browser.ts";
import { signInByName } from "../kit/dev_server.ts";
import { SECRETS_KEY } from "../kit/key_service.ts";
import { McpService } from "../kit/mcp_service.ts";
import { freePort } from "../kit/port.ts";
import { Process, TemporaryDirectory } from "../kit/process.ts";
import { RemoteServer } from "../kit/server.ts";
import { textOf } from "../kit/answer.ts";
import { until } from "../kit/wait.ts";

const SERVER = "tests/process/mcp_server.ts";

/** Starts processes on one port and database, until the test ends. */
class Processes implements AsyncDisposable {
  readonly #directory = new TemporaryDirectory();
  readonly #all: Process[] = [];
  readonly #port = freePort();
  readonly kvPath = `${this.#directory.path}/walk.db`;
  readonly #log = `${this.#directory.path}/walk.log`;

  constructor(private readonly api: string) {}

  async start(): Promise<string> {
    const env = {
      HOST: "127.0.0.1",
      PORT: `${this.#port}`,
      REUSE_PORT: "true",
      KV_PATH: this.kvPath,
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "dev",
      SECRETS_KEYS: SECRETS_KEY,
      WALK_API: this.api,
      WALK_LOG: this.#log,
    };
    const args = ["run", "--quiet", "--allow-all", "--unstable-net", SERVER];
    const process = new Process(args, { env });
    this.#all.push(process);
    return await process.url();
  }

  /** Kills the process that runs the tool, and starts another. */
  async replace(): Promise<void> {
    const pids = (await Deno.readTextFile(this.#log)).trim().split("\n");
    const running = this.#all.find(({ pid }) => `${pid}` === pids.at(-1))!;
    await running.stop("SIGKILL");
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#all) await process[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}

/** Ends the lease of the process that was killed, as a minute would. */
async function endLease(kvPath: string): Promise<void> {
  using kv = await Deno.openKv(kvPath);
  for await (const entry of kv.list<AccountRecord>({ prefix: ["account"] })) {
    const { key, value } = entry;
    if (value.leaseUntil === undefined) continue;
    await kv.set(key, { ...value, leaseUntil: 1 });
    return;
  }
  assert.fail("The process that was killed had no lease");
}

/** Blocks what it is called by, until it is released. */
function gate() {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    release: released.resolve,
    async pass() {
      reached.resolve();
      await released.promise;
    },
  };
}

/** Sends no request twice, as `fetch` does when a process is killed. */
class Once extends RemoteServer {
  override fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...init.headers, ...this.headers } as HeadersInit;
    return sendOnce(this.url + path, { ...init, headers });
  }
}

Deno.test("a process that is killed while it calls another MCP server, or refreshes a token there, leaves its person's account to the next", async () => {
  await using service = new McpService();
  await using processes = new Processes(service.url);
  const url = await processes.start();
  await processes.start();
  service.redirectsTo = url;
  const signIn = await signInByName(new URL(`${url}/mcp`), "ada");
  const server = new Once(url, {
    authorization: `Bearer ${signIn.tokens().access_token}`,
  });
  const browser = new Browser(({ origin }) =>
    origin === url || origin === service.origin ? fetch : undefined
  );
  const connect = async () => {
    let page = await browser.open(`${url}/connect/crm`);
    if (page.text.includes('action="/account/sign-in"')) {
      page = await browser.press(formOf(page, "/account/sign-in"), "", "");
      page = await browser.press(page, "name", "ada");
    }
    for (let press = 0; press < 2; press++) {
      const form = formOf(page, "/connect/crm");
      page = await browser.press(form, "answer", "connect");
    }
    assert.match(page.text, /Connected/);
  };
  const through = (tool: string) =>
    textOf(server.call("tools/call", {
      name: "through",
      arguments: { tool },
    }));
  /** Calls again while a connection to a process that is gone fails. */
  const throughAny = async (tool: string) => {
    let text = "";
    await until(async () => {
      text = await through(tool).catch(() => "");
      return text !== "";
    });
    return text;
  };
  /**
   * Kills the process of a call that has come to a gate. For a second, a
   * process may use a token that another has replaced.
   */
  const killAt = async ({ reached }: ReturnType<typeof gate>, tool: string) => {
    const lost = (async () => {
      for (;;) assert.match(await through(tool), /call the tool again/);
    })();
    await Promise.race([reached, lost]);
    const replaced = processes.replace();
    await assert.rejects(lost, TypeError);
    await replaced;
  };
  await connect();
  assert.equal(await through("who"), "ada@acme");

  // The call reached the other server, and is not sent again.
  let calls = 0;
  const acting = gate();
  service.tools.act = async () => {
    calls++;
    await acting.pass();
    return { content: [] };
  };
  await killAt(acting, "act");
  acting.release();
  assert.equal(await throughAny("who"), "ada@acme");
  assert.equal(calls, 1);

  // The refresh was not done: the next process does it.
  for (const grant of service.grants) grant.access.clear();
  const asking = gate();
  let isFirst = true;
  service.answer = async (_request, path) => {
    if (path !== "/token" || !isFirst) return undefined;
    isFirst = false;
    await asking.pass();
    return new Response("", { status: 503 });
  };
  await killAt(asking, "who");
  asking.release();
  await endLease(processes.kvPath);
  assert.equal(await throughAny("who"), "ada@acme");
  assert.equal(service.reused, 0);

  // The refresh was done, and its tokens are lost: the person connects again.
  for (const grant of service.grants) grant.access.clear();
  const losing = gate();
  service.lose = async (path) => {
    if (path === "/token") await losing.pass();
    return undefined;
  };
  await killAt(losing, "who");
  service.lose = undefined;
  losing.release();
  await endLease(processes.kvPath);
  // For a second, a process may use what it has read before.
  await until(async () => (await throughAny("who")).includes("/connect/crm"));
  assert.equal(service.reused, 1);
  await connect();
  assert.equal(await throughAny("who"), "ada@acme");
});
