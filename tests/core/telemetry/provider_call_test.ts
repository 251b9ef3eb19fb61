import assert from "node:assert/strict";
import { metrics } from "@opentelemetry/api";
import { watchProvider } from "../../../src/core/provider/reachability.ts";
import { startTelemetry } from "../../../src/core/telemetry/current.ts";
import { FakeProvider } from "../../kit/fake_provider.ts";
import type { Json } from "../../kit/message.ts";

/** The attributes of what was measured. */
const measured: Json[] = [];

metrics.setGlobalMeterProvider({
  getMeter: () =>
    ({
      createHistogram: (name: string) => ({
        record(_value: number, attributes: Json) {
          if (name === "tool_server.provider.call.duration") {
            measured.push(attributes);
          }
        },
      }),
    }) as Json,
});
await startTelemetry();

Deno.test("watchProvider() measures a call under the name that a provider has among several", async () => {
  for (const key of [undefined, "work"]) {
    const { provider } = watchProvider(new FakeProvider(), { key });
    await provider.refresh("provider-refresh-1");
  }
  assert.deepEqual(measured, [
    { "tool_server.provider.call": "refresh" },
    {
      "tool_server.provider.call": "refresh",
      "tool_server.provider.name": "work",
    },
  ]);
});
