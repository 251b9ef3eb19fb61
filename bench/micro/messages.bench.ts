/** Parsing and printing messages. */
import { parseMessage, printResult } from "../../src/mcp/wire/messages.ts";
import { metaOf, parseStatelessMeta } from "../../src/mcp/wire/request_meta.ts";
import { callHealth, request } from "../client.ts";

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
