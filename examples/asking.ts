/** A tool that asks the person before it acts: `deno run -A asking.ts`. */
import { serve, tool, z } from "@tool-server/tool-server";

const notes = new Map([["tea", "Buy tea."]]);

export const deleteNote = tool({
  name: "delete_note",
  description: "Deletes a note, once the person has agreed.",
  input: z.object({ id: z.string() }),
  annotations: { destructiveHint: true },
  // A positive answer deletes only once.
  singleUse: true,
  async run({ id }, { ask }) {
    if (!notes.has(id)) return `There is no note ${id}.`;
    const answer = await ask({
      message: `Delete the note ${id}?`,
      schema: z.object({ sure: z.boolean().describe("Yes, delete it.") }),
    });
    // For some clients, run starts again with the answer: act only after this
    // line.
    if (answer.action !== "accept" || !answer.content.sure) {
      return "The person wants to keep it.";
    }
    notes.delete(id);
    return `Deleted ${id}.`;
  },
});

if (import.meta.main) {
  await serve({ name: "notes", version: "1.0.0", tools: [deleteNote] });
}
