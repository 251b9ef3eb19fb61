import assert from "node:assert/strict";
import { authorizeEndpoint } from "../../../../src/core/auth/server/authorize.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { oauthError, statusOf } from "../../../kit/answer.ts";
import { AccountVisitor } from "../../../kit/account_visitor.ts";
import { Client } from "../../../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../../../kit/sign_in.ts";
import { BASE_URL } from "../../../kit/server.ts";
import { cookieName } from "../../../../src/core/http/browser.ts";
import { answerOf, refuseLate } from "./endpoint_alone.ts";

const mail = tool({
  name: "mail",
  title: "Read mail",
  scopes: ["mail:read"],
  run: () => "mail",
});
const send = tool({
  name: "send",
  title: "Send mail",
  scopes: ["mail:send"],
  run: () => "sent",
});

/** Opens an authorization request that must end on a page. */
async function refusedPage(
  server: OAuthServer,
  url: string,
  status = 400,
): Promise<string> {
  const page = await server.browser().open(url);
  assert.equal(page.status, status, page.url);
  assert.match(page.headers.get("content-type")!, /^text\/html/);
  return page.text;
}

Deno.test("GET /authorize shows who asks, where the answer goes and what it may do", async () => {
  await using server = await startOAuthServer({ tools: [mail] });
  const client = await Client.register(server, { client_name: "<b>App</b>" });
  const page = await server.browser().open(client.authorizationUrl());
  assert.equal(page.status, 200);
  assert.match(page.text, /&lt;b&gt;App&lt;\/b&gt;/);
  assert.match(page.text, /Unverified/);
  assert.match(page.text, /https:\/\/app\.example\.com\/cb/);
  assert.match(page.text, /Read mail/);
  assert.match(page.text, /Example ID/);
  assert.doesNotMatch(
    page.headers.get("content-security-policy")!,
    /form-action/,
  );
  assert.match(
    page.headers.get("content-security-policy")!,
    /frame-ancestors 'none'/,
  );
  assert.equal(page.headers.get("cache-control"), "no-store");
  const cookie = page.headers.get("set-cookie")!;
  assert.match(cookie, /^browser-[\w-]{8}=[\w-]{43};/);
  assert.match(cookie, /HttpOnly/);
  assert.match(cookie, /SameSite=Lax/);
  assert.match(cookie, /Path=\//);
  assert.deepEqual(server.provider.log, []);
});

/** Gives the first line of a consent page. */
function leadOf(text: string): string {
  const [, lead] = /<p class="lead">(.*?)<\/p>/s.exec(text)!;
  return lead.replaceAll(/<[^>]*>/g, "").replaceAll(/\s+/g, " ");
}

Deno.test("GET /authorize names the tools that a client could use, those that change something first", async () => {
  const list = tool({
    name: "list_invoices",
    annotations: { readOnlyHint: true },
    run: () => "none",
  });
  const pay = tool({ name: "pay", title: "Pay an invoice", run: () => "paid" });
  await using server = await startOAuthServer({
    tools: [list, mail, send, pay],
  });
  const client = await Client.register(server);
  const open = async (scope: string) => {
    const url = client.authorizationUrl({ scope });
    return leadOf((await server.browser().open(url)).text);
  };
  const could = "In your name at 127.0.0.1:3000 it could use:";
  const end = ". Approve only if you started this yourself.";
  assert.equal(
    await open(""),
    `${could} Read mail, Send mail, Pay an invoice and list_invoices${end}`,
  );
  assert.equal(
    await open("mail:send"),
    `${could} Send mail, Pay an invoice and list_invoices${end}`,
  );
  assert.equal(
    await open("offline_access"),
    `${could} Pay an invoice and list_invoices${end}`,
  );
});

Deno.test("GET /authorize names no tool that the person who is signed in may never use", async () => {
  await using server = await startOAuthServer({
    tools: [mail, send],
    environment: { OAUTH_PERMISSIONS: "*=mail:read; jo@example.com=mail:send" },
  });
  const client = await Client.register(server);
  for (
    const [email, words] of [
      ["ada@example.com", "Read mail"],
      ["jo@example.com", "Read mail and Send mail"],
    ]
  ) {
    const { browser } = await AccountVisitor.signIn(server, { email });
    const { text } = await browser.open(client.authorizationUrl());
    assert(leadOf(text).includes(`could use: ${words}. `), leadOf(text));
  }
  const { text } = await server.browser().open(client.authorizationUrl());
  assert(leadOf(text).includes(": Read mail and Send mail. "));
});

Deno.test("GET /authorize shows a page for an unregistered redirect URI, and no way there", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const redirect_uri = "https://evil.example/cb";
  const text = await refusedPage(
    server,
    client.authorizationUrl({ redirect_uri, response_type: "token" }),
  );
  assert.match(text, /must be one that the client registered/);
  assert.doesNotMatch(text, /evil\.example/);
});

