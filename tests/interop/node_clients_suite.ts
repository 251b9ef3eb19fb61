import assert from "node:assert/strict";
// @ts-types="@modelcontextprotocol/sdk/client/index"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { withServer } from "./fixture_server.ts";
import {
  hasNpm,
  installNodeClients,
  type NodeClients,
} from "./node_clients.ts";

/** Runs the Inspector once for every era that it supports. */
async function inspect(url: string, { run }: NodeClients): Promise<void> {
  for (const era of ["legacy", "auto", "modern"]) {
    const inspector = (method: string, ...args: string[]) =>
      run("mcp-inspector", [
        ...["--cli", `${url}/mcp`, "--transport", "http"],
        ...["--protocol-era", era, "--method", method, ...args],
      ]);
    const { tools } = JSON.parse(await inspector("tools/list"));
    assert.equal(tools[0].name, "test_simple_text", era);
    const called = await inspector(
      "tools/call",
      ...["--tool-name", "greet", "--tool-arg", "name=Ada"],
    );
    assert.match(called, /Hello, Ada!/, era);
    const read = await inspector(
      "resources/read",
      ...["--uri", "test://static-text"],
    );
    assert.match(read, /static text resource/, era);
    const got = await inspector(
      "prompts/get",
      ...["--prompt-name", "test_prompt_with_arguments"],
      ...["--prompt-args", "arg1=a", "arg2=b"],
    );
    assert.match(got, /arg1='a', arg2='b'/, era);
  }
}

async function callByMcporter(url: string, { run }: NodeClients) {
  const args = ["call", `${url}/mcp.greet`, "name=Ada", "--allow-http"];
  const called = await run("mcporter", args);
  assert.match(called, /Hello, Ada!/);
}

/** A client over stdio, with mcp-remote between it and the server. */
async function callThroughRemote(
  url: string,
  { env }: NodeClients,
): Promise<void> {
  const client = new Client({ name: "interop", version: "1.0.0" });
  await client.connect(
    new StdioClientTransport({
      command: "mcp-remote",
      args: [`${url}/mcp`, "--allow-http", "--transport", "http-only"],
      env,
      stderr: "ignore",
    }),
  );
  const { tools } = await client.listTools();
  assert.equal(tools[0].name, "test_simple_text");
  const { content } = await client.callTool({
    name: "greet",
    arguments: { name: "Ada" },
  });
  assert.match(JSON.stringify(content), /Hello, Ada!/);
  await client.close();
}

Deno.test({
  name: "the Inspector, mcporter and mcp-remote list, call, read and prompt",
  ignore: !await hasNpm(),
  // The SDK's transport for stdio leaves a timer behind when it closes.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withServer(async ({ url }) => {
      await using clients = await installNodeClients();
      await inspect(url, clients);
      await callByMcporter(url, clients);
      await callThroughRemote(url, clients);
    }),
});
