/** A server with one tool that works until it is told to stop. */
import { pause } from "../../src/core/clock.ts";
import { serve, tool } from "../../src/mod.ts";

const wait = tool({
  name: "wait",
  async run(_input, { progress, signal }) {
    for (let done = 0;; done++) {
      await progress(done);
      await pause(100, signal);
      signal.throwIfAborted();
    }
  },
});

await serve({ name: "waiting", version: "1.0.0", tools: [wait] });
