/** Time that is moved while the answers to questions are on their way. */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../../src/mod.ts";
import { within } from "../../../tests/kit/wait.ts";
import { testServer } from "../mod.ts";

Deno.test("advance() lets a question be answered first, and ends the wait behind it", async () => {
  const pay = tool({
    name: "pay",
    task: { durable: true },
    async run(_input, { ask, wait }) {
      const schema = z.object({ sure: z.boolean() });
      await ask({ message: "Sure?", schema, key: "sure" });
      const paid = await wait("paid", {
        message: "Waits for the payment",
        open: () => {},
        seconds: 300,
      });
      return paid === undefined ? "Not paid" : "Paid";
    },
  });
  await using server = await testServer({ tools: [pay] });
  const task = await server.startTask(pay, {}, {
    answers: [{ action: "accept", content: { sure: true } }],
  });
  // The work has left its process by then, with its question open.
  await server.advance(1);
  const result = task.result();
  await server.advance(400);
  assert.equal((await within(10, result)).text, "Not paid");
});
