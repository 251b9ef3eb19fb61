/**
 * The sign-in of people at other MCP servers: where it leads, and what is
 * refused.
 */
import assert from "node:assert/strict";
import { mcpServer, type OAuthAccount } from "../../../src/mod.ts";
import { mcpClientKey } from "../../../src/core/kv/keys.ts";
import { McpAccountClient } from "../../../src/features/mcp_servers/mcp_client.ts";
import { guardedFetch } from "../../../src/features/mcp_servers/guarded_fetch.ts";
import { registrationStore } from "../../../src/features/mcp_servers/registrations.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { clientOf, linkOf, startConnected } from "../../kit/connected.ts";
import { openTestKv } from "../../kit/databases.ts";
import { recordLog } from "../../kit/log.ts";
import type { Json } from "../../kit/message.ts";
import { processOn } from "../../kit/mcp_process.ts";
import { introduce, McpService } from "../../kit/mcp_service.ts";
import {
  callThrough,
  connectThere,
  hearing,
  startThrough,
} from "../../kit/mcp_through.ts";
import { BASE_URL } from "../../kit/server.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { until } from "../../kit/wait.ts";

const PATH = "/connect/crm";

/** Lists the words of the errors in a log. */
function errorsIn({ events }: ReturnType<typeof recordLog>): string {
  return events.map(({ properties: { error } = {} }: Json) => error?.message)
    .join("\n");
}

/** Opens the page of the service, and presses on it. */
async function tried(server: OAuthServer, service: McpService) {
  const visitor = await AccountVisitor.signIn(server, {
    issuers: [service.origin],
  });
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  await visitor.press(PATH, { answer: "connect" });
  return visitor;
}

Deno.test("the metadata that a 401 names is read, with its scopes", async () => {
  await using service = new McpService();
  service.answer = (request, path) => {
    const isOpen = !request.headers.has("authorization");
    if (path === "/mcp" && isOpen) {
      return new Response(null, {
        status: 401,
        headers: {
          "www-authenticate":
            `Bearer scope="issues:write", resource_metadata="${service.origin}/meta"`,
        },
      });
    }
    return path === "/meta"
      ? Response.json({
        resource: service.url,
        authorization_servers: [service.origin],
      })
      : undefined;
  };
  await using server = await startThrough(service);
  await connectThere(server, service);
  assert.equal(service.requests[0].get("scope"), "issues:write");
  assert.ok(service.asked.every((path) => !path.includes("/oauth-protected")));
});

Deno.test("a server of the first revision is its own authorization server", async () => {
  await using service = new McpService("2025");
  service.answer = refusingMetadata(404);
  await using server = await startThrough(service);
  await connectThere(server, service);
  assert.equal(service.requests[0].get("resource"), service.url);
});

/** Answers with a status in place of the metadata of the resource. */
function refusingMetadata(status: number, isNamed = false) {
  return (request: Request, path: string) => {
    if (path.startsWith("/.well-known/oauth-protected-resource")) {
      return new Response(null, { status });
    }
    const isOpen = path === "/mcp" && !request.headers.has("authorization");
    return isOpen && !isNamed ? new Response(null, { status: 401 }) : undefined;
  };
}

for (
  const [status, isNamed, words] of [
    [400, false, /is of no use/],
    [401, false, /is of no use/],
    [403, false, /is of no use/],
    [404, true, /is of no use/],
    [408, false, /does not answer. Try again later/],
    [429, false, /does not answer. Try again later/],
    [500, false, /does not answer. Try again later/],
    [503, true, /does not answer. Try again later/],
  ] as const
) {
  Deno.test(`${status} in place of ${isNamed ? "metadata that a 401 names" : "a resource's metadata"} leads no one to the server's own origin, and is not remembered`, async () => {
    await using service = new McpService();
    service.answer = refusingMetadata(status, isNamed);
    const log = recordLog();
    await using server = await startThrough(service, log);
    const visitor = await tried(server, service);
    assert.match(visitor.words, words);
    if (/no use/.test(words.source)) {
      assert.match(
        errorsIn(log),
        RegExp(`answered ${status} when asked where`),
      );
    }
    assert.deepEqual([service.requests, service.registered], [[], []]);
    service.answer = undefined;
    await connectThere(server, service);
  });
}

