/**
 * Tools that act at a service behind the sign-in provider, which exchanges the
 * token of the sign-in: as RFC 8693 has it, and as Microsoft.
 */
import assert from "node:assert/strict";
import { NEEDS } from "../../../src/authoring/oauth_account.ts";
import { faultsIn } from "../../../src/authoring/options.ts";
import { callApi } from "../../../src/api.ts";
import { account, tool } from "../../../src/mod.ts";
import type { UpstreamAccount } from "../../../src/mod.ts";
import { UpstreamError } from "../../../src/core/provider/provider.ts";
import { statusOf, textOf } from "../../kit/answer.ts";
import { browserOf } from "../../kit/browser.ts";
import { Client } from "../../kit/client.ts";
import { clientOf } from "../../kit/connected.ts";
import { test } from "../../kit/databases.ts";
import { ExchangingProvider, MAIL } from "../../kit/exchanging_provider.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import { spelled } from "../../kit/key_service.ts";
import { recordLog } from "../../kit/log.ts";
import { signInAt } from "../../kit/open_id_provider.ts";
import { BASE_URL, startServer, type TestServer } from "../../kit/server.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";

function toolsOf(mail: UpstreamAccount, onRun = () => {}) {
  return [
    tool({
      name: "mails",
      needs: { mail },
      async run(_input, { needs }) {
        onRun();
        const response = await needs.mail.fetch("/me");
        return `${response.status} ${await response.text()}`;
      },
    }),
    tool({
      name: "asks",
      needs: { mail },
      run: (_input, { needs }) => callApi(needs.mail, "GET /me"),
    }),
    tool({
      name: "reveal",
      needs: { mail },
      run: async (_input, { needs }) => spelled(await needs.mail.reveal()),
    }),
    tool({
      name: "quote",
      needs: { mail },
      async run(_input, { needs }) {
        throw new Error(`no ${await needs.mail.reveal()} here`);
      },
    }),
  ];
}

type Options = Parameters<typeof startServer>[0];

/** Starts a server whose tools act at the service of a provider. */
function start(
  at: ExchangingProvider,
  { env, ...options }: Options = {},
): Promise<TestServer> {
  return startServer({
    tools: toolsOf(at.declare()),
    ...options,
    env: { BASE_URL, ...at.environment, ...env },
  });
}

/** Signs a person in at the provider, and gives the calls of their client. */
async function signIn(
  server: TestServer,
  { issuer }: ExchangingProvider,
  name = "jo",
) {
  const browser = browserOf(server, { issuer });
  const client = await Client.register(server);
  const page = await browser.open(client.authorizationUrl());
  const away = await browser.press(page, "decision", "approve");
  const back = await signInAt(issuer, browser, away, name);
  const { status, body } = await client.redeem(client.codeFrom(back));
  assert.equal(status, 200, JSON.stringify(body));
  const call = (tool: string) => client.call(body.access_token, tool);
  return { client, tokens: body, page, call };
}

for (const isMicrosoft of [false, true]) {
  const how = isMicrosoft ? "on behalf of" : "by token exchange";
  Deno.test(`who signed in acts at a service behind the provider without a page, ${how}`, async () => {
    await using at = await ExchangingProvider.start({ isMicrosoft });
    await using server = await start(at);
    const { call, page } = await signIn(server, at);
    assert.match(page.text, /Example Mail<\/strong>, by your sign-in with/);
    assert.equal(await textOf(call("mails")), "200 mail of jo");
    const [{ scope, requested_token_use: use, audience }] = at.exchanges;
    assert.equal(scope, MAIL);
    assert.equal(use, isMicrosoft ? "on_behalf_of" : undefined);
    assert.equal(audience, isMicrosoft ? undefined : "mail");
    // The calls of a sign-in share one token, which no other sign-in is given.
    await Promise.all(Array.from({ length: 20 }, () => textOf(call("mails"))));
    assert.equal(at.exchanges.length, 1);
    for (const name of ["ada", "jo"]) {
      const other = await signIn(server, at, name);
      assert.equal(await textOf(other.call("mails")), `200 mail of ${name}`);
    }
    assert.equal(at.exchanges.length, 3);
  });
}

