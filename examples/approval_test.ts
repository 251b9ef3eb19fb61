import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { deleteNotes } from "./approval.ts";

Deno.test("delete_notes deletes what its person has approved", async () => {
  await using server = await testServer({ tools: [deleteNotes] });
  const ann = server.as({ subject: "ann" });
  const input = { ids: ["tea"] };
  const refused = await ann.call(deleteNotes, input, {
    approval: { refuse: "I still need it" },
  });
  assert.match(refused.text, /I still need it/);
  const other = { ids: ["tea", "milk"] };
  const done = await ann.call(deleteNotes, other, { approval: "approve" });
  assert.equal(done.text, "Deleted tea, milk, as ann approved.");
});
