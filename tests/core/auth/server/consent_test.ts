import assert from "node:assert/strict";
import { tool } from "../../../../src/authoring/tool.ts";
import { Client } from "../../../kit/client.ts";
import {
  type OAuthServerOptions,
  startOAuthServer,
} from "../../../kit/sign_in.ts";
import { browserOf } from "../../../kit/browser.ts";

/** Opens the consent page of a client in a browser. */
async function asking(options: OAuthServerOptions = {}, scope = "") {
  const server = await startOAuthServer(options);
  const client = await Client.register(server);
  const browser = server.browser();
  return {
    server,
    client,
    browser,
    page: await browser.open(client.authorizationUrl({ scope })),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

Deno.test("POST /authorize tells the client that the person said no", async () => {
  await using asked = await asking();
  const { server, client, browser, page } = asked;
  const { url } = await browser.press(page, "decision", "deny");
  assert(url.startsWith(client.redirectUri));
  const { searchParams } = new URL(url);
  assert.equal(searchParams.get("error"), "access_denied");
  assert.equal(searchParams.get("state"), client.state);
  assert.equal(searchParams.get("iss"), "http://127.0.0.1:3000");
  assert.deepEqual(server.provider.log, []);
  const again = await browser.press(page, "decision", "approve");
  assert.equal(again.status, 400);
  assert.match(again.text, /answered already/);
});

Deno.test("POST /authorize refuses a browser that the request did not begin in", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const attacker = server.browser();
  const page = await attacker.open(client.authorizationUrl());
  const victim = server.browser();
  // First without a cookie, then with one of its own.
  for (const warmUp of [false, true]) {
    if (warmUp) await victim.open(client.authorizationUrl());
    const refused = await victim.press(page, "decision", "approve");
    assert.equal(refused.status, 400);
    assert.match(refused.text, /another browser/);
  }
  assert.deepEqual(server.provider.log, []);
});

Deno.test("POST /authorize keeps two tabs apart", async () => {
  await using server = await startOAuthServer();
  const one = await Client.register(server);
  const other = await Client.register(server);
  const browser = server.browser();
  const pageOne = await browser.open(one.authorizationUrl());
  const pageOther = await browser.open(other.authorizationUrl());
  const codeOne = one.codeFrom(
    await browser.press(pageOne, "decision", "approve"),
  );
  const codeOther = other.codeFrom(
    await browser.press(pageOther, "decision", "approve"),
  );
  assert.equal((await one.redeem(codeOne)).status, 200);
  assert.equal((await other.redeem(codeOther)).status, 200);
});

Deno.test("POST /authorize takes a second press of the button for the first", async () => {
  await using asked = await asking();
  const { server, browser, page } = asked;
  const body = new URLSearchParams({
    request: /name="request" value="([^"]*)"/.exec(page.text)![1],
    decision: "approve",
  });
  const [[key, cookie]] = browser.cookies;
  const headers = { cookie: `${key.split(" ")[1]}=${cookie}` };
  const presses = await Promise.all(
    [1, 2, 3].map(() =>
      server.fetch("/authorize", { method: "POST", headers, body })
    ),
  );
  for (const { status } of presses) assert.equal(status, 303);
});

Deno.test("POST /authorize loses nothing when the provider cannot be reached", async () => {
  await using asked = await asking();
  const { server, client, browser, page } = asked;
  server.provider.failure = "unavailable";
  const down = await browser.press(page, "decision", "approve");
  assert.equal(down.status, 503);
  assert.match(down.text, /Nothing was lost/);
  assert.equal(down.headers.get("retry-after"), "5");
  server.provider.failure = undefined;
  const arrival = await browser.press(page, "decision", "approve");
  assert.equal((await client.redeem(client.codeFrom(arrival))).status, 200);
});

Deno.test("POST /authorize answers a mistake of ours with 500", async () => {
  await using asked = await asking();
  const { server, browser, page } = asked;
  server.provider.authorizationUrl = () =>
    Promise.reject(new TypeError("a mistake"));
  const arrival = await browser.press(page, "decision", "approve");
  assert.equal(arrival.status, 500);
  assert.doesNotMatch(arrival.text, /a mistake/);
});

