import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { server as options } from "./resource.ts";

Deno.test("teas are listed, proposed and read", async () => {
  await using server = await testServer(options);
  assert.equal((await server.read("teas://all")).text, '["assam","sencha"]');
  assert.equal((await server.read("teas://sencha")).text, "Grassy.");
  const proposed = await server.complete("teas://{name}", "name", "a");
  assert.deepEqual(proposed, ["assam"]);
  await assert.rejects(server.read("teas://cocoa"), /not found/);
});
