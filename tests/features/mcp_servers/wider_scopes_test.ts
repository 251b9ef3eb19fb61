/**
 * Calls that another MCP server refuses because the account lacks a scope (RFC
 * 6750 §3.1, `insufficient_scope`), and their person, who is asked for it.
 */
import assert from "node:assert/strict";
import { mcpServer, tool } from "../../../src/mod.ts";
import { MAY_HAVE_SUCCEEDED } from "../../../src/core/provider/account_fetch.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import {
  type Call,
  clientOf,
  linkOf,
  openConnect,
  startConnected,
} from "../../kit/connected.ts";
import { events, McpService, type ToolRequest } from "../../kit/mcp_service.ts";
import { connectThere } from "../../kit/mcp_through.ts";
import { BASE_URL } from "../../kit/server.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";

const WANTS_MORE =
  /Other wants the person to allow more than they did: call the tool again/;

function refuse(header: string): Response {
  return new Response("", {
    status: 403,
    headers: { "www-authenticate": header },
  });
}

/** Makes a server whose tool `write` needs a scope, which its refusal names. */
function writable(
  challenge = 'Bearer error="insufficient_scope", scope="read write"',
): McpService {
  const service = new McpService();
  service.registerEach();
  service.tools.write = ({ account, request }: ToolRequest) => {
    const token = request.headers.get("authorization")!.slice(7);
    const grant = service.grants.find(({ access }) => access.has(token));
    return grant?.scope.split(" ").includes("write")
      ? { content: [{ type: "text", text: `written as ${account}` }] }
      : refuse(challenge);
  };
  return service;
}

/** Starts a server with two tools: one writes there, one only reads. */
function startWriting(service: McpService): Promise<OAuthServer> {
  const other = service.server();
  return startConnected(other, {
    tools: ["write", "who"].map((name) =>
      tool({
        name,
        needs: { other },
        run: async (_input, { needs }) => await needs.other.call(name),
      })
    ),
  });
}

/** Connects by the link of the next call, and confirms the account. */
async function allow(server: OAuthServer, service: McpService, call: Call) {
  const link = linkOf(await resultOf(call("write")));
  return await connectThere(server, service, { link });
}

Deno.test("a person is asked once for the scopes that a server wants, and others' accounts go on", async () => {
  await using service = writable();
  await using server = await startWriting(service);
  const bob = { as: "43", account: "bob@acme" };
  await connectThere(server, service, bob);
  await connectThere(server, service);
  const call = await clientOf(server, "2026");
  assert.match(await textOf(call("write")), WANTS_MORE);
  // A tool that was not refused asks for nothing.
  assert.equal(await textOf(call("who")), "ada@acme");
  const result = await resultOf(call("write"));
  assert.match(result.content[0].text, /Other wants you to allow more than/);
  const visitor = await openConnect(server, {
    link: linkOf(result),
    issuers: [service.origin],
  });
  assert.match(visitor.words, /Not allowed yet write Allowed before read /);
  await allow(server, service, call);
  assert.equal(service.requests.at(-1)!.get("scope"), "read write");
  assert.deepEqual(service.registered.map(({ scope }) => scope), [
    "read",
    "read write",
  ]);
  assert.equal(await textOf(call("write")), "written as ada@acme");
  // The account of someone else has the client of before.
  for (const grant of service.grants) grant.access.clear();
  const bobs = await clientOf(server, "2026", bob);
  assert.equal(await textOf(bobs("who")), "bob@acme");
  assert.equal(await textOf(call("write")), "written as ada@acme");
  // An account that replaces it is asked for the same.
  await connectThere(server, service);
  assert.equal(service.requests.at(-1)!.get("scope"), "read write");
});

Deno.test("a server that refuses what was asked for is not asked for again", async () => {
  await using service = writable();
  await using server = await startWriting(service);
  await connectThere(server, service);
  const call = await clientOf(server, "2026");
  assert.match(await textOf(call("write")), WANTS_MORE);
  // The person allows less.
  service.gives = "read";
  await allow(server, service, call);
  for (let again = 0; again < 2; again++) {
    assert.equal(await textOf(call("write")), "Other does not allow this.");
  }
});

Deno.test("a call whose person declines goes on with what they allowed", async () => {
  await using service = writable();
  await using server = await startWriting(service);
  await connectThere(server, service);
  const call = await clientOf(server, "2026");
  assert.match(await textOf(call("write")), WANTS_MORE);
  const link = linkOf(await resultOf(call("write")));
  const visitor = await openConnect(server, { link });
  await visitor.press(new URL(link).pathname, { answer: "decline" });
  for (let again = 0; again < 3; again++) {
    assert.equal(await textOf(call("write")), "Other does not allow this.");
  }
  assert.equal(await textOf(call("who")), "ada@acme");
});

Deno.test("a server that refuses once asks the person who declines no more", async () => {
  await using service = writable();
  await using server = await startWriting(service);
  await connectThere(server, service);
  const call = await clientOf(server, "2026");
  assert.match(await textOf(call("write")), WANTS_MORE);
  service.tools.write = () => ({ content: [{ type: "text", text: "fine" }] });
  const link = linkOf(await resultOf(call("write")));
  const visitor = await openConnect(server, { link });
  await visitor.press(new URL(link).pathname, { answer: "decline" });
  for (let again = 0; again < 3; again++) {
    assert.equal(await textOf(call("write")), "fine");
  }
});

