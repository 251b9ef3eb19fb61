import assert from "node:assert/strict";
import {
  OutgoingBody,
  type ResponseSending,
  streamedResponse,
  wholeResponse,
} from "../../../src/core/http/outgoing_body.ts";
import { BodyClock } from "../../../src/core/net/body_bytes.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { Timers } from "../../kit/timers.ts";
import { settled } from "../../kit/wait.ts";

const MIB = 2 ** 20;

/** The sending of an answer by a clock that a test moves. */
class Sent implements ResponseSending, Disposable {
  readonly clock = new BodyClock();
  /** The bytes that count. */
  bytes = 0;
  readonly #sent = Promise.withResolvers<void>();
  readonly #timers = new Timers();
  readonly #time = new FakeTime();

  get completed() {
    return this.#sent.promise;
  }
  count(bytes: number): void {
    this.bytes += bytes;
  }
  hasRoom(): boolean {
    return true;
  }
  /** Says that the runtime has sent the answer. */
  async complete(): Promise<void> {
    this.#sent.resolve();
    await this.#sent.promise;
  }
  async pass(seconds: number): Promise<void> {
    await this.#timers.beat();
    this.#time.tick(seconds);
    await this.#timers.beat();
  }
  [Symbol.dispose](): void {
    this.clock.stop();
    this.#time[Symbol.dispose]();
    this.#timers[Symbol.dispose]();
  }
}

/** A chance that a test decides. */
class Chance implements Disposable {
  is = 0;
  readonly #random = Math.random;

  constructor() {
    Math.random = () => this.is;
  }
  [Symbol.dispose](): void {
    Math.random = this.#random;
  }
}

function bytesOf(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).fill(97);
}

Deno.test("a body arrives whole and in order, in pieces that keep nothing else", async () => {
  using sent = new Sent();
  const body = new OutgoingBody(sent);
  const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => at % 251);
  body.write(bytes.slice(0, 70_000));
  body.write(bytes.slice(70_000));
  body.end();
  const pieces = await Array.fromAsync(body.stream);
  assert.deepEqual(new Uint8Array(await new Blob(pieces).arrayBuffer()), bytes);
  assert(pieces.every(({ buffer }) => buffer.byteLength <= 32 * 1024));
});

Deno.test("the bytes of an answer count until it was sent, and not only until it was taken", async () => {
  using sent = new Sent();
  const body = new OutgoingBody(sent);
  body.write(bytesOf(4 * MIB));
  assert.equal(sent.bytes, 4 * MIB);
  body.end();
  const reader = body.stream.getReader();
  await reader.read();
  assert.equal(sent.bytes, 4 * MIB - 32 * 1024);
  while (!(await reader.read()).done);
  assert.equal(sent.bytes, 512 * 1024);
  await sent.complete();
  assert.equal(sent.bytes, 0);
});

Deno.test("an open stream counts what waits, and not what it ever sent", async () => {
  using sent = new Sent();
  const body = new OutgoingBody(sent);
  const reader = body.stream.getReader();
  for (let n = 0; n < 100; n++) {
    body.write(bytesOf(10_000));
    await reader.read();
  }
  assert.equal(sent.bytes, 0);
  await reader.cancel();
  await sent.complete();
});

Deno.test("a client that takes nothing for a minute loses the rest, and what Deno keeps of it counts until it leaves", async () => {
  using sent = new Sent();
  let stalled: boolean | undefined;
  const body = new OutgoingBody(sent, { gone: (is) => stalled = is });
  body.write(bytesOf(MIB));
  const reader = body.stream.getReader();
  await reader.read();
  await sent.pass(59);
  await reader.read();
  await sent.pass(59);
  assert.equal(stalled, undefined);
  await sent.pass(2);
  assert.equal(stalled, true);
  await assert.rejects(reader.read(), /stopped reading/);
  assert.equal(sent.bytes, 64 * 1024);
  await sent.complete();
  assert.equal(sent.bytes, 0);
});

Deno.test("a client that waits for more does not stall", async () => {
  using sent = new Sent();
  const body = new OutgoingBody(sent);
  const reader = body.stream.getReader();
  const reading = reader.read();
  await sent.pass(3600);
  body.write(bytesOf(1));
  assert.equal((await reading).value?.length, 1);
  await reader.cancel();
});

Deno.test("a client that leaves frees what waits for it", async () => {
  using sent = new Sent();
  const body = new OutgoingBody(sent);
  body.write(bytesOf(MIB));
  await body.stream.cancel();
  assert.equal(sent.bytes, 0);
});

