import { Hono } from "@hono/hono";
import assert from "node:assert/strict";
import { redirect } from "../../src/http/redirect.ts";

Deno.test("redirect() sends a browser on, and nothing remembers it", async () => {
  const location = "https://app.example.com/cb?code=a b";
  const app = new Hono().all("/", (c) => redirect(c, location));
  for (const [method, status] of [["GET", 302], ["POST", 303]] as const) {
    const response = await app.request("/", { method });
    assert.equal(response.status, status);
    assert.deepEqual(Object.fromEntries(response.headers), {
      "cache-control": "no-store",
      location,
      "referrer-policy": "no-referrer",
    });
  }
});
