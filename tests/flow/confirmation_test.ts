/** The time for which a provider's word about a person counts. */
import assert from "node:assert/strict";
import type { Environment } from "../../src/core/settings/setting.ts";
import { tool } from "../../src/authoring/tool.ts";
import { statusOf } from "../kit/answer.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { Client } from "../kit/client.ts";
import { startOAuthServer } from "../kit/sign_in.ts";
import { FakeProvider } from "../kit/fake_provider.ts";

const DAY = 24 * 60 * 60;

const tools = [
  tool({ name: "open", run: () => "open" }),
  tool({ name: "read", scopes: ["read"], run: () => "read" }),
];

/** Someone who is connected, and whose next refresh is a day later. */
async function connected(
  environment: Environment,
  switches: Partial<FakeProvider> = {},
) {
  const provider = Object.assign(new FakeProvider(), switches);
  const time = new FakeTime();
  const server = await startOAuthServer({ tools, environment, provider });
  const { client, tokens } = await server.person();
  time.tick(DAY);
  provider.log.length = 0;
  return {
    provider,
    server,
    client,
    time,
    refresh: () => client.refresh(tokens.refresh_token),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      time[Symbol.dispose]();
    },
  };
}

/** A provider like GitHub: one token for ever. */
const FOR_EVER = { givesRefreshTokens: false, ttlSeconds: undefined };
/** A provider that no one can ask after an hour. */
const FOR_AN_HOUR = { givesRefreshTokens: false, ttlSeconds: 3600 };

for (
  const [rule, environment] of [
    ["OAUTH_ALLOWED_USERS", { OAUTH_ALLOWED_USERS: "@example.com" }],
    ["OAUTH_PERMISSIONS", { OAUTH_PERMISSIONS: "jo@example.com=read" }],
  ] as const
) {
  for (
    const [what, switches, asked] of [
      ["refresh tokens", {}, "refresh,identify"],
      ["one access token for ever", FOR_EVER, "identify"],
    ] as const
  ) {
    Deno.test(`an address of ${rule} is asked for with ${what} after a day, and ends what it opened when it has changed`, async () => {
      await using same = await connected(environment, switches);
      const { status, body } = await same.refresh();
      assert.equal(status, 200);
      assert.equal(same.provider.log.join(), asked);
      // It has another day from now on.
      same.time.tick(DAY - 3600);
      assert.equal((await same.client.refresh(body.refresh_token)).status, 200);
      assert(!same.provider.log.slice(2).includes("identify"));

      await using other = await connected(environment, switches);
      other.provider.email = "jo@elsewhere.example";
      const ended = await other.refresh();
      assert.equal(ended.body.error, "invalid_grant");
    });

    Deno.test(`an address of ${rule} at a provider with ${what} that does not answer is a 503, and nothing is used up`, async () => {
      await using it = await connected(environment, switches);
      for (const failure of ["unavailable", "misbehaved"] as const) {
        it.provider.identityFailure = failure;
        assert.equal((await it.refresh()).status, 503);
      }
      it.provider.identityFailure = undefined;
      assert.equal((await it.refresh()).status, 200);
    });

    Deno.test(`a connection ends when a provider with ${what} refuses its token, asked for an address of ${rule}`, async () => {
      await using it = await connected(environment, switches);
      it.provider.identityFailure = "dead";
      assert.equal((await it.refresh()).body.error, "invalid_grant");
      it.provider.identityFailure = undefined;
      assert.equal((await it.refresh()).body.error, "invalid_grant");
    });
  }

  Deno.test(`an address of ${rule} that no one can be asked about counts for a day`, async () => {
    await using it = await connected(environment, FOR_AN_HOUR);
    it.time.tick(-60);
    const { status, body } = await it.refresh();
    assert.equal(status, 200);
    it.time.tick(60);
    const ended = await it.client.refresh(body.refresh_token);
    assert.equal(ended.body.error, "invalid_grant");
    // The token of a minute ago goes with it.
    it.time.tick(2);
    assert.equal(
      await statusOf(it.client.call(body.access_token, "open")),
      401,
    );
  });

  Deno.test(`an address of ${rule} counts for a day at a provider of one's own that does not say who people are`, async () => {
    await using it = await connected(environment, { identify: undefined });
    assert.equal((await it.refresh()).body.error, "invalid_grant");
  });
}

