/** Clients of the SDKs, which give a call up, with one that is handed over. */
import assert from "node:assert/strict";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
// @ts-types="@modelcontextprotocol/sdk/client/index"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Led, taskIdOf } from "../kit/hand_over.ts";
import type { Json } from "../kit/message.ts";
import { startServer } from "../kit/server.ts";

const ADDRESS = { hostname: "127.0.0.1", port: 0, onListen() {} };
const INFO = { name: "interop", version: "1" };

/** A call that the client gives up long before the tool ends. */
type Call = (name: string, args: Json) => Promise<Json>;

interface Connected {
  call: Call;
  close(): Promise<void>;
}

async function v1(url: URL): Promise<Connected> {
  const client = new ClientV1(INFO);
  await client.connect(new TransportV1(url));
  // Reads the output schemas by which it checks results.
  await client.listTools();
  return {
    call: (name, args) =>
      client.callTool({ name, arguments: args }, undefined, {
        timeout: 20_000,
      }),
    close: () => client.close(),
  };
}

async function v2(
  url: URL,
  mode: "legacy" | { pin: "2026-07-28" },
): Promise<Connected> {
  const client = new ClientV2(INFO, { versionNegotiation: { mode } });
  await client.connect(new TransportV2(url));
  await client.listTools();
  return {
    call: (name, args) =>
      client.callTool({ name, arguments: args }, { timeout: 20_000 }),
    close: () => client.close(),
  };
}

for (
  const [what, connect] of [
    ["v1", v1],
    ["v2 of 2025", (url: URL) => v2(url, "legacy")],
    ["v2 of 2026", (url: URL) => v2(url, { pin: "2026-07-28" })],
  ] as const
) {
  Deno.test(`the SDK client ${what} takes the answer to a call that is handed over, and its result`, async () => {
    const led = new Led({ handOver: 0.2 });
    await using server = await startServer({ tools: [led.tool] });
    await using socket = Deno.serve(
      ADDRESS,
      (request) => server.app.fetch(request),
    );
    const url = new URL(`http://127.0.0.1:${socket.addr.port}/mcp`);
    const { call, close } = await connect(url);
    const handed = await call("led", {});
    assert.match(handed.content[0].text, /^Nothing has failed\. /);
    const telling = call("task_status", { taskId: taskIdOf(handed) });
    led.end.resolve(7);
    const { structuredContent, isError } = await telling;
    assert.deepEqual([structuredContent, isError], [{ n: 7 }, undefined]);
    await close();
  });
}
