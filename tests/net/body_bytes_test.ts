import assert from "node:assert/strict";
import { readBytes } from "../../src/net/body_bytes.ts";
import { HttpError } from "../../src/errors.ts";

/**
 * A body whose chunks all share the same memory, as those of a real body may.
 */
class Chunks {
  read = 0;
  isCancelled = false;
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;

  constructor(texts: Iterable<string>) {
    const memory = new Uint8Array(8);
    const iterator = texts[Symbol.iterator]();
    this.body = new ReadableStream({
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
  const bytes = await readBytes(new Chunks(texts), 17);
  assert.equal(new TextDecoder().decode(bytes), texts.join(""));
});

Deno.test("readBytes() takes no body for an empty one", async () => {
  assert.equal((await readBytes({ body: null }, 0)).length, 0);
  assert.equal((await readBytes(new Chunks([]), 0)).length, 0);
});

Deno.test("readBytes() refuses one byte too many as soon as it is there", async () => {
  await readBytes(new Chunks(repeated("12345678", 2)), 16);
  const endless = new Chunks(repeated("12345678"));
  await assert.rejects(readBytes(endless, 16), isStatus(413));
  assert.equal(endless.read, 3);
  assert(endless.isCancelled);
});

Deno.test("readBytes() refuses more chunks than a body needs, empty ones too", async () => {
  const bytes = await readBytes(new Chunks(repeated("1", 10_000)), 16_384);
  assert.equal(bytes.length, 10_000);
  for (const text of ["1", ""]) {
    const endless = new Chunks(repeated(text));
    await assert.rejects(readBytes(endless, 16_384), isStatus(400));
    assert(endless.isCancelled);
  }
});
