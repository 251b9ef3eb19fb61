import assert from "node:assert/strict";
import { AuthoredRun, follow } from "../../../src/mcp/exchange/authored_run.ts";
import { ChallengeError } from "../../../src/errors.ts";
import { Suspended } from "../../../src/mcp/wire/inquiry.ts";
import { settled } from "../../kit/wait.ts";

const REASON = new Suspended();

/** A run, and the warnings that it went on although it was cut. */
function oneRun() {
  const late: string[] = [];
  return { run: new AuthoredRun((message) => late.push(message)), late };
}

Deno.test("follow() goes on with what the code gives, throws, or makes of it", async () => {
  const { run, late } = oneRun();
  assert.equal(await run.follow(Promise.resolve(1), (n) => n + 1), 2);
  const failed = Promise.reject(new Error("broken"));
  await assert.rejects(async () => await run.follow(failed, () => 1), /broken/);
  await assert.rejects(
    async () =>
      await run.follow(Promise.resolve(1), () => {
        throw new Error("unfit");
      }),
    /unfit/,
  );
  assert.deepEqual([run.reason, late], [undefined, []]);
});

Deno.test("cut() ends every wait, and its promise settles for no one", async () => {
  const { run, late } = oneRun();
  const steps: string[] = [];
  const code = async () => {
    try {
      await run.cut(REASON);
    } catch {
      steps.push("catch");
    } finally {
      steps.push("finally");
    }
  };
  const hook = async () => await run.follow(code(), () => 1);
  await assert.rejects(async () => await run.wait(hook()), REASON);
  await settled();
  assert.deepEqual([steps, late], [[], []]);
  run.cut(new Error("another"));
  assert.equal(run.reason, REASON);
  // Work that begins after that is not waited for either.
  await assert.rejects(run.follow(Promise.resolve(1), (n) => n), REASON);
});

Deno.test("a run that goes on after its cut is told once, and gives nothing", async () => {
  const { run, late } = oneRun();
  run.goesOn();
  assert.deepEqual(late, []);
  let isUsed = false;
  const code = Promise.withResolvers<number>();
  const followed = run.follow(code.promise, () => isUsed = true);
  run.cut(REASON);
  await assert.rejects(followed, REASON);
  code.resolve(1);
  await settled();
  assert.equal(isUsed, false);
  run.goesOn();
  assert.equal(late.length, 1);
  assert.match(late[0], /^A run went on after its question/);
});

Deno.test("a run that goes on after its sign-in ended is told, and one that was cancelled is not", () => {
  const signedOut = oneRun();
  signedOut.run.cut(new ChallengeError("Sign in again", "invalid_token"));
  signedOut.run.goesOn();
  assert.match(signedOut.late[0], /^A run went on although the sign-in/);
  const cancelled = oneRun();
  cancelled.run.cut(new DOMException("enough", "AbortError"));
  cancelled.run.goesOn();
  assert.deepEqual(cancelled.late, []);
});

Deno.test("follow() goes on at once with a value that is here, and waits for whatever has a then()", async () => {
  const double = (value: number) => value * 2;
  assert.equal(follow(2, double), 4);
  assert.equal(follow(undefined, () => 1), 1);
  assert.equal(follow(null, () => 1), 1);
  const query: PromiseLike<number> = {
    then: (resolve, reject) => Promise.resolve(2).then(resolve, reject),
  };
  for (const run of [undefined, oneRun().run]) {
    const doubled = follow(query, double, () => run);
    assert.ok(doubled instanceof Promise);
    assert.equal(await doubled, 4);
    const failed = Promise.reject(new TypeError("no"));
    await assert.rejects(async () => await follow(failed, double, () => run));
  }
});

Deno.test("what waits for a cut run is collected", async () => {
  const collected: number[] = [];
  const registry = new FinalizationRegistry<number>((n) => collected.push(n));
  async function ask(n: number): Promise<void> {
    const { run } = oneRun();
    const held = { n };
    registry.register(held, n);
    const code = async () => {
      try {
        await run.cut(REASON);
      } finally {
        held.n++;
      }
    };
    await assert.rejects(run.follow(code(), () => {}), REASON);
  }
  for (let n = 0; n < 100; n++) await ask(n);
  const deadline = performance.now() + 30_000;
  while (collected.length < 90 && performance.now() < deadline) {
    // Garbage enough for the collector to come by itself.
    Array.from({ length: 1e5 }, (_, n) => ({ n }));
    await settled();
  }
  assert.ok(collected.length >= 90, `${collected.length} of 100`);
});
