import assert from "node:assert/strict";
import {
  boundedFetch,
  DocumentError,
} from "../../../src/auth/clients/fetch_bounds.ts";
import { startTarget } from "../../kit/target.ts";

/** Fetches that end when they are told to, at a time that is told. */
function fetches() {
  const open: (() => void)[] = [];
  const place = { time: 0 };
  const fetch = boundedFetch(
    async () => {
      await new Promise<void>((resolve) => open.push(resolve));
      return { document: {}, expiresAt: 0 };
    },
    { clock: () => place.time },
  );
  return {
    place,
    open,
    begin: (url: string, isKept = false) => {
      const fetching = fetch(url, { isKept });
      fetching.catch(() => {});
      return fetching;
    },
    async endAll() {
      while (open.length > 0) open.pop()!();
      await Promise.resolve();
    },
  };
}

/** Counts how many of these are refused at once. */
async function refused(fetching: Promise<unknown>[]): Promise<number> {
  const states = await Promise.all(
    fetching.map((one) =>
      Promise.race([
        one.then(() => 0, (error) => error instanceof DocumentError ? 1 : NaN),
        new Promise<number>((resolve) => setTimeout(resolve, 0, 0)),
      ])
    ),
  );
  return states.reduce((sum, one) => sum + one, 0);
}

Deno.test("boundedFetch() fetches from 16 strangers at once, and four times from one", async () => {
  const { open, begin, endAll } = fetches();
  const hosts = Array.from({ length: 50 }, (_, n) => `https://h${n}.example/`);
  assert.equal(await refused(hosts.map((url) => begin(url))), 34);
  assert.equal(open.length, 16);
  await endAll();
  const one = Array.from({ length: 6 }, (_, n) => `https://one.example/${n}`);
  assert.equal(await refused(one.map((url) => begin(url))), 2);
  await endAll();
});

Deno.test("boundedFetch() fetches 120 documents a minute, and 30 from one host", async () => {
  const { place, begin, endAll } = fetches();
  const next = async (url: string) => {
    const count = await refused([begin(url)]);
    await endAll();
    return count;
  };
  let fromOne = 0;
  for (let n = 0; n < 40; n++) fromOne += await next("https://one.example/");
  assert.equal(fromOne, 10);
  let fromAll = 0;
  for (let n = 0; n < 100; n++) fromAll += await next(`https://h${n}.example/`);
  assert.equal(fromAll, 10);
  place.time += 60_000;
  assert.equal(await next("https://one.example/"), 0);
});

Deno.test("boundedFetch() never refuses a document that is kept", async () => {
  const { begin, endAll } = fetches();
  const kept = Array.from(
    { length: 200 },
    () => begin("https://kept.example/", true),
  );
  assert.equal(await refused(kept), 0);
  await endAll();
});

Deno.test("1,200 made-up documents at /token open 16 fetches, and a registered client goes on", async () => {
  const ends: (() => void)[] = [];
  let most = 0;
  let open = 0;
  await using target = await startTarget({
    fetchDocument: async () => {
      most = Math.max(most, ++open);
      await new Promise<void>((resolve) => ends.push(resolve));
      open--;
      throw new DocumentError({ cause: new Error("down") });
    },
  });
  const asking = Array.from({ length: 1200 }, async (_, n) => {
    const response = await target.ask("/token", {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: "x",
        client_id: `https://h${n}.example/client.json`,
      }),
    });
    return response.status;
  });
  const client = await target.register();
  const { pathname, search } = new URL(client.authorizationUrl());
  assert.equal((await target.ask(pathname + search)).status, 200);
  const answered = Promise.all(asking);
  let isOver = false;
  answered.finally(() => isOver = true);
  while (!isOver) {
    ends.splice(0).forEach((end) => end());
    await new Promise((resolve) => setTimeout(resolve));
  }
  // Beyond the burst of a network they are refused before anything is fetched.
  for (const status of await answered) assert.match(`${status}`, /^(503|429)$/);
  assert.ok(most <= 16, `${most}`);
});
