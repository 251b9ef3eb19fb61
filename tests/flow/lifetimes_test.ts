/** Lifetimes that an operator sets, and changes while things are open. */
import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { statusOf } from "../kit/answer.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { Client } from "../kit/client.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";

const DAY = 24 * 60 * 60;
const tools = [tool({ name: "hello", run: () => "hello" })];

/** Starts a server, and another one of these settings on its database. */
async function startTwo(environment: Record<string, string>) {
  const before = await startOAuthServer({ tools });
  const { kv, provider } = before;
  const after = await startOAuthServer({ tools, kv, provider, environment });
  return {
    before,
    after,
    async [Symbol.asyncDispose]() {
      await after[Symbol.asyncDispose]();
      await before[Symbol.asyncDispose]();
    },
  };
}

async function statusAt(server: OAuthServer, token: string) {
  return await statusOf(new Client(server, "").call(token, "hello"));
}

Deno.test("OAUTH_ACCESS_TOKEN_MINUTES counts for tokens that are there, at their next use", async () => {
  using time = new FakeTime();
  await using servers = await startTwo({ OAUTH_ACCESS_TOKEN_MINUTES: "10" });
  const { before, after } = servers;
  const client = await Client.register(before);
  const { access_token, refresh_token } = await client.connect();
  time.tick(599);
  assert.equal(await statusAt(after, access_token), 200);
  time.tick(2);
  assert.equal(await statusAt(after, access_token), 401);
  assert.equal(await statusAt(before, access_token), 200);
  client.server = after;
  const { body } = await client.refresh(refresh_token);
  assert.equal(body.expires_in, 600);
  assert.equal(await statusAt(after, body.access_token), 200);
});

Deno.test("OAUTH_ACCESS_TOKEN_MINUTES counts from each token's own response, not from a later refresh", async () => {
  using time = new FakeTime();
  await using servers = await startTwo({ OAUTH_ACCESS_TOKEN_MINUTES: "10" });
  const { before, after } = servers;
  const client = await Client.register(before);
  const { access_token, refresh_token } = await client.connect();
  time.tick(500);
  const { body } = await client.refresh(refresh_token);
  time.tick(200);
  assert.equal(await statusAt(after, access_token), 401);
  assert.equal(await statusAt(after, body.access_token), 200);
});

Deno.test("a lost refresh is not answered with a token that is over by today's OAUTH_ACCESS_TOKEN_MINUTES", async () => {
  using time = new FakeTime();
  await using servers = await startTwo({ OAUTH_ACCESS_TOKEN_MINUTES: "10" });
  const { before, after } = servers;
  const client = await Client.register(before);
  const { refresh_token } = await client.connect();
  await client.refresh(refresh_token);
  time.tick(601);
  client.server = after;
  const { body } = await client.refresh(refresh_token);
  assert.equal(await statusAt(after, body.access_token), 200);
});

Deno.test("OAUTH_IDLE_DAYS ends what was not used, on the page too", async () => {
  using time = new FakeTime();
  await using servers = await startTwo({ OAUTH_IDLE_DAYS: "2" });
  const { before, after } = servers;
  const client = await Client.register(before);
  const { refresh_token } = await client.connect();
  client.server = after;
  time.tick(2 * DAY - 1);
  const { body } = await client.refresh(refresh_token);
  time.tick(2 * DAY);
  const over = await client.refresh(body.refresh_token);
  assert.equal(over.body.error, "invalid_grant");
  const visitor = await AccountVisitor.signIn(after);
  assert.match(visitor.words, /No app is connected/);
  assert.match(visitor.words, /2 days after it was used last/);
});

Deno.test("OAUTH_CONNECTION_DAYS ends a connection however much it is used, with its access token", async () => {
  using time = new FakeTime();
  await using servers = await startTwo({ OAUTH_CONNECTION_DAYS: "2" });
  const { before, after } = servers;
  const client = await Client.register(before);
  let { refresh_token, access_token } = await client.connect();
  time.tick(2 * DAY - 60);
  ({ body: { refresh_token, access_token } } = await client.refresh(
    refresh_token,
  ));
  assert.equal(await statusAt(after, access_token), 200);
  time.tick(60);
  assert.equal(await statusAt(after, access_token), 401);
  client.server = after;
  const over = await client.refresh(refresh_token);
  assert.equal(over.body.error, "invalid_grant");
});

Deno.test("lifetimes may be longer than without settings, and are told on the consent page", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer({
    tools,
    environment: { OAUTH_CONNECTION_DAYS: "200", OAUTH_IDLE_DAYS: "120" },
  });
  const client = await Client.register(server);
  const page = await server.browser().open(client.authorizationUrl());
  const words = page.text.replaceAll(/\s+/g, " ");
  assert.match(words, /For 200 days at most, .* used for 120 days/);
  const { refresh_token } = await client.connect();
  time.tick(119 * DAY);
  assert.equal((await client.refresh(refresh_token)).status, 200);
});

Deno.test("OAUTH_PERSONAL_TOKEN_DAYS bounds tokens to come, and those that are there", async () => {
  using time = new FakeTime();
  await using servers = await startTwo({ OAUTH_PERSONAL_TOKEN_DAYS: "14" });
  const { before, after } = servers;
  const visitor = await AccountVisitor.signIn(before);
  const token = await visitor.makeToken({ days: "365" });
  assert.equal(await statusAt(after, token), 200);
  const there = await AccountVisitor.signIn(after);
  await there.openFresh("/tokens");
  assert.match(there.words, /7 days 14 days (?!30)/);
  assert.equal(await there.makeToken({ days: "365" }), "");
  assert.equal(there.page.status, 400);
  time.tick(14 * DAY);
  assert.equal(await statusAt(after, token), 401);
  assert.equal(await statusAt(before, token), 200);
});