Deno.test("a call that acted may have been done if it gets no further token", async () => {
  using time = new MovedTime();
  await using at = await ExchangingProvider.start({ ttlSeconds: 7200 });
  at.lifetime = 600;
  const mail = at.declare();
  const acts = tool({
    name: "acts",
    needs: { mail },
    async run(_input, { needs }) {
      await (await needs.mail.fetch("/me", { method: "POST" })).text();
      at.answer = () => ({ status: 503, body: {} });
      time.tick(700);
      return await (await needs.mail.fetch("/me")).text();
    },
  });
  await using server = await start(at, { tools: [acts] });
  const { call } = await signIn(server, at);
  assert.match(
    await textOf(call("acts")),
    /gives no access to Example Mail now.* It may have been done/,
  );
});

Deno.test("a token that the service refuses is exchanged once anew, then its answer is the tool's", async () => {
  using time = new MovedTime();
  await using at = await ExchangingProvider.start();
  await using server = await start(at);
  const { call } = await signIn(server, at);
  at.refuses = true;
  assert.equal(await textOf(call("mails")), "401 no such token");
  assert.equal(await textOf(call("mails")), "401 no such token");
  assert.equal(
    await textOf(call("asks")),
    "Example Mail answered 401: no such token",
  );
  assert.equal(at.exchanges.length, 2);
  assert.equal(new Set(at.seen.map(([, token]) => token)).size, 2);
  time.tick(61);
  at.refuses = false;
  at.revoke();
  assert.equal(await textOf(call("mails")), "200 mail of jo");
  assert.equal(at.exchanges.length, 3);
});

Deno.test("a token is kept until a minute before its end, and anew with another token of the sign-in", async () => {
  using time = new MovedTime();
  await using at = await ExchangingProvider.start({ ttlSeconds: 7200 });
  await using server = await start(at);
  const { client, tokens, call } = await signIn(server, at);
  at.lifetime = 600;
  const first = await textOf(call("reveal"));
  time.tick(530);
  assert.equal(await textOf(call("reveal")), first);
  time.tick(15);
  const second = await textOf(call("reveal"));
  assert.notEqual(second, first);
  // The provider's access token ends after an hour, and so does ours.
  time.tick(3100);
  const { body } = await client.refresh(tokens.refresh_token);
  const third = await textOf(client.call(body.access_token, "reveal"));
  assert.notEqual(third, second);
  const subjects = at.exchanges.map(({ subject_token }) => subject_token);
  assert.equal(new Set(subjects).size, 2);
  assert.equal(subjects.length, 3);
});

Deno.test("a token is in no log, and no refresh token of the service is kept", async () => {
  await using at = await ExchangingProvider.start();
  const log = recordLog("debug");
  await using server = await start(at, log);
  const { call } = await signIn(server, at);
  const token = (await textOf(call("reveal"))).replaceAll("·", "");
  await textOf(call("quote"));
  const events = Deno.inspect(log.events, { depth: 9, strAbbreviateSize: 1e6 });
  assert.match(events, /no \(hidden\) here/);
  assert.ok(!events.includes(token));
  const records: unknown[] = [];
  for await (const { value } of server.kv.list({ prefix: [] })) {
    records.push(value);
  }
  const stored = JSON.stringify(records);
  assert.ok(!stored.includes(token) && !stored.includes("of-the-service"));
});

