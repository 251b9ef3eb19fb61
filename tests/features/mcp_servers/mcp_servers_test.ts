/**
 * Tools that act at another MCP server as their caller.
 */
import assert from "node:assert/strict";
import { faultsIn } from "../../../src/authoring/options.ts";
import { DEFINITIONS } from "../../../src/core/catalogue/compiled_definitions.ts";
import { MAY_HAVE_SUCCEEDED } from "../../../src/core/provider/account_fetch.ts";
import { mcpServer, tool } from "../../../src/mod.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import {
  clientOf,
  connect,
  linkOf,
  openConnect,
  startConnected,
} from "../../kit/connected.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { keyOf, KeyService } from "../../kit/key_service.ts";
import { DISCOVERED, McpService } from "../../kit/mcp_service.ts";
import { connectThere, startThrough, through } from "../../kit/mcp_through.ts";

for (const generation of ["2025", "2026"] as const) {
  Deno.test(`a tool calls one of another server of ${generation} as each person`, async () => {
    await using service = new McpService(generation);
    await using server = await startThrough(service);
    const call = await clientOf(server, "2026");
    const link = linkOf(await resultOf(call("through", { tool: "who" })));
    await connectThere(server, service, { link });
    assert.equal(await textOf(call("through", { tool: "who" })), "ada@acme");
    const other = await clientOf(server, "2025", { as: "43" });
    await connectThere(server, service, { as: "43", account: "bob@acme" });
    assert.equal(await textOf(other("through", { tool: "who" })), "bob@acme");
    assert.equal(await textOf(call("through", { tool: "who" })), "ada@acme");
    const before = service.messages.length;
    await textOf(call("through", { tool: "who" }));
    // Once connected, no round trip more than the service itself needs.
    assert.equal(service.messages.length, before + 1);
    // A session is for one person: no one's was used by another, and refused.
    assert.deepEqual(
      [...service.sessions.values()],
      generation === "2025" ? ["ada@acme", "bob@acme"] : [],
    );
    assert.equal(service.registered.length, 1);
    for (const form of service.forms) {
      assert.equal(form.get("resource"), service.url);
    }
    const [request] = service.requests;
    assert.equal(request.get("resource"), service.url);
    assert.equal(request.get("scope"), "read");
  });
}

Deno.test("an MCP server without sign-in is called with each person's key", async () => {
  await using service = new McpService();
  service.keys = { key_ada: "ada@acme", key_bob: "bob@acme" };
  const other = mcpServer("crm", {
    url: service.url,
    title: "Other",
    key: { shape: /^key_/ },
  });
  await using server = await startConnected(other, { tools: [through(other)] });
  for (const [as, key] of [["42", "key_ada"], ["43", "key_bob"]]) {
    const call = await clientOf(server, "2026", { as });
    const link = linkOf(await resultOf(call("through", { tool: "who" })));
    await connect(await openConnect(server, { link, as }), key);
    const name = service.keys[key];
    assert.equal(await textOf(call("through", { tool: "who" })), name);
  }
});

for (const generation of ["2025", "2026"] as const) {
  Deno.test(`an open MCP server of ${generation} is called without a page, a key or a sign-in`, async () => {
    await using service = new McpService(generation);
    service.keys = { "": "anyone" };
    const other = mcpServer("crm", { url: service.url, open: true });
    await using server = await startConnected(other, {
      tools: [through(other)],
      environment: { SECRETS_KEYS: undefined },
    });
    const { missing } = await (await server.fetch("/ready")).json();
    assert.equal(missing, undefined);
    const sessions = [];
    for (const as of ["42", "43"]) {
      const call = await clientOf(server, "2026", { as });
      assert.equal(await textOf(call("through", { tool: "who" })), "anyone");
      sessions.push(service.sessions.size);
    }
    // A session is for one person.
    assert.deepEqual(sessions, generation === "2025" ? [1, 2] : [0, 0]);
    const page = await server.fetch("/connect/crm");
    assert.equal(page.status, 404);
  });
}

for (
  const [what, name, options] of [
    ["a name with spaces", "a b", { url: "https://a.example/mcp" }],
    ["an http address", "a", { url: "http://a.example/mcp" }],
    ["a query", "a", { url: "https://a.example/mcp?key=1" }],
    ["a scope with a space", "a", {
      url: "https://a.example/mcp",
      scopes: ["a b"],
    }],
    ["scopes besides a key", "a", {
      url: "https://a.example/mcp",
      key: {},
      scopes: ["a"],
    }],
    ["an issuer over http", "a", {
      url: "https://a.example/mcp",
      issuer: "http://id.example",
    }],
    ["an issuer besides a key", "a", {
      url: "https://a.example/mcp",
      key: {},
      issuer: "https://id.example",
    }],
    ["a key of an open server", "a", {
      url: "https://a.example/mcp",
      open: true,
      key: {},
    }],
    ["accounts at an open server", "a", {
      url: "https://a.example/mcp",
      open: true,
      several: true,
    }],
    ["an unknown option", "a", { url: "https://a.example/mcp", token: "x" }],
    ["a header that is none", "a", {
      url: "https://a.example/mcp",
      key: { header: "a b" },
    }],
  ] as const
) {
  Deno.test(`mcpServer() refuses ${what}`, () => {
    const other = mcpServer(name, options as unknown as { url: string });
    const faults = faultsIn(DEFINITIONS, { tools: [through(other)] });
    assert.match(faults.join(), /(mcpServer|personalKey)\("a/);
  });
}

Deno.test("a call of an open server counts as one that may have acted, if an account is gone after it", async () => {
  using time = new FakeTime();
  await using service = new McpService();
  service.answer = (request, path) =>
    path === "/mcp" && !request.headers.has("authorization")
      ? answerOpen(request)
      : undefined;
  await using keys = new KeyService("ada@acme");
  const linear = keys.key();
  const other = mcpServer("crm", { url: service.url, open: true });
  let disconnect = async () => {};
  await using server = await startConnected(linear, {
    tools: [tool({
      name: "both",
      needs: { other, linear },
      async run(_input, { needs }) {
        await needs.other.call("write");
        await disconnect();
        return await (await needs.linear.fetch("/me")).text();
      },
    })],
  });
  await connect(await openConnect(server), keyOf("ada@acme"));
  const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
  disconnect = async () => {
    await visitor.press("/account/accounts/disconnect");
    time.tick(2);
  };
  const call = await clientOf(server, "2026");
  assert.equal(
    await textOf(call("both")),
    `Linear is not connected any more. ${MAY_HAVE_SUCCEEDED}`,
  );
});

/** Answers as a server that asks no one who they are. */
async function answerOpen(request: Request): Promise<Response> {
  const { id, method } = await request.json();
  const result = method === "server/discover"
    ? DISCOVERED
    : { content: [{ type: "text", text: "written" }] };
  return Response.json({ jsonrpc: "2.0", id, result });
}
