import * as z from "zod";
import { tool } from "../mod.ts";

/** A tool that reports progress and stops when its client no longer waits. */
export default tool({
  name: "countdown",
  title: "Countdown",
  description: "Counts down, one step a second, and tells how far it is.",
  input: z.object({
    from: z.int().min(1).max(60).default(5).describe("Seconds to count."),
  }),
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    openWorldHint: false,
  },
  async run({ from }, { progress, signal }) {
    // A module that only this tool needs is loaded with its first call.
    const { setTimeout } = await import("node:timers/promises");
    for (let done = 0; done < from; done++) {
      await progress(done, from, `${from - done} …`);
      await setTimeout(1000, undefined, { signal });
    }
    await progress(from, from);
    return "Lift-off!";
  },
});
