import assert from "node:assert/strict";
import {
  MemoryBudget,
  type MessageHolder,
} from "../../../../src/core/mcp/exchange/limits.ts";

const MIB = 1024 * 1024;

function holderOf(name: string, isMany = false): MessageHolder {
  return { limitKey: { name, isMany }, messageBytes: 4 * MIB };
}

/**
 * Adds messages of 4 MiB until one is refused. Returns those that were added,
 * and the status.
 */
function fill(messages: MemoryBudget, name: string, isMany?: boolean) {
  const added: MessageHolder[] = [];
  for (;;) {
    const holder = holderOf(name, isMany);
    try {
      messages.check(holder);
    } catch (error) {
      return { added, status: (error as { status: number }).status };
    }
    messages.add(holder);
    added.push(holder);
  }
}

Deno.test("check() refuses a caller with too many bytes of long messages, and no one else", () => {
  const messages = new MemoryBudget();
  const { added, status } = fill(messages, "ada");
  assert.deepEqual([added.length, status], [8, 429]);
  messages.check({ ...added[0], messageBytes: 0 });
  messages.check(holderOf("bob"));
  messages.delete(added[0]);
  assert.equal(fill(messages, "ada").added.length, 1);
});

Deno.test("check() refuses everyone once a process has too many bytes, and networks before people", () => {
  const messages = new MemoryBudget();
  const outcomes = [
    fill(messages, "network 1", true),
    fill(messages, "network 2", true),
    fill(messages, "network 3", true),
    fill(messages, "ada"),
    fill(messages, "bob"),
    fill(messages, "eve"),
  ];
  assert.deepEqual(
    outcomes.map(({ added, status }) => [added.length, status]),
    [[8, 429], [8, 503], [0, 503], [8, 429], [8, 503], [0, 503]],
  );
  messages.delete(outcomes[3].added[0]);
  assert.equal(fill(messages, "eve").added.length, 1);
});

Deno.test("add() counts a message once for a call and its task, until both have ended", () => {
  const messages = new MemoryBudget();
  const { added: [first] } = fill(messages, "ada");
  messages.add(first);
  messages.delete(first);
  assert.throws(() => messages.check(first), { status: 429 });
  messages.delete(first);
  assert.equal(fill(messages, "ada").added.length, 1);
});

Deno.test("checkCaller() refuses a caller who has too much already, and no one else", () => {
  const answers = new MemoryBudget();
  answers.count({ name: "ada", isMany: false }, 32 * MIB - 1);
  answers.checkCaller(holderOf("ada"));
  answers.count({ name: "ada", isMany: false }, 1);
  assert.throws(() => answers.checkCaller(holderOf("ada")), { status: 429 });
  answers.checkCaller(holderOf("bob"));
  assert(!answers.hasRoom({ name: "ada", isMany: false }));
  answers.count({ name: "ada", isMany: false }, -1);
  answers.checkCaller(holderOf("ada"));
});
