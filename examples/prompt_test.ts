import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { server as options } from "./prompt.ts";

Deno.test("reply is filled in, and proposes tones", async () => {
  await using server = await testServer(options);
  assert.deepEqual(await server.complete("reply", "tone", "f"), [
    "friendly",
    "formal",
  ]);
  const args = { message: "Where is my tea?", tone: "short" };
  const { text } = await server.prompt("reply", args);
  assert.match(text, /^Draft a short reply .*\n\nWhere is my tea\?$/);
  await assert.rejects(
    server.prompt("reply", { ...args, tone: "rude" }),
    { code: -32602 },
  );
});
