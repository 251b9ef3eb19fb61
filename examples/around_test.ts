import assert from "node:assert/strict";
import { tool, ToolError } from "@tool-server/tool-server";
import { testServer } from "@tool-server/tool-server/testing";
import { auditTo, server as options } from "./around.ts";

Deno.test("each call is written down, with its end", async () => {
  const lines: string[] = [];
  const fail = tool({
    name: "fail",
    run(): string {
      throw new ToolError("Not today.");
    },
  });
  await using server = await testServer({
    ...options,
    tools: [...options.tools!, fail],
    around: auditTo((line) => lines.push(line)),
  });
  const ada = server.as({ subject: "ada" });
  await ada.call("greet", { name: "Eve" });
  await ada.call("fail");
  assert.match(lines[0], /^ada greet answered \d+ ms$/);
  assert.match(lines[1], /^ada fail no answer \d+ ms$/);
  // Input that the schema refuses never comes so far.
  await ada.call("greet", {});
  assert.equal(lines.length, 2);
});
