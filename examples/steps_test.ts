import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { billCustomer, sent } from "./steps.ts";

const input = { customer: "Ada", euros: 12 };
const answers = {
  remind: { action: "accept", content: { remind: true } },
} as const;
const WEEK = 7 * 24 * 3600;

Deno.test("bill_customer bills, waits a week and reminds", async () => {
  sent.clear();
  await using server = await testServer({ tools: [billCustomer] });
  const task = await server.startTask(billCustomer, input, { answers });
  await server.advance(WEEK - 60);
  assert.equal(sent.size, 1);
  assert.match((await task.status()).statusMessage!, /waiting a week/);
  await server.advance(60);
  const { text, questions } = await task.result();
  assert.match(text, /Ada was reminded/);
  assert.match(questions[0].message, /Remind Ada of bill/);
  assert.equal(sent.size, 2);
});

Deno.test("bill_customer sends nothing twice, wherever its process dies", async () => {
  sent.clear();
  await using server = await testServer({ tools: [billCustomer] });
  const task = await server.startTask(billCustomer, input, { answers });
  await task.crash({ after: "bill" });
  await task.crash({ in: "send" });
  await task.crash({ after: "send" });
  await server.advance(WEEK);
  await task.crash({ in: "remind" });
  assert.match((await task.result()).text, /Ada was reminded/);
  const [bill, reminder] = sent.values();
  assert.equal(reminder, `Reminder: ${bill}`);
  assert.equal(sent.size, 2);
});

Deno.test("bill_customer reminds no one unasked", async () => {
  sent.clear();
  await using server = await testServer({ tools: [billCustomer] });
  const task = await server.startTask(billCustomer, input, {
    answers: ["decline"],
  });
  await server.advance(WEEK);
  assert.match((await task.result()).text, /was sent\.$/);
  assert.equal(sent.size, 1);
});
