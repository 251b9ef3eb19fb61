/**
 * Tools that act at another MCP server as their caller.
 */
import assert from "node:assert/strict";
import { tool, z } from "../../../src/mod.ts";
import type { McpServer } from "../../../src/mod.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { clientOf, linkOf, startConnected } from "../../kit/connected.ts";
import { McpService } from "../../kit/mcp_service.ts";
import type { Json } from "../../kit/message.ts";
import { BASE_URL } from "../../kit/server.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";

const PATH = "/connect/crm";

/** Makes a tool that calls one of another server. */
function through(other: McpServer) {
  return tool({
    name: "through",
    input: z.object({ tool: z.string(), input: z.json().optional() }),
    needs: { other },
    run: async ({ tool, input }, { needs }) =>
      await needs.other.call(tool, input as Json),
  });
}

function start(
  service: McpService,
  options: Parameters<typeof startConnected>[1] = {},
): Promise<OAuthServer> {
  const other = service.server();
  return startConnected(other, { tools: [through(other)], ...options });
}

/** Connects a person's account at the other server. */
async function connect(
  server: OAuthServer,
  service: McpService,
  { as = "42", account = "ada@acme", link = BASE_URL + PATH } = {},
): Promise<AccountVisitor> {
  service.account = account;
  const issuers = [service.origin];
  const visitor = await AccountVisitor.signIn(server, { as, issuers });
  visitor.page = await visitor.browser.open(link);
  await visitor.press(PATH, { answer: "connect" });
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /is connected|Connected/);
  return visitor;
}

for (const generation of ["2025", "2026"] as const) {
  Deno.test(`a tool calls one of another server of ${generation} as each person`, async () => {
    await using service = new McpService(generation);
    await using server = await start(service);
    const call = await clientOf(server, "2026");
    const link = linkOf(await resultOf(call("through", { tool: "who" })));
    await connect(server, service, { link });
    assert.equal(await textOf(call("through", { tool: "who" })), "ada@acme");
    const other = await clientOf(server, "2025", { as: "43" });
    await connect(server, service, { as: "43", account: "bob@acme" });
    assert.equal(await textOf(other("through", { tool: "who" })), "bob@acme");
    assert.equal(await textOf(call("through", { tool: "who" })), "ada@acme");
    const before = service.messages.length;
    await textOf(call("through", { tool: "who" }));
    // Once connected, no round trip more than the service itself needs.
    assert.equal(service.messages.length, before + 1);
    assert.equal(service.registered.length, 1);
    for (const form of service.forms) {
      assert.equal(form.get("resource"), service.url);
    }
    const [request] = service.requests;
    assert.equal(request.get("resource"), service.url);
    assert.equal(request.get("scope"), "read");
  });
}
