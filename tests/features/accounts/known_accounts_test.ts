/**
 * Accounts as their services tell of them, by the scopes that they gave, by id
 * and by name; and the API that a pasted key is for.
 */
import assert from "node:assert/strict";
import { account } from "../../../src/mod.ts";
import type { OAuthAccountOptions } from "../../../src/mod.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import {
  clientOf,
  connect,
  linkOf,
  openConnect,
  startConnected,
} from "../../kit/connected.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime, MovedTime } from "../../kit/fake_time.ts";
import { keyOf, KeyService } from "../../kit/key_service.ts";
import { signInAt, startOpenIdProvider } from "../../kit/open_id_provider.ts";
import { BASE_URL } from "../../kit/server.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";
import { TokenService } from "../../kit/token_service.ts";
import { until } from "../../kit/wait.ts";

const PATH = "/connect/crm";

/** The check of a service whose accounts are called `ID NAME`. */
const check: OAuthAccountOptions["check"] = async (fetch) => {
  const response = await fetch("/me");
  if (!response.ok) return response;
  const [, id, label] = /^(\S+) (.*)$/.exec(await response.text())!;
  return { id, label };
};

/** Starts a server whose tools act at a service. */
function start(
  service: TokenService,
  options: Partial<OAuthAccountOptions> = {},
): Promise<OAuthServer> {
  const { environment } = service;
  return startConnected(service.declare(options), { environment });
}

/** Goes to the service and back, to the page of the account. */
async function allow(
  visitor: AccountVisitor,
  service: TokenService,
  as: string,
): Promise<string> {
  service.account = as;
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  await visitor.press(PATH, { answer: "connect" });
  return visitor.words;
}

/** Keeps the account that the page shows, and lists all of them. */
async function keep(visitor: AccountVisitor): Promise<string> {
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /is connected/);
  await visitor.look("/accounts");
  return visitor.words;
}

Deno.test("who did not allow all scopes sees which, can go there again, and is not asked in a loop", async () => {
  await using service = new TokenService();
  service.gives = "read";
  await using server = await start(service, { scopes: ["read", "write"] });
  const issuers = [service.origin];
  const visitor = await AccountVisitor.signIn(server, { issuers });
  const note = /Example CRM did not say that you allowed write ?\./;
  assert.match(await allow(visitor, service, "ada@acme"), note);
  await visitor.press(PATH, { answer: "back" });
  // At the service, and back again.
  assert.match(visitor.words, note);
  assert.equal(service.requests.length, 2);
  await until(() => service.revoked.length === 1);
  assert.deepEqual(service.revoked, ["crm-refresh-3"]);
  assert.match(
    await keep(visitor),
    /with the scopes read , not named: write/,
  );
  const call = await clientOf(server, "2026");
  assert.equal(await textOf(call("who")), "200 ada@acme");
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  assert.match(visitor.words, /Not allowed yet write/);
  service.gives = undefined;
  assert.doesNotMatch(await allow(visitor, service, "ada@acme"), /did not say/);
  assert.doesNotMatch(visitor.page.text, /again/);
  assert.match(await keep(visitor), /with the scopes read , write/);
  assert.doesNotMatch(visitor.words, /not named/);
});

Deno.test("scopes that a refresh gives no more are not shown any more", async () => {
  await using service = new TokenService();
  service.lifetime = 1;
  await using server = await start(service, { scopes: ["read", "write"] });
  const issuers = [service.origin];
  const visitor = await AccountVisitor.signIn(server, { issuers });
  await allow(visitor, service, "ada@acme");
  assert.match(await keep(visitor), /with the scopes read , write/);
  service.grants[0].scope = "read";
  const call = await clientOf(server, "2026");
  assert.equal(await textOf(call("who")), "200 ada@acme");
  await visitor.look("/accounts");
  assert.match(visitor.words, /with the scopes read , not named: write/);
});

