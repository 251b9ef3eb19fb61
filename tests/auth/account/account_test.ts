import assert from "node:assert/strict";
import { now } from "../../../src/clock.ts";
import { accountSessionKey } from "../../../src/store/keys.ts";
import { statusOf } from "../../kit/answer.ts";
import type { Arrival, Browser } from "../../kit/browser.ts";
import { BASE_URL } from "../../kit/server.ts";
import { Client, REDIRECT_URI } from "../../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { tool } from "../../../src/authoring/tool.ts";
import { initialize } from "../../kit/message.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";

const ACCOUNT = `${BASE_URL}/account`;
const TOOLS = [tool({ name: "hello", run: () => "hello" })];

async function signIn(
  server: OAuthServer,
  { as = "42", email = "jo@example.com", at = "" } = {},
): Promise<{ browser: Browser; page: Arrival }> {
  server.provider.subject = as;
  server.provider.email = email;
  const browser = server.browser();
  const page = await browser.open(ACCOUNT + at);
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
  assert.match(page.text, /First[^]*2 sign-ins/);
  assert.match(page.text, /Second/);
  assert.doesNotMatch(page.text, /Third/);
  assert.doesNotMatch(page.text, /Everyone/);
});

Deno.test("POST /account/end ends a connection within a second", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer({ tools: TOOLS });
  const client = await Client.register(server);
  const tokens = await client.connect();
  assert.equal(
    await statusOf(server.post(initialize("2025-11-25"), {
      authorization: `Bearer ${tokens.access_token}`,
    })),
    200,
  );
  assert.equal(await statusOf(client.call(tokens.access_token, "hello")), 200);

  const { browser, page } = await signIn(server);
  assert.match(page.text, /1 open session/);
  const after = await end(browser, page);
  assert.match(after.text, /Ended\. The app has to ask again/);
  assert.match(after.text, /No app is connected/);

  time.tick(1);
  assert.equal(await statusOf(client.call(tokens.access_token, "hello")), 401);
  const refreshed = await client.refresh(tokens.refresh_token);
  assert.equal(refreshed.body.error, "invalid_grant");
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

Deno.test("POST /account/end says that a connection had already ended, or never was", async () => {
  await using server = await startOAuthServer();
  await (await Client.register(server)).connect();
  const { browser, page } = await signIn(server);
  assert.match((await end(browser, page)).text, /Ended\. The app/);
  for (const fields of [{}, { grants: "nothing" }]) {
    assert.match((await end(browser, page, fields)).text, /had already ended/);
  }
});

Deno.test("GET /account says what was done only where its address does", async () => {
  await using server = await startOAuthServer();
  const visitor = await AccountVisitor.signIn(server);
  for (const query of ["", "?changed=", "?changed=toString"]) {
    await visitor.look(query);
    assert.doesNotMatch(visitor.page.text, /role="status"/, query);
  }
  assert.match(await visitor.look("?ended=x"), /had already ended/);
});

Deno.test("GET /account names the domain of a client with a metadata document, and the operator's own as such", async () => {
  const documentUrl = "https://app.example.com/client.json";
  const metadata = { client_name: "App", redirect_uris: [REDIRECT_URI] };
  const configured = { client_id: "app://bank.example", ...metadata };
  await using server = await startOAuthServer({
    environment: {
      OAUTH_CLIENTS: JSON.stringify([{
        ...configured,
        token_endpoint_auth_method: "none",
      }]),
    },
    fetchDocument: () =>
      Promise.resolve({
        document: { client_id: documentUrl, ...metadata },
        expiresAt: now() + 60,
      }),
  });
  for (const id of [documentUrl, configured.client_id]) {
    await new Client(server, id).connect();
  }
  const { page } = await signIn(server);
  const badges = page.text.matchAll(/class="badge good">([^<]*)</g);
  assert.deepEqual([...badges].map(([, text]) => text).sort(), [
    "Set up by the operator",
    "app.example.com",
  ]);
  assert.doesNotMatch(page.text, /Unverified/);
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
  assert.equal(browser.cookies.get(`${new URL(BASE_URL).host} account`), "");
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

Deno.test("an operator sees everyone's connections, and ends them", async () => {
  const environment = { OAUTH_ADMINS: "root@example.com" };
  await using server = await startOAuthServer({ environment });
  const client = await Client.register(server, { client_name: "Their app" });
  const tokens = await client.connect();
  const { browser, page } = await signIn(server, {
    as: "1",
    email: "root@example.com",
    at: "/people",
  });
  assert.match(page.text, /Everyone’s connections/);
  assert.match(page.text, /github:42/);
  assert.match(page.text, /https:\/\/app\.example\.com\/cb/);
  await end(browser, page);
  assert.equal(
    (await client.refresh(tokens.refresh_token)).body.error,
    "invalid_grant",
  );
});

Deno.test("an operator sees the registrations that people connected, newest first", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer({
    environment: { OAUTH_ADMINS: "root@example.com" },
  });
  for (const client_name of ["Older", "Newer", "Unused"]) {
    const client = await Client.register(server, { client_name });
    if (client_name !== "Unused") await client.connect();
    time.tick(60);
  }
  const { page } = await signIn(server, {
    as: "1",
    email: "root@example.com",
    at: "/people",
  });
  const [section] = page.text.split("registrations</h2>").at(-1)!.split(
    "</table>",
  );
  const names = section.matchAll(/Older|Newer|Unused/g);
  assert.deepEqual([...names].map(String), ["Newer", "Older"]);
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
    at: "/attempts",
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

/** Counts the reads of lists of sessions. */
function countingLists(kv: Deno.Kv): { kv: Deno.Kv; count(): number } {
  let count = 0;
  const list: Deno.Kv["list"] = (selector, options) => {
    const key = "prefix" in selector ? selector.prefix : selector.start;
    if (key[0] === "session-of") count++;
    return kv.list(selector, options);
  };
  const counting = new Proxy(kv, {
    get(target, name) {
      if (name === "list") return list;
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { kv: counting, count: () => count };
}

Deno.test("the account page lists a person's sessions once, however many connections they have or end", async () => {
  using database = await Deno.openKv(":memory:");
  const { kv, count } = countingLists(database);
  await using server = await startOAuthServer({
    kv,
    environment: { OAUTH_ADMINS: "1" },
  });
  const client = await Client.register(server);
  for (let n = 0; n < 5; n++) {
    const { access_token } = await client.connect();
    const answer = await server.post(initialize("2025-11-25"), {
      authorization: `Bearer ${access_token}`,
    });
    await answer.body?.cancel();
  }
  const { browser, page } = await signIn(server);
  assert.equal(page.text.match(/1 open session/g)?.length, 5);
  assert.equal(count(), 1);
  const at = "/people";
  const operator = await AccountVisitor.signIn(server, { as: "1", at });
  assert.equal(count(), 2);
  await end(browser, page);
  // One is for the page which follows.
  assert.equal(count(), 4);
  server.provider.subject = "42";
  await client.connect();
  await operator.look(at);
  assert.equal(count(), 5);
});

Deno.test("GET /account is for a person sixty times in a row, and then once a second", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  const { browser } = await signIn(server);
  const statuses = [];
  for (let n = 0; n < 60; n++) {
    statuses.push((await browser.open(ACCOUNT)).status);
  }
  assert.deepEqual(new Set(statuses.slice(0, 59)), new Set([200]));
  assert.equal(statuses[59], 429);
  // Another person of the same network is not in the way.
  await signIn(server, { as: "43" });
  time.tick(1);
  assert.equal((await browser.open(ACCOUNT)).status, 200);
});
