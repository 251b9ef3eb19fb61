import assert from "node:assert/strict";
import type { Context } from "@hono/hono";
import { readParameters } from "../../../src/core/http/body.ts";
import { parseAddress } from "../../../src/core/net/address.ts";
import {
  BodyClock,
  MAX_ARRIVING_BODIES,
  readBytes,
} from "../../../src/core/net/body_bytes.ts";
import { HttpError } from "../../../src/core/errors.ts";
import { createServer } from "../../../src/server.ts";
import type { Server } from "../../../src/core/server/server_options.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { startServer } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { SILENT } from "../../kit/log.ts";
import { Timers } from "../../kit/timers.ts";

/**
 * A body whose chunks all share the same memory, as those of a real body may.
 */
class Chunks {
  read = 0;
  isCancelled = false;
  readonly request: Request;

  constructor(texts: Iterable<string>) {
    const memory = new Uint8Array(8);
    const iterator = texts[Symbol.iterator]();
    const body = new ReadableStream({
      pull: (controller) => {
        this.read++;
        const { value, done } = iterator.next();
        if (done) return controller.close();
        const { written } = new TextEncoder().encodeInto(value, memory);
        controller.enqueue(memory.subarray(0, written));
      },
      cancel: () => {
        this.isCancelled = true;
      },
    }, { highWaterMark: 0 });
    this.request = new Request("http://127.0.0.1", { method: "POST", body });
  }
}

function* repeated(text: string, times = Infinity) {
  for (let count = 0; count < times; count++) yield text;
}

function isStatus(status: number) {
  return (error: unknown) =>
    error instanceof HttpError && error.status === status;
}

Deno.test("readBytes() joins chunks of any size, and keeps none of them", async () => {
  const texts = ["a", "bcd", "", "efghijkl", "m", "nopq"];
  const bytes = await readBytes(new Chunks(texts).request, 17);
  assert.equal(new TextDecoder().decode(bytes), texts.join(""));
});

Deno.test("readBytes() takes no body for an empty one", async () => {
  assert.equal((await readBytes(new Request("http://127.0.0.1"), 0)).length, 0);
  assert.equal((await readBytes(new Chunks([]).request, 0)).length, 0);
});

Deno.test("readBytes() makes no room for a long body that is only announced", async () => {
  const { request } = new Chunks(["abc"]);
  request.headers.set("content-length", String(64 * 1024 + 1));
  request.arrayBuffer = () => Promise.reject(new Error("Made room"));
  assert.equal((await readBytes(request, 2 ** 20)).length, 3);
});

Deno.test("readBytes() sets little aside for a chunk that may never come", async () => {
  const sizes: number[] = [];
  const body = new ReadableStream({
    type: "bytes",
    // As the bodies of Deno's server.
    autoAllocateChunkSize: 64 * 1024,
    pull(controller) {
      const { view } = controller.byobRequest!;
      sizes.push(view!.byteLength);
      if (sizes.length === 5) controller.close();
      controller.byobRequest!.respond(sizes.length === 5 ? 0 : 3);
    },
  });
  const request = new Request("http://127.0.0.1", { method: "POST", body });
  assert.equal((await readBytes(request, 2 ** 20)).length, 12);
  assert.deepEqual(sizes, Array(5).fill(8 * 1024));
});

Deno.test("readBytes() refuses one byte too many as soon as it is there", async () => {
  await readBytes(new Chunks(repeated("12345678", 2)).request, 16);
  const endless = new Chunks(repeated("12345678"));
  await assert.rejects(readBytes(endless.request, 16), isStatus(413));
  assert.equal(endless.read, 3);
  assert(endless.isCancelled);
});

Deno.test("readBytes() refuses a body that announces a byte too many", async () => {
  const announced = (length: number) => {
    const { request } = new Chunks(["1".repeat(8)]);
    request.headers.set("content-length", String(length));
    return request;
  };
  assert.equal((await readBytes(announced(8), 8)).length, 8);
  await assert.rejects(readBytes(announced(9), 8), isStatus(413));
});

Deno.test("readBytes() takes a body that breaks off for a fault of its client", async () => {
  const body = new ReadableStream({
    pull: (controller) => controller.error(new Error("reset")),
  });
  const request = new Request("http://127.0.0.1", { method: "POST", body });
  await assert.rejects(readBytes(request, 16), isStatus(400));
});

Deno.test("readBytes() refuses more chunks than a body needs, empty ones too", async () => {
  // A hundred, and one for each 256 bytes.
  for (const [text, times] of [["1", 100], ["12345678", 103]] as const) {
    const body = new Chunks(repeated(text, times));
    const bytes = await readBytes(body.request, 16_384);
    assert.equal(bytes.length, times * text.length);
  }
  for (
    const [text, most, read] of [
      ["1", 16_384, 101],
      ["12345678", 16_384, 104],
      ["", 0, 101],
    ] as const
  ) {
    const endless = new Chunks(repeated(text));
    await assert.rejects(readBytes(endless.request, most), isStatus(400));
    assert(endless.isCancelled);
    assert.equal(endless.read, read);
  }
});

