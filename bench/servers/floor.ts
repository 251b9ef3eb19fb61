/**
 * The floor: the limit, plus the reading and writing that the rules require of
 * a call here. Seven headers are read, the body is UTF-8 in bytes, three
 * headers are written. It checks nothing either.
 *
 * @module
 */
import { jsonResponse } from "../../src/core/mcp/exchange/answer.ts";
import { echoResult, healthResult, port } from "../peers/health.mjs";

const READ = [
  "origin",
  "host",
  "mcp-protocol-version",
  "content-type",
  "accept",
  "content-length",
  "mcp-session-id",
];
const decoder = new TextDecoder();

/** Answers a call. */
export async function answer(request: Request): Promise<Response> {
  for (const name of READ) request.headers.get(name);
  const bytes = await request.bytes();
  const { jsonrpc, id, params } = JSON.parse(decoder.decode(bytes));
  const result = params.name === "health"
    ? healthResult()
    : echoResult(params.arguments);
  return jsonResponse({ body: JSON.stringify({ jsonrpc, id, result }) });
}

if (import.meta.main) Deno.serve({ port, hostname: "127.0.0.1" }, answer);
