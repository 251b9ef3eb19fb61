/**
 * The accepted cost of each thing that a client does. A round trip to a
 * database on another machine takes about 10 ms, so the number of round trips
 * that wait for one another matters.
 *
 * @module
 */
import assert from "node:assert/strict";
import { CountingKv } from "../kit/counting_kv.ts";
import { openTestKv } from "../kit/databases.ts";
import type { Surroundings } from "./processes.ts";
import {
  walkDocumentSignIn,
  walkProviderRefresh,
  walkSession,
  walkSignIn,
} from "./walk.ts";
import { walkAccounts } from "./walk_accounts.ts";
import { walkAccount } from "./walk_account.ts";
import { walkAssertions, walkMemberships } from "./walk_proofs.ts";
import { walkSteps } from "./walk_steps.ts";
import { walkTasks } from "./walk_tasks.ts";
import { walkWork } from "./walk_work.ts";

/**
 * The budgets by step, in a process that has just started, and in one that goes
 * on: round trips that wait for one another and, in parentheses, all of them.
 */
type Budgets = Readonly<Record<string, readonly [cold: string, warm: string]>>;

/**
 * The number of attempts: on a busy machine a second may pass in the middle,
 * which adds reads. Other files of tests may run beside this one.
 */
const ATTEMPTS = 20;

function testBudgets(
  name: string,
  walk: (surroundings: Surroundings) => Promise<void>,
  budgets: Budgets,
): void {
  for (const [column, isCold] of [true, false].entries()) {
    const title = isCold ? "a process that starts" : "a process that goes on";
    Deno.test(`round trips of ${name} · ${title}`, async () => {
      const wanted = Object.fromEntries(
        Object.entries(budgets).map(([step, both]) => [step, both[column]]),
      );
      for (let attempt = 1;; attempt++) {
        const costs = await measure(walk, isCold);
        try {
          return assert.deepEqual({ ...costs, ...wanted }, costs);
        } catch (error) {
          if (attempt === ATTEMPTS) throw error;
        }
      }
    });
  }
}

/** Measures the steps of a walk. */
async function measure(
  walk: (surroundings: Surroundings) => Promise<void>,
  isCold: boolean,
): Promise<Record<string, string>> {
  const costs: Record<string, string> = {};
  await using real = await openTestKv();
  // Watches cross processes, so that nothing waits for a poll.
  Object.defineProperty(real, "isRemote", { value: true });
  const counting = new CountingKv(real);
  await walk({
    kv: counting.kv,
    isCold,
    uncounted: (action) => counting.uncounted(action),
    async step(name, action) {
      const { trips, operations, value } = await counting.measure(action);
      costs[name] = `${trips} (${operations})`;
      return value;
    },
  });
  return costs;
}

testBudgets("signing in, refreshing and revoking", walkSignIn, {
  // The very first one makes the key that seals registrations.
  register: ["2 (2)", "2 (2)"],
  authorize: ["2 (2)", "1 (1)"],
  approve: ["2 (2)", "2 (2)"],
  callback: ["5 (6)", "5 (6)"],
  token: ["2 (3)", "2 (2)"],
  refresh: ["2 (3)", "2 (2)"],
  // The client may have revoked what it was not answered.
  "refresh whose answer was lost": ["1 (2)", "1 (1)"],
  initialize: ["2 (2)", "1 (1)"],
  // The first use of a session moves its end.
  "call with the provider": ["3 (4)", "3 (3)"],
  "revoke an access token": ["2 (3)", "2 (2)"],
  // In the background the person is taken out of the lists of people.
  revoke: ["3 (8)", "3 (7)"],
});

testBudgets("a client with a document", walkDocumentSignIn, {
  authorize: ["2 (2)", "2 (2)"],
  // The first one stores the document as well.
  token: ["3 (4)", "3 (4)"],
  refresh: ["2 (3)", "2 (3)"],
});

testBudgets("a refresh at the provider", walkProviderRefresh, {
  "refresh, at the provider too": ["3 (4)", "3 (3)"],
});

