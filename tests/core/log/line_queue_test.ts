import assert from "node:assert/strict";
import { LineQueue } from "../../../src/core/log/line_queue.ts";
import { until } from "../../kit/wait.ts";
import { FakeTime } from "../../kit/fake_time.ts";

/** A pipe that can stall, or fail, and takes so many bytes at a time. */
class Pipe {
  chunks: string[] = [];
  tries = 0;
  #state: "open" | "stalled" | "full" = "open";
  #opened = Promise.withResolvers<void>();
  readonly queue: LineQueue;

  constructor(bytesAtOnce = Infinity) {
    this.queue = new LineQueue(async (bytes) => {
      this.tries++;
      if (this.#state === "full") throw new Error("No space left on device");
      if (this.#state === "stalled") await this.#opened.promise;
      const taken = bytes.subarray(0, Math.min(bytesAtOnce, bytes.length));
      this.chunks.push(new TextDecoder().decode(taken));
      return taken.length;
    }, (count) => `${count} dropped`);
  }

  become(state: "open" | "stalled" | "full"): void {
    this.#state = state;
    if (state === "stalled") this.#opened = Promise.withResolvers();
    else this.#opened.resolve();
  }

  get lines(): string[] {
    return this.chunks.join("").split("\n").slice(0, -1);
  }
}

Deno.test("LineQueue writes what waited before an urgent line, and with it", async () => {
  const pipe = new Pipe();
  pipe.queue.push("one");
  pipe.queue.push("two");
  pipe.queue.push("three", true);
  await until(() => pipe.chunks.length > 0);
  pipe.queue.push("four");
  await pipe.queue.flush();
  assert.deepEqual(pipe.chunks, ["one\ntwo\nthree\n", "four\n"]);
});

Deno.test("LineQueue writes by itself, and on, where a write takes a part", async () => {
  const pipe = new Pipe(3);
  pipe.queue.push("é and more");
  await until(() => pipe.chunks.join("").endsWith("\n"));
  assert.equal(pipe.chunks.length, 4);
});

Deno.test("LineQueue keeps a bounded number of lines for a reader that stalls, and then tells how many are missing", async () => {
  const pipe = new Pipe();
  pipe.become("stalled");
  pipe.queue.push("first", true);
  const line = "x".repeat(999);
  for (let n = 0; n < 5000; n++) pipe.queue.push(line);
  // There is room left for what went wrong, and more than a routine line needs.
  const urgent = Array.from({ length: 100 }, (_, n) => `wrong ${n} ${line}`);
  for (const text of urgent) pipe.queue.push(text, true);
  await pipe.queue.flush();
  assert.deepEqual(pipe.lines, []);
  pipe.become("open");
  await until(() => pipe.lines.some((line) => line.endsWith("dropped")));
  const kept = pipe.lines.filter((text) => text === line).length;
  assert(kept > 500 && kept < 1100, String(kept));
  assert.deepEqual(pipe.lines.filter((text) => text !== line), [
    "first",
    ...urgent,
    `${5000 - kept} dropped`,
  ]);
  pipe.queue.push("last");
  await pipe.queue.flush();
  assert.equal(pipe.lines.at(-1), "last");
});

Deno.test("LineQueue goes on where it was when a full disk has room again, and tries once a second", async () => {
  using time = new FakeTime();
  const pipe = new Pipe();
  pipe.become("full");
  for (let n = 0; n < 20; n++) {
    pipe.queue.push(`line ${n}`, true);
    await pipe.queue.flush();
  }
  const tries = pipe.tries;
  for (let n = 20; n < 30; n++) {
    pipe.queue.push(`line ${n}`, true);
    await Promise.resolve();
  }
  assert.equal(pipe.tries, tries);
  pipe.become("open");
  time.tick(1);
  pipe.queue.push("line 30", true);
  await pipe.queue.flush();
  assert.deepEqual(
    pipe.lines,
    Array.from({ length: 31 }, (_, n) => `line ${n}`),
  );
});
