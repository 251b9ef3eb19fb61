/** A server with one tool that works until it is told to stop. */
import { serve, tool } from "../../src/mod.ts";

const wait = tool({
  name: "wait",
  async run(_input, { progress, signal }) {
    await progress(0);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    signal.throwIfAborted();
    return "";
  },
});

await serve({ name: "waiting", version: "1.0.0", tools: [wait] });
