import assert from "node:assert/strict";
import { readsResults } from "../../../src/mcp/exchange/challenge_result.ts";

Deno.test("readsResults() knows ChatGPT by its name, and no one else", () => {
  const isRead = (headers: HeadersInit) => readsResults(new Headers(headers));
  assert.equal(isRead({ "user-agent": "openai-mcp/1.0.0 (ChatGPT)" }), true);
  assert.equal(isRead({ "user-agent": "like openai-mcp/1.0.0" }), false);
  assert.equal(isRead({}), false);
});
