/** The questions of durable work on pages. */
import assert from "node:assert/strict";
import { askInTurn } from "../../../src/core/mcp/exchange/in_turn.ts";
import {
  PageQuestions,
  waitPagesOf,
} from "../../../src/features/questions/page_questions.ts";
import { AskedQuestion } from "../../../src/core/protocol/question.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import {
  MAX_WAITS_PER_CLIENT,
  waitStore,
} from "../../../src/features/questions/waits.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const CALLER = {
  door: "oauth",
  subject: "github:ada",
  binding: "ada",
  scopes: "all",
} as const;
const RUN = {
  tool: "report",
  scopes: [],
  keep: 60,
  address: "",
  caller: CALLER,
} as const;
const BEGINNING = {
  input: {},
  client: { capabilities: {}, revision: "2026-07-28" },
  meta: {},
};
const QUESTION = AskedQuestion.onPage({
  message: "Look",
  url: "https://pay.example.com/",
});

/** The questions of a task, as each of its runs has them. */
async function workOn(kv: Deno.Kv) {
  const database = new Database(kv);
  const waits = waitStore(database);
  await taskStore(database).createDurable("t", RUN, BEGINNING, "ada");
  const pages = waitPagesOf({
    waits,
    baseUrl: "https://mcp.example",
    providerIds: ["github"],
  });
  const { signal } = new AbortController();
  const run = () =>
    PageQuestions.of(pages, CALLER, "report", {})!
      .within({ taskId: "t", signal, address: "" });
  const answer = (id: string) =>
    waits.answer(id, CALLER.subject, { action: "accept" }, () => {});
  return { waits, run, answer };
}

test.inMemory("an answer on a page is there for a later run until durable work has kept it, and then no more", async ({ kv }) => {
  const { run, answer } = await workOn(kv);
  const first = await run().open(QUESTION, "look");
  assert("wait" in first);
  await answer(first.wait.id!);
  const accepted = { answer: { action: "accept", content: undefined } };
  assert.deepEqual(await run().open(QUESTION, "look"), accepted);
  // The process before has died.
  const last = run();
  assert.deepEqual(await last.open(QUESTION, "look"), accepted);
  await last.kept("look");
  const again = await run().open(QUESTION, "look");
  assert("wait" in again && again.wait.id !== first.wait.id);
});

test.inMemory("durable work waits for its turn where its client has too many open pages", async ({ kv }) => {
  using time = new FakeTime();
  const { waits, run, answer } = await workOn(kv);
  const asked = run();
  for (let n = 0; n < MAX_WAITS_PER_CLIENT; n++) {
    await asked.open(QUESTION, `page ${n}`);
  }
  const [someone] = await waits.listOf(CALLER.subject);
  const seen: (string | undefined)[] = [];
  const parking = {
    againSeconds: 60,
    now: () => 1000,
    activity: <T>(work: () => Promise<T>) => work(),
    wait: <T>(_waiting: unknown, work: () => Promise<T>) => work(),
    async waitUntil(until: number, how: { waitsFor?: string } = {}) {
      assert.equal(until, 1060);
      seen.push(how.waitsFor);
      time.tick(60);
      if (seen.length < 3) return;
      await answer(someone.id!);
      await waits.take(someone);
    },
  };
  const page = await askInTurn(parking, () => asked.open(QUESTION, "late"));
  assert("wait" in page);
  const words = "The tool waits until other questions to you are answered";
  assert.deepEqual(seen, [words, words, words]);
});