Deno.test("two accounts of one name are two, by the id that the service tells, and one that was renamed stays one", async () => {
  await using service = new TokenService();
  await using server = await start(service, { several: true, check });
  const issuers = [service.origin];
  const visitor = await AccountVisitor.signIn(server, { issuers });
  assert.doesNotMatch(await allow(visitor, service, "7 Ada"), /kept as/);
  await keep(visitor);
  assert.match(
    await allow(visitor, service, "8 Ada"),
    /you are Ada there\. Another account of yours has that name: it is kept as Ada \(2\)/,
  );
  assert.doesNotMatch(visitor.words, /takes the place/);
  assert.match(await keep(visitor), /As Ada .* As Ada \(2\) /);
  const call = await clientOf(server, "2026");
  using time = new MovedTime();
  const as = async (name: string) => {
    time.tick(2);
    return await textOf(call("who", { account: name }));
  };
  assert.match(await textOf(call("who")), /: Ada, Ada \(2\)\. Name one/);
  assert.match(await as("Ada"), /^200 7 Ada/);
  assert.match(await as("Ada (2)"), /^200 8 Ada/);
  // The second again: it keeps its name, and no other tokens are revoked.
  assert.match(await allow(visitor, service, "8 Ada"), /place of Ada \(2\)/);
  await keep(visitor);
  assert.match(await allow(visitor, service, "7 Grace"), /place of Ada ,/);
  assert.match(await keep(visitor), /As Ada \(2\) .* As Grace /);
  assert.match(await as("Grace"), /^200 7 Grace/);
  // Work that has begun with the name before goes on with the same account.
  assert.match(await as("Ada"), /^200 7 Grace/);
  assert.match(await textOf(call("who")), /: Ada \(2\), Grace\. Name one/);
  // An account of its own that takes the name.
  await allow(visitor, service, "9 Ada");
  assert.match(await keep(visitor), /As Ada .* As Ada \(2\) .* As Grace /);
  assert.match(await as("Ada"), /^200 9 Ada/);
  assert.deepEqual(service.revoked, []);
});

Deno.test("another account of the same name that takes the only place has the old one revoked", async () => {
  await using service = new TokenService();
  await using server = await start(service, { check });
  const issuers = [service.origin];
  const visitor = await AccountVisitor.signIn(server, { issuers });
  await allow(visitor, service, "7 Ada");
  await keep(visitor);
  // The same one by another name, whose tokens may end together.
  await allow(visitor, service, "7 Grace");
  await keep(visitor);
  assert.match(await allow(visitor, service, "8 Grace"), /the place of Grace/);
  await keep(visitor);
  await until(() => service.revoked.length > 0);
  assert.deepEqual(service.revoked, ["crm-refresh-6"]);
});

Deno.test("an OpenID provider tells accounts of one name apart, and names the scopes that it gave", async () => {
  const redirectUri = `${BASE_URL}/connect/work/callback`;
  await using provider = await startOpenIdProvider(BASE_URL, { redirectUri });
  const { issuer, environment } = provider;
  const work = account("work", {
    issuer,
    api: issuer,
    scopes: ["openid", "profile", "tickets"],
    several: true,
  });
  await using server = await startConnected(work, {
    environment: {
      ACCOUNT_WORK_CLIENT_ID: environment.OAUTH_CLIENT_ID,
      ACCOUNT_WORK_CLIENT_SECRET: environment.OAUTH_CLIENT_SECRET,
    },
  });
  const path = "/connect/work";
  let words = "";
  for (const [as, name] of [["ada", "A"], ["eve", "A"], ["ada", "B"]]) {
    provider.claims = { email: undefined, name };
    // A browser of its own: the provider remembers who signed in.
    const visitor = await AccountVisitor.signIn(server, { issuers: [issuer] });
    visitor.page = await visitor.browser.open(BASE_URL + path);
    await visitor.press(path, { answer: "connect" });
    visitor.page = await signInAt(issuer, visitor.browser, visitor.page, as);
    assert.match(visitor.words, new RegExp(`you are ${name} there`));
    assert.match(visitor.words, /did not say that you allowed tickets/);
    assert.equal(/kept as A \(2\)/.test(visitor.words), as === "eve");
    await visitor.press(path, { answer: "connect" });
    await visitor.look("/accounts");
    words = visitor.words;
  }
  assert.match(words, /As A \(2\) .* As B /);
  assert.equal(words.match(/ As /g)?.length, 2);
});

