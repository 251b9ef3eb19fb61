import assert from "node:assert/strict";
import { accountSessionKey } from "../../src/store/keys.ts";
import type { Arrival, Browser } from "../flow/browser.ts";
import {
  BASE_URL,
  Client,
  type OAuthServer,
  startOAuthServer,
} from "../flow/kit.ts";
import { tool } from "../../src/authoring/tool.ts";
import { switchableKv } from "../flow/switchable_kv.ts";
import { FakeTime } from "../store/fake_time.ts";

const ACCOUNT = `${BASE_URL}/account`;
const TOOLS = [tool({ name: "hello", run: () => "hello" })];

/** The part of a page that holds one form, by its action. */
function formOf(page: Arrival, action: string, nth = 0): Arrival {
  const parts = page.text.split("<form").slice(1)
    .filter((part) => part.includes(`action="${action}"`))
    .map((part) => `<form${part.split("</form>")[0]}`);
  assert.ok(parts[nth], `no form ${nth} to ${action} in ${page.text}`);
  return { ...page, text: parts[nth] };
}

async function signIn(
  server: OAuthServer,
  { as = "42", email = "jo@example.com" } = {},
): Promise<{ browser: Browser; page: Arrival }> {
  server.provider.subject = as;
  server.provider.email = email;
  const browser = server.browser();
  const page = await browser.open(ACCOUNT);
  return {
    browser,
    page: await browser.press(formOf(page, "/account/sign-in"), "", ""),
  };
}

function end(browser: Browser, page: Arrival, fields = {}, nth = 0) {
  return browser.press(formOf(page, "/account/end", nth), "", "", fields);
}

Deno.test("GET /account asks a stranger to sign in, and shows nothing", async () => {
  await using server = await startOAuthServer();
  const page = await server.browser().open(ACCOUNT);
  assert.equal(page.status, 200);
  assert.match(page.text, /Sign in with Example ID/);
  assert.doesNotMatch(
    page.headers.get("content-security-policy")!,
    /form-action/,
  );
});

Deno.test("GET /account shows a person's connections under their clients", async () => {
  await using server = await startOAuthServer({ tools: TOOLS });
  const first = await Client.register(server, { client_name: "First" });
  await first.connect();
  await first.connect();
  const second = await Client.register(server, { client_name: "Second" });
  await second.connect();
  server.provider.subject = "someone else";
  await (await Client.register(server, { client_name: "Third" })).connect();

  const { page } = await signIn(server);
  assert.equal(page.url, ACCOUNT);
  assert.match(page.text, /Signed in as <strong><bdi>Jo</);
  assert.match(page.text, /First[^]*End all 2/);
  assert.match(page.text, /Second/);
  assert.doesNotMatch(page.text, /Third/);
  assert.doesNotMatch(page.text, /Everyone/);
});

Deno.test("POST /account/end ends a connection within a second", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer({ tools: TOOLS });
  const client = await Client.register(server);
  const tokens = await client.connect();
  const session = await server.post({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
  }, { authorization: `Bearer ${tokens.access_token}` });
  assert.equal(session.status, 200);
  await session.body?.cancel();
  const called = await client.call(tokens.access_token, "hello");
  assert.equal(called.status, 200);
  await called.body?.cancel();

  const { browser, page } = await signIn(server);
  assert.match(page.text, /1 open session/);
  const after = await end(browser, page);
  assert.match(after.text, /Ended\. The app has to ask you again/);
  assert.match(after.text, /No app is connected/);

  time.tick(1);
  const refused = await client.call(tokens.access_token, "hello");
  assert.equal(refused.status, 401);
  await refused.body?.cancel();
  const refreshed = await client.refresh(tokens.refresh_token);
  assert.equal(refreshed.body.error, "invalid_grant");
});

Deno.test("POST /account/end ends all connections of a client, or one of them", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  for (let n = 0; n < 3; n++) await client.connect();
  const { browser, page } = await signIn(server);
  assert.match(page.text, /End all 3/);
  // The first form ends all; those after it one each.
  const two = await end(browser, page, {}, 1);
  assert.match(two.text, /End all 2/);
  const none = await end(browser, two);
  assert.match(none.text, /No app is connected/);
});

Deno.test("POST /account/end does nothing to another person's connection", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  server.provider.subject = "victim";
  const tokens = await client.connect();
  const grants = await signIn(server, { as: "victim" });
  const [, grantId] = /name="grants" value="([^"]*)"/.exec(grants.page.text)!;

  await client.connect();
  const { browser, page } = await signIn(server, { as: "attacker" });
  await Client.register(server);
  server.provider.subject = "attacker";
  await client.connect();
  const own = await browser.open(page.url);
  const after = await end(browser, own, { grants: grantId });
  assert.match(after.text, /had already ended/);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
});

