import assert from "node:assert/strict";
import addingATool from "./adding_a_tool.ts";
import { testServer } from "../../packages/testing/mod.ts";

Deno.test("docs://adding-a-tool tells where tools are listed", async () => {
  await using server = await testServer({ resources: [addingATool] });
  const { contents: [{ mimeType }], text } = await server.read(
    "docs://adding-a-tool",
  );
  assert.equal(mimeType, "text/markdown");
  assert.match(text, /src\/tools\/mod\.ts/);
});
