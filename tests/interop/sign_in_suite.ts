import assert from "node:assert/strict";
import type { Readable } from "node:stream";
// @ts-types="@modelcontextprotocol/sdk/client/index"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Browser } from "../kit/browser.ts";
import { Process, TemporaryDirectory } from "../kit/process.ts";
import { hasNpm, installNodeClients } from "./node_clients.ts";

/**
 * Waits for the address that a client prints when it listens for the answer.
 */
function printedAddress(stderr: Readable): Promise<URL> {
  const { promise, resolve, reject } = Promise.withResolvers<URL>();
  let text = "";
  // Read to its end, or the client could not write any more.
  stderr.setEncoding("utf-8").on("data", (chunk) => {
    text += chunk;
    const [address] = /https?:\/\/\S+\/authorize\?\S+(?=\s)/.exec(text) ?? [];
    if (address && /Waiting for authorization/.test(text)) {
      resolve(new URL(address));
    }
  }).on("end", () => reject(new Error(`no address to visit in:\n${text}`)));
  return promise;
}

Deno.test({
  name: "mcp-remote signs a person in and calls as them",
  ignore: !await hasNpm(),
  // The SDK's transport for stdio leaves a timer behind when it closes.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using home = new TemporaryDirectory();
    await using clients = await installNodeClients();
    await using server = new Process(["run", "--allow-all", "main.ts"], {
      env: {
        AUTH_STRATEGY: "oauth",
        OAUTH_PROVIDER: "dev",
        KV_PATH: ":memory:",
      },
    });
    const url = await server.url();
    const transport = new StdioClientTransport({
      command: "mcp-remote",
      args: [`${url}/mcp`, "--allow-http", "--transport", "http-only"],
      env: { ...clients.env, HOME: home.path },
      stderr: "pipe",
    });
    const client = new Client({ name: "interop", version: "1.0.0" });
    const connected = client.connect(transport, { timeout: 180_000 });
    const browser = new Browser(() => fetch);
    const consent = await browser.open(
      await printedAddress(transport.stderr as Readable),
    );
    const signIn = await browser.press(consent, "decision", "approve");
    const arrival = await browser.press(signIn, "name", "Ada Lovelace");
    assert.equal(arrival.status, 200, arrival.text);
    await connected;
    const { structuredContent } = await client.callTool({
      name: "health",
      arguments: {},
    });
    assert.equal((structuredContent as { status: string }).status, "ok");
    await client.close();
  },
});
