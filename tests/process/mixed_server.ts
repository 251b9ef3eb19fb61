/** The process of a server with a tool for each kind of load. @module */
import * as z from "zod";
import { serve, tool } from "../../src/mod.ts";

await serve({
  name: "mixed",
  version: "1",
  tools: [
    tool({
      name: "whoami",
      run: (_input, { caller }) => String(caller.identity?.name),
    }),
    tool({
      name: "confirm",
      run: async (_input, { ask }) =>
        (await ask({ message: "Sure?", schema: z.object({}) })).action,
    }),
    tool({
      name: "work",
      task: "required",
      async run() {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return "x".repeat(100_000);
      },
    }),
    tool({
      name: "rest",
      task: { durable: true },
      async run(_input, { step, sleep, ask }) {
        const id = await step("id", () => crypto.randomUUID(), { retries: 20 });
        await sleep("nap", 1);
        const schema = z.object({});
        const { action } = await ask({ message: "On?", schema, key: "on" });
        return `${action} ${id}`;
      },
    }),
    tool({
      name: "pay",
      input: z.object({ order: z.string() }),
      async run({ order }, { ask }) {
        const url = `https://pay.example.com/${order}`;
        return (await ask({ message: `Pay ${order}`, url })).action;
      },
    }),
  ],
});
