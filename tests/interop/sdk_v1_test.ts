import assert from "node:assert/strict";
// @ts-types="@modelcontextprotocol/sdk/client/index"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { withServer } from "./fixture_server.ts";

Deno.test("the v1 SDK client lists, calls, reads, asks and ends its session", () =>
  withServer(async ({ url }) => {
    const client = new Client({ name: "interop", version: "1.0.0" }, {
      capabilities: { elicitation: {}, sampling: {} },
    });
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`));
    const logged: unknown[] = [];
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void logged.push(params.data),
    );
    client.setRequestHandler(ElicitRequestSchema, () => ({
      action: "accept",
      content: { username: "ada", email: "ada@example.com" },
    }));
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      role: "assistant",
      content: { type: "text", text: "Paris" },
      model: "none",
    }));
    await client.connect(transport);
    await client.ping();
    assert.match(String(transport.sessionId), /^[\x21-\x7e]+$/);

    const { tools } = await client.listTools();
    assert.equal(tools[0].name, "test_simple_text");
    const call = async (name: string, args = {}) => {
      const { content } = await client.callTool({ name, arguments: args });
      return JSON.stringify(content);
    };
    assert.match(await call("greet", { name: "Ada" }), /Hello, Ada!/);
    assert.match(await call("test_elicitation", { message: "?" }), /ada@ex/);
    assert.match(await call("test_sampling", { prompt: "?" }), /Paris/);

    await client.setLoggingLevel("debug");
    await call("test_tool_with_logging");
    assert.equal(logged.length, 3);
    const steps: number[] = [];
    await client.callTool(
      { name: "test_tool_with_progress", arguments: {} },
      undefined,
      { onprogress: ({ progress }) => void steps.push(progress) },
    );
    assert.deepEqual(steps, [0, 50, 100]);

    const { contents } = await client.readResource({
      uri: "test://template/7/data",
    });
    assert.match(JSON.stringify(contents), /Data for ID: 7/);
    const { messages } = await client.getPrompt({
      name: "test_prompt_with_arguments",
      arguments: { arg1: "a", arg2: "b" },
    });
    assert.match(JSON.stringify(messages), /arg1='a', arg2='b'/);
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
      argument: { name: "arg1", value: "par" },
    });
    assert.deepEqual(completion.values, ["paris", "park", "party"]);

    await transport.terminateSession();
    await assert.rejects(client.listTools());
    await client.close();
  }));
