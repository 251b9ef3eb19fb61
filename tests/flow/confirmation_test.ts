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

Deno.test("an access token is made by what the provider says at the sign-in for it", async () => {
  const environment = { OAUTH_PERMISSIONS: "group:staff=read;*=" };
  await using server = await startOAuthServer({ tools, environment });
  const { provider } = server;
  const nothing = /You may use nothing here/;
  provider.memberships = { groups: ["staff"] };
  const visitor = await AccountVisitor.signIn(server, { at: "/tokens" });
  assert.doesNotMatch(visitor.words, nothing);
  provider.memberships = {};
  await visitor.openFresh("/tokens");
  assert.match(visitor.words, nothing);
  provider.memberships = { groups: ["staff"] };
  const again = await AccountVisitor.signIn(server);
  const token = await again.makeToken({ days: "365" });
  const client = new Client(server, "");
  assert.equal(await statusOf(client.call(token, "read")), 200);
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