Deno.test("an author's issuer is right where the server does not say where people sign in", async () => {
  await using service = new McpService();
  service.answer = refusingMetadata(403);
  await using server = await startThrough(service, { issuer: service.origin });
  await connectThere(server, service);
});

Deno.test("a server that has nothing for a moment is not taken for its own authorization server", async () => {
  await using service = new McpService();
  await using real = new McpService("2026", "crm");
  service.resource = { authorization_servers: [real.origin] };
  service.answer = () => new Response(null, { status: 404 });
  await using server = await startThrough(service);
  assert.match((await tried(server, service)).words, /is of no use/);
  service.answer = undefined;
  const visitor = await AccountVisitor.signIn(server, {
    issuers: [real.origin],
  });
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  await visitor.press(PATH, { answer: "connect" });
  assert.equal(real.requests.length, 1);
});

Deno.test("a client ID metadata document is used where both sides can", async () => {
  await using service = new McpService();
  service.metadata = { client_id_metadata_document_supported: true };
  const declared = service.server();
  await using kv = await openTestKv();
  const client = new McpAccountClient(declared as OAuthAccount, processOn(kv));
  const url = await client.authorizationUrl({
    state: "s",
    nonce: "n",
    codeChallenge: "c",
    redirectUri: "https://tools.example/connect/crm/callback",
  });
  assert.equal(
    url.searchParams.get("client_id"),
    "https://tools.example/connect/crm/client.json",
  );
  assert.deepEqual(service.registered, []);
  // An address on this machine means nothing to another server.
  const local = await client.authorizationUrl({
    state: "s",
    nonce: "n",
    codeChallenge: "c",
    redirectUri: `${BASE_URL}/connect/crm/callback`,
  });
  assert.equal(local.searchParams.get("client_id"), service.clientId);
  assert.equal(service.registered.length, 1);
});

Deno.test("our document at a public address names the one way back of its service", async () => {
  await using service = new McpService();
  await using server = await startThrough(service, {
    environment: { BASE_URL: "https://tools.example" },
  });
  const response = await server.app.fetch(
    new Request("https://tools.example/connect/crm/client.json"),
  );
  const document = await response.json();
  assert.deepEqual([document.client_id, document.redirect_uris], [
    "https://tools.example/connect/crm/client.json",
    ["https://tools.example/connect/crm/callback"],
  ]);
  assert.equal(document.token_endpoint_auth_method, "none");
});

Deno.test("an application of the settings is used in place of a registration", async () => {
  await using service = new McpService();
  await using server = await startThrough(service, {
    environment: service.environment,
    issuer: service.origin,
  });
  await connectThere(server, service);
  assert.deepEqual(service.registered, []);
  for (const grant of service.grants) grant.access.clear();
  assert.equal(await callThrough(await hearing(server), "who"), "ada@acme");
});