/** Answers of the provider, the words that a model reads, and the exchanges. */
const ANSWERS: [
  what: string,
  status: number,
  body: unknown,
  words: RegExp,
  isRun?: true,
][] = [
  [
    "wants consent",
    400,
    {
      error: "invalid_grant",
      suberror: "consent_required",
      error_codes: [65001],
      error_description: "AADSTS65001: of a secret",
    },
    /an administrator there has to allow Mail.Read to the application/,
  ],
  [
    "wants to see the person",
    400,
    { error: "interaction_required", claims: "{}" },
    /only after the person has signed in again \(interaction_required\)/,
  ],
  [
    "takes the sign-in no longer",
    400,
    { error: "invalid_grant", suberror: "bad_token" },
    /only after the person has signed in again \(invalid_grant\)/,
  ],
  ["denies it", 403, { error: "access_denied" }, /not let this person use/],
  [
    "knows no such scope",
    400,
    { error: "invalid_scope" },
    /\(invalid_scope\): its operator has to set the application right/,
  ],
  [
    "does not know us",
    401,
    { error: "invalid_client" },
    /\(invalid_client\): its operator has to set the application right/,
  ],
  [
    "answers with a page",
    200,
    "<html>",
    /access to Example Mail: its operator/,
  ],
  [
    "gives a token of another type",
    200,
    { access_token: "a", token_type: "DPoP" },
    /access to Example Mail: its operator/,
  ],
  [
    "gives a token that is too long",
    200,
    { access_token: "a".repeat(20_000), token_type: "Bearer" },
    /access to Example Mail: its operator/,
  ],
  ["is down", 503, "down", /now: try again later/, true],
  ["is asked too often", 429, { error: "slow_down" }, /try again later/, true],
];

for (const isMicrosoft of [false, true]) {
  const how = isMicrosoft ? "on behalf of" : "by token exchange";
  Deno.test(`a model reads what to do where the provider gives no token, and none asks again and again, ${how}`, async () => {
    using time = new MovedTime();
    await using at = await ExchangingProvider.start({
      isMicrosoft,
      ttlSeconds: 7200,
    });
    const log = recordLog();
    let runs = 0;
    const tools = toolsOf(at.declare(), () => runs++);
    await using server = await start(at, { ...log, tools });
    const { call } = await signIn(server, at);
    for (const [what, status, body, words, isRun] of ANSWERS) {
      time.tick(61);
      runs = 0;
      at.exchanges.length = log.events.length = 0;
      at.answer = () => ({ status, body });
      assert.match(await textOf(call("mails")), words, what);
      const asked = at.exchanges.length;
      assert.match(await textOf(call("mails")), words, what);
      const again = at.exchanges.length - asked;
      assert.equal(again > 0, isRun === true, `${what}: ${again}`);
      assert.equal(runs > 0, isRun === true, what);
      const told = Deno.inspect(log.events, { depth: 9 });
      assert.match(told, /could not be exchanged/, what);
      assert.doesNotMatch(told, /of a secret/);
      assert.equal(told.includes("(65001)"), what === "wants consent");
    }
    at.answer = undefined;
    time.tick(61);
    assert.equal(await textOf(call("mails")), "200 mail of jo");
  });
}

Deno.test("a sign-in that has ended at the provider becomes a 401, so that the client signs in again", async () => {
  await using at = await ExchangingProvider.start({ isMicrosoft: true });
  await using server = await start(at);
  const { call } = await signIn(server, at);
  at.answer = () => ({ status: 400, body: { error: "invalid_grant" } });
  at.provider.hasForgotten = true;
  assert.equal(await statusOf(call("mails")), 401);
});

Deno.test("while a sign-in cannot be refreshed, the model is told to try later, and nothing ends", async () => {
  const mail = account("mail", { from: "upstream", api: "https://x.example" });
  await using server = await startOAuthServer({
    tools: toolsOf(mail),
    environment: { OAUTH_PROVIDER: "oidc", OAUTH_ISSUER: "https://x.example" },
  });
  const { provider } = server;
  provider.ttlSeconds = 30;
  const call = await clientOf(server, "2026");
  provider.failure = "unavailable";
  assert.match(await textOf(call("reveal")), /now: try again later/);
  provider.failure = undefined;
  assert.match(await textOf(call("reveal")), /^-·f·o·r·-·p·r·o·v·i·d·e·r/);
});

