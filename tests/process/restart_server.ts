/**
 * The process of a server that asks, works and identifies the caller. @module
 */
import * as z from "zod";
import { serve, tool } from "../../src/mod.ts";

await serve({
  name: "restart",
  version: "1",
  tools: [
    tool({ name: "whoami", run: (_input, { caller }) => caller.subject }),
    tool({
      name: "confirm",
      run: async (_input, { ask }) => {
        const answer = await ask({
          message: "Really?",
          schema: z.object({ word: z.string() }),
        });
        return answer.action === "accept" ? answer.content.word : "no";
      },
    }),
    tool({
      name: "work",
      task: "required",
      async run() {
        await new Promise((resolve) => setTimeout(resolve, 500));
        return "done";
      },
    }),
  ],
});
