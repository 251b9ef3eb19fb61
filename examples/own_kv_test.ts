import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { server as options } from "./own_kv.ts";

Deno.test("notes are kept for each person", async () => {
  const env = { NOTES_KV: ":memory:" };
  await using server = await testServer({ ...options, env });
  const [ada, eve] = ["ada", "eve"].map((subject) => server.as({ subject }));
  await ada.call("add_note", { text: "Buy tea" });
  const hers = await eve.call("add_note", { text: "Sell tea" });
  assert.deepEqual(hers.structured, { notes: ["Sell tea"] });
});
