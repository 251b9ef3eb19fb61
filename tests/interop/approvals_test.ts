/**
 * The official TypeScript SDKs of both generations before a tool whose calls
 * wait for approval. The one in Python is in `approvals_suite.ts`.
 */
import assert from "node:assert/strict";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
// @ts-types="@modelcontextprotocol/sdk/client/index"
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { devServer, signInByName } from "../kit/dev_server.ts";
import type { Json } from "../kit/message.ts";
import { pressAt, waiting } from "./approving.ts";

/** A client of an SDK that is connected. */
interface Connected {
  call(): Promise<Json>;
  close(): Promise<void>;
}

interface Wanted {
  url: URL;
  token: string;
  elicitation: { url?: Record<never, never> };
  /** Answers each question. */
  onAsk(params: Json): Promise<{ action: "accept" }>;
}

/** A fetch for a client that does not wait for all of its requests. */
function trackedFetch() {
  const requests: Promise<Response>[] = [];
  return {
    fetch(input: string | URL, init?: RequestInit): Promise<Response> {
      const request = fetch(input, init);
      requests.push(request);
      return request;
    },
    /** Closes the client once all of its requests have been answered. */
    async close(client: { close(): Promise<void> }): Promise<void> {
      // Lets the client send its answer to a question, unless it need not.
      await new Promise((resolve) => setTimeout(resolve));
      await Promise.all(requests);
      await client.close();
    },
  };
}

const SAYS = { name: "interop", version: "1.0.0" };
const WIPE = { name: "wipe", arguments: {} };

const CLIENTS: Record<string, (wanted: Wanted) => Promise<Connected>> = {
  "the v1 SDK": async ({ url, token, elicitation, onAsk }) => {
    const client = new FirstClient(SAYS, { capabilities: { elicitation } });
    client.setRequestHandler(
      ElicitRequestSchema,
      ({ params }) => onAsk(params),
    );
    const headers = { authorization: `Bearer ${token}` };
    const { fetch, close } = trackedFetch();
    const options = { requestInit: { headers }, fetch };
    await client.connect(new FirstTransport(url, options));
    return {
      call: () => client.callTool(WIPE),
      close: () => close(client),
    };
  },
  "the v2 SDK, in 2025": (wanted) => second(wanted, "legacy"),
  "the v2 SDK, in 2026": (wanted) => second(wanted, { pin: "2026-07-28" }),
};

async function second(
  { url, token, elicitation, onAsk }: Wanted,
  mode: "legacy" | { pin: "2026-07-28" },
): Promise<Connected> {
  const client = new Client(SAYS, {
    capabilities: { elicitation },
    versionNegotiation: { mode },
  });
  client.setRequestHandler(
    "elicitation/create",
    ({ params }) => onAsk(params),
  );
  const headers = { authorization: `Bearer ${token}` };
  const { fetch, close } = trackedFetch();
  const options = { requestInit: { headers }, fetch };
  await client.connect(new StreamableHTTPClientTransport(url, options));
  return {
    call: () => client.callTool(WIPE),
    close: () => close(client),
  };
}

for (const [name, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${name} tells the model the link, and gets the result by calling again`, async () => {
    const { tool, ran } = waiting();
    await using server = await devServer([tool]);
    const url = new URL(`${server.url}/mcp`);
    const signIn = await signInByName(url, "ada");
    const client = await connect({
      url,
      token: signIn.tokens().access_token,
      elicitation: {},
      // A client that accepts everything is asked nothing.
      onAsk: () => Promise.reject(new Error("asked")),
    });
    const asked = await client.call();
    assert.equal(asked.isError, true);
    assert.deepEqual(ran, []);
    const [link] = asked.content[0].text.match(/http\S*\/approve\/\S*/);
    await pressAt(link, "ada");
    assert.deepEqual(ran, []);
    const done = await client.call();
    assert.deepEqual([done.content[0].text, done.isError ?? false], [
      "wiped",
      false,
    ]);
    assert.equal(ran.length, 1);
    await client.close();
  });

  Deno.test(`${name} opens the page, and the call goes on after the press`, async () => {
    const { tool, ran } = waiting();
    await using server = await devServer([tool]);
    const url = new URL(`${server.url}/mcp`);
    const signIn = await signInByName(url, "ada");
    const modes: string[] = [];
    const answered = Promise.withResolvers<void>();
    const client = await connect({
      url,
      token: signIn.tokens().access_token,
      elicitation: { url: {} },
      async onAsk(params) {
        modes.push(params.mode);
        if (modes.length === 1) await pressAt(params.url, "ada");
        answered.resolve();
        return { action: "accept" };
      },
    });
    const { content } = await client.call();
    assert.equal(content[0].text, "wiped");
    assert.deepEqual(modes, ["url"]);
    assert.equal(ran.length, 1);
    await answered.promise;
    await client.close();
  });
}
