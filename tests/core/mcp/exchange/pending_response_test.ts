import assert from "node:assert/strict";
import type { ResponseSending } from "../../../../src/core/http/outgoing_body.ts";
import type {
  BodyClock,
  TimedBody,
} from "../../../../src/core/net/body_bytes.ts";
import { PendingResponse } from "../../../../src/core/mcp/exchange/answer.ts";

/** Opens an answer as a stream, with its client's reads. */
async function openStream(call?: { sending: ResponseSending }) {
  const answer = new PendingResponse(false, call);
  answer.open();
  const response = await answer.response;
  return { answer, response };
}

Deno.test("PendingResponse is JSON with its status and headers when nothing precedes the end", async () => {
  const answer = new PendingResponse();
  answer.end({
    body: "{}",
    status: 403,
    headers: { "www-authenticate": "Bearer" },
  });
  const { status, headers, text } = await read(answer);
  assert.deepEqual([status, text], [403, "{}"]);
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("www-authenticate"), "Bearer");
});

Deno.test("PendingResponse is a stream as soon as something is sent", async () => {
  const answer = new PendingResponse();
  await answer.send("1");
  assert.ok(answer.isStream);
  answer.comment();
  answer.end({ body: "2" });
  const { text } = await read(answer);
  assert.equal(
    text,
    ":\n\nevent: message\ndata: 1\n\n:\n\nevent: message\ndata: 2\n\n",
  );
});

Deno.test("PendingResponse ends once", async () => {
  for (
    const [answer, whole] of [
      [new PendingResponse(), "1"],
      [(await openStream()).answer, ":\n\nevent: message\ndata: 1\n\n"],
    ] as const
  ) {
    const { isStream } = answer;
    answer.end({ body: "1" });
    answer.end({ body: "2" });
    await answer.send("3");
    answer.comment();
    answer.end();
    answer.open();
    assert.deepEqual([answer.hasEnded, answer.isStream], [true, isStream]);
    const { text } = await read(answer);
    assert.equal(text, whole);
  }
});

Deno.test("end() without an ending ends a stream without a message", async () => {
  const answer = new PendingResponse();
  answer.end();
  answer.end({ body: "1" });
  const { status, text } = await read(answer);
  assert.deepEqual([status, text], [200, ":\n\n"]);
});

Deno.test("onGone tells of a client that leaves before the end", async () => {
  const { answer, response } = await openStream();
  let gone = 0;
  answer.onGone = () => gone++;
  await response.body!.cancel();
  assert.deepEqual([gone, answer.hasEnded], [1, true]);
  await answer.send("1");
  answer.end({ body: "2" });
});

Deno.test("onGone tells nothing of a client that leaves after the end", async () => {
  const { answer, response } = await openStream();
  answer.onGone = () => assert.fail("the answer was complete");
  answer.end({ body: "1" });
  await response.body!.cancel();
});

Deno.test("send() waits for a client that does not read, until it leaves", async () => {
  const { answer, response } = await openStream();
  let sent = 0;
  const sending = (async () => {
    while (!answer.hasEnded) {
      await answer.send("1".repeat(4096));
      sent++;
    }
  })();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.ok(sent < 50);
  await response.body!.cancel();
  await sending;
});

async function read(answer: PendingResponse) {
  const { status, headers, body } = await answer.response;
  return { status, headers, text: await new Response(body).text() };
}

/** Runs with a runtime that cancels a stream from within `enqueue`. */
async function withLeavingClient(
  run: (answer: PendingResponse) => Promise<void> | void,
): Promise<void> {
  const { prototype } = ReadableStreamDefaultController;
  const { enqueue } = prototype;
  const answer = new PendingResponse();
  answer.open();
  const { body } = await answer.response;
  const reader = body!.getReader();
  await reader.read();
  const reading = reader.read();
  prototype.enqueue = function (chunk) {
    enqueue.call(this, chunk);
    reader.cancel();
  };
  try {
    await run(answer);
    await reading;
  } finally {
    prototype.enqueue = enqueue;
  }
}

