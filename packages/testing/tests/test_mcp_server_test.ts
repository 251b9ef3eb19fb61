import assert from "node:assert/strict";
import { mcpServer, tool, z } from "../../../src/mod.ts";
import { testMcpServer, testServer } from "../mod.ts";

const tracker = mcpServer("tracker", { url: "https://tracker.example/mcp" });
const through = tool({
  name: "through",
  input: z.object({ tool: z.string() }),
  needs: { tracker },
  run: ({ tool }, { needs }) => needs.tracker.call(tool, { word: "tea" }),
});

/** Calls a tool of a server with these. */
async function call(name: string) {
  await using server = await testServer({ tools: [through] });
  const there = testMcpServer({
    text: "plain",
    whole: {
      content: [{ type: "image", data: "aGk=", mimeType: "image/png" }],
    },
    object: ({ word }) => ({ word }),
    fails() {
      throw new Error("no tea");
    },
  });
  return await server.call(through, { tool: name }, {
    needs: { tracker: there },
  });
}

Deno.test("testMcpServer() answers with a text, a result, or an object", async () => {
  assert.equal((await call("text")).text, "plain");
  assert.equal((await call("whole")).content[0].type, "image");
  assert.deepEqual((await call("object")).structured, { word: "tea" });
});

Deno.test("testMcpServer() fails as a server does", async () => {
  const failed = await call("fails");
  assert.equal(failed.isError, true);
  assert.equal(failed.text, "tracker: no tea");
  const unknown = await call("none");
  assert.match(unknown.text, /refused the call .*Unknown tool: none/);
});