Deno.test("an application of the settings without an issuer ends the start", async () => {
  await using service = new McpService();
  await using kv = await openTestKv();
  await assert.rejects(
    startThrough(service, { kv, environment: service.environment }),
    /ACCOUNT_CRM_CLIENT_ID: .* \(mcpServer\("crm"\) names no issuer.*\n.*ACCOUNT_CRM_CLIENT_SECRET: got "\(hidden\)"/,
  );
});

Deno.test("another authorization server that the server names gets no application of the settings", async () => {
  await using service = new McpService();
  await using thief = new McpService("2026", "crm");
  const log = recordLog();
  await using server = await startThrough(service, {
    ...log,
    environment: service.environment,
    issuer: service.origin,
  });
  service.resource = { authorization_servers: [thief.origin] };
  const { words } = await tried(server, service);
  assert.match(words, /gave an answer that is of no use/);
  assert.match(errorsIn(log), /does not name http:/);
  assert.deepEqual(thief.asked, []);
  // The issuer is found anywhere in a list of several.
  service.resource = { authorization_servers: [thief.origin, service.origin] };
  await connectThere(server, service);
  assert.deepEqual(thief.asked, []);
});

Deno.test("a way that began before the issuer changed takes no secret to the old one", async () => {
  await using service = new McpService();
  await using old = new McpService("2026", "crm");
  await using kv = await openTestKv();
  const process = processOn(kv);
  Object.assign(process.config.own, service.environment);
  const client = new McpAccountClient(
    service.server({ issuer: service.origin }) as OAuthAccount,
    process,
  );
  const before = await client.authorizationUrl({
    at: {
      issuer: old.origin,
      authorizationEndpoint: `${old.origin}/authorize`,
    },
    state: "s",
    nonce: "n",
    codeChallenge: "c",
    redirectUri: `${BASE_URL}/connect/crm/callback`,
  });
  assert.equal(before.origin, old.origin);
  // The application there is one that was registered there.
  assert.equal(old.registered.length, 1);
});

Deno.test("a server that registers no one needs a setting, which the log names", async () => {
  await using service = new McpService();
  service.metadata = { registration_endpoint: undefined };
  const log = recordLog();
  await using server = await startThrough(service, log);
  const { words } = await tried(server, service);
  assert.match(words, /gave an answer that is of no use/);
  assert.match(errorsIn(log), /set ACCOUNT_CRM_CLIENT_ID/);
});

/** The metadata that is refused, and the log's words. */
const REFUSED: Record<string, [Partial<McpService>, RegExp]> = {
  "another host's resource": [
    { resource: { resource: "https://other.example/mcp" } },
    /is another resource/,
  ],
  "a resource beside its address": [
    { resource: { resource: "http://127.0.0.1:1/mcp" } },
    /is another resource/,
  ],
  "no authorization server": [
    { resource: { authorization_servers: [] } },
    /does not name an authorization server/,
  ],
  ...Object.fromEntries(
    ["file:///etc/passwd", "data:,a", "urn:a", "mailto:a@b.example"].map((
      address,
    ) => [
      `the authorization server ${address}`,
      [
        { resource: { authorization_servers: [address] } },
        /does not name an authorization server/,
      ],
    ]),
  ),
  "an authorization server over http": [
    { resource: { authorization_servers: ["http://id.example"] } },
    /does not name an authorization server by an https URL/,
  ],
  ...Object.fromEntries(
    ["#here", "?a#b", " ", "/../mcp\n"].map((end) => [
      `the resource ${JSON.stringify(end)}`,
      [{ resource: { resource: `https://a:b@127.0.0.1${end}` } }, /is another/],
    ]),
  ),
  ...Object.fromEntries(
    [5, true, {}, "plain S256"].map((methods) => [
      `PKCE methods ${JSON.stringify(methods)}`,
      [
        { metadata: { code_challenge_methods_supported: methods } },
        /does not offer PKCE with S256/,
      ],
    ]),
  ),
  "no PKCE": [
    { metadata: { code_challenge_methods_supported: ["plain"] } },
    /does not offer PKCE with S256/,
  ],
  "another issuer": [
    { metadata: { issuer: "https://evil.example" } },
    /names another issuer/,
  ],
  "a token endpoint over http": [
    { metadata: { token_endpoint: "http://id.example/token" } },
    /must be an https URL/,
  ],
  "a registration endpoint over http": [
    { metadata: { registration_endpoint: "http://id.example/register" } },
    /names what is no https URL/,
  ],
  "a registration endpoint that is no address": [
    { metadata: { registration_endpoint: "not an address" } },
    /An address is none/,
  ],
  "a user in the address of its page": [
    { metadata: { authorization_endpoint: "https://bank.example@id.example" } },
    /authorization_endpoint of .* must be an https URL without a user/,
  ],
  "a password in the address of its tokens": [
    { metadata: { token_endpoint: "https://a:b@id.example/token" } },
    /token_endpoint of .* must be an https URL without a user/,
  ],
  "a fragment in the address of its page": [
    { metadata: { authorization_endpoint: "https://id.example/#a" } },
    /authorization_endpoint of .* must be an https URL/,
  ],
  "a file in place of its tokens": [
    { metadata: { token_endpoint: "file:///etc/passwd" } },
    /token_endpoint of .* must be an https URL/,
  ],
  "an issuer with a user": [
    { resource: { authorization_servers: ["https://a@id.example"] } },
    /does not name an authorization server/,
  ],
  "an issuer that is a file": [
    { resource: { authorization_servers: ["file:///id.example"] } },
    /does not name an authorization server/,
  ],
  "metadata at no address": [
    { answer: challenging("not an address") },
    /An address is none/,
  ],
  "metadata in a file": [
    { answer: challenging("file:///etc/passwd") },
    /names what is no https URL/,
  ],
};

/** Answers that the metadata of the resource are at another address. */
function challenging(place: string): McpService["answer"] {
  const headers = { "www-authenticate": `Bearer resource_metadata="${place}"` };
  return (_request, path) =>
    path === "/mcp" ? new Response(null, { status: 401, headers }) : undefined;
}

for (const [what, [changed, words]] of Object.entries(REFUSED)) {
  Deno.test(`a server with ${what} is refused before anyone is sent there`, async () => {
    await using service = new McpService();
    const log = recordLog();
    await using server = await startThrough(service, log);
    Object.assign(service, changed);
    const visitor = await tried(server, service);
    assert.match(visitor.words, /gave an answer that is of no use/);
    assert.match(errorsIn(log), words);
    assert.deepEqual(service.requests, []);
  });
}

Deno.test("the code goes to the authorization server to which the person was sent", async () => {
  await using service = new McpService();
  await using thief = new McpService("2026", "crm");
  await using server = await startThrough(service);
  // While the person is there, the server names another.
  service.answer = (request, path) => {
    if (path !== "/authorize") return undefined;
    service.resource = { authorization_servers: [thief.origin] };
    void request;
    return undefined;
  };
  await connectThere(server, service);
  assert.deepEqual(thief.asked, []);
  // So does a refresh, also in a process that learns of the server now.
  for (const grant of service.grants) grant.access.clear();
  const client = await hearing(server);
  assert.equal(await callThrough(client, "who"), "ada@acme");
  assert.deepEqual(thief.forms, []);
});

Deno.test("this server registers with the scopes that it asks for, and anew where an author wants more", async () => {
  await using service = new McpService();
  await using kv = await openTestKv();
  const asked: (string | null)[] = [];
  for (
    const [scopes, scopes_supported] of [
      [undefined, ["read"]],
      // Scopes that the server names later are not requested by the old
      // registration.
      [undefined, ["read", "more"]],
      [["read", "write"], ["read"]],
    ]
  ) {
    service.resource = { scopes_supported };
    await using server = await startConnected(service.server({ scopes }), {
      kv,
    });
    await tried(server, service);
    asked.push(service.requests.at(-1)!.get("scope"));
  }
  assert.deepEqual(asked, ["read", "read", "read write"]);
  const registered = service.registered.map(({ scope }) => scope);
  assert.deepEqual(registered, ["read", "read write"]);
});

Deno.test("a person who refuses there is told so, and nothing is kept", async () => {
  await using service = new McpService();
  service.refusal = "access_denied";
  await using server = await startThrough(service);
  const { words } = await tried(server, service);
  assert.match(words, /Other did not allow it/);
});

Deno.test("an answer of another issuer is refused (RFC 9207)", async () => {
  await using service = new McpService();
  service.extra = { iss: "https://evil.example" };
  await using server = await startThrough(service);
  const { words } = await tried(server, service);
  assert.match(words, /gave an answer that is of no use/);
  assert.deepEqual(service.forms, []);
});

Deno.test("an answer without iss is refused where the server promises one", async () => {
  await using service = new McpService();
  service.metadata = { authorization_response_iss_parameter_supported: true };
  await using server = await startThrough(service);
  const { words } = await tried(server, service);
  assert.match(words, /gave an answer that is of no use/);
  assert.deepEqual(service.forms, []);
});

Deno.test("a registration that is not known there for a minute is made anew", async () => {
  using time = new MovedTime();
  await using service = new McpService();
  await using server = await startThrough(service);
  await connectThere(server, service);
  const call = await clientOf(server, "2026");
  const through = () => call("through", { tool: "who" });
  service.clientId = "another";
  for (const grant of service.grants) grant.access.clear();
  assert.match(await textOf(through()), /give access now: try again/);
  time.tick(61);
  assert.match(await textOf(through()), /not asked to connect it then/);
  const link = linkOf(await resultOf(through()));
  await connectThere(server, service, { link });
  assert.equal(service.registered.length, 2);
  assert.equal(await textOf(through()), "ada@acme");
});

Deno.test("no account is lost to refusals of our client with a success between", async () => {
  using time = new MovedTime();
  await using service = new McpService();
  await using server = await startThrough(service);
  await connectThere(server, service);
  await connectThere(server, service, { as: "43", account: "bob@acme" });
  const ada = await hearing(server, { as: "42" });
  const bob = await hearing(server, { as: "43" });
  const { clientId } = service;
  for (let round = 0; round < 3; round++) {
    service.clientId = "another";
    for (const grant of service.grants) grant.access.clear();
    assert.match(await callThrough(ada, "who"), /give access now: try again/);
    service.clientId = clientId;
    assert.equal(await callThrough(bob, "who"), "bob@acme");
    time.tick(61);
    assert.equal(await callThrough(ada, "who"), "ada@acme");
    time.tick(61);
  }
  assert.equal(service.registered.length, 1);
});

Deno.test("new tokens that are too long are refused, and revoked", async () => {
  await using service = new McpService();
  await using server = await startThrough(service);
  await connectThere(server, service);
  const client = await hearing(server);
  for (const grant of service.grants) grant.access.clear();
  service.answer = (_, path) =>
    path === "/token"
      ? Response.json({
        access_token: "a".repeat(20_000),
        refresh_token: "crm-refresh-new",
        token_type: "bearer",
      })
      : undefined;
  assert.match(await callThrough(client, "who"), /give access now: try again/);
  assert.deepEqual([...new Set(service.revoked)], ["crm-refresh-new"]);
});

Deno.test("an account that is disconnected is revoked at its authorization server", async () => {
  await using service = new McpService();
  await using server = await startThrough(service);
  const visitor = await connectThere(server, service);
  // The page speaks of an account, not of a key, even if no scopes are named.
  assert.match(visitor.words, /Other does not say whose account it is/);
  assert.match(
    await visitor.look("/accounts"),
    /Its tokens are deleted here, and Other is told that they end/,
  );
  await visitor.press("/account/accounts/disconnect");
  await until(() => service.revoked.length > 0);
  assert.match(service.revoked[0], /^crm-refresh/);
});

for (const isAway of [false, true]) {
  Deno.test(`an account is revoked at the authorization server that issued its tokens, though ${isAway ? "the server does not answer now" : "the server names another that revokes none"}`, async () => {
    await using service = new McpService();
    await using other = new McpService("2026", "crm");
    other.metadata = { revocation_endpoint: undefined };
    await using kv = await openTestKv();
    {
      await using server = await startThrough(service, { kv });
      await connectThere(server, service);
    }
    service.resource = { authorization_servers: [other.origin] };
    service.answer = (_, path) =>
      isAway && /^\/mcp|protected-resource/.test(path)
        ? new Response("", { status: 503 })
        : undefined;
    // This process has not read where the server led before.
    await using server = await startThrough(service, { kv });
    const visitor = await AccountVisitor.signIn(server, { at: "/accounts" });
    assert.match(visitor.words, /and Other is told that they end/);
    await visitor.press("/account/accounts/disconnect");
    await until(() => service.revoked.length > 0);
    assert.match(service.revoked[0], /^crm-refresh/);
    assert.deepEqual(other.forms, []);
  });
}

for (const isGone of [false, true]) {
  Deno.test(`the account page promises no revocation if ${isGone ? "our client is gone" : "the authorization server that issued the tokens revokes none, though the one that the server names now does"}`, async () => {
    await using service = new McpService();
    await using other = new McpService("2026", "crm");
    if (!isGone) service.metadata = { revocation_endpoint: undefined };
    await using kv = await openTestKv();
    await using server = await startThrough(service, { kv });
    await connectThere(server, service);
    service.resource = { authorization_servers: [other.origin] };
    if (isGone) {
      for await (const { key } of kv.list({ prefix: ["mcp-client"] })) {
        await kv.delete(key);
      }
    }
    await using after = await startThrough(service, { kv });
    const visitor = await AccountVisitor.signIn(after, { at: "/accounts" });
    assert.match(visitor.words, /Other cannot be told: end the app/);
    const { words } = await visitor.signInToErase();
    assert.match(words, /your keys and tokens at Other themselves/);
  });
}

Deno.test("two processes register once, and the loser uses the winner's", async () => {
  await using service = new McpService();
  await using kv = await openTestKv();
  const made = [
    registrationStore(processOn(kv)),
    registrationStore(processOn(kv)),
  ];
  let count = 0;
  const place = { issuer: service.origin, redirectUri: `${BASE_URL}/c` };
  const both = Promise.withResolvers<void>();
  const registry = () => ({
    server: {
      issuer: service.origin,
      registration_endpoint: `${service.origin}/register`,
    } as never,
    async fetch() {
      const client_id = `client-${++count}`;
      if (count === 2) both.resolve();
      await both.promise;
      return Response.json({ client_id, client_secret: "s" }, { status: 201 });
    },
  });
  const found = await Promise.all(made.map((it) => it.find(place, registry)));
  assert.deepEqual(found[0], found[1]);
  assert.deepEqual(await made[0].find(place, registry), found[0]);
  assert.equal(count, 2);
  // Sealed, and to its place.
  const all = await Array.fromAsync(kv.list({ prefix: ["mcp-client"] }));
  assert.equal(all.length, 1);
  assert.doesNotMatch(JSON.stringify(all[0].value), /client-|127\.0\.0\.1/);
  const other = { ...place, issuer: "https://evil.example" };
  const name = JSON.stringify(["mcp client", other.issuer, other.redirectUri]);
  await kv.set(mcpClientKey(name), all[0].value);
  assert.equal(await made[0].kept(other), undefined);
});

Deno.test("a registration lasts for a year after its last use, but not longer than its secret", async () => {
  using time = new MovedTime();
  await using kv = await openTestKv();
  const store = registrationStore(processOn(kv));
  const end = Math.floor(Date.now() / 1000) + 700 * 86_400;
  const found = await Promise.all([0, end].map(async (endsAt, index) => {
    const place = {
      issuer: `https://${index}.example`,
      redirectUri: `${BASE_URL}/c`,
    };
    const client_id = `client-${index}`;
    await store.find(place, () => ({
      server: { registration_endpoint: place.issuer } as never,
      fetch: () =>
        Promise.resolve(Response.json({
          client_id,
          client_secret: "s",
          client_secret_expires_at: endsAt,
        })),
    }));
    return async () => (await store.kept(place))?.clientId;
  }));
  const kept = () => Promise.all(found.map((find) => find()));
  for (let days = 0; days < 600; days += 200) {
    assert.deepEqual(await kept(), ["client-0", "client-1"]);
    time.tick(200 * 86_400);
  }
  time.tick(100 * 86_400);
  assert.deepEqual(await kept(), ["client-0", undefined]);
  time.tick(366 * 86_400);
  assert.deepEqual(await kept(), [undefined, undefined]);
});

const addresses = (named: Record<string, string[]>) => (host: string) =>
  Promise.resolve(named[host] ?? [host]);

for (
  const [url, isSent] of [
    ["https://mcp.example/a", true],
    ["https://id.example/a", true],
    ["http://id.example/a", false],
    ["https://user@id.example/a", false],
    ["https://inside.example/a", false],
    ["https://mixed.example/a", false],
    ["https://169.254.169.254/latest", false],
    ["https://[::1]/a", false],
    ["http://127.0.0.1:8080/a", false],
    ["https://localhost/a", false],
  ] as const
) {
  Deno.test(`a public server ${isSent ? "may" : "may not"} name ${url}`, async () => {
    const sent: string[] = [];
    const send = (input: string | URL | Request) => {
      sent.push(`${input}`);
      return Promise.resolve(new Response());
    };
    const guarded = guardedFetch(
      { api: "https://mcp.example/mcp" },
      send as typeof fetch,
      addresses({
        "mcp.example": ["93.184.216.34"],
        "id.example": ["93.184.216.35"],
        "inside.example": ["10.0.0.1"],
        "mixed.example": ["93.184.216.35", "127.0.0.1"],
        "localhost": ["127.0.0.1"],
      }),
    );
    await guarded(url).catch(({ name }) => assert.equal(name, "UpstreamError"));
    assert.deepEqual(sent, isSent ? [url] : []);
  });
}

/** The addresses of a server, the host that it names, and if it may. */
for (
  const [own, host, isSent] of [
    [["10.0.0.1"], "id.inside.example", true],
    [["10.0.0.1", "fd00::1"], "id.inside.example", true],
    [["10.0.0.1", "93.184.216.34"], "id.inside.example", false],
    [["::ffff:93.184.216.34"], "id.inside.example", false],
    [["::FFFF:5db8:d822", "10.0.0.1"], "id.inside.example", false],
    // Its DNS may say anything: no host of another domain.
    [["10.0.0.1"], "inside.corp", false],
    [["10.0.0.1"], "169.254.169.254", false],
    [["127.0.0.1"], "localhost", false],
    // The author has named it.
    [["93.184.216.34"], "sign-in.corp", true],
  ] as const
) {
  Deno.test(`a server at ${own} ${isSent ? "may" : "may not"} name ${host}`, async () => {
    const sent: string[] = [];
    const send = (input: string | URL | Request) => {
      sent.push(`${input}`);
      return Promise.resolve(new Response());
    };
    const guarded = guardedFetch(
      {
        api: "https://mcp.inside.example/mcp",
        issuer: "https://sign-in.corp/tenant",
      },
      send as typeof fetch,
      addresses({
        "mcp.inside.example": [...own],
        "id.inside.example": ["10.0.0.2"],
        "inside.corp": ["10.0.0.2"],
        "sign-in.corp": ["10.0.0.2"],
        "localhost": ["127.0.0.1"],
      }),
    );
    const url = `https://${host}/a`;
    await guarded(url).catch(({ name }) => assert.equal(name, "UpstreamError"));
    assert.deepEqual(sent, isSent ? [url] : []);
  });
}

/** Makes a service that sends people to the page of another one. */
function sendingTo(honest: McpService, change: Json = {}): McpService {
  const service = new McpService();
  service.metadata = {
    authorization_endpoint: `${honest.origin}/authorize`,
    ...change,
  };
  return service;
}

/** Makes the client of a server, as of a process that has just begun. */
async function startedClient(service: McpService, issuer?: string) {
  const kv = await openTestKv();
  const declared = service.server({ issuer }) as OAuthAccount;
  const client = new McpAccountClient(declared, processOn(kv));
  return { client, [Symbol.dispose]: () => kv.close() };
}

Deno.test("no one is sent to the page of another service whose codes would go elsewhere", async () => {
  await using honest = new McpService();
  await using service = sendingTo(honest);
  const recorded = recordLog("debug");
  await using server = await startThrough(service, recorded);
  const visitor = await tried(server, service);
  assert.match(visitor.words, /gave an answer that is of no use/);
  const { host } = new URL(honest.origin);
  assert.ok(errorsIn(recorded).includes(`sends people to ${host}`));
  assert.deepEqual([honest.requests, service.forms], [[], []]);
});

for (
  const [what, change, issues] of [
    ["promises iss in each answer", {
      authorization_response_iss_parameter_supported: true,
    }],
    ["has the issuer that the author names", {}, true],
  ] as [string, Json, boolean?][]
) {
  Deno.test(`people are sent to the page of another site if the server ${what}`, async () => {
    await using honest = new McpService();
    await using service = sendingTo(honest, change);
    const issuer = issues ? service.origin : undefined;
    using started = await startedClient(service, issuer);
    assert.deepEqual(await started.client.findServer(), {
      issuer: service.origin,
      authorizationEndpoint: `${honest.origin}/authorize`,
    });
  });
}

Deno.test("people are sent to the page of another site if its own metadata name the endpoints", async () => {
  await using page = new McpService();
  await using service = sendingTo(page);
  const { token_endpoint, revocation_endpoint } = {
    token_endpoint: `${service.origin}/token`,
    revocation_endpoint: `${service.origin}/revoke`,
  };
  page.metadata = { token_endpoint };
  using started = await startedClient(service);
  // Tokens are sent to the revocation endpoint.
  await assert.rejects(started.client.findServer(), /sends people to/);
  page.metadata = { token_endpoint, revocation_endpoint };
  using again = await startedClient(service);
  await again.client.findServer();
});

Deno.test("no one is sent to the page of a host next to the server, or of another tenant of one hosting domain, whose codes would go elsewhere", async () => {
  for (
    const [host, page, isSent] of [
      ["thief.github.io", "https://honest.github.io", false],
      ["thief.github.io", "https://id.thief.github.io", true],
      ["thief.github.io", "https://thief.github.io", true],
      ["thief.example.com", "https://honest.example.com", false],
      ["thief.example.com", "https://example.com", true],
      ["thiefexample.com", "https://example.com", false],
    ] as const
  ) {
    using kv = await openTestKv();
    const origin = `https://${host}`;
    const declared = mcpServer("crm", { url: `${origin}/mcp` });
    const client = new McpAccountClient(
      declared as OAuthAccount,
      processOn(kv),
      async (input) =>
        await introduce(new Request(input), {
          origin,
          url: declared.api,
          clientId: "ours",
          metadata: { authorization_endpoint: `${page}/authorize` },
        }) ?? new Response(null, { status: 401 }),
    );
    const found = client.findServer();
    if (isSent) await found;
    else await assert.rejects(found, /sends people to .*, and their codes/);
  }
});

Deno.test("a code goes nowhere if the server names another page than the one to which the person was sent", async () => {
  await using honest = new McpService();
  await using service = sendingTo(honest, {
    token_endpoint: `${honest.origin}/token`,
    revocation_endpoint: undefined,
  });
  using before = await startedClient(service);
  const at = await before.client.findServer();
  service.metadata = {};
  using after = await startedClient(service);
  const redirectUri = `${BASE_URL}${PATH}/callback`;
  const answer = { at, code: "c", redirectUri, codeVerifier: "v", nonce: "n" };
  await assert.rejects(after.client.redeem(answer as never), {
    message: /has another authorization_endpoint now/,
  });
  assert.deepEqual(service.forms, []);
});

Deno.test("a person is told at which host they allow the access, and then that it is used at another", async () => {
  await using service = new McpService();
  await using elsewhere = new McpService();
  for (
    const [named, isTold] of [[elsewhere, true], [service, false]] as const
  ) {
    service.resource = { authorization_servers: [named.origin] };
    await using server = await startThrough(service);
    const visitor = await AccountVisitor.signIn(server, {
      issuers: [named.origin],
    });
    visitor.page = await visitor.browser.open(BASE_URL + PATH);
    const [at, to] = [named, service].map((it) => new URL(it.origin).host);
    assert.ok(visitor.words.includes(`You allow it at ${at} , which sends`));
    await visitor.press(PATH, { answer: "connect" });
    const words = `You signed in at ${at} . ` +
      `The access that you allowed there is used at ${to} .`;
    assert.match(visitor.words, /You have allowed it/);
    assert.equal(visitor.words.includes(words), isTold, visitor.words);
  }
});

Deno.test("the page that leads to a server does not wait for one that is slow, and names its host once known", async () => {
  using _ = new HastyTimers([1000]);
  await using service = new McpService();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  await using server = await startThrough(service);
  const visitor = await AccountVisitor.signIn(server, {
    issuers: [service.origin],
  });
  const asked: string[] = [];
  service.answer = (_request, path) => {
    asked.push(path);
    return promise;
  };
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  assert.match(visitor.words, /You allow it at Other, which sends you back/);
  resolve(undefined);
  const { host } = new URL(service.origin);
  await until(async () => {
    visitor.page = await visitor.browser.open(BASE_URL + PATH);
    return visitor.words.includes(`You allow it at ${host} ,`);
  });
  // The first request was not given up.
  assert.deepEqual(asked.filter((path) => path === "/mcp"), ["/mcp"]);
});