Deno.test("a provider that refreshes to the same token leaves no call waiting for itself", async () => {
  const mail = account("mail", { from: "upstream", api: "https://x.example" });
  await using server = await startOAuthServer({
    tools: toolsOf(mail),
    environment: { OAUTH_PROVIDER: "oidc", OAUTH_ISSUER: "https://x.example" },
  });
  const { provider } = server;
  let accessToken = "";
  provider.onIssue = (token) => accessToken ||= token;
  const call = await clientOf(server, "2026");
  provider.alive = undefined;
  provider.refresh = () =>
    Promise.resolve({ accessToken, tokenType: "Bearer" });
  provider.exchange = () =>
    Promise.reject(
      new UpstreamError("dead", "As told", { code: "invalid_grant" }),
    );
  assert.match(await textOf(call("reveal")), /\(invalid_grant\)/);
});

test.onDatabases("two processes refresh a sign-in once, and exchange its token once each", async ({ kv, other }) => {
  using time = new MovedTime();
  await using at = await ExchangingProvider.start({ ttlSeconds: 7200 });
  await using one = await start(at, { kv });
  await using two = await start(at, { kv: other });
  const { client, tokens } = await signIn(one, at);
  time.tick(3555);
  const texts = await Promise.all(
    Array.from({ length: 20 }, (_, nth) => {
      client.server = nth % 2 === 0 ? one : two;
      return textOf(client.call(tokens.access_token, "mails"));
    }),
  );
  assert.deepEqual(new Set(texts), new Set(["200 mail of jo"]));
  assert.equal(at.exchanges.length, 2);
  const subjects = at.exchanges.map(({ subject_token }) => subject_token);
  assert.equal(new Set(subjects).size, 1);
});

Deno.test("a server without a provider that exchanges tokens says so at its start, at /ready and to a model", async () => {
  await using at = await ExchangingProvider.start();
  const rows: [Record<string, string>, setting: string, log: RegExp][] = [
    [
      { OAUTH_PROVIDER: "github", OAUTH_ISSUER: "" },
      "OAUTH_PROVIDER",
      /none of the providers exchanges tokens/,
    ],
    [
      { OAUTH_PROVIDER: "microsoft", OAUTH_PROVIDER_SCOPES: "openid" },
      "OAUTH_PROVIDER_SCOPES",
      /scope of this server's application/,
    ],
  ];
  for (const [env, setting, words] of rows) {
    const log = recordLog();
    await using server = await start(at, { ...log, env });
    await server.app.start();
    const told = log.events.find(({ message }) => words.test(message));
    assert.match(JSON.stringify(told), new RegExp(`"${setting}"`));
    const ready = await (await server.fetch("/ready")).json();
    assert.deepEqual(ready.missing, [setting]);
  }
  await using github = await startOAuthServer({ tools: toolsOf(at.declare()) });
  const call = await clientOf(github, "2026");
  assert.match(await textOf(call("mails")), /no provider of this server exch/);
});

Deno.test("a service from upstream is no service of durable work, and has no several accounts and no check", async () => {
  await using at = await ExchangingProvider.start();
  const mail = at.declare();
  const durable = tool({
    name: "later",
    task: { durable: true },
    needs: { mail },
    run: () => "done",
  });
  using kv = await Deno.openKv(":memory:");
  await assert.rejects(
    async () => await start(at, { kv, tools: [durable] }),
    /durable work outlasts the sign-in that opens mail/,
  );
  const api = "https://api.example.com";
  for (
    const options of [
      { several: true },
      { check: () => "ada" },
      { issuer: "https://id.example.com" },
      { scopes: ["two words"] },
      { api: "http://api.example.com" },
    ]
  ) {
    // @ts-expect-error: no such option, or a wrong one.
    const mail = account("mail", { from: "upstream", api, ...options });
    assert.equal(faultsIn({ needs: NEEDS }, { needs: { mail } }).length, 1);
  }
  // @ts-expect-error: nothing says where its API is.
  const nowhere = account("mail", { from: "upstream" });
  assert.deepEqual(faultsIn({ needs: NEEDS }, { needs: { nowhere } }), [
    'account("mail"): api is missing: it must be text',
  ]);
});
