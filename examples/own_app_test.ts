import assert from "node:assert/strict";
import { createApp } from "./own_app.ts";

Deno.test("the application answers for itself, and the server below its path", async () => {
  using kv = await Deno.openKv(":memory:");
  const app = createApp(kv, "http://localhost:8000/tools");
  const page = await app.request("http://localhost:8000/");
  assert.equal(await page.text(), "2 open orders");
  const health = await app.request("http://localhost:8000/tools/health");
  assert.equal((await health.json()).status, "ok");
  const landing = await app.request("http://localhost:8000/tools", {
    headers: { accept: "text/html" },
  });
  assert.match(await landing.text(), /http:\/\/localhost:8000\/tools\/mcp/);
});
