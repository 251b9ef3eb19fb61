import assert from "node:assert/strict";
import { testServer } from "../../packages/testing/mod.ts";
import whoami from "./whoami.ts";

Deno.test("whoami tells who is calling, and the client's own word", async () => {
  await using server = await testServer({ tools: [whoami] });
  assert.deepEqual((await server.call(whoami)).structured, {
    subject: "anonymous",
    client: "test",
    scopes: "all",
  });
  const identity = { name: "Ada", login: "ada", email: "ada@example.com" };
  const ada = server.as({ subject: "ada", scopes: ["openid"], identity });
  assert.deepEqual((await ada.call(whoami)).structured, {
    subject: "ada",
    client: "test",
    scopes: ["openid"],
    ...identity,
  });
});
