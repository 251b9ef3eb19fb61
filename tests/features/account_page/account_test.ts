import assert from "node:assert/strict";
import { now } from "../../../src/core/clock.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore, setGrant } from "../../../src/core/store/grants.ts";
import { statusOf } from "../../kit/answer.ts";
import type { Arrival, Browser } from "../../kit/browser.ts";
import { BASE_URL } from "../../kit/server.ts";
import { Client, REDIRECT_URI } from "../../kit/client.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { tool } from "../../../src/authoring/tool.ts";
import { initialize } from "../../kit/message.ts";
import { kvWith } from "../../kit/kv.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";

const ACCOUNT = `${BASE_URL}/account`;
const TOOLS = [tool({ name: "hello", run: () => "hello" })];

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

  const { page } = await AccountVisitor.signIn(server);
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
  const { client, tokens } = await server.person();
  assert.equal(
    await statusOf(server.post(initialize("2025-11-25"), {
      authorization: `Bearer ${tokens.access_token}`,
    })),
    200,
  );
  assert.equal(await statusOf(client.call(tokens.access_token, "hello")), 200);

  const { browser, page } = await AccountVisitor.signIn(server);
  assert.match(page.text, /1 open session/);
  const after = await end(browser, page);
  assert.match(
    after.text,
    /Ended: “<bdi>App<\/bdi>”\. It opens nothing any more/,
  );
  assert.match(after.text, /No app is connected/);

  time.tick(1);
  assert.equal(await statusOf(client.call(tokens.access_token, "hello")), 401);
  const refreshed = await client.refresh(tokens.refresh_token);
  assert.equal(refreshed.body.error, "invalid_grant");
});

Deno.test("POST /account/end says that a connection had already ended, or never was", async () => {
  await using server = await startOAuthServer();
  await (await Client.register(server)).connect();
  const { browser, page } = await AccountVisitor.signIn(server);
  assert.match((await end(browser, page)).text, /Ended: “<bdi>App/);
  for (const fields of [{}, { grants: "nothing" }]) {
    assert.match((await end(browser, page, fields)).text, /had already ended/);
  }
});

Deno.test("GET /account says what was done only where its address does, and in this session alone", async () => {
  await using server = await startOAuthServer();
  const visitor = await AccountVisitor.signIn(server);
  for (const query of ["", "?notice=", "?notice=x.y.z", "?changed=paused"]) {
    await visitor.look(query);
    assert.doesNotMatch(visitor.page.text, /role="status"/, query);
  }
  await (await Client.register(server)).connect();
  await visitor.look();
  await visitor.press("/account/pause");
  const { search } = new URL(visitor.page.url);
  assert.match(await visitor.look(search), /Paused: “ App ”/);
  const other = await AccountVisitor.signIn(server);
  assert.doesNotMatch(await other.look(search), /Paused: /);
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
  const { page } = await AccountVisitor.signIn(server);
  const badges = page.text.matchAll(/class="badge good">([^<]*)</g);
  assert.deepEqual([...badges].map(([, text]) => text).sort(), [
    "Set up by the operator",
    "app.example.com",
  ]);
  assert.doesNotMatch(page.text, /Unverified/);
});

Deno.test("an operator sees everyone's connections, and ends them", async () => {
  const environment = { OAUTH_ADMINS: "root@example.com" };
  await using server = await startOAuthServer({ environment });
  const client = await Client.register(server, { client_name: "Their app" });
  const tokens = await client.connect();
  const { browser, page } = await AccountVisitor.signIn(server, {
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
  const { page } = await AccountVisitor.signIn(server, {
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

  const { page } = await AccountVisitor.signIn(server, {
    as: "1",
    email: "root@example.com",
    at: "/attempts",
  });
  const words = page.text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  assert.match(words, /GET \/authorize Their app Failed invalid_request:/);
  assert.match(words, /POST \/token Their app Failed invalid_grant:/);
  assert.match(
    words,
    /POST \/authorize Their app Failed access_denied:/,
  );
  assert.match(
    words,
    /GET \/oauth\/provider-callback Their app Done/,
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

Deno.test("GET /account says when it shows the first connections of more", async () => {
  await using server = await startOAuthServer();
  await server.person();
  const database = new Database(server.kv);
  const [one] = await grantStore(database).listOfSubject("github:42");
  for (let n = 1; n < 500; n++) {
    const grant = { ...one, id: `grant-${n}` };
    await database.commit((transaction) => setGrant(transaction, grant));
  }
  const { words } = await AccountVisitor.signIn(server);
  assert.match(words, /These are of the first 500 of your connections/);
});

Deno.test("GET /account is 503 where the database lists nothing, and no read of it goes on unheard", async () => {
  using database = await Deno.openKv(":memory:");
  let isAway = false;
  const list: Deno.Kv["list"] = (...args) => {
    if (isAway) throw new Error("gone");
    return database.list(...args);
  };
  await using server = await startOAuthServer({
    kv: kvWith(database, { list }),
  });
  const visitor = await AccountVisitor.signIn(server);
  isAway = true;
  await visitor.look();
  assert.equal(visitor.page.status, 503);
});

Deno.test("GET /account is for a person sixty times in a row, and then once a second", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  const { browser } = await AccountVisitor.signIn(server);
  const statuses = [];
  for (let n = 0; n < 60; n++) {
    statuses.push((await browser.open(ACCOUNT)).status);
  }
  assert.deepEqual(new Set(statuses.slice(0, 59)), new Set([200]));
  assert.equal(statuses[59], 429);
  // Another person of the same network is not in the way.
  await AccountVisitor.signIn(server, { as: "43" });
  time.tick(1);
  assert.equal((await browser.open(ACCOUNT)).status, 200);
});