testBudgets("the account page", walkAccount, {
  // A process reads the key that seals a sign-in once.
  "go to the provider": ["1 (1)", "0 (0)"],
  callback: ["2 (2)", "1 (1)"],
  connections: ["4 (9)", "4 (9)"],
  tokens: ["3 (3)", "3 (3)"],
  "tokens, with a new one": ["3 (4)", "3 (4)"],
  calls: ["4 (5)", "4 (5)"],
  data: ["2 (2)", "2 (2)"],
  people: ["5 (6)", "5 (5)"],
  clients: ["1 (1)", "1 (1)"],
  attempts: ["2 (2)", "2 (2)"],
  pause: ["8 (8)", "8 (8)"],
  resume: ["10 (10)", "10 (10)"],
  narrow: ["8 (8)", "8 (8)"],
  "make a token": ["6 (6)", "6 (6)"],
  end: ["4 (6)", "4 (6)"],
});

testBudgets("work on the account page", walkWork, {
  work: ["5 (6)", "5 (6)"],
  "one task": ["3 (4)", "3 (4)"],
  "cancel it": ["4 (4)", "4 (4)"],
  "durable work": ["2 (3)", "2 (3)"],
});

testBudgets("tasks", walkTasks, {
  create: ["3 (4)", "2 (3)"],
  poll: ["2 (3)", "1 (2)"],
  result: ["2 (3)", "1 (2)"],
  cancel: ["4 (5)", "3 (4)"],
  "revoke, with open tasks": ["3 (11)", "3 (10)"],
});

testBudgets("the steps of durable work", walkSteps, {
  "a step with retries": ["1 (1)", "1 (1)"],
  // That it begins is noted first.
  "a step without": ["2 (2)", "2 (2)"],
  "a long result": ["2 (2)", "2 (2)"],
});

testBudgets("tokens by assertions", walkAssertions, {
  private_key_jwt: ["2 (3)", "2 (3)"],
  "identity assertion": ["1 (2)", "1 (2)"],
});

testBudgets("a person who may call because of a group", walkMemberships, {
  callback: ["5 (6)", "5 (6)"],
  // The provider's new tokens are stored before it is asked for the identity.
  refresh: ["4 (5)", "4 (4)"],
  call: ["1 (1)", "1 (1)"],
});

testBudgets("a call with two accounts at other services", walkAccounts, {
  // In the background the use of each is noted. A process that goes on has read
  // the accounts a moment before, for the page on which they were connected.
  "first call": ["2 (5)", "1 (4)"],
  "next call": ["2 (3)", "1 (1)"],
  // Read with the token of a grant whose calls have needed them before.
  "a second later": ["2 (3)", "1 (1)"],
  "another second later": ["2 (3)", "1 (2)"],
  "before its second is over": ["2 (3)", "0 (0)"],
  // Looked for once more, and asked for.
  "after a disconnect elsewhere": ["9 (11)", "8 (10)"],
});

for (const door of ["none", "bearer"] as const) {
  testBudgets(`a session, ${door}`, (it) => walkSession(door, it), {
    // Which tools run long is read beside the rest.
    initialize: ["1 (2)", "1 (2)"],
    // The first use of a session moves its end.
    initialized: ["2 (3)", "2 (2)"],
    call: ["1 (2)", "1 (1)"],
    "next call": ["1 (2)", "0 (0)"],
    question: ["2 (4)", "1 (2)"],
    answer: ["2 (4)", "2 (2)"],
    elicitation: ["4 (8)", "3 (4)"],
    end: ["2 (3)", "2 (3)"],
  });
}

testBudgets("a session, oauth", (it) => walkSession("oauth", it), {
  // The session may be written only once the token is known.
  initialize: ["2 (3)", "2 (3)"],
  initialized: ["2 (4)", "2 (2)"],
  call: ["1 (3)", "1 (1)"],
  "next call": ["1 (3)", "0 (0)"],
  question: ["2 (5)", "1 (2)"],
  answer: ["2 (5)", "2 (2)"],
  elicitation: ["4 (10)", "3 (4)"],
  end: ["3 (4)", "2 (3)"],
});

Deno.test("a budget counts what is sent side by side once, and a longer list again", async () => {
  await using real = await openTestKv();
  const counting = new CountingKv(real);
  for (let n = 0; n < 150; n++) await real.set(["list", n], n);
  const { trips, operations } = await counting.measure(async () => {
    await Promise.all([counting.kv.get(["a"]), counting.kv.getMany([["b"]])]);
    await counting.kv.atomic().set(["c"], 1).commit();
    await Array.fromAsync(counting.kv.list({ prefix: ["list"] }));
  });
  assert.deepEqual({ trips, operations }, { trips: 4, operations: 5 });
});