Deno.test("send() waits for no room when the client leaves as it writes", () =>
  withLeavingClient(async (answer) => {
    let isGone = false;
    answer.onGone = () => isGone = true;
    await answer.send("{}");
    assert.equal(isGone, true);
    assert.equal(answer.hasEnded, true);
  }));

Deno.test("end() throws nothing when the client leaves as it writes", () =>
  withLeavingClient((answer) => {
    answer.end({ body: "{}" });
    assert.equal(answer.hasEnded, true);
  }));

const LARGE = "x".repeat(100_000);

/** Reads events until there are this many bytes. */
async function take(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  bytes: number,
): Promise<void> {
  for (let taken = 0; taken < bytes;) {
    taken += (await reader.read()).value!.length;
  }
}

/** True if a promise has settled. */
function isSettled(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => true), Promise.resolve(false)]);
}

Deno.test("a stream whose reader takes nothing for a minute is cut, and its sender waits no longer", async () => {
  const stalling: TimedBody[] = [];
  const { answer, response } = await openStream({
    sending: {
      clock: {
        begin: (body: TimedBody) => void stalling.push(body),
        end() {},
      } as unknown as BodyClock,
      count() {},
      hasRoom: () => true,
    },
  });
  let gone = 0;
  answer.onGone = () => gone++;
  const sending = [answer.send(LARGE), answer.send(LARGE)];
  assert.equal(answer.isStalled, false);
  const { giveUp, seconds } = stalling.at(-1)!;
  assert.equal(seconds, 60);
  giveUp();
  await Promise.all(sending);
  assert.deepEqual([answer.isStalled, answer.hasEnded, gone], [true, true, 1]);
  await assert.rejects(response.text(), /stopped reading/);
  giveUp();
  assert.equal(gone, 1);
});

Deno.test("a sender does not wait for a client that leaves", async () => {
  const { answer, response } = await openStream();
  const sending = [answer.send(LARGE), answer.send(LARGE)];
  await response.body!.cancel();
  await Promise.all(sending);
});

Deno.test("comment() makes no stream, and says nothing ahead of one", async () => {
  const answer = new PendingResponse();
  answer.comment();
  assert.equal(answer.isStream, false);
  answer.open();
  answer.end();
  const { text } = await read(answer);
  assert.equal(text, ":\n\n");
});

/** Makes a message whose event has this many bytes. */
function filling(bytes: number): string {
  return "x".repeat(bytes - "event: message\ndata: \n\n".length);
}

Deno.test("a reader may leave 64 KiB unread, and no byte more, before a sender waits", async () => {
  const { answer, response } = await openStream();
  const reader = response.body!.getReader();
  await take(reader, 3);
  await answer.send(filling(65_536));
  const sending = answer.send(filling(100));
  assert(!await isSettled(sending));
  await take(reader, 100);
  await sending;
  await reader.cancel();
});

Deno.test("a reader may leave 16 MiB unread, and one message, before it is cut", async () => {
  const { answer, response } = await openStream();
  const reader = response.body!.getReader();
  await take(reader, 3);
  const sending = [answer.send(filling(1 << 24)), answer.send("1")];
  assert.equal(answer.isStalled, false);
  sending.push(answer.send("2"));
  assert.equal(answer.isStalled, true);
  await Promise.all(sending);
  await assert.rejects(reader.read(), /stopped reading/);
});

Deno.test("a stream is cut at once if its caller leaves too much unread in all", async () => {
  const full = { has: true };
  const { answer } = await openStream({
    sending: {
      clock: { begin() {}, end() {} } as unknown as BodyClock,
      count() {},
      hasRoom: () => full.has,
    },
  });
  const sending = [answer.send(LARGE), answer.send("1")];
  assert.equal(answer.isStalled, false);
  full.has = false;
  sending.push(answer.send("2"));
  assert.equal(answer.isStalled, true);
  await Promise.all(sending);
});

Deno.test("comment() writes nothing behind what is not read", async () => {
  const { answer, response } = await openStream();
  const sending = answer.send(LARGE);
  answer.comment();
  const reader = response.body!.getReader();
  await take(reader, 3 + LARGE.length);
  await sending;
  answer.end();
  assert.deepEqual(await reader.read(), { done: true, value: undefined });
});