Deno.test("POST /account/end refuses a form that this server did not render for the session", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const tokens = await client.connect();
  const mine = await signIn(server);
  const theirs = await signIn(server, { as: "other" });
  const [, csrf] = /name="csrf" value="([^"]*)"/.exec(theirs.page.text)!;
  for (const token of ["", "x.y", csrf]) {
    const refused = await end(mine.browser, mine.page, { csrf: token });
    assert.equal(refused.status, 403, token);
  }
  const { page } = mine;
  assert.equal((await end(server.browser(), page)).status, 403);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
});

Deno.test("POST /account/sign-out ends the session, not only its cookie", async () => {
  await using server = await startOAuthServer();
  const { browser, page } = await signIn(server);
  const cookies = [...browser.cookies];
  const out = await browser.press(formOf(page, "/account/sign-out"), "", "");
  assert.match(out.text, /Sign in with Example ID/);
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  assert.match((await browser.open(ACCOUNT)).text, /Sign in with Example ID/);
});

Deno.test("an account session is over when its hour is", async () => {
  await using server = await startOAuthServer();
  const { browser } = await signIn(server);
  const [, id] = [...browser.cookies].find(([name]) =>
    name.endsWith(" account")
  )!;
  const key = accountSessionKey(id);
  const { value } = await server.kv.get<{ expiresAt: number }>(key);
  await server.kv.set(key, {
    ...value,
    expiresAt: Math.floor(Date.now() / 1000),
  });
  assert.match((await browser.open(ACCOUNT)).text, /Sign in with Example ID/);
});

Deno.test("signing in to the account page is refused in another browser", async () => {
  await using server = await startOAuthServer();
  const attacker = server.browser();
  const started = await server.fetch("/account/sign-in", { method: "POST" });
  const provider = new URL(started.headers.get("location")!);
  await started.body?.cancel();
  const back = new URL(provider.searchParams.get("redirect_uri")!);
  for (const name of ["state", "code"]) {
    back.searchParams.set(name, provider.searchParams.get(name)!);
  }
  await attacker.open(ACCOUNT);
  const refused = await attacker.open(back);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /another browser/);
});

Deno.test("signing in to the account page says when the provider refuses or is down", async () => {
  await using server = await startOAuthServer();
  for (
    const [failure, status] of [
      ["denied", 403],
      ["unavailable", 503],
      ["misbehaved", 502],
    ] as const
  ) {
    server.provider.failure = failure;
    const { page } = await signIn(server);
    assert.equal(page.status, status, failure);
  }
});

/** Sends a browser to the provider and back, as far as our own callback. */
async function returning(server: OAuthServer) {
  const started = await server.fetch("/account/sign-in", { method: "POST" });
  await started.body?.cancel();
  const cookie = started.headers.getSetCookie().map((it) => it.split(";")[0]);
  const { searchParams } = new URL(started.headers.get("location")!);
  const state = searchParams.get("state")!;
  const code = searchParams.get("code")!;
  const come = async (parameters: Record<string, string> = {}) => {
    const query = new URLSearchParams({ state, code, ...parameters });
    const response = await server.fetch(`/oauth/provider-callback?${query}`, {
      headers: { cookie: cookie.join("; "), accept: "text/html" },
      redirect: "manual",
    });
    const { status, headers } = response;
    return { status, headers, text: await response.text() };
  };
  return { state, come };
}

Deno.test("signing in to the account page checks the state, with both cookies there", async () => {
  await using server = await startOAuthServer();
  const { state, come } = await returning(server);
  for (const other of ["account.", `account.${"x".repeat(43)}`, `${state}x`]) {
    const { status, headers } = await come({ state: other });
    assert.equal(status, 400, other);
    assert.equal(headers.get("set-cookie"), null);
  }
  assert.deepEqual(server.provider.log, ["authorize"]);
  assert.equal((await come()).status, 302);
});

Deno.test("signing in to the account page can be tried again while the provider is away", async () => {
  await using server = await startOAuthServer();
  const { come } = await returning(server);
  server.provider.failure = "unavailable";
  const { status, headers } = await come();
  assert.equal(status, 503);
  assert.equal(headers.get("set-cookie"), null);
  server.provider.failure = undefined;
  assert.equal((await come()).status, 302);
});