/** Mistakes of a client that it is told, by their error code. */
const MISTAKES: [string, Record<string, string>, RegExp][] = [
  ["invalid_request", { code_challenge: "" }, /PKCE is required/],
  ["invalid_request", { code_challenge: "short" }, /43 characters/],
  ["invalid_request", { code_challenge_method: "plain" }, /must be S256/],
  ["invalid_request", { code_challenge_method: "" }, /must be S256/],
  ["invalid_request", { response_type: "" }, /response_type/],
  ["unsupported_response_type", { response_type: "token" }, /must be code/],
  ["invalid_request", { response_mode: "fragment" }, /response_mode/],
  ["invalid_request", { scope: "a&scope=b" }, /given twice: scope/],
  ["invalid_target", {
    resource: "https://other.example.com/mcp",
  }, /The resource of this server is/],
  ["invalid_scope", { scope: 'a"b' }, /must be visible ASCII/],
  ["invalid_scope", { scope: "none" }, /must name at least one of/],
  ["interaction_required", { prompt: "none" }, /person is asked/],
  ["invalid_request", { prompt: "login none" }, /no other value/],
  ["request_not_supported", { request: "e30.e30." }, /^request is not/],
  ["request_uri_not_supported", {
    request_uri: "https://app.example.com/r",
  }, /^request_uri is not/],
];

/** The address of a request with a mistake; `&` in a value adds a parameter. */
function mistaken(client: Client, changes: Record<string, string>): string {
  return client.authorizationUrl(changes).replaceAll("%26scope%3D", "&scope=");
}

/** Checks the response of a mistake in an address of the client. */
function checkTold(url: string, client: Client, code: string, words: RegExp) {
  assert(url.startsWith(client.redirectUri), url);
  const { searchParams } = new URL(url);
  assert.equal(searchParams.get("error"), code);
  assert.match(searchParams.get("error_description")!, words);
  assert.equal(searchParams.get("state"), client.state);
  assert.equal(searchParams.get("iss"), BASE_URL);
}

Deno.test("GET /authorize shows a client's mistake to the person, whose click tells the client", async () => {
  await using server = await startOAuthServer({ tools: [mail] });
  const client = await Client.register(server);
  for (const [code, changes, words] of MISTAKES) {
    const text = await refusedPage(server, mistaken(client, changes));
    const [, href] = /href="([^"]+)">Go back to the app at app\.example\.com</
      .exec(text) ?? assert.fail(text);
    checkTold(href.replaceAll("&amp;", "&"), client, code, words);
  }
});

Deno.test("GET /authorize redirects a mistake at once where the redirect URI is trusted", async () => {
  const here = "http://127.0.0.1:4001/cb";
  const app = "https://app.example.com/cb";
  await using listed = await startOAuthServer({
    tools: [mail],
    environment: { OAUTH_REDIRECT_HOSTS: "app.example.com" },
  });
  await using server = await startOAuthServer({
    tools: [mail],
    environment: {
      OAUTH_CLIENTS: JSON.stringify([{
        client_id: "desk",
        redirect_uris: [app],
      }]),
    },
  });
  const trusted = [
    await Client.register(listed),
    await Client.register(server, { redirect_uris: [here] }),
    new Client(server, "desk", app),
  ];
  for (const client of trusted) {
    for (const [code, changes, words] of MISTAKES) {
      const response = await client.server.fetch(
        mistaken(client, changes).slice(BASE_URL.length),
        {
          redirect: "manual",
        },
      );
      assert.equal(response.status, 302, `${client.redirectUri} ${code}`);
      checkTold(response.headers.get("location")!, client, code, words);
    }
  }
});

Deno.test("GET /authorize returns no state with an error if there are two", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server, {
    redirect_uris: ["http://127.0.0.1/cb"],
  });
  const url = `${client.authorizationUrl()}&state=again`;
  const { headers } = await server.fetch(url.slice(BASE_URL.length));
  const { searchParams } = new URL(headers.get("location")!);
  assert.equal(searchParams.get("error"), "invalid_request");
  assert.equal(searchParams.get("state"), null);
});