Deno.test("POST /authorize refuses a yes when a no is faster", async () => {
  await using asked = await asking();
  const { server: { provider }, browser, page } = asked;
  const authorizationUrl = provider.authorizationUrl.bind(provider);
  provider.authorizationUrl = async (request) => {
    await browser.press(page, "decision", "deny");
    return await authorizationUrl(request);
  };
  const arrival = await browser.press(page, "decision", "approve");
  assert.equal(arrival.status, 400);
  assert.match(arrival.text, /answered already/);
});

Deno.test("POST /authorize refuses a form of another content type", async () => {
  await using asked = await asking();
  const { server, page } = asked;
  const request = /name="request" value="([^"]+)"/.exec(page.text)![1];
  const cookie = page.headers.get("set-cookie")!.split(";")[0];
  const decide = async (type: string) => {
    const { status, body } = await server.fetch("/authorize", {
      method: "POST",
      headers: { "content-type": type, cookie },
      body: `request=${request}&decision=approve`,
    });
    await body?.cancel();
    return status;
  };
  for (const type of ["text/plain", "multipart/form-data; boundary=x"]) {
    assert.equal(await decide(type), 400, type);
  }
  assert.equal(await decide("application/x-www-form-urlencoded"), 303);
});

Deno.test("POST /authorize remembers no approval before the person has signed in", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const bad = client.authorizationUrl({ response_type: "token" });
  const approvals = async () =>
    (await Array.fromAsync(server.kv.list({ prefix: ["consent"] }))).length;
  // It cannot reach the provider.
  const stranger = browserOf(server, { isAlone: true });
  const page = await stranger.open(client.authorizationUrl());
  await stranger.press(page, "decision", "approve");
  assert.equal(await approvals(), 0);
  assert.equal((await stranger.open(bad)).status, 400);
  await client.signIn({ browser: server.browser() });
  assert.equal(await approvals(), 1);
});

const mail = tool({ name: "mail", scopes: ["mail:read"], run: () => "" });
const send = tool({ name: "send", scopes: ["mail:send"], run: () => "" });
const TOOLS = { tools: [mail, send] };

for (
  const [what, unticked, granted] of [
    ["all of them", [], "mail:read mail:send offline_access"],
    ["some of them", ["mail:send"], "mail:read offline_access"],
    ["none of them", ["mail:read", "mail:send"], undefined],
  ] as const
) {
  Deno.test(`POST /authorize gives the scopes that are ticked: ${what}`, async () => {
    await using asked = await asking(
      TOOLS,
      "mail:read mail:send offline_access",
    );
    const { client, browser, page } = asked;
    const arrival = await browser.press(
      page,
      "decision",
      "approve",
      {},
      unticked,
    );
    if (granted === undefined) {
      const { searchParams } = new URL(arrival.url);
      return assert.equal(searchParams.get("error"), "access_denied");
    }
    const { body } = await client.redeem(client.codeFrom(arrival));
    assert.equal(body.scope, granted);
  });
}

Deno.test("POST /authorize takes a form without boxes for all that was asked, or for the scope that it names", async () => {
  for (
    const [sent, granted] of [
      [{}, "mail:read mail:send"],
      [{ scope: "mail:read" }, "mail:read"],
    ] as const
  ) {
    await using asked = await asking(TOOLS, "mail:read mail:send");
    const { client, browser, page } = asked;
    const [request] = /<input[^>]*name="request"[^>]*>/.exec(page.text)!;
    const text = `<form action="/authorize">${request}</form>`;
    const bare = { ...page, text };
    const arrival = await browser.press(bare, "decision", "approve", sent);
    const { body } = await client.redeem(client.codeFrom(arrival));
    assert.equal(body.scope, granted);
  }
});

Deno.test("POST /authorize refuses a form that was not rendered here", async () => {
  await using asked = await asking();
  const { browser, page } = asked;
  for (const request of ["", "x", "a".repeat(43), "../x"]) {
    const refused = await browser.press(page, "decision", "approve", {
      request,
    });
    assert.equal(refused.status, 400);
  }
  for (const decision of ["", "yes", "APPROVE"]) {
    const odd = await browser.press(page, "decision", decision);
    assert.equal(odd.status, 400, decision);
  }
});