Deno.test("a server that gives the person's token for a scope gets nothing asked or stored", async () => {
  await using service = writable();
  service.tools.write = ({ request }: ToolRequest) => {
    const token = request.headers.get("authorization")!.slice(7);
    return refuse(`Bearer error="insufficient_scope", scope="read ${token}"`);
  };
  await using server = await startWriting(service);
  await connectThere(server, service);
  const call = await clientOf(server, "2026");
  for (let again = 0; again < 2; again++) {
    assert.equal(await textOf(call("write")), "Other does not allow this.");
  }
});

Deno.test("a server that names no scopes before is asked for what it gave, and what it wants", async () => {
  await using service = writable(
    'Bearer error="insufficient_scope", scope="write"',
  );
  service.resource = { scopes_supported: undefined };
  service.gives = "usual";
  await using server = await startWriting(service);
  await connectThere(server, service);
  const call = await clientOf(server, "2026");
  assert.match(await textOf(call("write")), WANTS_MORE);
  await allow(server, service, call);
  const asked = service.requests.map((it) => it.get("scope"));
  assert.deepEqual(asked, [null, "usual write"]);
});

Deno.test("a person connects without scopes that the authorization server does not know", async () => {
  await using service = writable();
  await using server = await startWriting(service);
  await connectThere(server, service);
  const call = await clientOf(server, "2026");
  assert.match(await textOf(call("write")), WANTS_MORE);
  service.answer = (request, path) => {
    const query = new URL(request.url).searchParams;
    const isUnknown = path === "/authorize" &&
      query.get("scope")!.includes("write");
    service.refusal = isUnknown ? "invalid_scope" : undefined;
    return undefined;
  };
  await allow(server, service, call);
  const asked = service.requests.map((it) => it.get("scope"));
  assert.deepEqual(asked, ["read", "read write", "read"]);
  assert.equal(await textOf(call("write")), "Other does not allow this.");
  assert.equal(await textOf(call("who")), "ada@acme");
  // A server that knows no scope at all is asked twice.
  service.answer = undefined;
  service.refusal = "invalid_scope";
  const visitor = await openConnect(server, {
    link: `${BASE_URL}/connect/crm`,
    issuers: [service.origin],
  });
  await visitor.press("/connect/crm", { answer: "connect" });
  assert.match(visitor.words, /Other did not allow it|is of no use/);
  assert.equal(service.requests.length, 5);
});

Deno.test("a refusal after a question says that the call may have been done, and the next one asks the person", async () => {
  await using service = writable();
  let isAsked = false;
  service.tools.write = ({ id }: ToolRequest) => {
    isAsked = true;
    return events({
      id,
      result: {
        resultType: "input_required",
        inputRequests: { a: { method: "roots/list", params: {} } },
        requestState: "s",
      },
    });
  };
  service.answer = (_request, path) =>
    path === "/mcp" && isAsked
      ? refuse('Bearer error="insufficient_scope", scope="write"')
      : undefined;
  const other = service.server();
  await using server = await startConnected(other, {
    tools: [tool({
      name: "write",
      needs: { other },
      run: async (_input, { needs }) =>
        await needs.other.call("write", {}, {
          roots: () => Promise.resolve([]),
        }),
    })],
  });
  await connectThere(server, service);
  const call = await clientOf(server, "2026");
  assert.equal(
    await textOf(call("write")),
    "Other wants the person to allow more than they did. " +
      MAY_HAVE_SUCCEEDED,
  );
  assert.equal((await resultOf(call("write"))).isError, true);
  linkOf(await resultOf(call("write")));
});

const LONG = "a".repeat(1001);

for (
  const challenge of [
    "Bearer",
    'Bearer error="insufficient_scope"',
    'Bearer error="invalid_token", scope="write"',
    'Bearer error="insufficient_scope", scope="read"',
    `Bearer error="insufficient_scope", scope="${LONG}"`,
  ]
) {
  Deno.test(`no one is asked for more after a 403 with ${challenge.slice(0, 60)}`, async () => {
    await using service = writable(challenge);
    await using server = await startWriting(service);
    await connectThere(server, service);
    const call = await clientOf(server, "2026");
    for (let again = 0; again < 2; again++) {
      assert.equal(await textOf(call("write")), "Other does not allow this.");
    }
  });
}

Deno.test("no one is asked for scopes of a pasted key", async () => {
  await using service = writable();
  service.keys["key-of-ada"] = "ada@acme";
  const other = mcpServer("crm", { url: service.url, title: "Other", key: {} });
  await using server = await startConnected(other, {
    tools: [tool({
      name: "write",
      needs: { other },
      run: async (_input, { needs }) => await needs.other.call("write"),
    })],
  });
  const visitor = await openConnect(server, {
    link: `${BASE_URL}/connect/crm`,
  });
  await visitor.press("/connect/crm", { answer: "connect", key: "key-of-ada" });
  const call = await clientOf(server, "2026");
  assert.equal(await textOf(call("write")), "Other does not allow this.");
});
