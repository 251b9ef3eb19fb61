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

/** Sends requests to its servers in turns, as any proxy in front of two does. */
class Proxy implements AsyncDisposable {
  readonly servers: string[] = [];
  #turn = 0;
  #listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => this.#pass(request),
  );

  get url(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}`;
  }

  async #pass(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const body = await request.bytes();
    const { method, headers } = request;
    // A connection that is refused has carried nothing: the next one may try.
    const first = this.#turn++;
    for (let tries = 0;; tries++) {
      const server = this.servers[(first + tries) % this.servers.length];
      try {
        return await fetch(server + pathname, { method, headers, body });
      } catch (error) {
        const isRefused = `${(error as Error).cause}`.includes(
          "Connection refused",
        );
        if (!isRefused || tries === this.servers.length) {
          return Response.json({ result: `${(error as Error).cause}` }, {
            status: 502,
          });
        }
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener.shutdown();
  }
}

Deno.test(`${RESTARTS} rolling restarts under load abort no call and lose no session`, async () => {
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
    proxy.servers.push(await servers[n].url());
  }

  let calls = 0;
  let resets = 0;
  let isOver = false;
  const failures: string[] = [];
  const sessionId = await openSession(proxy.url);
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver) {
      calls++;
      try {
        const status = await callHealth(proxy.url, sessionId);
        // What was sent as its connection closed: the proxy's to repeat.
        if (status === 502) resets++;
        else if (status !== 200) failures.push(String(status));
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
    proxy.servers[turn] = await servers[turn].url();
    assert(calls > before, "there was no load");
  }
  isOver = true;
  await Promise.all(clients);
  assert.deepEqual(failures, [], `of ${calls} calls`);
  assert(resets < calls / 50, `${resets} of ${calls}`);
});
