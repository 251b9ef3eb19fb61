import assert from "node:assert/strict";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { startServerProcess } from "../kit/server_process.ts";

Deno.test("main.ts serves its tools to clients of both generations", async () => {
  await using server = await startServerProcess();
  for (const mode of ["legacy", "auto"] as const) {
    const client = new Client({ name: "interop", version: "1.0.0" }, {
      versionNegotiation: { mode },
    });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)),
    );
    const { tools } = await client.listTools();
    assert(tools.some(({ name }) => name === "health"), mode);
    const { structuredContent } = await client.callTool({ name: "health" });
    assert.equal((structuredContent as { status: string }).status, "ok", mode);
    await client.close();
  }
});
