/** The charges of a limit, without a server around it. */
import { type Context, Hono } from "@hono/hono";
import assert from "node:assert/strict";
import { type Address, parseAddress } from "../../../src/core/net/address.ts";
import type { HttpError } from "../../../src/core/errors.ts";
import { rateLimit, waiveRate } from "../../../src/core/http/rate_limit.ts";
import { silentLogger } from "../../kit/log.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { FakeTime } from "../../kit/fake_time.ts";

/** Counts the requests that are refused with 429. */
async function refused(
  count: number,
  send: () => Promise<number>,
): Promise<number> {
  let refused = 0;
  for (let n = 0; n < count; n++) if (await send() === 429) refused++;
  return refused;
}

/**
 * Makes an endpoint of two processes, with a limit of one request per second.
 */
async function startLimited() {
  const kv = await Deno.openKv(":memory:");
  const parts = { database: new Database(kv), log: silentLogger };
  const lookedUp: string[] = [];
  const shown = ({ req }: Context) =>
    (req.header("cookie") ?? "").split(" ").filter(Boolean).map((value) => ({
      value,
      async isValid() {
        lookedUp.push(value);
        await Promise.resolve();
        return value.startsWith("good");
      },
    }));
  const processes = [0, 1].map(() => rateLimit(parts, "token", 1, shown));
  const app = new Hono<{ Variables: { address?: Address } }>();
  app.get("/:waived/:address/:process", async (c, next) => {
    const { address, process } = c.req.param();
    c.set("address", parseAddress(address));
    return await processes[Number(process)](c, next);
  }, (c) => {
    for (let n = 0; n < Number(c.req.param("waived")); n++) waiveRate(c);
    return c.text("");
  });
  app.onError((error, c) => c.text("", (error as HttpError).status as 429));
  return {
    /** Sends a request with some waives, to one of two processes. */
    send:
      (waived: number, address: string, process = 0, cookie = "") =>
      async () => {
        const path = `/${waived}/${address}/${process}`;
        return (await app.request(path, { headers: { cookie } })).status;
      },
    /** The credentials that were looked up. */
    lookedUp,
    [Symbol.dispose]: () => kv.close(),
  };
}

type Limited = Awaited<ReturnType<typeof startLimited>>;

/** Takes everything that networks share. */
async function takeShared({ send }: Limited): Promise<void> {
  for (let n = 1; n <= 6; n++) {
    await refused(1000, send(0, `198.51.100.${n}`));
  }
}

Deno.test("waiveRate() charges nothing for a request that has proved whose it is", async () => {
  using _time = new FakeTime();
  using limited = await startLimited();
  const [bad, good] = [0, 1].map((n) => limited.send(n, "192.0.2.1"));
  // First the network's own reserve, then more than all networks share.
  assert.equal(await refused(20, bad), 0);
  assert.equal(await refused(6000, good), 0);
  assert.equal(await refused(981, bad), 1);
  // A client with so many failures also blocks others behind its address.
  assert.equal(await refused(1, good), 1);
});

Deno.test("waiveRate() leaves a network what it has for itself", async () => {
  using _time = new FakeTime();
  using limited = await startLimited();
  await refused(100, limited.send(1, "192.0.2.1"));
  await takeShared(limited);
  assert.equal(await refused(21, limited.send(0, "192.0.2.1")), 1);
});

Deno.test("waiveRate() gives back once what a request took", async () => {
  using _time = new FakeTime();
  using limited = await startLimited();
  const [bad, , twice] = [0, 1, 2].map((n) => limited.send(n, "192.0.2.1"));
  await refused(10, bad);
  await refused(5, twice);
  assert.equal(await refused(991, bad), 1);
});

Deno.test("what others' floods refuse is not charged to a network", async () => {
  using time = new FakeTime();
  using limited = await startLimited();
  await takeShared(limited);
  const bad = limited.send(0, "192.0.2.1");
  assert.equal(await refused(2000, bad), 1980);
  time.tick(20);
  // Five per second have come back to all networks, and one to each.
  assert.equal(await refused(100, bad), 0);
});

Deno.test("requests from no address share what networks share", async () => {
  using _time = new FakeTime();
  using limited = await startLimited();
  assert.equal(await refused(5001, limited.send(0, "none")), 1);
});

Deno.test("all processes together let a network have what it may, and a tenth more each", async () => {
  using _time = new FakeTime();
  using limited = await startLimited();
  const [one, other] = [0, 1].map((n) => limited.send(0, "192.0.2.1", n));
  assert.equal(await refused(700, one), 0);
  assert(await refused(700, other) >= 300);
});

/** Sends requests that show credentials, from a network over its limit. */
async function startOver() {
  const limited = await startLimited();
  await refused(1000, limited.send(0, "192.0.2.1"));
  return {
    ...limited,
    show: (cookie: string, waived = 0) =>
      limited.send(waived, "192.0.2.1", 0, cookie),
  };
}

Deno.test("who shows a credential is counted by it where their network is over its limit", async () => {
  using time = new FakeTime();
  using over = await startOver();
  assert.equal(await refused(61, over.show("good")), 1);
  assert.equal(await refused(61, over.show("good good-again")), 1);
  assert.equal(await refused(1, over.show("bad other")), 1);
  assert.equal(await refused(61, over.show("bad good-too")), 1);
  // Looked up once: what was valid, and each time what was not.
  const of = (value: string) =>
    over.lookedUp.filter((one) => one === value).length;
  assert.deepEqual([of("good"), of("good-too"), of("good-again")], [1, 1, 1]);
  assert.equal(of("bad"), 62);
  time.tick(1);
  // One of the network, one of the credential.
  assert.equal(await refused(3, over.show("good")), 1);
});

Deno.test("a credential is looked up only where a network is over its limit, and what it took is given back", async () => {
  using _time = new FakeTime();
  using limited = await startLimited();
  const good = limited.send(0, "192.0.2.1", 0, "good");
  assert.equal(await refused(1000, good), 0);
  assert.deepEqual(limited.lookedUp, []);
  const waived = limited.send(1, "192.0.2.1", 0, "good");
  assert.equal(await refused(100, waived), 0);
  assert.equal(await refused(61, good), 1);
});

Deno.test("a made-up credential passes at no number of simultaneous requests, and takes nothing from a good one", async () => {
  using _time = new FakeTime();
  using over = await startOver();
  const bad = over.show("bad");
  const all = await Promise.all(Array.from({ length: 200 }, bad));
  assert(all.every((status) => status === 429));
  // A thousand look-ups of what is none, and those that are good are free.
  assert.equal(over.lookedUp.length, 60);
  assert.equal(await refused(1, over.show("good")), 0);
  for (let n = 0; n < 2000; n++) await over.show(`bad${n}`)();
  assert.equal(over.lookedUp.length, 1001);
  assert.equal(await refused(50, over.show("good")), 0);
  assert.equal(await refused(1, over.show("good-but-unseen")), 1);
  // Credentials of another network are looked up.
  await refused(1000, over.send(0, "192.0.2.2"));
  const other = over.send(0, "192.0.2.2", 0, "good-but-unseen");
  assert.equal(await refused(1, other), 0);
});

Deno.test("who shows a credential is served while floods take what networks share", async () => {
  using _time = new FakeTime();
  using limited = await startLimited();
  await takeShared(limited);
  await refused(20, limited.send(0, "192.0.2.1"));
  assert.equal(await refused(1, limited.send(0, "192.0.2.1")), 1);
  const good = limited.send(0, "192.0.2.1", 0, "good");
  assert.equal(await refused(60, good), 0);
});
