/** The sign-ins of one client by one person are one connection. */
import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { MAX_SIGN_INS } from "../../../src/core/oauth/connection.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore } from "../../../src/core/store/grants.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { Client } from "../../kit/client.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";

const tools = [
  tool({ name: "read", scopes: ["read"], run: () => "read" }),
  tool({ name: "write", scopes: ["write"], run: () => "written" }),
];

const start = (options = {}) => startOAuthServer({ tools, ...options });

async function statusOf(client: Client, token: string, name = "read") {
  const response = await client.call(token, name);
  await response.body?.cancel();
  return response.status;
}

async function live(kv: Deno.Kv): Promise<number> {
  const grants = grantStore(new Database(kv));
  return (await grants.listOpen("github:42")).length;
}

const UNTICKED = /name="scope"\s+value="write"\s*\/>/;

Deno.test("a scope that was taken away is on no page until the client names it, and then unticked", async () => {
  await using server = await start();
  const client = await Client.register(server);
  const visitor = await AccountVisitor.signIn(server);
  const browser = server.browser();
  await client.connect({ browser });
  await visitor.look();
  await visitor.press("/account/narrow", { "scope.write": "" });

  for (const changes of [{}, { scope: "read" }]) {
    const page = await browser.open(
      client.authorizationUrl(changes as Record<string, string>),
    );
    assert.doesNotMatch(page.text, /value="write"/);
  }
  const named = client.authorizationUrl({ scope: "read write" });
  const page = await browser.open(named);
  assert.match(page.text, UNTICKED);
  assert.match(page.text, /You took this away before/);
  // A program that copies hidden fields ticks nothing.
  const hidden = {
    ...page,
    text: page.text.replaceAll(/<(input type="checkbox"|select)[^>]*>/g, ""),
  };
  const blind = await browser.press(hidden, "decision", "approve");
  const { body } = await client.redeem(client.codeFrom(blind));
  assert.equal(body.scope, "read");
  // It stays away after a consent without it, and comes back with one.
  assert.match((await browser.open(named)).text, UNTICKED);
  const again = await browser.press(
    await browser.open(named),
    "decision",
    "approve",
  );
  const back = await client.redeem(client.codeFrom(again));
  assert.equal(back.body.scope, "read write");
  assert.doesNotMatch((await browser.open(named)).text, UNTICKED);
});

Deno.test("a scope that was taken away does not come back through a browser that knows nothing of it", async () => {
  await using server = await start();
  const client = await Client.register(server);
  await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/narrow", { "scope.write": "" });
  assert.equal((await client.connect()).scope, "read");
});

Deno.test("a scope that is taken away while its consent is under way stays away", async () => {
  using time = new FakeTime();
  await using server = await start();
  const client = await Client.register(server);
  await client.connect();
  const browser = server.browser();
  const page = await browser.open(
    client.authorizationUrl({ scope: "read write" }),
  );
  time.tick(1);
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/narrow", { "scope.write": "" });
  const arrival = await browser.press(page, "decision", "approve");
  const { body } = await client.redeem(client.codeFrom(arrival));
  assert.equal(body.scope, "read");
});

Deno.test("a step-up in another browser keeps what the client has at its own https address, and nowhere else", async () => {
  await using server = await start();
  const client = await Client.register(server);
  await client.connect({ scope: "read" });
  assert.equal((await client.connect({ scope: "write" })).scope, "write read");

  // Any program could listen there.
  const local = await Client.register(server, {
    redirect_uris: ["http://localhost:1/cb"],
  });
  await local.connect({ scope: "read" });
  assert.equal((await local.connect({ scope: "write" })).scope, "write");
});

Deno.test("a step-up does not bring back what the person just unticked", async () => {
  await using server = await start();
  const client = await Client.register(server);
  await client.connect({ scope: "read write" });
  const browser = server.browser();
  const page = await browser.open(
    client.authorizationUrl({ scope: "read write" }),
  );
  const arrival = await browser.press(page, "decision", "approve", {}, [
    "write",
  ]);
  const { body } = await client.redeem(client.codeFrom(arrival));
  assert.equal(body.scope, "read");
});

Deno.test("the consent page says who is signed in here, and shows what they gave the client elsewhere", async () => {
  await using server = await start();
  const client = await Client.register(server, {
    redirect_uris: ["http://localhost:1/cb"],
  });
  await client.connect({ scope: "read" });
  const { browser } = await AccountVisitor.signIn(server);
  const url = client.authorizationUrl({ scope: "write" });
  const page = await browser.open(url);
  assert.match(page.text, /You are signed in here as <bdi>Jo<\/bdi>/);
  assert.match(page.text, /names, which may be another one of yours/);
  const arrival = await browser.press(page, "decision", "approve");
  const { body } = await client.redeem(client.codeFrom(arrival));
  assert.equal(body.scope, "write read");

  const stranger = await server.browser().open(url);
  assert.doesNotMatch(stranger.text, /You are signed in here/);
  assert.doesNotMatch(stranger.text, /value="read"/);
});