Deno.test("signing in to the account page says to start again when the provider's code is spent", async () => {
  using database = await switchableKv();
  await using server = await startOAuthServer({ kv: database.kv });
  const { provider } = server;
  const first = await returning(server);
  provider.failsAfterCode = true;
  const spent = await first.come();
  assert.equal(spent.status, 503);
  assert.match(spent.text, /Start again from the beginning/);
  provider.failsAfterCode = false;

  const second = await returning(server);
  const redeem = provider.redeem.bind(provider);
  provider.redeem = async (request) => {
    const signedIn = await redeem(request);
    database.state.isUp = false;
    return signedIn;
  };
  const unstored = await second.come();
  database.state.isUp = true;
  assert.equal(unstored.status, 503);
  assert.match(unstored.text, /Start again from the beginning/);
});

Deno.test("a person back from the provider without a code is told so", async () => {
  await using server = await startOAuthServer();
  const browser = server.browser();
  await browser.press(
    formOf(await browser.open(ACCOUNT), "/account/sign-in"),
    "",
    "",
  );
  const started = await server.fetch("/account/sign-in", {
    method: "POST",
    headers: {
      cookie: "account-sign-in=" + "s".repeat(43),
    },
  });
  const { searchParams } = new URL(started.headers.get("location")!);
  await started.body?.cancel();
  assert.equal(searchParams.get("state"), `account.${"s".repeat(43)}`);
  browser.cookies.set(
    `${new URL(BASE_URL).host} account-sign-in`,
    "s".repeat(43),
  );
  const refused = await browser.open(
    `${BASE_URL}/oauth/provider-callback?error=access_denied&state=${
      searchParams.get("state")
    }`,
  );
  assert.equal(refused.status, 403);
});

Deno.test("an operator sees everyone's connections, and ends them", async () => {
  const environment = { OAUTH_ADMINS: "root@example.com" };
  await using server = await startOAuthServer({ environment });
  const client = await Client.register(server, { client_name: "Their app" });
  const tokens = await client.connect();
  const { browser, page } = await signIn(server, {
    as: "1",
    email: "root@example.com",
  });
  assert.match(page.text, /Everyone&#39;s connections/);
  assert.match(page.text, /github:42/);
  assert.match(page.text, /https:\/\/app\.example\.com\/cb/);
  await end(browser, page);
  assert.equal(
    (await client.refresh(tokens.refresh_token)).body.error,
    "invalid_grant",
  );
});

Deno.test("no one is an operator unless OAUTH_ADMINS says so", async () => {
  for (const OAUTH_ADMINS of ["", "root@example.com"]) {
    await using server = await startOAuthServer({
      environment: { OAUTH_ADMINS },
    });
    const { page } = await signIn(server);
    assert.doesNotMatch(page.text, /Everyone/);
  }
});

Deno.test("signing in to the account page lets no one in whose name looks like another issuer's subject", async () => {
  await using server = await startOAuthServer({
    environment: {
      OAUTH_ASSERTION_ISSUERS: "https://id.example.com",
      OAUTH_ADMINS: "id.example.com:42",
    },
  });
  const { page } = await signIn(server, { as: "id.example.com:42" });
  assert.equal(page.status, 403);
});

Deno.test("an operator sees why the last attempts to connect failed", async () => {
  const environment = { OAUTH_ADMINS: "root@example.com" };
  await using server = await startOAuthServer({ environment });
  const client = await Client.register(server, { client_name: "Their app" });
  const browser = server.browser();
  await browser.open(
    client.authorizationUrl({ redirect_uri: "https://other.example/cb" }),
  );
  const code = await client.signIn();
  await client.redeem(code, { code_verifier: "w".repeat(43) });
  const denied = await browser.press(
    await browser.open(client.authorizationUrl()),
    "decision",
    "deny",
  );
  assert.match(denied.url, /access_denied/);

  const { page } = await signIn(server, {
    as: "1",
    email: "root@example.com",
  });
  const words = page.text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  assert.match(words, /GET \/authorize Their app Failed invalid_request:/);
  assert.match(words, /POST \/token Their app Failed invalid_grant:/);
  assert.match(
    words,
    /POST \/authorize https:\/\/app\.example\.com\/cb Failed access_denied:/,
  );
  assert.match(
    words,
    /GET \/oauth\/provider-callback https:\/\/app\.example\.com\/cb Went well/,
  );
  for (const secret of [code, client.state, client.verifier]) {
    assert.ok(!page.text.includes(secret));
  }
});

Deno.test("GET /account says so where no one signs in", async () => {
  await using server = await startOAuthServer({
    environment: {
      AUTH_STRATEGY: "none",
      OAUTH_PROVIDER: "",
      OAUTH_CLIENT_ID: "",
    },
  });
  const page = await server.browser().open(ACCOUNT);
  assert.equal(page.status, 501);
  assert.match(page.text, /No one signs in here/);
});
