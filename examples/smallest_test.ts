import assert from "node:assert/strict";

Deno.test("the smallest server answers a call", async () => {
  await using server = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", "smallest.ts"],
    cwd: new URL(".", import.meta.url),
    env: { PORT: "0", KV_PATH: ":memory:", NO_COLOR: "1" },
    stdout: "piped",
  }).spawn();
  let output = "";
  let url: string | undefined;
  for await (const text of server.stdout.pipeThrough(new TextDecoderStream())) {
    output += text;
    url = /http:[^"]*\/mcp/.exec(output)?.[0];
    if (url) break;
  }
  assert(url, output);
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "accept": "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "greet",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "greet",
        arguments: { name: "Ada" },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "a", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
  });
  assert.match(await response.text(), /Hello, Ada!/);
});
