/** The process of a server with a task that takes a while. @module */
import { serve, tool } from "../../src/mod.ts";

await serve({
  name: "patient",
  version: "1",
  tools: [
    tool({
      name: "patient",
      task: "required",
      run: () =>
        new Promise<string>((resolve) =>
          setTimeout(() => resolve("done"), 75_000)
        ),
    }),
  ],
});