/** Bodies that stall, by a fake clock and over a real socket. */

/** Sends half a body and reads the answer when its time is over. */
async function stall(
  { fetch }: Pick<Server, "fetch">,
  path: string,
  type: string,
  time: FakeTime,
): Promise<string> {
  const listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => fetch(request, info),
  );
  try {
    const { hostname, port } = listener.addr;
    using connection = await Deno.connect({ hostname, port });
    await connection.write(
      new TextEncoder().encode(
        `POST ${path} HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n` +
          `content-type: ${type}\r\ncontent-length: 100\r\n\r\n{`,
      ),
    );
    let answer = "";
    const reading = (async () => {
      const buffer = new Uint8Array(1024);
      while (!answer.includes("\r\n\r\n")) {
        const size = await connection.read(buffer);
        assert(size !== null, "it hung up");
        answer += new TextDecoder().decode(buffer.subarray(0, size));
      }
    })();
    await until(() => {
      // Again and again: the test cannot know when the server begins to read.
      time.tick(60);
      return answer !== "";
    });
    await reading;
    return answer;
  } finally {
    await listener.shutdown();
  }
}

Deno.test("a message that stalls is answered 408 after a minute", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");

  await using server = createServer({
    name: "n",
    version: "1",
    kv,
    log: SILENT,
  });
  const text = await stall(server, "/mcp", "application/json", time);
  assert.match(text, /^HTTP\/1\.1 408 /);
  assert.match(text, /connection: close/i);
});

Deno.test("a form that stalls is answered 408 after a minute", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  const type = "application/x-www-form-urlencoded";
  const text = await stall(server.app, "/token", type, time);
  assert.match(text, /^HTTP\/1\.1 408 /);
  assert.match(text, /connection: close/i);
});

/** Makes bodies whose seconds pass when a test says so. */
function openBodies() {
  const timers = new Timers();
  const time = new FakeTime();
  return {
    bodies: new BodyClock(),
    timers,
    /** Lets time pass, by a clock that is set back meanwhile. */
    async pass(seconds: number) {
      time.tick(seconds);
      time.set(-3600);
      await timers.beat();
    },
    [Symbol.dispose]() {
      time[Symbol.dispose]();
      timers[Symbol.dispose]();
    },
  };
}

const never = () => new Promise<never>(() => {});

Deno.test("each body has a minute, from the first look at it", async () => {
  using place = openBodies();
  const refused: string[] = [];
  const begin = (name: string) =>
    place.bodies.wait(never, sender).catch((error) => {
      assert(error instanceof HttpError);
      assert.equal(error.status, 408);
      refused.push(name);
    });
  begin("first");
  await place.pass(1);
  await place.pass(4);
  begin("second");
  await place.pass(1);
  await place.pass(60 - 6);
  assert.deepEqual(refused, []);
  await place.pass(1);
  assert.deepEqual(refused, ["first"]);
  await place.pass(4);
  assert.deepEqual(refused, ["first"]);
  await place.pass(1);
  assert.deepEqual(refused, ["first", "second"]);
});

const sender = () => "ada";

Deno.test("wait() gives what was read, or why it could not be", async () => {
  const bodies = new BodyClock();
  assert.equal(
    await bodies.wait(() => Promise.resolve("body"), sender),
    "body",
  );
  const gone = new Error("gone");
  await assert.rejects(bodies.wait(() => Promise.reject(gone), sender), gone);
  bodies.stop();
});

/** Holds bodies open until it is disposed of. */
class HeldBodies {
  reads = 0;
  readonly refused: string[] = [];
  // The process has one bound for all of its clocks, as each form has its own.
  readonly #clocks = [new BodyClock(), new BodyClock()];
  readonly #end = Promise.withResolvers<void>();
  #count = 0;

  hold(count: number, sender: string): void {
    const read = () => {
      this.reads++;
      return this.#end.promise;
    };
    for (let n = 1; n <= count; n++) {
      this.#clocks[this.#count++ % 2].wait(read, () => sender)
        .catch(({ status }) => this.refused.push(`${sender} ${n}: ${status}`));
    }
  }

  /** Takes a body of ada, by default one that comes whole. */
  take(body = Promise.resolve("body")): Promise<string> {
    return this.#clocks[0].wait(() => body, sender);
  }