Deno.test("pausing, narrowing and ending a connection act on all its sign-ins, those to come and those without their tokens yet", async () => {
  using time = new FakeTime();
  await using server = await start();
  const client = await Client.register(server);
  const tokens = [await client.connect(), await client.connect()];
  const code = await client.signIn();
  const visitor = await AccountVisitor.signIn(server);
  assert.match(visitor.words, /2 sign-ins/);
  await visitor.press("/account/pause");
  tokens.push((await client.redeem(code)).body, await client.connect());
  time.tick(1);
  const statuses = (name?: string) =>
    Promise.all(
      tokens.map(({ access_token }) => statusOf(client, access_token, name)),
    );
  assert.deepEqual(await statuses(), [403, 403, 403, 403]);

  await visitor.look();
  assert.match(visitor.words, /4 sign-ins/);
  await visitor.press("/account/resume");
  time.tick(1);
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);
  await visitor.press("/account/narrow", { "scope.write": "" });
  time.tick(1);
  assert.deepEqual(await statuses("write"), [403, 403, 403, 403]);
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);

  await visitor.press("/account/end");
  time.tick(1);
  assert.deepEqual(await statuses(), [401, 401, 401, 401]);
  assert.match(visitor.words, /No app is connected/);
  // A sign-in after the end is another connection: it is not paused.
  await visitor.look();
  tokens.splice(0, 4, await client.connect());
  assert.deepEqual(await statuses(), [200]);
});

Deno.test("a sign-in after the end of a paused connection is not paused", async () => {
  await using server = await start();
  const client = await Client.register(server);
  await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/pause");
  await visitor.press("/account/end");
  const { access_token } = await client.connect();
  assert.equal(await statusOf(client, access_token), 200);
});

Deno.test("clients of the same name that registered themselves are not one connection", async () => {
  await using server = await start();
  const clients = [
    await Client.register(server),
    await Client.register(server),
  ];
  const tokens = await Promise.all(clients.map((client) => client.connect()));
  const visitor = await AccountVisitor.signIn(server);
  assert.doesNotMatch(visitor.words, /sign-ins/);
  await visitor.press("/account/end");
  const statuses = await Promise.all(
    clients.map((client, n) => statusOf(client, tokens[n].access_token)),
  );
  assert.deepEqual(statuses.sort(), [200, 401]);
});

Deno.test("an operator ends a connection with all its sign-ins", async () => {
  await using server = await start({
    environment: { OAUTH_ADMINS: "github:7" },
  });
  const client = await Client.register(server);
  const tokens = [await client.connect(), await client.connect()];
  const boss = await AccountVisitor.signIn(server, { as: "7", at: "/people" });
  assert.match(boss.words, /2 sign-ins/);
  const [, grant] = /name="grants" value="([^"]*)"/.exec(boss.page.text)!;
  await boss.press("/account/end", { grants: grant });
  for (const { refresh_token } of tokens) {
    assert.equal((await client.refresh(refresh_token)).status, 400);
  }
});

Deno.test("a connection has so many sign-ins, and the least recently used ends for another", async () => {
  using time = new FakeTime();
  await using server = await start();
  const client = await Client.register(server);
  const tokens = [];
  for (let n = 0; n < MAX_SIGN_INS; n++) {
    tokens.push(await client.connect());
    time.tick(1);
  }
  const [first, second] = tokens;
  const used = await client.refresh(first.refresh_token);
  time.tick(1);
  await client.connect();
  // Room is made after the sign-in that needs it.
  await until(async () => await live(server.kv) === MAX_SIGN_INS);
  assert.equal((await client.refresh(used.body.refresh_token)).status, 200);
  const ended = await client.refresh(second.refresh_token);
  assert.equal(ended.body.error, "invalid_grant");
});

Deno.test("a connection never has more sign-ins, however many processes make one at once", async () => {
  await using server = await start();
  await using other = await start({ kv: server.kv, provider: server.provider });
  const client = await Client.register(server);
  for (let n = 0; n < MAX_SIGN_INS - 1; n++) await client.connect();
  const there = new Client(other, client.clientId);
  const tokens = await Promise.all(
    [client, there, client, there].map((it) => it.connect()),
  );
  // Room is made after the sign-in that needs it.
  await until(async () => await live(server.kv) === MAX_SIGN_INS);
  assert.equal(new Set(tokens.map((it) => it.access_token)).size, 4);
});

Deno.test("a sign-in that reads its connection before a pause is paused all the same", async () => {
  await using server = await start();
  const client = await Client.register(server);
  await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  // Both at once, again and again: whichever is first, all are paused.
  for (let n = 0; n < 5; n++) {
    const [{ access_token }] = await Promise.all([
      client.connect(),
      visitor.press("/account/pause"),
    ]);
    assert.equal(await statusOf(client, access_token), 403);
    await visitor.look();
    await visitor.press("/account/resume");
  }
});

Deno.test("the account page names the tools that a connection and a token may use by today's rules", async () => {
  using kv = await Deno.openKv(":memory:");
  const free = tool({ name: "time", title: "Tell the time", run: () => "12" });
  const all = { kv, tools: [...tools, free] };
  const words = async (environment: Record<string, string>) => {
    await using server = await start({ ...all, environment });
    const visitor = await AccountVisitor.signIn(server);
    const told = [await visitor.look(), await visitor.look("/tokens")];
    return told.map((text) =>
      /It may use (.*?) \./.exec(text)?.[1].replaceAll(" ,", ",")
    );
  };
  await using server = await start(all);
  const client = await Client.register(server);
  await client.connect({ scope: "write" });
  const visitor = await AccountVisitor.signIn(server);
  assert.notEqual(await visitor.makeToken(), "");
  assert.deepEqual(await words({}), [
    "write and Tell the time",
    "read, write and Tell the time",
  ]);
  assert.deepEqual(await words({ OAUTH_PERMISSIONS: "*=read" }), [
    undefined,
    "read and Tell the time",
  ]);
  // A person who may no longer use the server has nothing open.
  assert.deepEqual(await words({ OAUTH_ALLOWED_USERS: "ada@example.com" }), [
    undefined,
    undefined,
  ]);
});
