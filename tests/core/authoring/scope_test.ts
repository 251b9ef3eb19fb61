import assert from "node:assert/strict";
import { scopeDoubts } from "../../../src/authoring/scope.ts";
import { tool } from "../../../src/authoring/tool.ts";
import { startServer } from "../../kit/server.ts";
import { recordLog } from "../../kit/log.ts";

Deno.test("scopeDoubts() finds words without a scope and, where there are words, scopes without", () => {
  const words = { "mail:read": "Read your mail", "mail:sned": "Send mail" };
  assert.deepEqual(
    scopeDoubts(["mail:read", "mail:send", "mail:send"], words),
    { unneeded: ["mail:sned"], wordless: ["mail:send"] },
  );
  assert.deepEqual(scopeDoubts(["mail:read"]), { unneeded: [], wordless: [] });
});

Deno.test("a start tells of scopes that nothing needs and of those without words", async () => {
  const { log, events } = recordLog();
  await using server = await startServer({
    log,
    tools: [tool({ name: "send", scopes: ["mail:send"], run: () => "sent" })],
    scopes: { "mail:sned": "Send mail in your name" },
  });
  await server.app.start();
  const told = events.map(({ message, properties: { scope } }) => [
    message,
    scope,
  ]);
  assert.deepEqual(told, [
    ["A scope has words, but nothing here needs it", "mail:sned"],
    ["A scope has no words: people are shown its name", "mail:send"],
  ]);
});
