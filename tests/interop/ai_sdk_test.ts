import assert from "node:assert/strict";
import { createMCPClient } from "@ai-sdk/mcp";
import { withServer } from "./fixture_server.ts";

for (const protocolVersionDiscovery of [true, false]) {
  const generation = protocolVersionDiscovery ? "2026" : "2025";
  Deno.test({
    name: `the AI SDK's client lists and calls tools of ${generation}`,
    // The client leaves the body of a refused GET unread.
    sanitizeResources: false,
    fn: () =>
      withServer(async ({ url }) => {
        const client = await createMCPClient({
          protocolVersionDiscovery,
          transport: { type: "http", url: `${url}/mcp` },
        });
        const { greet } = await client.tools();
        const result = await greet.execute({ name: "Ada" }, {
          toolCallId: "1",
          messages: [],
          context: undefined,
        });
        assert.match(JSON.stringify(result), /Hello, Ada!/);
        await client.close();
      }),
  });
}
