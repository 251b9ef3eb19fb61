/**
 * A conversation of the official SDKs in which a person connects two accounts at
 * one service and asks both: with a client of each generation that opens pages,
 * and without.
 */
import assert from "node:assert/strict";
// @ts-types="@modelcontextprotocol/sdk/client/index"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { tool } from "../../../src/mod.ts";
import { connect, openConnect, startConnected } from "../../kit/connected.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { keyOf, KeyService } from "../../kit/key_service.ts";
import type { HeadersOf, Json } from "../../kit/message.ts";
import { BASE_URL } from "../../kit/server.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";

type CallTool = (name: string, args?: Json) => Promise<Json>;

/** Opens the page that a client shows its person. */
type OpenPage = (url: string) => Promise<unknown>;

const MCP = new URL(`${BASE_URL}/mcp`);
const INFO = { name: "interop", version: "1" };

function transportOptions({ app }: OAuthServer, headers: HeadersOf) {
  return {
    requestInit: { headers },
    fetch: async (url: string | URL, init?: RequestInit) =>
      await app.fetch(new Request(url, init)),
  };
}

const capabilitiesOf = (open?: OpenPage) => ({
  capabilities: open ? { elicitation: { url: {} } } : {},
});

async function accept(open: OpenPage, params: Json) {
  assert.equal(params.mode, "url");
  await open(params.url);
  return { action: "accept" as const };
}

async function v1(
  server: OAuthServer,
  headers: HeadersOf,
  open?: OpenPage,
): Promise<CallTool> {
  const client = new ClientV1(INFO, capabilitiesOf(open));
  if (open) {
    client.setRequestHandler(
      ElicitRequestSchema,
      ({ params }) => accept(open, params),
    );
  }
  await client.connect(new TransportV1(MCP, transportOptions(server, headers)));
  return (name, args = {}) => client.callTool({ name, arguments: args });
}

async function v2(
  server: OAuthServer,
  headers: HeadersOf,
  open: OpenPage | undefined,
  mode: "legacy" | { pin: "2026-07-28" },
): Promise<CallTool> {
  const client = new ClientV2(INFO, {
    ...capabilitiesOf(open),
    versionNegotiation: { mode },
  });
  if (open) {
    client.setRequestHandler(
      "elicitation/create",
      ({ params }) => accept(open, params),
    );
  }
  await client.connect(new TransportV2(MCP, transportOptions(server, headers)));
  return (name, args = {}) => client.callTool({ name, arguments: args });
}

const CLIENTS: Record<string, typeof v1> = {
  "SDK v1": v1,
  "SDK v2, 2025": (...it) => v2(it[0], it[1], it[2], "legacy"),
  "SDK v2, 2026": (...it) => v2(it[0], it[1], it[2], { pin: "2026-07-28" }),
};

for (const [name, open] of Object.entries(CLIENTS)) {
  for (const opensPages of [true, false]) {
    const way = opensPages ? "opens pages" : "opens no pages";
    Deno.test(`a person asks two accounts of one service in one conversation: ${name}, which ${way}`, async () => {
      using time = new FakeTime();
      await using service = new KeyService("ada@work", "ada@home");
      const linear = service.key("linear", { several: true });
      const me = tool({
        name: "me",
        needs: { linear },
        run: async (_input, { needs }) =>
          await (await needs.linear.fetch("/me")).text(),
      });
      await using server = await startConnected(linear, { tools: [me] });
      server.provider.subject = "42";
      const { headers } = await server.person();
      const openPage = async (link: string) =>
        await connect(await openConnect(server, { link }), keyOf("ada@work"));
      const call = await open(
        server,
        headers,
        opensPages ? openPage : undefined,
      );
      let first = await call("me");
      if (!opensPages) {
        assert.equal(first.isError, true);
        await openPage(/^http\S+$/m.exec(first.content[0].text)![0]);
        first = await call("me");
      }
      assert.equal(first.content[0].text, "ada@work");
      await connect(await openConnect(server), keyOf("ada@home"));
      time.tick(2);
      const asked = await call("me");
      assert.equal(asked.isError, true);
      assert.match(asked.content[0].text, /ada@home, ada@work\. Name one/);
      for (const account of ["ada@home", "ada@work"]) {
        const { content } = await call("me", { account });
        const texts = content.map(({ text }: Json) => text);
        const words = `This was done with the account ${account}.`;
        assert.deepEqual(texts, [account, words]);
      }
    });
  }
}
