/** The process of a server with one tool that identifies the caller. @module */
import { serve, tool } from "../../src/mod.ts";

await serve({
  name: "whoami",
  version: "1",
  tools: [
    tool({
      name: "whoami",
      run: (_input, { caller }) => JSON.stringify(caller),
    }),
  ],
});
