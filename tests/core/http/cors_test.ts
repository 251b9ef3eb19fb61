import assert from "node:assert/strict";
import { CORS_HEADERS, EXPOSED_HEADERS } from "../../../src/core/http/cors.ts";

Deno.test("a page on any origin may read what an MCP client needs", () => {
  assert.deepEqual(EXPOSED_HEADERS, [
    "Mcp-Session-Id",
    "WWW-Authenticate",
    "Mcp-Protocol-Version",
    "Retry-After",
  ]);
  assert.deepEqual(CORS_HEADERS, {
    "access-control-allow-origin": "*",
    "access-control-expose-headers":
      "Mcp-Session-Id, WWW-Authenticate, Mcp-Protocol-Version, Retry-After",
  });
});
