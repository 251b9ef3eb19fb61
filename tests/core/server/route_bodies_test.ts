import assert from "node:assert/strict";
import { type Context, Hono } from "@hono/hono";
import { bodyLimit } from "@hono/hono/body-limit";
import type { RoutesContext } from "../../../src/core/server/server_options.ts";
import {
  longMessageBudget,
  networkKey,
} from "../../../src/core/mcp/exchange/limits.ts";
import { MAX_ARRIVING_BODIES } from "../../../src/core/net/body_bytes.ts";
import { statusOf } from "../../kit/answer.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { startServer } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";

const MIB = 2 ** 20;

/** Reads a body in one way. */
type Read = (c: Context) => Promise<unknown>;

/** Every way in which a route may read a body. */
const WAYS: Record<string, Read> = {
  text: (c) => c.req.text(),
  json: (c) => c.req.json(),
  arrayBuffer: (c) => c.req.arrayBuffer(),
  blob: (c) => c.req.blob(),
  formData: (c) => c.req.formData(),
  parseBody: (c) => c.req.parseBody(),
  "raw.text": (c) => c.req.raw.text(),
  "raw.bytes": (c) => c.req.raw.bytes(),
  "raw.clone": (c) => c.req.raw.clone().arrayBuffer(),
  "raw.body": (c) => Array.fromAsync(c.req.raw.body!),
};

/** Starts a server with a route for each way, and one that adds more. */
async function start(
  add: (app: Hono, context: RoutesContext) => void = () => {},
) {
  return await startServer({
    routes(app, context) {
      add(app, context);
      const other = new Hono();
      other.onError((_error, c) => c.text("", 500));
      for (const [name, read] of Object.entries(WAYS)) {
        app.post(`/${name}`, async (c) => {
          await read(c);
          return c.text("read");
        });
        other.post(`/other/${name}`, async (c) => {
          await read(c);
          return c.text("read");
        });
      }
      app.all("/other/*", (c) => other.fetch(c.req.raw));
    },
  });
}

/** A body that a client sends piece by piece, and the pieces that were taken. */
function sending(text: string, times = Infinity) {
  const piece = new TextEncoder().encode(text);
  const sent = { pieces: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (sent.pieces === times) return controller.close();
      sent.pieces++;
      controller.enqueue(piece);
    },
    cancel() {
      sent.isCancelled = true;
    },
  }, { highWaterMark: 0 });
  return { sent, body };
}

Deno.test("a route gets a body of 4 MiB in every way it may read it", async () => {
  await using server = await start();
  for (const way of Object.keys(WAYS)) {
    const form = way === "formData" || way === "parseBody";
    const text = form ? "a=" : way === "json" ? '"' : "";
    const end = way === "json" ? '"' : "";
    const body = text + "a".repeat(4 * MIB - text.length - end.length) + end;
    const type = form ? "application/x-www-form-urlencoded" : "text/plain";
    const headers = {
      "content-type": type,
      "content-length": String(body.length),
    };
    const init = { method: "POST", headers, body };
    assert.equal(await statusOf(server.fetch(`/${way}`, init)), 200, way);
  }
});

Deno.test("a route is refused what is longer, and what only says so, in every way it may read it", async () => {
  await using server = await start();
  for (const way of Object.keys(WAYS)) {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const long = sending("a".repeat(MIB));
    const answer = server.fetch(`/${way}`, {
      method: "POST",
      headers,
      body: long.body,
    });
    assert.equal(await statusOf(answer), 413, way);
    assert.deepEqual(long.sent, { pieces: 5, isCancelled: true }, way);
    const announced = sending("a");
    const refused = server.fetch(`/${way}`, {
      method: "POST",
      headers: { ...headers, "content-length": String(4 * MIB + 1) },
      body: announced.body,
    });
    assert.equal(await statusOf(refused), 413, way);
    assert.equal(announced.sent.pieces, 0, way);
  }
});

Deno.test("another app in a route has the bounds of the server", async () => {
  await using server = await start();
  for (const way of Object.keys(WAYS)) {
    const { body, sent } = sending("a".repeat(MIB));
    const answer = await server.fetch(`/other/${way}`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body,
    });
    await answer.body?.cancel();
    // The app may make of its exception what it likes.
    assert(answer.status >= 400, way);
    assert.equal(sent.pieces, 5, way);
  }
});

Deno.test("a route that reads nothing is answered at once", async () => {
  await using server = await start((app) => {
    app.post("/unread", (c) => c.text("done"));
  });
  const { body, sent } = sending("a");
  const init = { method: "POST", body };
  assert.equal(await statusOf(server.fetch("/unread", init)), 200);
  assert.equal(sent.pieces, 0);
});