  [Symbol.dispose](): void {
    this.#end.resolve();
    for (const clock of this.#clocks) clock.stop();
  }
}

Deno.test("of too many bodies, the oldest of the sender who has the most is given up", async () => {
  using bodies = new HeldBodies();
  const { refused } = bodies;
  bodies.hold(2, "ada");
  bodies.hold(MAX_ARRIVING_BODIES - 3, "bob");
  bodies.hold(3, "cy");
  await until(() => refused.length === 2);
  bodies.hold(1, "dee");
  await until(() => refused.length > 2);
  assert.deepEqual(refused.sort(), ["bob 1: 503", "bob 2: 503", "bob 3: 503"]);
});

Deno.test("bodies that come whole at once are not among too many", async () => {
  using bodies = new HeldBodies();
  bodies.hold(MAX_ARRIVING_BODIES, "bob");
  const all = Array.from({ length: 100 }, () => bodies.take());
  assert.deepEqual(new Set(await Promise.all(all)), new Set(["body"]));
  bodies.hold(1, "cy");
  await until(() => bodies.refused.length > 0);
  assert.deepEqual(bodies.refused, ["bob 1: 503"]);
});

Deno.test("a body among too many has 50 ms to come whole, and no timer runs on after it", async () => {
  const { setTimeout, clearTimeout } = globalThis;
  using _restored = {
    [Symbol.dispose]: () =>
      void Object.assign(globalThis, { setTimeout, clearTimeout }),
  };
  const timers: { act(): void; milliseconds: number }[] = [];
  const cleared: number[] = [];
  Object.assign(globalThis, {
    setTimeout: (act: () => void, milliseconds: number) =>
      timers.push({ act, milliseconds }),
    clearTimeout: (timer: number) => void cleared.push(timer),
  });
  using bodies = new HeldBodies();
  bodies.hold(MAX_ARRIVING_BODIES, "ada");
  const { promise, resolve } = Promise.withResolvers<string>();
  const taken = [bodies.take(promise), bodies.take(promise)];
  const [{ act, milliseconds }, ...others] = timers;
  assert.equal(milliseconds, 50);
  assert.deepEqual(others, []);
  assert.deepEqual(cleared, []);
  resolve("body");
  await Promise.all(taken);
  assert.deepEqual(cleared, [timers.length]);
  act();
  assert.deepEqual(bodies.refused, []);
});

Deno.test("twice too many bodies are given up at once, in a burst that lets no timer fire", async () => {
  using bodies = new HeldBodies();
  const { refused } = bodies;
  bodies.hold(1, "ada");
  bodies.hold(2 * MAX_ARRIVING_BODIES - 2, "eve");
  await Promise.resolve();
  assert.deepEqual(refused, []);
  bodies.hold(1, "cy");
  await Promise.resolve();
  assert.equal(refused.length, MAX_ARRIVING_BODIES);
  assert.equal(refused[0], `eve ${MAX_ARRIVING_BODIES}: 503`);
});

Deno.test("a sender whose bodies were given up in a burst gets no other read for five seconds, unless there is room", async () => {
  using time = new FakeTime();
  // The rest of the senders of other tests is over.
  time.tick(5);
  using bodies = new HeldBodies();
  const { promise, resolve } = Promise.withResolvers<string>();
  const taken = bodies.take(promise);
  bodies.hold(2 * MAX_ARRIVING_BODIES - 1, "bob");
  await until(() => bodies.refused.length === MAX_ARRIVING_BODIES);
  const isRead = async (sender: string) => {
    const { reads, refused: { length } } = bodies;
    bodies.hold(1, sender);
    await Promise.resolve();
    assert.equal(bodies.reads + bodies.refused.length, reads + length + 1);
    return bodies.reads > reads;
  };
  assert.equal(await isRead("bob"), false);
  resolve("body");
  assert.equal(await taken, "body");
  assert.equal(await isRead("bob"), true);
  assert.equal(await isRead("bob"), false);
  assert.equal(await isRead("cy"), true);
  time.tick(4.999);
  assert.equal(await isRead("bob"), false);
  time.tick(0.001);
  assert.equal(await isRead("bob"), true);
  await until(() => bodies.refused.length === MAX_ARRIVING_BODIES + 5);
});

Deno.test("no timer runs once no body is arriving", async () => {
  using place = openBodies();
  for (
    const [reading, seconds] of [
      [() => Promise.resolve("body"), 1],
      [() => Promise.reject(new Error("gone")), 1],
      [never, 61],
    ] as const
  ) {
    const waiting = place.bodies.wait<unknown>(reading, sender)
      .catch(() => {});
    assert.equal(place.timers.running.size, 1, `${reading}`);
    await place.pass(1);
    await place.pass(seconds - 1);
    await waiting;
    await place.pass(1);
    assert.equal(place.timers.running.size, 0, `${reading}`);
  }
});

Deno.test("readBytes() gives up the oldest of the long bodies that are held open, and takes others meanwhile", async () => {
  const MIB = 2 ** 20;
  const most = 4 * MIB;
  const part = new Uint8Array(3 * MIB);
  const all = Array.from({ length: 11 }, () => {
    const sender = Promise.withResolvers<ReadableStreamDefaultController>();
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(part);
        sender.resolve(controller);
      },
    });
    const request = new Request("http://127.0.0.1", { method: "POST", body });
    return { reading: readBytes(request, most), sender: sender.promise };
  });
  const [first, second, ...others] = all;
  await assert.rejects(first.reading, isStatus(503));
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(part);
      controller.close();
    },
  });
  const quick = new Request("http://127.0.0.1", { method: "POST", body });
  assert.equal((await readBytes(quick, most)).length, 3 * MIB);
  await assert.rejects(second.reading, isStatus(503));
  for (const { reading, sender } of others) {
    (await sender).close();
    assert.equal((await reading).length, 3 * MIB);
  }
});

