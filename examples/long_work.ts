/**
 * Long work as a task, for clients with tasks; for others it runs in
 * the request, with progress: `deno run -A long_work.ts`.
 */
import { serve, tool, z } from "@tool-server/tool-server";

export const countWords = tool({
  name: "count_words",
  description: "Counts the words of several pages.",
  input: z.object({ pages: z.array(z.string()).min(1) }),
  output: z.object({ words: z.int() }),
  task: "optional",
  async run({ pages }, { progress, signal }) {
    let words = 0;
    for (const [done, page] of pages.entries()) {
      signal.throwIfAborted();
      await progress(done, pages.length);
      words += page.split(/\s+/).filter(Boolean).length;
    }
    await progress(pages.length, pages.length);
    return { words };
  },
});

if (import.meta.main) {
  await serve({ name: "words", version: "1.0.0", tools: [countWords] });
}
