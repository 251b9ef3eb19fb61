/**
 * The guide of a project: the whole package on one screen, for people and for
 * coding agents. Its blocks of code are files, and `tests/package/` writes and
 * checks them.
 *
 * @module
 */

function file(path: string, text: string): string {
  return `\`\`\`${path.split(".").at(-1)}\n${commentOf(path)}\n${text}\`\`\`\n`;
}

export function guide(): string {
  return `# A whole server

One file a thing, its test next to it. A **service** starts once and is shared;
it holds data:

${file("notes.ts", NOTES)}
A **tool** is a function that models call:

${file("tools/add_note.ts", TOOL)}
With **approval** it runs only after a person has pressed a button on a page of
the server. A client can answer \`ask\` by itself, but it cannot press this button:

${file("tools/delete_note.ts", APPROVAL)}
A **view** is its page in the conversation; \`/views\` shows it in \`deno task dev\`:

${file("tools/add_note.html", VIEW)}
A **resource** is content with an address, a **prompt** begins a conversation:

${file("resources.ts", RESOURCE)}
${file("prompts.ts", PROMPT)}
The **server** names them all, and has **routes** of its own:

${file("server.ts", SERVER)}
A **test** calls it as a client, in memory:

${file("server_test.ts", TEST)}`;
}

function commentOf(path: string): string {
  return path.endsWith(".html") ? `<!-- ${path} -->` : `// ${path}`;
}

const NOTES = `import { service, z } from "@tool-server/tool-server";

export const notes = service({
  name: "notes",
  settings: {
    NOTES_KV: z.string().default("data/notes.kv").describe("Where notes are."),
  },
  start: ({ settings }) => Deno.openKv(settings.NOTES_KV),
  stop: (kv) => kv.close(),
});
`;

const TOOL = `import { tool, ToolError, z } from "@tool-server/tool-server";
import { notes } from "../notes.ts";
import view from "./add_note.html" with { type: "text" };

export default tool({
  name: "add_note",
  description: "Adds a note under a name that is free.",
  input: z.object({ id: z.string().min(1), text: z.string() }),
  output: z.object({ id: z.string(), words: z.int() }),
  services: { notes },
  view,
  async run({ id, text }, { services }) {
    const key = ["notes", id];
    const { ok } = await services.notes.atomic()
      .check({ key, versionstamp: null }).set(key, text).commit();
    if (!ok) throw new ToolError(\`\${id} is taken. Use another name.\`);
    return { id, words: text.split(" ").length };
  },
});
`;

const APPROVAL = `import { tool, z } from "@tool-server/tool-server";
import { notes } from "../notes.ts";

export default tool({
  name: "delete_note",
  description: "Deletes a note for good.",
  input: z.object({ id: z.string() }),
  annotations: { destructiveHint: true },
  services: { notes },
  approval: { show: ({ id }) => ({ title: \`Delete the note \${id}\` }) },
  async run({ id }, { services }) {
    await services.notes.delete(["notes", id]);
    return \`Deleted \${id}.\`;
  },
});
`;

const VIEW = `<!doctype html>
<title>Note</title>
<script src="tool-server/view"></script>
<style>
body {
  color: var(--color-text-primary, #1d1f1e);
}
</style>
<h1></h1>
<script>
view.show(({ data }) => {
  document.querySelector("h1").textContent = data ? data.id : "…";
});
</script>
`;

const RESOURCE = `import { resource } from "@tool-server/tool-server";
import { notes } from "./notes.ts";

export const note = resource({
  uri: "notes://{id}",
  name: "note",
  services: { notes },
  complete: {
    async id(value, _known, { services }) {
      const list = services.notes.list({ prefix: ["notes"] });
      const ids = await Array.fromAsync(list, ({ key }) => String(key[1]));
      return ids.filter((id) => id.startsWith(value));
    },
  },
  async read({ id }, { services }) {
    return (await services.notes.get<string>(["notes", id])).value ?? undefined;
  },
});
`;

const PROMPT = `import { prompt, z } from "@tool-server/tool-server";

export const shorten = prompt({
  name: "shorten",
  args: z.object({ id: z.string() }),
  get: ({ id }) => \`Read notes://\${id} and say it in half the words.\`,
});
`;

const SERVER = `import { defineServer } from "@tool-server/tool-server";
import { notes } from "./notes.ts";
import { shorten } from "./prompts.ts";
import { note } from "./resources.ts";
import addNote from "./tools/add_note.ts";
import deleteNote from "./tools/delete_note.ts";

export default defineServer({
  name: "notes",
  version: "0.1.0",
  tools: [addNote, deleteNote],
  resources: [note],
  prompts: [shorten],
  services: { notes },
  routes(app, { services }) {
    app.put("/notes/:id", async (c) => {
      await services.notes.set(
        ["notes", c.req.param("id")],
        await c.req.text(),
      );
      return c.body(null, 204);
    });
  },
});
`;

const TEST = `import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import options from "./server.ts";
import addNote from "./tools/add_note.ts";
import deleteNote from "./tools/delete_note.ts";

Deno.test("a note is added, found, read and deleted", async () => {
  const env = { NOTES_KV: ":memory:" };
  await using server = await testServer({ ...options, env });
  const ada = server.as({ subject: "ada" });
  const added = await ada.call(addNote, { id: "tea", text: "Buy tea" });
  assert.deepEqual(added.structured, { id: "tea", words: 2 });
  const again = await ada.call(addNote, { id: "tea", text: "" });
  assert.equal(again.isError, true);
  assert.deepEqual(await ada.complete("notes://{id}", "id", "t"), ["tea"]);
  const body = "Buy more tea";
  await server.fetch("/notes/tea", { method: "PUT", body });
  assert.equal((await ada.read("notes://tea")).text, body);
  await ada.call(deleteNote, { id: "tea" }, { approval: "approve" });
  assert.deepEqual(await ada.complete("notes://{id}", "id", "t"), []);
});
`;
