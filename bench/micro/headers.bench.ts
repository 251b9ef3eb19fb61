/** The checks that every POST passes before its message is parsed. */
import { originCheck } from "../../src/auth/doors/origin.ts";
import { checkStandardHeaders } from "../../src/mcp/wire/headers.ts";
import { checkAccept, checkContentType } from "../../src/mcp/wire/transport.ts";

const headers = new Headers({
  "host": "127.0.0.1:3000",
  "content-type": "application/json",
  "accept": "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "health",
});
const checkOrigin = originCheck({ host: "127.0.0.1", allowedOrigins: [] });
const message = {
  kind: "request",
  id: 1,
  method: "tools/call",
  params: { name: "health" },
} as const;

Deno.bench("originCheck() of a host name seen before", () => {
  checkOrigin({ headers, url: "http://127.0.0.1/mcp" });
});

Deno.bench("checkContentType() and checkAccept()", () => {
  checkContentType(headers);
  checkAccept(headers);
});

Deno.bench("checkStandardHeaders() of a 2026 tools/call", () => {
  checkStandardHeaders(headers, message);
});
