/** Two real providers, one after the other, on one database. */
import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { statusOf } from "../kit/answer.ts";
import { AccountVisitor, formOf } from "../kit/account_visitor.ts";
import { rpc } from "../kit/message.ts";
import { BASE_URL, startServer, type TestServer } from "../kit/server.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { Client } from "../kit/client.ts";
import {
  type OpenIdProvider,
  signInAt,
  startOpenIdProvider,
} from "../kit/open_id_provider.ts";
import { browserOf } from "../kit/browser.ts";
import { connect } from "../kit/walk.ts";

const tools = [
  tool({ name: "whoami", run: (_, { caller }) => caller.subject }),
  tool({
    name: "theirs",
    async run(_, { upstream }) {
      await upstream.token();
      return "opened";
    },
  }),
];

function start(
  kv: Deno.Kv,
  { environment }: OpenIdProvider,
  env: Record<string, string> = {},
): Promise<TestServer> {
  return startServer({ kv, tools, env: { BASE_URL, ...environment, ...env } });
}

/** Everything that a person of a provider can leave open. */
async function open(server: TestServer, { issuer }: OpenIdProvider) {
  const browser = browserOf(server, { issuer });
  const { client, tokens } = await connect(server, issuer, browser);
  const { id: sessionId } = await server.openSession({
    headers: { authorization: `Bearer ${tokens.access_token}` },
  });

  const unredeemed = new Client(server, client.clientId);
  const page = await browser.open(unredeemed.authorizationUrl());
  const away = await browser.press(page, "decision", "approve");
  const code = client.codeFrom.call(
    unredeemed,
    await signInAt(issuer, browser, away),
  );

  const account = await signInAt(
    issuer,
    browser,
    await browser.press(
      formOf(
        await browser.open(`${BASE_URL}/account/tokens`),
        "/account/sign-in",
      ),
      "",
      "",
    ),
  );
  const visitor = new AccountVisitor(
    browser,
    account,
    async (ask) => await signInAt(issuer, browser, await ask()),
  );
  const personal = await visitor.makeToken({ days: "365" });

  // On their way to the provider when the server restarts.
  const stranger = browserOf(server, { issuer });
  const asking = await stranger.open(client.authorizationUrl());
  const left = await stranger.press(asking, "decision", "approve");
  return {
    client,
    tokens,
    sessionId,
    unredeemed,
    code,
    browser,
    personal,
    account: await visitor.openFresh("/tokens").then(({ page }) => page),
    stranger,
    left,
  };
}

type Open = Awaited<ReturnType<typeof open>>;

/** Moves all of it to another process. */
function move({ client, unredeemed }: Open, server: TestServer): void {
  client.server = unredeemed.server = server;
}

Deno.test("another provider keeps out everyone of the old one, whatever they had open, and is told nothing of them", async () => {
  using kv = await Deno.openKv(":memory:");
  await using first = await startOpenIdProvider(BASE_URL);
  await using second = await startOpenIdProvider(BASE_URL);
  await using before = await start(kv, first);
  const held = await open(before, first);
  const { client, tokens, personal, sessionId } = held;
  assert.equal(await statusOf(client.call(personal, "whoami")), 200);

  // The same names are let in, whoever gives them.
  const env = { OAUTH_ALLOWED_USERS: "jo" };
  await using after = await start(kv, second, env);
  move(held, after);
  for (const token of [tokens.access_token, personal]) {
    for (const name of ["whoami", "theirs"]) {
      assert.equal(await statusOf(client.call(token, name)), 401, name);
    }
    const inSession = after.post(rpc("ping"), {
      authorization: `Bearer ${token}`,
      "mcp-session-id": sessionId,
    });
    assert.equal(await statusOf(inSession), 401);
  }
  const refused = await client.refresh(tokens.refresh_token);
  assert.equal(refused.body.error, "invalid_grant");
  const late = await held.unredeemed.redeem(held.code);
  assert.equal(late.body.error, "invalid_grant");

  // The same browser, with its cookies.
  const { browser, stranger } = held;
  const there = browserOf(after, { issuer: second.issuer });
  for (const jar of [browser, stranger]) {
    for (const [name, value] of jar.cookies) there.cookies.set(name, value);
  }
  const account = await there.open(`${BASE_URL}/account`);
  assert.match(account.text, /action="\/account\/sign-in"/);
  const stale = await there.press(
    formOf(held.account, "/account/tokens"),
    "",
    "",
    { name: "More", days: "365" },
  );
  assert.equal(stale.status, 403);
  assert.equal(second.asked.join(), "");

  // A person sent to the old one comes back to the new, with the old one's answer.
  const answered = await signInAt(
    first.issuer,
    returning(stranger, first.issuer, after),
    held.left,
  );
  assert.equal(answered.status, 400);
  assert.match(answered.text, /expired/);
  assert(second.asked.every((path) => path.startsWith("/.well-known/")));

  // Another person may have the same name there.
  const { client: other, tokens: theirs } = await connect(after, second.issuer);
  assert.equal(await statusOf(other.call(theirs.access_token, "theirs")), 200);
  const foreign = after.post(rpc("ping"), {
    authorization: `Bearer ${theirs.access_token}`,
    "mcp-session-id": sessionId,
  });
  assert.equal(await statusOf(foreign), 404);

  // A revocation ends what is here, and tells the new one nothing.
  const asked = second.asked.length;
  const revoked = await after.fetch("/revoke", {
    method: "POST",
    body: new URLSearchParams({
      token: tokens.refresh_token,
      client_id: client.clientId,
    }),
  });
  assert.equal(revoked.status, 200);
  assert.equal(second.asked.length, asked);
});