Deno.test("GET /authorize shows a page for a client that is gone", async () => {
  await using server = await startOAuthServer();
  const client = new Client(server, "unknown");
  const text = await refusedPage(server, client.authorizationUrl());
  assert.match(text, /client_id must be one that this server has registered/);
  assert.match(text, /remove the connection to this server and add it again/);
});

Deno.test("GET /authorize shows a page where the client or the redirect URI is given twice", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  for (const name of ["client_id", "redirect_uri"]) {
    const url = `${client.authorizationUrl()}&${name}=again`;
    const text = await refusedPage(server, url);
    assert.match(text, new RegExp(`given twice: ${name}`));
    assert.doesNotMatch(text, /Go back to the app at/);
  }
});

Deno.test("GET /authorize answers a program with the OAuth error as JSON", async () => {
  await using server = await startOAuthServer();
  assert.equal(
    await oauthError(server.fetch("/authorize?client_id=x")),
    "400 invalid_client",
  );
});

Deno.test("GET /authorize sends an error to an address that this browser approved before", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const browser = server.browser();
  const bad = client.authorizationUrl({ response_type: "token" });
  assert.equal((await browser.open(bad)).status, 400);
  await client.signIn({ browser });
  const { url } = await browser.open(bad);
  assert(url.startsWith(client.redirectUri), url);
  const { searchParams } = new URL(url);
  assert.equal(searchParams.get("error"), "unsupported_response_type");
  assert.equal(searchParams.get("state"), client.state);
  assert.equal(searchParams.get("iss"), "http://127.0.0.1:3000");
  // Another browser has no consent.
  assert.equal((await server.browser().open(bad)).status, 400);
  // It does not matter either if the client leaves out its only address.
  const unnamed = await browser.open(
    client.authorizationUrl({ response_type: "token", redirect_uri: "" }),
  );
  assert(unnamed.url.startsWith(client.redirectUri), unnamed.url);
});

Deno.test("GET /authorize knows what a browser approved for a loopback address, whatever its port", async () => {
  await using server = await startOAuthServer({ tools: [mail, send] });
  const client = await Client.register(server, {
    redirect_uris: ["http://127.0.0.1/cb", "http://127.0.0.1/other"],
  });
  const browser = server.browser();
  const at = (redirect_uri: string) =>
    new Client(server, client.clientId, redirect_uri);
  await at("http://127.0.0.1:4001/cb").connect({ browser, scope: "mail:read" });
  const shows = async (redirectUri: string, of = client.clientId) => {
    const other = new Client(server, of, redirectUri);
    const url = other.authorizationUrl({ scope: "mail:send" });
    const { status, text } = await browser.open(url);
    assert.equal(status, 200);
    // Consent is asked all the same.
    assert.match(text, /name="decision"/);
    return text.includes('value="mail:read"');
  };
  assert.equal(await shows("http://127.0.0.1:4002/cb"), true);
  // Another path, another host, another client, another scheme.
  assert.equal(await shows("http://127.0.0.1:4001/other"), false);
  const second = await Client.register(server, {
    client_name: "Another",
    redirect_uris: [
      "http://127.0.0.1/cb",
      "http://localhost/cb",
      "https://127.0.0.1/cb",
    ],
  });
  assert.equal(await shows("http://127.0.0.1:4001/cb", second.clientId), false);
  await new Client(server, second.clientId, "http://localhost:5/cb")
    .connect({ browser, scope: "mail:read" });
  for (const elsewhere of ["http://127.0.0.1:5/cb", "https://127.0.0.1/cb"]) {
    assert.equal(await shows(elsewhere, second.clientId), false);
  }
  assert.equal(await shows("http://localhost:6/cb", second.clientId), true);
});

Deno.test("a scope that was taken away stays away at another port of a loopback address", async () => {
  await using server = await startOAuthServer({ tools: [mail, send] });
  const { clientId } = await Client.register(server, {
    redirect_uris: ["http://127.0.0.1/cb"],
  });
  const visitor = await AccountVisitor.signIn(server);
  const browser = server.browser();
  const at = (port: number) =>
    new Client(server, clientId, `http://127.0.0.1:${port}/cb`);
  await at(4001).connect({ browser, scope: "mail:read mail:send" });
  await visitor.look();
  await visitor.press("/account/narrow", { "scope.mail:send": "" });
  const page = await browser.open(at(4002).authorizationUrl());
  assert.doesNotMatch(page.text, /value="mail:send"/);
});