/** Sends parts of bodies that never end, until it is disposed of. */
class Parts {
  readonly answered: string[] = [];
  readonly #senders: ReadableStreamDefaultController[] = [];

  /** Sends one from a network, and notes the status of its answer. */
  async send(
    network: string,
    bytes: number,
    answer: (
      request: Request,
    ) => { status: number } | Promise<{ status: number }>,
  ): Promise<void> {
    const body = new ReadableStream({
      start: (sender) => {
        this.#senders.push(sender);
        sender.enqueue(new Uint8Array(bytes));
      },
    });
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const init = { method: "POST", headers, body };
    const { status } = await answer(new Request("http://127.0.0.1/mcp", init));
    this.answered.push(`${network}: ${status}`);
  }

  [Symbol.dispose](): void {
    for (const sender of this.#senders) {
      try {
        sender.error(new Error("gone"));
      } catch {
        // The body was given up.
      }
    }
  }
}

const NETWORKS = ["192.0.2.1", "198.51.100.1"];

/** Fails unless the many bodies of one network push out one of their own. */
async function checkFair(
  parts: Parts,
  count: number,
  send: (network: string) => unknown,
): Promise<void> {
  const [one, other] = NETWORKS;
  send(one);
  for (let n = 0; n < count; n++) send(other);
  await until(() => parts.answered.length > 0);
  assert.deepEqual(parts.answered, [`${other}: 503`]);
}

for (
  const [count, bytes] of [[10, 3 * 2 ** 20], [MAX_ARRIVING_BODIES, 1]] as const
) {
  Deno.test(`${count} messages of ${bytes} bytes push out none of another network`, async () => {
    await using server = await startServer();
    using parts = new Parts();
    const send = (hostname: string) =>
      parts.send(
        hostname,
        bytes,
        (request) => server.app.fetch(request, { remoteAddr: { hostname } }),
      );
    await checkFair(parts, count, send);
  });
}

Deno.test("forms of one network push out none of another", async () => {
  using parts = new Parts();
  const send = (network: string) =>
    parts.send(network, 1, (raw) => {
      const address = parseAddress(network);
      const c = { req: { raw }, get: () => address } as unknown as Context;
      return readParameters(c).catch((error) => error);
    });
  await checkFair(parts, MAX_ARRIVING_BODIES, send);
});

Deno.test("no route is entered for a sender whose bodies were given up in a burst", async () => {
  let entered = 0;
  await using server = await startServer({
    routes(app) {
      app.all("/hook", async (c) => {
        entered++;
        return c.text(await c.req.text());
      });
    },
  });
  using time = new FakeTime();
  time.tick(5);
  using parts = new Parts();
  const enter = (hostname: string, init: Request | RequestInit) =>
    server.app.fetch(new Request("http://127.0.0.1/hook", init), {
      remoteAddr: { hostname },
    });
  const send = (hostname: string) =>
    parts.send(hostname, 1, (request) => enter(hostname, request));
  const [one, other] = NETWORKS;
  for (let n = 0; n < 2 * MAX_ARRIVING_BODIES; n++) void send(other);
  await until(() => parts.answered.length >= MAX_ARRIVING_BODIES);
  assert.equal(entered, 2 * MAX_ARRIVING_BODIES);
  const refusal = await enter(other, { method: "POST", body: "body" });
  assert.equal(refusal.status, 503);
  assert.equal(refusal.headers.get("retry-after"), "5");
  assert.equal(refusal.headers.get("access-control-allow-origin"), "*");
  assert.equal(entered, 2 * MAX_ARRIVING_BODIES);
  assert.equal((await enter(other, {})).status, 200);
  void send(one);
  await until(() => parts.answered.length > MAX_ARRIVING_BODIES);
  assert.equal(entered, 2 * MAX_ARRIVING_BODIES + 2);
  assert.deepEqual(new Set(parts.answered), new Set([`${other}: 503`]));
});
