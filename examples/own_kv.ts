/**
 * Data of your own in Deno KV, behind a service: `deno run -A own_kv.ts`.
 *
 * On your own machine it is another file than the server's. On Deno Deploy an
 * app has one database, so `NOTES_KV` stays unset there: all keys begin with a
 * word of yours, here `notes`, and nothing else is ever listed or deleted.
 */
import {
  defineServer,
  serve,
  service,
  tool,
  z,
} from "@tool-server/tool-server";

const PREFIX = "notes";

/** The notes of each person. The database is opened once, with the server. */
const notes = service({
  name: "notes",
  settings: {
    NOTES_KV: z.string().optional()
      .describe("The file of the notes, such as data/notes.kv."),
  },
  async start({ settings }) {
    const kv = await Deno.openKv(settings.NOTES_KV);
    return {
      add: (subject: string, text: string) =>
        kv.set([PREFIX, subject, crypto.randomUUID()], text),
      async of(subject: string): Promise<string[]> {
        const entries = kv.list<string>({ prefix: [PREFIX, subject] });
        return (await Array.fromAsync(entries)).map(({ value }) => value);
      },
      close: () => kv.close(),
    };
  },
  stop: (notes) => notes.close(),
});

const addNote = tool({
  name: "add_note",
  description: "Keeps a note for the caller, and lists all of theirs.",
  input: z.object({ text: z.string().min(1).max(10_000) }),
  output: z.object({ notes: z.array(z.string()) }),
  services: { notes },
  async run({ text }, { services, caller }) {
    await services.notes.add(caller.subject, text);
    return { notes: await services.notes.of(caller.subject) };
  },
});

export const server = defineServer({
  name: "notes",
  version: "1.0.0",
  tools: [addNote],
});

if (import.meta.main) await serve(server);
