/** A prompt, which a person picks and fills in: `deno run -A prompt.ts`. */
import { defineServer, prompt, serve, z } from "@tool-server/tool-server";

const TONES = ["friendly", "formal", "short"];

const reply = prompt({
  name: "reply",
  title: "Reply to a customer",
  description: "Drafts a reply in a tone.",
  args: z.object({ message: z.string(), tone: z.enum(TONES) }),
  complete: { tone: (value) => TONES.filter((it) => it.startsWith(value)) },
  get: ({ message, tone }) =>
    `Draft a ${tone} reply to this message:\n\n${message}`,
});

export const server = defineServer({
  name: "replies",
  version: "1.0.0",
  prompts: [reply],
});

if (import.meta.main) await serve(server);
