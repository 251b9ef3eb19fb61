/**
 * Three processes on one database server, with failures of either.
 * By hand: `deno task test remote`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { Client, type TokenAnswer } from "../kit/client.ts";
import { Processes } from "../kit/processes.ts";
import { connect, walk } from "../kit/walk.ts";
import { until } from "../kit/wait.ts";
import { CuttingProxy } from "./cutting_proxy.ts";
import { denokvTest, remoteTest } from "../kit/remote.ts";

remoteTest(
  "the whole flow works on three processes that take turns",
  async ({ provider, start }) => {
    const processes = await start();
    await walk(processes, provider.issuer, () => processes.next());
  },
);

remoteTest(
  "the whole flow survives a kill -9 of a process after every step",
  async ({ provider, start }) => {
    const processes = await start();
    await walk(processes, provider.issuer, () => processes.replace());
  },
);

// After every single one, a write would never be answered: 503 says so.
for (const every of [2, 3, 5]) {
  denokvTest(
    `the whole flow does not notice a connection cut after write ${every} of ${every}`,
    async ({ database, provider, start }) => {
      await using proxy = new CuttingProxy(database.url, every);
      const processes = await start(proxy.url);
      await walk(processes, provider.issuer, () => processes.next());
      const { client, tokens } = await connect(processes, provider.issuer);
      let { refresh_token } = tokens;
      for (let round = 0; round < 20; round++) {
        processes.next();
        const { status, body } = await client.refresh(refresh_token);
        assert.equal(status, 200, JSON.stringify(body));
        refresh_token = body.refresh_token;
      }
      assert(proxy.cuts >= 20 / every, `${proxy.cuts} cuts`);
      console.log(`cut after every ${every}: ${proxy.cuts} connections`);
    },
  );
}

/** The answers that one client got, one call after the other. */
class Watcher {
  readonly seen: { status: number; at: number; took: number }[] = [];
  #isOver = false;
  readonly #watching: Promise<void>;

  constructor(ask: () => Promise<Response>) {
    this.#watching = (async () => {
      while (!this.#isOver) {
        const at = performance.now();
        const response = await ask();
        await response.body?.cancel();
        const { status, headers } = response;
        if (status === 503) assert(headers.has("retry-after"));
        this.seen.push({ status, at, took: performance.now() - at });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    // A test that fails meanwhile says why itself.
    this.#watching.catch(() => {});
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }
}

for (const seconds of [10, 45]) {
  remoteTest(
    `an outage of ${seconds} s costs no one a sign-in`,
    async ({ database, provider, start }) => {
      const processes = await start();
      const { client, tokens } = await connect(processes, provider.issuer);
      const watchers = processes.all.map((process) => {
        const server = {
          fetch: (path: string, init?: RequestInit) =>
            fetch(process.url + path, init),
        };
        const own = new Client(server, client.clientId);
        return new Watcher(() => own.call(tokens.access_token, "whoami"));
      });
      await until(() => watchers.every(({ seen }) => seen.length > 20));
      const killed = performance.now();
      await database.kill();
      // A failed refresh consumes nothing.
      const refused: TokenAnswer = await client.refresh(tokens.refresh_token);
      assert.equal(refused.status, 503, JSON.stringify(refused.body));
      const { current } = processes;
      const statusOf = async (path: string) => {
        const { status, body } = await fetch(current.url + path);
        await body?.cancel();
        return status;
      };
      assert.equal(await statusOf("/health"), 200);
      // A second may pass: Postgres refuses at once, denokv after a while.
      await until(async () => await statusOf("/ready") === 503);
      await new Promise((resolve) =>
        setTimeout(resolve, killed + seconds * 1000 - performance.now())
      );
      await database.start();
      const back = performance.now();
      await until(() =>
        watchers.every(({ seen }) => {
          const { status, at } = seen.at(-1)!;
          return status === 200 && at > back;
        })
      );
      for (const watcher of watchers) await watcher.end();
      const calls = watchers.flatMap(({ seen }) => seen);
      assert.deepEqual(
        new Set(calls.map(({ status }) => status)),
        new Set([200, 503]),
      );
      const { status, body } = await client.refresh(tokens.refresh_token);
      assert.equal(status, 200, JSON.stringify(body));
      const during = calls.filter(({ at }) => at > killed && at < back);
      const served = watchers.map(({ seen }) =>
        seen.find(({ status, at }) => status === 200 && at > back)!
      );
      const most = (numbers: number[]) => Math.round(Math.max(...numbers));
      console.log(
        `an outage of ${seconds} s: ${calls.length} calls, ` +
          `${
            calls.filter(({ status }) => status === 503).length
          } of them 503; ` +
          `the longest took ${most(during.map(({ took }) => took))} ms; ` +
          `all served again ${most(served.map(({ at }) => at - back))} ms ` +
          "after its end",
      );
    },
  );
}

denokvTest(
  "a new access token of denokv ends no connection",
  async ({ database, provider, start }) => {
    const processes = await start();
    const { client, tokens } = await connect(processes, provider.issuer);
    await database.kill();
    await database.start("another-token-of-the-tests");
    const { status } = await client.refresh(tokens.refresh_token);
    assert.equal(status, 503);
    await using next = new Processes({
      ...provider.environment,
      DENO_KV_ACCESS_TOKEN: "another-token-of-the-tests",
    }, { kvPath: database.url });
    await next.start();
    client.server = next;
    const again = await client.refresh(tokens.refresh_token);
    assert.equal(again.status, 200, JSON.stringify(again.body));
  },
);
