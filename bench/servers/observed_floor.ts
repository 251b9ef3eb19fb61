/**
 * The floor, plus the telemetry that a call has here: a route, two contexts, a
 * span of its own and two histograms. Its attributes are always the same.
 *
 * @module
 */
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  SpanKind,
  trace,
} from "@opentelemetry/api";
import {
  makeInstruments,
  TRANSPORT_ATTRIBUTES,
} from "../../src/core/telemetry/instruments.ts";
import { LinkedContext } from "../../src/core/telemetry/tally.ts";
import { port } from "../peers/health.mjs";
import { answer } from "./floor.ts";

const TALLY = createContextKey("tally");
const OPERATION: Attributes = {
  "mcp.method.name": "tools/call",
  ...TRANSPORT_ATTRIBUTES,
  "gen_ai.tool.name": "echo",
  "gen_ai.operation.name": "execute_tool",
  "mcp.protocol.version": "2026-07-28",
};
const BEGINNING: Attributes = { ...OPERATION, "jsonrpc.request.id": "1" };
const ENDING: Attributes = {
  "tool_server.outcome": "ok",
  "tool_server.database.operations": 0,
  "tool_server.reference": "ZxFDhxKXwxs-6",
};
const ENDED: Attributes = { ...OPERATION, "tool_server.outcome": "ok" };
const { tracer, operations, requests } = makeInstruments();

function secondsSince(startedMilliseconds: number): number {
  return (performance.now() - startedMilliseconds) / 1000;
}

function inTally(): Context {
  return new LinkedContext(context.active(), TALLY, {});
}

/** Does the work of a call in a span of its own. */
async function operate(request: Request): Promise<Response> {
  const started = performance.now();
  const span = tracer.startSpan("tools/call echo", {
    kind: SpanKind.SERVER,
    attributes: BEGINNING,
  });
  const inside = trace.setSpan(inTally(), span);
  const response = await context.with(inside, () => answer(request));
  span.setAttributes(ENDING);
  span.end();
  operations.record(secondsSince(started), ENDED);
  return response;
}

Deno.serve({ port, hostname: "127.0.0.1" }, async (request) => {
  const started = performance.now();
  const route = trace.getActiveSpan();
  route?.updateName("POST /mcp");
  route?.setAttribute("http.route", "/mcp");
  const response = await context.with(inTally(), () => operate(request));
  requests.record(secondsSince(started), {
    "http.request.method": "POST",
    "http.response.status_code": response.status,
    "http.route": "/mcp",
  });
  return response;
});