Deno.test("a route's answer of 2 KiB is sent as it is and not counted", async () => {
  const never = () => assert.fail("it is counted");
  const headers = { "x-own": "1" };
  const short = new Response("a".repeat(2048), { status: 201, headers });
  const answer = await streamedResponse(short, never);
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get("x-own"), "1");
  assert.equal((await answer.text()).length, 2048);
  const empty = Response.redirect("http://127.0.0.1/");
  assert.equal(await streamedResponse(empty, never), empty);
});

Deno.test("one of eight answers of up to 16 KiB is a stream, and counts for all eight and for what Deno keeps of them", async () => {
  using sent = new Sent();
  using chance = new Chance();
  const text = "a".repeat(16_384);
  chance.is = 1 / 8;
  const asItIs = await streamedResponse(new Response(text), () => sent);
  assert.equal(sent.bytes, 0);
  assert.equal(await asItIs.text(), text);
  chance.is = 1 / 8 - 1e-9;
  const counted = await streamedResponse(new Response(text), () => sent);
  assert.equal(sent.bytes, 8 * 2 * 16_384);
  assert.equal(counted.headers.get("content-length"), "16384");
  assert.equal(await counted.text(), text);
  assert.equal(sent.bytes, 8 * 2 * 16_384);
  await sent.complete();
  assert.equal(sent.bytes, 0);
});

Deno.test("where the runtime does not say what was sent, an answer counts until it was taken", async () => {
  using time = new Sent();
  using _chance = new Chance();
  let bytes = 0;
  const sending: ResponseSending = {
    clock: time.clock,
    count: (more) => bytes += more,
    hasRoom: () => true,
  };
  for (const [length, weight] of [[2049, 16], [16_385, 1]]) {
    const text = "a".repeat(length);
    const read = wholeResponse(text, sending);
    assert.equal(bytes, length * weight);
    assert.equal(await read.text(), text);
    assert.equal(bytes, 0);
    await wholeResponse(text, sending).body!.cancel();
    assert.equal(bytes, 0);
    const dropped = wholeResponse(text, sending);
    await time.pass(1);
    await time.pass(61);
    assert.equal(bytes, 0);
    await assert.rejects(dropped.text(), /stopped reading/);
  }
});

Deno.test("a route's long answer keeps its length, status and headers", async () => {
  using sent = new Sent();
  const headers = { "content-type": "text/plain" };
  const long = new Response("a".repeat(16_385), { status: 201, headers });
  const answer = await streamedResponse(long, () => sent);
  assert.equal(sent.bytes, 16_385);
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get("content-length"), "16385");
  assert.equal(answer.headers.get("content-type"), "text/plain");
  assert.equal((await answer.text()).length, 16_385);
  await sent.complete();
  assert.equal(sent.bytes, 0);
});

Deno.test("a route's stream begins before its first piece, is read as its client reads, and ends with it", async () => {
  using sent = new Sent();
  let pulled = 0;
  let isCancelled = false;
  const begin = Promise.withResolvers<void>();
  const stream = new ReadableStream({
    async pull(controller) {
      await begin.promise;
      pulled++;
      controller.enqueue(bytesOf(1000));
    },
    cancel() {
      isCancelled = true;
    },
  }, { highWaterMark: 0 });
  const answer = await streamedResponse(new Response(stream), () => sent);
  begin.resolve();
  const reader = answer.body!.getReader();
  await reader.read();
  await reader.read();
  assert(pulled <= 3, `${pulled}`);
  await sent.pass(61);
  assert(isCancelled);
  await assert.rejects(reader.read(), /stopped reading/);
  await sent.complete();
});

Deno.test("a route's stream that fails is told so to its client", async () => {
  using sent = new Sent();
  const stream = new ReadableStream({
    async pull(controller) {
      await settled();
      controller.error(new Error("of the author's"));
    },
  }, { highWaterMark: 0 });
  const answer = await streamedResponse(new Response(stream), () => sent);
  await assert.rejects(answer.text(), /of the author's/);
});

Deno.test("a route's answer for which there is no room is a 503, and its stream is cancelled", async () => {
  const cancelled = Promise.withResolvers<void>();
  const stream = new ReadableStream({ cancel: () => cancelled.resolve() });
  for (const body of ["a".repeat(2049), stream]) {
    const answer = await streamedResponse(new Response(body), () => undefined);
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get("retry-after"), "5");
    assert.equal(await answer.text(), "");
  }
  await cancelled.promise;
});
