/** Two real processes behind a proxy, restarted in turns under load. */
import assert from "node:assert/strict";
import {
  callHealth,
  openSession,
  type Process,
  startProcess,
  TemporaryDirectory,
} from "./kit.ts";

const RESTARTS = 6;
const CLIENTS = 16;

/** How often the proxy asks whether a server is ready, as the guide has it. */
const PROBE_MILLISECONDS = 1000;

/** What a proxy knows of a server. */
interface Upstream {
  url: string;
  isReady: boolean;
}

/**
 * Sends requests to ready servers in turns over connections that it keeps, as
 * proxies do. What was sent is never sent again: a tool may have run.
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
    const { pathname } = new URL(request.url);
    const body = await request.bytes();
    const { method, headers } = request;
    const ready = this.upstreams.filter(({ isReady }) => isReady);
    const first = this.#turn++;
    for (let tries = 0;; tries++) {
      const { url } = ready[(first + tries) % ready.length];
      try {
        return await fetch(url + pathname, { method, headers, body });
      } catch (error) {
        const { cause } = error as Error;
        // Nothing was sent yet: the next server may have it.
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
});
