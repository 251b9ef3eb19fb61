/**
 * A skill: instructions for a task with this server's tools, which a client
 * reads when someone asks for the task. `deno run -A skills.ts`.
 */
import { defineServer, serve, tool, z } from "@tool-server/tool-server";
import { skill } from "@tool-server/tool-server/skill";
import manual from "./skills/refunds/SKILL.md" with { type: "text" };
import terms from "./skills/refunds/references/terms.md" with { type: "text" };

const ORDERS = new Map([
  ["A-1", { item: "Kettle", price: 39, deliveredOn: "2026-11-02" }],
]);

const findOrder = tool({
  name: "find_order",
  description: "Finds an order by its number.",
  input: z.object({ number: z.string() }),
  annotations: { readOnlyHint: true },
  run: ({ number }) => JSON.stringify(ORDERS.get(number) ?? "No such order"),
});

const refunds = skill({
  files: { "SKILL.md": manual, "references/terms.md": terms },
});

export const server = defineServer({
  name: "shop",
  version: "1.0.0",
  tools: [findOrder],
  skills: [refunds],
});

if (import.meta.main) await serve(server);
