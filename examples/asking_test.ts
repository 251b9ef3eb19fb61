import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { deleteNote } from "./asking.ts";

Deno.test("delete_note keeps the note unless the person agrees", async () => {
  await using server = await testServer({ tools: [deleteNote] });
  const input = { id: "tea" };
  const kept = await server.call(deleteNote, input, { answers: ["decline"] });
  assert.match(kept.text, /keep it/);
  assert.equal(kept.questions[0].message, "Delete the note tea?");
  const answers = [{ action: "accept" as const, content: { sure: true } }];
  const deleted = await server.call(deleteNote, input, { answers });
  assert.equal(deleted.text, "Deleted tea.");
  const none = await server.call(deleteNote, input);
  assert.equal(none.text, "There is no note tea.");
});