Deno.test("GET /authorize looks for consents while it looks for a client that it then refuses", async () => {
  const asked: string[] = [];
  const endpoint = authorizeEndpoint({
    baseUrl: BASE_URL,
    scopes: { supported: [] },
    checkRate: () => Promise.resolve(),
    consents: {
      find(_browser: string, { redirectUri }: { redirectUri: string }) {
        asked.push(`consents of ${redirectUri}`);
        return Promise.reject(new Error("no database"));
      },
    },
    blocked: [],
    clients: {
      find() {
        asked.push("client");
        return refuseLate();
      },
    },
  } as never, undefined);
  const redirect_uri = "https://app.example/callback";
  const query = new URLSearchParams({ client_id: "app", redirect_uri });
  const browser = cookieName({ name: "browser", baseUrl: BASE_URL });
  const response = await answerOf(endpoint, `/?${query}`, {
    headers: { cookie: `${browser}=${"b".repeat(43)}` },
  });
  assert.equal(await response.text(), "Who are you?");
  assert.deepEqual(asked, [`consents of ${redirect_uri}`, "client"]);
});

Deno.test("GET /authorize adds the scopes approved before to those asked for now", async () => {
  await using server = await startOAuthServer({ tools: [mail, send] });
  const client = await Client.register(server);
  const browser = server.browser();
  const first = await client.connect({ browser, scope: "mail:read" });
  assert.equal(first.scope, "mail:read");

  const refused = await client.call(first.access_token, "send");
  assert.equal(refused.status, 403);
  assert.match(
    refused.headers.get("www-authenticate")!,
    /error="insufficient_scope".*scope="mail:send"/,
  );
  await refused.body?.cancel();

  const page = await browser.open(
    client.authorizationUrl({ scope: "mail:send" }),
  );
  assert.match(page.text, /Read mail/);
  assert.match(page.text, /Send mail/);
  const again = await client.connect({ browser, scope: "mail:send" });
  assert.equal(again.scope, "mail:send mail:read");
  assert.equal(await statusOf(client.call(again.access_token, "send")), 200);
});

Deno.test("GET /authorize forgets approved scopes that no tool needs any more", async () => {
  using kv = await Deno.openKv(":memory:");

  await using before = await startOAuthServer({ kv, tools: [mail, send] });
  await using after = await startOAuthServer({ kv, tools: [mail] });
  const client = await Client.register(before);
  const browser = before.browser();
  const { scope } = await client.connect({ browser });
  assert.equal(scope, "mail:read mail:send");
  const later = after.browser();
  for (const [name, value] of browser.cookies) later.cookies.set(name, value);
  client.server = after;
  const page = await later.open(client.authorizationUrl());
  assert.doesNotMatch(page.text, /mail:send/);
  const tokens = await client.connect({ browser: later, scope: "mail:read" });
  assert.equal(tokens.scope, "mail:read");
});

Deno.test("GET /authorize refuses scopes of which it knows none", async () => {
  await using server = await startOAuthServer({ tools: [mail] });
  const client = await Client.register(server);
  const url = client.authorizationUrl({ scope: "files:read" });
  const text = await refusedPage(server, url);
  assert.match(text, /None of the permissions that it asks for is known/);
  assert.doesNotMatch(text, /mail:read/);
  const { pathname, search } = new URL(url);
  const response = await server.fetch(pathname + search);
  assert.equal(
    (await response.json()).error_description,
    "scope must name at least one of: mail:read",
  );
});

Deno.test("GET /authorize gives all scopes to a client that names none", async () => {
  await using server = await startOAuthServer({ tools: [mail, send] });
  const client = await Client.register(server);
  const { scope } = await client.connect({ scope: "" });
  assert.equal(scope, "mail:read mail:send");
});

for (
  const [what, redirectUri, used] of [
    [
      "a loopback address on another port",
      "http://localhost/callback",
      "http://localhost:49152/callback",
    ],
    [
      "Cursor's own scheme",
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "cursor://anysphere.cursor-mcp/oauth/callback",
    ],
    ["VS Code's loopback", "http://127.0.0.1/", "http://127.0.0.1:33418/"],
  ]
) {
  Deno.test(`a sign-in ends at ${what}`, async () => {
    await using server = await startOAuthServer();
    const { clientId } = await Client.register(server, {
      redirect_uris: [redirectUri],
    });
    const client = new Client(server, clientId, used);
    const tokens = await client.connect();
    assert(tokens.access_token);
  });
}
