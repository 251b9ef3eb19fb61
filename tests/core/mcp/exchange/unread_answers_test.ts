import assert from "node:assert/strict";
import { OutgoingBody } from "../../../../src/core/http/outgoing_body.ts";
import type { LimitKey } from "../../../../src/core/mcp/exchange/limits.ts";
import {
  responseSending,
  unreadBudget,
} from "../../../../src/core/mcp/exchange/unread_answers.ts";
import { BodyClock } from "../../../../src/core/net/body_bytes.ts";

const MIB = 2 ** 20;

function network(number: number): LimitKey {
  return { name: `network ${number}`, isMany: true };
}

function person(number: number): LimitKey {
  return { name: `person ${number}`, isMany: false };
}

/** Answers that no one reads; at its end all clients leave. */
class Unread implements AsyncDisposable {
  readonly #clock = new BodyClock();
  readonly #left = Promise.withResolvers<void>();
  readonly #bodies: OutgoingBody[] = [];

  /** Begins an answer, of which Deno takes some pieces of 32 KiB. */
  async begin(limitKey: LimitKey, bytes: number, pieces = 0) {
    const sending = {
      ...responseSending(limitKey, this.#clock, undefined),
      completed: this.#left.promise,
    };
    const body = new OutgoingBody(sending);
    this.#bodies.push(body);
    body.write(new Uint8Array(bytes));
    body.end();
    const reader = body.stream.getReader();
    for (let piece = 0; piece < pieces; piece++) await reader.read();
    return body;
  }

  /** Begins and drops an answer, so that only what Deno took is left. */
  async drop(limitKey: LimitKey): Promise<void> {
    (await this.begin(limitKey, MIB, 16)).abandon();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const body of this.#bodies) body.abandon();
    this.#left.resolve();
    await this.#left.promise;
    this.#clock.stop();
    assert.equal(unreadBudget.bytes, 0);
  }
}

/** True if nothing of an answer waits any more. */
const isEnded = ({ queuedBytes }: OutgoingBody) => queuedBytes === 0;

Deno.test("the unread answers of a process do not grow with the number of networks", async () => {
  await using unread = new Unread();
  for (let number = 0; number < 300; number++) {
    assert(unreadBudget.admits(network(number)));
    await unread.begin(network(number), 3 * MIB);
    assert(unreadBudget.bytes <= 67 * MIB, `${unreadBudget.bytes}`);
  }
});

Deno.test("networks that fill their half end their own answers, and none of people", async () => {
  await using unread = new Unread();
  const ada = await unread.begin(person(1), 31 * MIB);
  const bob = await unread.begin(person(2), 31 * MIB);
  for (let number = 0; number < 30; number++) {
    await unread.begin(network(number), 3 * MIB);
  }
  assert(!isEnded(ada) && !isEnded(bob));
  assert(unreadBudget.bytes <= (62 + 67) * MIB);
});

Deno.test("people who fill the process end the answers of the one who has the most, the oldest first", async () => {
  await using unread = new Unread();
  const first = await unread.begin(person(0), 20 * MIB);
  const second = await unread.begin(person(0), 11 * MIB);
  const others = [];
  for (let number = 1; number < 5; number++) {
    others.push(await unread.begin(person(number), 24 * MIB));
  }
  assert(!isEnded(first));
  const newest = await unread.begin(person(5), 4 * MIB);
  assert(!isEnded(first));
  await unread.begin(person(6), 4 * MIB);
  assert(isEnded(first));
  assert(![second, newest, ...others].some(isEnded));
});

Deno.test("an answer that is longer than all may be goes out, unless another begins", async () => {
  await using unread = new Unread();
  const long = await unread.begin(network(1), 70 * MIB);
  assert(!isEnded(long));
  const other = await unread.begin(network(2), MIB);
  assert(isEnded(long) && !isEnded(other));
});

Deno.test("what Deno keeps of ended answers is refused to callers who have some, and later to all, people last", async () => {
  await using unread = new Unread();
  const sum = () => unreadBudget.bytes / MIB;
  for (let number = 0; sum() < 64; number++) await unread.drop(network(number));
  assert(!unreadBudget.admits(network(1)));
  assert.throws(() => unreadBudget.check({ limitKey: network(1) }), {
    status: 503,
  });
  assert(unreadBudget.admits(network(-1)) && unreadBudget.admits(person(1)));
  for (let number = 200; sum() < 96; number++) {
    await unread.drop(network(number));
  }
  assert(!unreadBudget.admits(network(-1)));
  for (let number = 0; sum() < 128; number++) await unread.drop(person(number));
  assert(!unreadBudget.admits(person(1)));
  assert(unreadBudget.admits(person(-1)));
  for (let number = 100; sum() < 192; number++) {
    await unread.drop(person(number));
  }
  assert(!unreadBudget.admits(person(-1)));
});

Deno.test("a caller with 32 MiB is refused before another's answer is ended for it", async () => {
  await using unread = new Unread();
  const ada = await unread.begin(network(1), 32 * MIB);
  const bob = await unread.begin(network(2), 32 * MIB);
  assert(!unreadBudget.admits(network(1)));
  assert.throws(() => unreadBudget.check({ limitKey: network(1) }), {
    status: 429,
  });
  assert(!isEnded(ada) && !isEnded(bob));
});
