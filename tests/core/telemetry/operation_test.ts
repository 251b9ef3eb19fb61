/** The ends of messages: each span ends once, and is measured once. */
import assert from "node:assert/strict";
import { metrics, type Span, trace, type Tracer } from "@opentelemetry/api";
import { tool, ToolError } from "../../../src/authoring/tool.ts";
import { startTelemetry } from "../../../src/core/telemetry/current.ts";
import { type Json, rpc } from "../../kit/message.ts";
import { startServer } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";

const METHOD = "mcp.method.name";
const OUTCOME = "tool_server.outcome";

/** The ends of the spans of messages, as `method outcome`. */
const ended: string[] = [];
/** The same of what was measured. */
const measured: string[] = [];

function startSpan(_name: string, options?: Json): Span {
  const attributes = { ...options?.attributes };
  const span: Json = {
    isRecording: () => false,
    spanContext: () => ({ traceId: "1".repeat(32), spanId: "1".repeat(16) }),
    setAttributes(more: Json) {
      Object.assign(attributes, more);
      return span;
    },
    setAttribute: () => span,
    setStatus: () => span,
    updateName: () => span,
    end() {
      if (OUTCOME in attributes) {
        ended.push(`${attributes[METHOD]} ${attributes[OUTCOME]}`);
      }
    },
  };
  return span;
}

trace.setGlobalTracerProvider({
  getTracer: () => ({ startSpan }) as unknown as Tracer,
});
metrics.setGlobalMeterProvider({
  getMeter: () =>
    ({
      createHistogram: (name: string) => ({
        record(_value: number, attributes: Json) {
          if (name !== "mcp.server.operation.duration") return;
          measured.push(`${attributes[METHOD]} ${attributes[OUTCOME]}`);
        },
      }),
    }) as Json,
});
await startTelemetry();

Deno.test("every end of a message is told once", async () => {
  let started = 0;
  const hang = () => {
    started++;
    return new Promise<string>(() => {});
  };
  const tools = [
    tool({ name: "hello", run: () => "Hello!" }),
    tool({
      name: "fails",
      run: () => {
        throw new ToolError("No");
      },
    }),
    tool({
      name: "asks",
      run: async (_input, { roots }) => `${(await roots()).length} roots`,
    }),
    tool({ name: "hangs", run: hang }),
  ];
  await using server = await startServer({ tools });
  const session = await server.openSession({ revision: "2025-03-26" });
  const read = async (answer: Promise<Response>) => {
    await (await answer).text();
  };
  const call = (name: string, id: number) => rpc("tools/call", { name }, id);
  const cancel = (requestId: number) =>
    session.notify("notifications/cancelled", { requestId });

  const expected = ["initialize ok"];
  async function check(...ends: string[]) {
    expected.push(...ends);
    await until(() => measured.length >= expected.length);
    assert.deepEqual(measured.toSorted(), expected.toSorted());
    assert.deepEqual(ended.toSorted(), expected.toSorted());
  }

  await read(server.call("tools/call", { name: "hello" }));
  await read(server.call("tools/call", { name: "fails" }));
  await check("tools/call ok", "tools/call tool_error");

  const capabilities = { roots: {} };
  await read(server.call("tools/call", { name: "asks" }, { capabilities }));
  await check("tools/call input_required");

  // Refused before there is a call, and by the method.
  await read(server.call("no/such"));
  await read(server.call("tools/call", { name: "none" }));
  await check("_OTHER refused", "tools/call refused");

  await read(session.post([
    call("hello", 1),
    call("fails", 2),
    call("none", 3),
    rpc("no/such", {}, 4),
    { jsonrpc: "2.0", method: "notifications/initialized" },
  ]));
  await check(
    "tools/call ok",
    "tools/call tool_error",
    "tools/call refused",
    "_OTHER refused",
    "notifications/initialized ok",
  );

  // Cancelled, alone and in a batch, by a tool that does not hear of it.
  const alone = session.post(call("hangs", 5));
  const batched = session.post([call("hangs", 6), call("hello", 7)]);
  await until(() => started === 2);
  await cancel(5);
  await cancel(6);
  await Promise.all([read(alone), read(batched)]);
  await check(
    "tools/call cancelled",
    "tools/call cancelled",
    "tools/call ok",
    "notifications/cancelled ok",
    "notifications/cancelled ok",
  );

  // The client leaves its stream, and the server stops.
  const stream = await server.call("subscriptions/listen", {
    notifications: {},
  });
  await stream.body!.cancel();
  await check("subscriptions/listen cancelled");
  const listening = await server.call("subscriptions/listen", {
    notifications: {},
  });
  server.app.endStreams();
  await listening.text();
  await check("subscriptions/listen stopped");
});
