import assert from "node:assert/strict";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { withServer } from "./fixture_server.ts";

type Mode = "legacy" | "auto" | { pin: "2026-07-28" };

async function meet(url: string, mode: Mode): Promise<string | undefined> {
  const client = new Client({ name: "interop", version: "1.0.0" }, {
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    versionNegotiation: { mode },
  });
  client.setRequestHandler("elicitation/create", () => ({
    action: "accept",
    content: { name: "Ada" },
  }));
  client.setRequestHandler("sampling/createMessage", () => ({
    role: "assistant",
    content: { type: "text", text: "Bonjour" },
    model: "none",
  }));
  client.setRequestHandler("roots/list", () => ({
    roots: [{ uri: "file:///home", name: "home" }],
  }));
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`));
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert(tools.some(({ name }) => name === "greet"));
  const call = async (name: string, args = {}) => {
    const { content } = await client.callTool({ name, arguments: args });
    return JSON.stringify(content);
  };
  assert.match(await call("greet", { name: "Ada" }), /Hello, Ada!/);
  assert.match(
    await call("test_input_required_result_multiple_inputs"),
    /Ada.*Bonjour.*home/,
  );
  const steps: number[] = [];
  await client.callTool(
    { name: "test_tool_with_progress", arguments: {} },
    { onprogress: ({ progress }) => void steps.push(progress) },
  );
  assert.deepEqual(steps, [0, 50, 100]);
  const { contents } = await client.readResource({ uri: "test://static-text" });
  assert.equal(contents.length, 1);
  const { prompts } = await client.listPrompts();
  assert(prompts.length > 0);
  const era = client.getProtocolEra();
  await transport.terminateSession();
  await client.close();
  return era;
}

Deno.test("the v2 SDK client works in every mode of negotiation", () =>
  withServer(async ({ url }) => {
    assert.equal(await meet(url, "legacy"), "legacy");
    assert.equal(await meet(url, "auto"), "modern");
    assert.equal(await meet(url, { pin: "2026-07-28" }), "modern");
  }));