/** A browser that reaches another process under the same address. */
function returning(
  from: ReturnType<typeof browserOf>,
  issuer: string,
  server: TestServer,
) {
  const browser = browserOf(server, { issuer });
  for (const [name, value] of from.cookies) browser.cookies.set(name, value);
  return browser;
}

Deno.test("a provider that is back finds everyone of it as they were", async () => {
  using kv = await Deno.openKv(":memory:");
  await using first = await startOpenIdProvider(BASE_URL);
  await using second = await startOpenIdProvider(BASE_URL);
  await using before = await start(kv, first);
  const held = await open(before, first);
  const { client, tokens, personal } = held;
  await using meanwhile = await start(kv, second);
  move(held, meanwhile);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 400);
  await using after = await start(kv, first);
  move(held, after);
  for (const token of [tokens.access_token, personal]) {
    assert.equal(await statusOf(client.call(token, "whoami")), 200);
  }
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
  assert.equal((await held.unredeemed.redeem(held.code)).status, 200);
});

const DAY = 24 * 60 * 60;

for (const givesRefreshTokens of [true, false]) {
  const what = givesRefreshTokens ? "a refresh token" : "an access token alone";
  Deno.test(`a provider of whom there is ${what} is asked once a day whose an address is`, async () => {
    using time = new FakeTime();
    using kv = await Deno.openKv(":memory:");
    await using provider = await startOpenIdProvider(BASE_URL, {
      ttlSeconds: 30 * DAY,
      givesRefreshTokens,
    });
    await using server = await start(kv, provider, {
      OAUTH_ALLOWED_USERS: "@example.com",
    });
    const { client, tokens } = await connect(server, provider.issuer);
    provider.asked.length = 0;
    time.tick(DAY - 1);
    const soon = await client.refresh(tokens.refresh_token);
    assert.equal(soon.status, 200);
    assert(!provider.asked.includes("/me"));
    provider.claims = { email: "jo@elsewhere.example" };
    time.tick(1);
    const { access_token, refresh_token } = soon.body;
    assert.equal(await statusOf(client.call(access_token, "whoami")), 200);
    // Without a refresh token its access token has expired: no one says any
    // more whose address it is.
    const { body } = await client.refresh(refresh_token);
    assert.equal(body.error, "invalid_grant");
    time.tick(2);
    assert.equal(await statusOf(client.call(access_token, "whoami")), 401);
  });
}

Deno.test("an address that is still the person's counts for another day", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");
  await using provider = await startOpenIdProvider(BASE_URL, {
    ttlSeconds: 30 * DAY,
  });
  await using server = await start(kv, provider, {
    OAUTH_ALLOWED_USERS: "@example.com",
  });
  const { client, tokens } = await connect(server, provider.issuer);
  let token = tokens.refresh_token;
  for (let day = 0; day < 3; day++) {
    time.tick(DAY);
    const { status, body } = await client.refresh(token);
    assert.equal(status, 200);
    token = body.refresh_token;
  }
});