Deno.test("a body of a route that stalls is answered 408 after a minute, and given up", async () => {
  using time = new FakeTime();
  await using server = await start();
  let isCancelled = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(1)),
    cancel() {
      isCancelled = true;
    },
  });
  let status = 0;
  const init = { method: "POST", body };
  statusOf(server.fetch("/text", init)).then((found) => status = found);
  await until(() => {
    time.tick(10);
    return status !== 0;
  });
  assert.equal(status, 408);
  assert(isCancelled);
});

Deno.test("the oldest of too many bodies that are held open is given up, and a route goes on", async () => {
  await using server = await start();
  const senders: ReadableStreamDefaultController[] = [];
  const hold = () =>
    server.fetch("/text", {
      method: "POST",
      body: new ReadableStream({ start: (it) => void senders.push(it) }),
    });
  const first = hold();
  const others = Array.from({ length: MAX_ARRIVING_BODIES }, hold);
  const { status, headers } = await first;
  assert.equal(status, 503);
  assert(headers.has("retry-after"));
  const { body } = sending("x", 1);
  const read = await server.fetch("/text", { method: "POST", body });
  assert.equal(await read.text(), "read");
  for (const sender of senders.slice(1)) sender.error(new Error("gone"));
  await Promise.all(others);
});

Deno.test("a body in too many pieces is refused", async () => {
  await using server = await start();
  // A thousand, and one for each 256 bytes.
  for (const [pieces, status] of [[1_003, 200], [1_004, 400]]) {
    const init = { method: "POST", body: sending("a", pieces).body };
    assert.equal(await statusOf(server.fetch("/text", init)), status);
  }
});

Deno.test("allowBody() raises the bounds of one route", async () => {
  using time = new FakeTime();
  await using server = await start((app, { allowBody }) => {
    app.post("/long", async (c) => {
      allowBody(c.req.raw, { bytes: 40 * MIB, seconds: 120 });
      const { byteLength } = await c.req.arrayBuffer();
      return c.text(String(byteLength));
    });
  });
  const text = "a".repeat(MIB);
  const long = { method: "POST", body: sending(text, 40).body };
  const answer = await server.fetch("/long", long);
  assert.equal(await answer.text(), String(40 * MIB));
  const longer = { method: "POST", body: sending(text, 41).body };
  assert.equal(await statusOf(server.fetch("/long", longer)), 413);
  const short = { method: "POST", body: sending(text, 5).body };
  assert.equal(await statusOf(server.fetch("/text", short)), 413);

  let late: ReadableStreamDefaultController;
  const body = new ReadableStream({
    start(controller) {
      late = controller;
    },
  });
  const slow = server.fetch("/long", { method: "POST", body });
  let checks = 0;
  await until(() => {
    time.tick(1);
    return ++checks > 61;
  });
  late!.close();
  assert.equal(await (await slow).text(), "0");
});

Deno.test("allowBody() takes only bounds above 0", async () => {
  for (const bounds of [{ bytes: 0 }, { seconds: NaN }, { bytes: -1 }]) {
    let thrown: unknown;
    await using server = await start((app, { allowBody }) => {
      app.post("/long", (c) => {
        try {
          allowBody(c.req.raw, bounds);
        } catch (error) {
          thrown = error;
        }
        return c.text("");
      });
    });
    const init = { method: "POST", body: "a" };
    assert.equal(await statusOf(server.fetch("/long", init)), 200);
    assert(thrown instanceof TypeError);
  }
});

Deno.test("bodyLimit() of Hono still limits a route further", async () => {
  await using server = await start((app) => {
    app.post("/hook", bodyLimit({ maxSize: 10 }), async (c) => {
      return c.text(await c.req.text());
    });
  });
  const init = { method: "POST", body: sending("abc", 3).body };
  assert.equal(await (await server.fetch("/hook", init)).text(), "abcabcabc");
  const long = { method: "POST", body: sending("abc", 4).body };
  assert.equal(await statusOf(server.fetch("/hook", long)), 413);
});

Deno.test("bodies of routes count among the messages of their network until they are answered", async () => {
  const reading = Promise.withResolvers<void>();
  const answering = Promise.withResolvers<void>();
  await using server = await start((app) => {
    app.post("/slow", async (c) => {
      await c.req.text();
      reading.resolve();
      await answering.promise;
      return c.text("");
    });
  });
  const limitKey = networkKey(undefined);
  const isFull = () => {
    try {
      longMessageBudget.check({ limitKey, messageBytes: 1 });
      return false;
    } catch {
      return true;
    }
  };
  longMessageBudget.count(limitKey, 31 * MIB);
  try {
    const body = sending("a".repeat(MIB), 2).body;
    const slow = server.fetch("/slow", { method: "POST", body });
    await reading.promise;
    assert(isFull());
    const refused = { method: "POST", body: sending("a", 1).body };
    assert.equal(await statusOf(server.fetch("/text", refused)), 429);
    answering.resolve();
    assert.equal(await statusOf(slow), 200);
    assert(!isFull());
  } finally {
    longMessageBudget.count(limitKey, -31 * MIB);
  }
});
