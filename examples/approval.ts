/** A tool that runs once its person has approved it on a page: `deno run -A approval.ts`. */
import { serve, tool, z } from "@tool-server/tool-server";

const notes = new Map([["tea", "Buy tea."], ["milk", "Buy milk."]]);

export const deleteNotes = tool({
  name: "delete_notes",
  title: "Delete notes",
  description: "Deletes notes for good, once the person has approved it.",
  input: z.object({ ids: z.array(z.string()).min(1).max(100) }),
  annotations: { destructiveHint: true },
  approval: {
    show: ({ ids }) => ({
      title: `Delete ${ids.length === 1 ? "a note" : `${ids.length} notes`}`,
      facts: Object.fromEntries(
        ids.map((id) => [id, notes.get(id) ?? "There is no such note."]),
      ),
    }),
  },
  run({ ids }, { approval }) {
    const deleted = ids.filter((id) => notes.delete(id));
    return `Deleted ${deleted.join(", ")}, as ${approval?.by} approved.`;
  },
});

if (import.meta.main) {
  await serve({ name: "notes", version: "1.0.0", tools: [deleteNotes] });
}
