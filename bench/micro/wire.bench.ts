/** The checks of a POST, its message, and the printing of its result. */
import { originCheck } from "../../src/core/auth/doors/gate.ts";
import {
  checkStandardHeaders,
  metaOf,
  parseStatelessMeta,
} from "../../src/core/protocol/request_meta.ts";
import {
  checkAccept,
  checkContentType,
  parseMessage,
  printResult,
} from "../../src/core/protocol/messages.ts";
import { callHealth, request } from "../client.ts";
import {
  sessionPrinter,
  statelessPrinter,
  structuredResult,
} from "../../src/core/protocol/results.ts";
import { health } from "../peers/catalogue.mjs";
import { readHealth } from "../peers/health.mjs";

const headers = new Headers({
  "host": "127.0.0.1:3000",
  "content-type": "application/json",
  "accept": "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "health",
});
const checkOrigin = originCheck({ host: "127.0.0.1", allowedOrigins: [] });
const called = {
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
  checkStandardHeaders(headers, called);
});

const { body: session } = await request(
  { port: 0, revision: "2025-11-25", sessionId: "session" },
  callHealth,
  "1000000001",
);
const { body: stateless } = await request(
  { port: 0, revision: "2026-07-28" },
  callHealth,
  "1000000001",
);
const message = JSON.parse(stateless);

Deno.bench("JSON.parse() of a 2025 tools/call, for comparison", () => {
  JSON.parse(session);
});

Deno.bench("JSON.parse() of a 2026 tools/call, for comparison", () => {
  JSON.parse(stateless);
});

Deno.bench("parseMessage() of a tools/call", () => {
  parseMessage(message);
});

Deno.bench("parseStatelessMeta() of a 2026 tools/call", () => {
  parseStatelessMeta(metaOf(message.params));
});

Deno.bench("printResult() of an empty result", () => {
  printResult(1_000_000_001, "{}");
});

const printer = statelessPrinter({ name: "bench", version: "1.0.0" });
const output = readHealth();
const result = structuredResult(output, true);

Deno.bench("the output schema of health", () => {
  health.output.safeParse(output);
});

Deno.bench("structuredResult() of health", () => {
  structuredResult(output, true);
});

Deno.bench("a 2025 result as text", () => {
  sessionPrinter.result(result);
});

Deno.bench("a 2026 result as text", () => {
  printer.result(result);
});
