import assert from "node:assert/strict";
import { testServer } from "@tool-server/tool-server/testing";
import { server as options } from "./own_data.ts";

const env = { ISSUES_DB: ":memory:" };

Deno.test("an issue is opened, proposed by its number, and read", async () => {
  await using server = await testServer({ ...options, env });
  const ada = server.as({ subject: "ada" });
  for (const title of ["Tea is cold", "Tea is gone"]) {
    await ada.call("open_issue", { title });
  }
  assert.deepEqual(await ada.complete("issue://{number}", "number", ""), [
    "1",
    "2",
  ]);
  assert.equal((await ada.read("issue://2")).text, "Tea is gone");
  await assert.rejects(ada.read("issue://3"), /not found/);
});

Deno.test("issues outlive the server", async () => {
  const ISSUES_DB = await Deno.makeTempFile();
  try {
    {
      await using server = await testServer({ ...options, env: { ISSUES_DB } });
      await server.call("open_issue", { title: "Tea is cold" });
    }
    await using server = await testServer({ ...options, env: { ISSUES_DB } });
    assert.equal((await server.read("issue://1")).text, "Tea is cold");
  } finally {
    await Deno.remove(ISSUES_DB);
  }
});