Deno.test("a person names the account where its check tells no name, and a wrong name loses no key, until its time is over", async () => {
  using time = new MovedTime();
  await using service = new KeyService("ada@acme");
  const linear = service.key("linear", {
    several: true,
    check: async (fetch) => {
      const response = await fetch("/me");
      return response.ok ? undefined : response;
    },
  });
  await using server = await startConnected(linear);
  const page = "/connect/linear";
  const visitor = await openConnect(server);
  await visitor.press(page, { answer: "connect", key: keyOf("ada@acme") });
  assert.match(visitor.words, /does not say which account .* What to call/);
  await visitor.press(page, { answer: "connect", label: " " });
  assert.match(visitor.words, /Name the account.* Nothing was kept/);
  await visitor.press(page, { answer: "connect", label: "work" });
  assert.match(visitor.words, /Connected as work/);
  visitor.page = await visitor.browser.open(BASE_URL + page);
  await visitor.press(page, { answer: "connect", key: keyOf("ada@acme") });
  for (const words of [/Name the account/, /Paste the key/]) {
    time.tick(301);
    await visitor.press(page, { answer: "connect", label: " " });
    assert.match(visitor.words, words);
  }
});

test.inMemory("a pasted key goes to the API that its person was shown, and to no other of a later release", async ({ kv }) => {
  using time = new FakeTime();
  await using old = new KeyService("ada@acme");
  await using moved = new KeyService("ada@acme");
  const key = keyOf("ada@acme");
  {
    await using server = await startConnected(old.key(), { kv });
    await connect(await openConnect(server), key);
    const call = await clientOf(server, "2026");
    assert.equal(await textOf(call("who")), "200 ada@acme");
    // It was refused there: the page has a button to try it again.
    old.answer = () => new Response("", { status: 401 });
    await textOf(call("who"));
    await until(async () => (await resultOf(call("who"))).isError === true);
  }
  await using server = await startConnected(moved.key(), { kv });
  time.tick(2);
  const call = await clientOf(server, "2026");
  const result = await resultOf(call("who"));
  assert.match(
    result.content[0].text,
    new RegExp(`Your key of Linear was for ${old.url}, and is not sent else`),
  );
  const visitor = await openConnect(server, { link: linkOf(result) });
  await visitor.press("/connect/linear", { answer: "again" });
  assert.match(visitor.words, /not connected any more/);
  assert.deepEqual(moved.seen, []);
  visitor.page = await visitor.browser.open(linkOf(result));
  visitor.page = {
    ...visitor.page,
    text: visitor.page.text.slice(visitor.page.text.lastIndexOf("<form")),
  };
  await connect(visitor, key);
  assert.equal(await textOf(call("who")), "200 ada@acme");
});

/** Changes of an operator or of a release, while a person connects. */
const CHANGES: Record<
  string,
  (service: TokenService) => Partial<OAuthAccountOptions>
> = {
  "another application": (service) => {
    service.clientId = "another-app";
    return {};
  },
  "another scope": () => ({ scopes: ["read", "write"] }),
  "another API": ({ origin }) => ({ api: `${origin}/api/v2` }),
};

for (const [name, change] of Object.entries(CHANGES)) {
  test.inMemory(`${name} while a person connects is allowed anew, and nothing of before is kept under it`, async ({ kv, other }) => {
    await using service = new TokenService();
    const start = (kv: Deno.Kv, options = {}) =>
      startConnected(service.declare({ check: undefined, ...options }), {
        kv,
        environment: service.environment,
      });
    await using before = await start(kv);
    let server = before;
    const visitor = await AccountVisitor.signIn({
      fetch: (...request) => server.fetch(...request),
      provider: before.provider,
    });
    /** Leaves for the service, which gives the address of the way back. */
    const leave = async () => {
      const { url } = await visitor.press(PATH, { answer: "connect" });
      const response = await fetch(url, { redirect: "manual" });
      await response.body?.cancel();
      return response.headers.get("location")!;
    };
    const begin = async () => {
      visitor.page = await visitor.browser.open(BASE_URL + PATH);
      return await leave();
    };
    const away = await begin();
    visitor.page = await visitor.browser.open(await begin());
    assert.match(visitor.words, /Nothing is kept yet/);
    await using after = await start(other, change(service));
    server = after;
    const confirming = visitor.page;
    // One who comes back now.
    const codes = () => service.asked.filter((it) => it === "/token").length;
    const redeemed = codes();
    visitor.page = await visitor.browser.open(away);
    assert.equal(visitor.page.status, 400);
    assert.equal(codes(), redeemed);
    // One who confirms now is sent to the service again.
    visitor.page = confirming;
    visitor.page = await visitor.browser.open(await leave());
    assert.match(visitor.words, /Nothing is kept yet/);
    await visitor.press(PATH, { answer: "connect" });
    assert.match(visitor.words, /is connected/);
    const call = await clientOf(after, "2026");
    assert.match(await textOf(call("who")), /^200 ada@acme/);
    assert.equal(service.reused, 0);
  });
}