Deno.test("rules by subject go on holding when no one can be asked, and ask no one", async () => {
  for (
    const environment of [
      { OAUTH_ALLOWED_USERS: "42" },
      { OAUTH_PERMISSIONS: "42=read;*=read" },
      {},
    ]
  ) {
    await using it = await connected(environment, FOR_AN_HOUR);
    assert.equal((await it.refresh()).status, 200);
    assert.equal(it.provider.log.join(), "");
  }
});

Deno.test("a person known by subject stays when their address is no longer known", async () => {
  await using it = await connected(
    { OAUTH_PERMISSIONS: "42=read;@example.com=read" },
    FOR_AN_HOUR,
  );
  const { status, body } = await it.refresh();
  assert.equal(status, 200);
  assert.equal(body.scope, "read");
});

const FORM = { name: "Backup", days: "365" };

/** A person on the account page whose provider says something else by now. */
async function onAccount(
  environment: Environment,
  switches: Partial<FakeProvider> = {},
) {
  const provider = Object.assign(new FakeProvider(), switches);
  provider.memberships = { groups: ["staff"] };
  const server = await startOAuthServer({ tools, environment, provider });
  const visitor = await AccountVisitor.signIn(server);
  return {
    provider,
    server,
    make: async () => {
      const token = await visitor.makeToken(FORM);
      return { status: visitor.page.status, text: visitor.page.text, token };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const STAFF = { OAUTH_PERMISSIONS: "group:staff=read;*=" };

Deno.test("who lost a group since the sign-in makes no access token with what it had", async () => {
  await using it = await onAccount(STAFF);
  it.provider.memberships = {};
  const { token, status } = await it.make();
  assert.deepEqual([status, token], [403, ""]);
});

Deno.test("who changed their address since the sign-in makes no access token", async () => {
  await using it = await onAccount({ OAUTH_ALLOWED_USERS: "@example.com" });
  it.provider.email = "jo@elsewhere.example";
  assert.equal((await it.make()).status, 403);
});

Deno.test("an access token is made by what the provider says now", async () => {
  await using it = await onAccount(STAFF);
  const { token } = await it.make();
  assert.equal(
    await statusOf(new Client(it.server, "").call(token, "read")),
    200,
  );
  assert(it.provider.log.includes("identify"));
});

Deno.test("no access token is made while the provider does not answer, and none when it refuses", async () => {
  await using it = await onAccount(STAFF);
  it.provider.identityFailure = "unavailable";
  assert.equal((await it.make()).status, 503);
});

Deno.test("where the provider cannot be asked a sign-in of five minutes makes an access token", async () => {
  using time = new FakeTime();
  for (const switches of [{ identify: undefined }, { ttlSeconds: 60 }]) {
    await using soon = await onAccount(STAFF, switches);
    time.tick(299);
    assert((await soon.make()).token);
    await using late = await onAccount(STAFF, switches);
    time.tick(300);
    const { status, text } = await late.make();
    assert.equal(status, 403);
    assert.match(text, /sign out and in again/);
  }
});

Deno.test("without a rule about people no one is asked, and no token of theirs is kept", async () => {
  await using it = await onAccount({});
  assert((await it.make()).token);
  assert(!it.provider.log.includes("identify"));
  const sessions = await Array.fromAsync(
    it.server.kv.list<{ sealed?: string }>({ prefix: ["account-session"] }),
  );
  assert.deepEqual(sessions.map(({ value }) => value.sealed), [undefined]);
});

Deno.test("no one is asked about a connection of another BASE_URL", async () => {
  const environment = { OAUTH_PERMISSIONS: "group:staff=read;*=read" };
  await using it = await connected(environment);
  const { provider, server: { kv }, client } = it;
  await using renamed = await startOAuthServer({
    tools,
    environment,
    provider,
    kv,
    baseUrl: "https://renamed.example.com",
  });
  client.server = renamed;
  assert.equal((await it.refresh()).body.error, "invalid_grant");
  assert.deepEqual(provider.log, []);
});
