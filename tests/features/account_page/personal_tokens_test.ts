import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { fingerprint } from "../../../src/core/crypto/crypto.ts";
import type { Arrival, Browser } from "../../kit/browser.ts";
import { BASE_URL } from "../../kit/server.ts";
import { callWith } from "../../kit/client.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import { recordLog } from "../../kit/log.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import { until } from "../../kit/wait.ts";
import { accountSessionStore } from "../../../src/features/account_page/account_sessions.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const DAY = 24 * 60 * 60;
const tools = [
  tool({ name: "whoami", run: (_, { caller }) => JSON.stringify(caller) }),
  tool({ name: "mail", scopes: ["mail:read"], run: () => "mail" }),
  tool({ name: "send", scopes: ["mail:send"], run: () => "sent" }),
];

function start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  return startOAuthServer({ tools, ...options });
}

/** Signs someone in where they make their tokens. */
async function signIn(
  server: OAuthServer,
  who: { as?: string; email?: string } = {},
): Promise<AccountVisitor> {
  return await (await AccountVisitor.signIn(server, who)).openFresh("/tokens");
}

/** Fills in the form; the test browser ticks every box by itself. */
async function make(
  { browser, page }: { browser: Browser; page: Arrival },
  fields: Record<string, string> = {},
): Promise<{ page: Arrival; token: string }> {
  const made = await browser.press(
    formOf(page, "/account/tokens"),
    "",
    "",
    { name: "Backup", days: "30", "scope.mail:send": "", ...fields },
  );
  const [token = ""] = /tsp_\w{58}/.exec(made.text) ?? [];
  return { page: made, token };
}

/** Sends the form of someone whose page does not have it. */
async function makeUnasked(
  { browser, page }: { browser: Browser; page: Arrival },
): Promise<{ page: Arrival; token: string }> {
  const { text } = formOf(page, "/account/sign-out");
  const press = (action: string) => ({
    ...page,
    text: text.replace("sign-out", action),
  });
  const fresh = { fresh: "on", back: "data" };
  const back = await browser.press(press("sign-in"), "", "", fresh);
  const [csrf] = /(?<=name="csrf" value=")[^"]*/.exec(back.text)!;
  return await make({ browser, page: press("tokens") }, { csrf });
}

Deno.test("POST /account/tokens makes a token that is shown on its page alone and acts as its person", async () => {
  await using server = await start();
  const signedIn = await signIn(server);
  const { page, token } = await make(signedIn);
  assert.match(page.text, /Copy it now/);
  assert.equal(page.headers.get("cache-control"), "no-store");
  const { subject, door, clientId, scopes } = JSON.parse(
    (await callWith(server, token)).text,
  );
  assert.deepEqual({ subject, door, clientId, scopes }, {
    subject: "github:42",
    door: "token",
    clientId: undefined,
    scopes: ["mail:read"],
  });
  assert.equal((await callWith(server, token, "mail")).text, "mail");
  assert.equal((await callWith(server, token, "send")).status, 403);
  const again = await signedIn.browser.open(`${BASE_URL}/account/tokens`);
  assert.match(again.text, /Backup/);
  assert(!again.text.includes(token));
  // It is the person's own, and belongs to no app.
  const apps = await signedIn.browser.open(`${BASE_URL}/account`);
  assert.match(apps.text, /No app is connected/);
});

Deno.test("loading the page of a new token again makes no other, and shows it to its browser alone", async () => {
  await using server = await start();
  const { browser, page } = await signIn(server);
  const { page: made, token } = await make({ browser, page });
  const { pathname, searchParams } = new URL(made.url);
  assert.equal(pathname, "/account/tokens");
  const again = await browser.open(made.url);
  assert(again.text.includes("Backup"));
  assert(again.text.includes(token));
  const grants = await Array.fromAsync(server.kv.list({ prefix: ["grant"] }));
  assert.equal(grants.length, 1);
  // Nor does someone else who knows its address see it.
  const { token: second, page: unseen } = await make({ browser, page: again });
  assert.notEqual(second, token);
  const other = await signIn(server, { as: "43" });
  for (const { url } of [made, unseen]) {
    assert(!(await other.browser.open(url)).text.includes("tsp_"));
  }
  assert.match(searchParams.get("made")!, /^\w{22}$/);
});

Deno.test("a new token is shown for five minutes, to its browser alone", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");
  const database = new Database(kv);
  const sessions = accountSessionStore(database);
  await database.commit(await sessions.keepMade("mine", "grant", "tsp_1"));
  assert.equal(await sessions.findMade("other", "grant"), undefined);
  assert.equal(await sessions.findMade("mine", "other"), undefined);
  time.tick(299);
  assert.equal(await sessions.findMade("mine", "grant"), "tsp_1");
  time.tick(1);
  assert.equal(await sessions.findMade("mine", "grant"), undefined);
});

Deno.test("a made token is in the database as a fingerprint only", async () => {
  await using server = await start();
  const { token } = await make(await signIn(server));
  const entries = await Array.fromAsync(server.kv.list({ prefix: [] }));
  const stored = Deno.inspect(entries, { depth: 10, strAbbreviateSize: 1e6 });
  assert(stored.includes(fingerprint(token)));
  assert(!stored.includes(token));
});

Deno.test("a made token is good at another process, and ends on its day", async () => {
  using time = new FakeTime();
  using kv = await Deno.openKv(":memory:");

  await using server = await start({ kv });
  await using other = await start({ kv });
  const { token } = await make(await signIn(server), { days: "7" });
  assert.equal((await callWith(other, token)).status, 200);
  time.tick(7 * DAY - 1);
  assert.equal((await callWith(other, token)).status, 200);
  time.tick(1);
  assert.equal((await callWith(other, token)).status, 401);
});

Deno.test("POST /account/end ends a made token within a second", async () => {
  using time = new FakeTime();
  await using server = await start();
  const { browser, page } = await signIn(server);
  const { page: made, token } = await make({ browser, page });
  assert.equal((await callWith(server, token)).status, 200);
  const after = await browser.press(formOf(made, "/account/end"), "", "");
  assert.match(after.text, /Ended: “<bdi>Backup \(access token\)</);
  assert.doesNotMatch(after.text, /Made <time/);
  time.tick(1);
  assert.equal((await callWith(server, token)).status, 401);
});

Deno.test("POST /revoke ends a made token for anyone who holds it", async () => {
  using time = new FakeTime();
  await using server = await start();
  const { token } = await make(await signIn(server));
  assert.equal((await callWith(server, token)).status, 200);
  const response = await server.form("/revoke", { token });
  assert.equal(response.status, 200);
  time.tick(1);
  assert.equal((await callWith(server, token)).status, 401);
});

Deno.test("the first use of a made token is written, and the last once a minute", async () => {
  using time = new FakeTime();
  await using server = await start();
  const { browser, page } = await signIn(server);
  const { token } = await make({ browser, page });
  const usedAt = async () => {
    const [{ value }] = await Array.fromAsync(
      server.kv.list<{ usedAt: number }>({ prefix: ["grant"] }),
    );
    return value.usedAt;
  };
  const madeAt = await usedAt();
  const shown = await browser.open(`${BASE_URL}/account/tokens`);
  assert.match(shown.text, /never used/);
  time.tick(20);
  await callWith(server, token);
  await until(async () => await usedAt() === madeAt + 20);
  time.tick(59);
  await callWith(server, token);
  assert.equal(await usedAt(), madeAt + 20);
  time.tick(2);
  await callWith(server, token);
  await until(async () => await usedAt() === madeAt + 81);
  const after = await browser.open(`${BASE_URL}/account/tokens`);
  assert.match(after.text, /last used/);
});

Deno.test("an operator sees whose tokens there are, and ends them", async () => {
  using time = new FakeTime();
  await using server = await start({
    environment: { OAUTH_ADMINS: "ops@example.com" },
  });
  const signedIn = await signIn(server);
  const tokens = [(await make(signedIn)).token, (await make(signedIn)).token];
  const { browser, page } = await AccountVisitor.signIn(server, {
    as: "1",
    email: "ops@example.com",
    at: "/people",
  });
  assert.match(page.text, /Backup \(access token\)/);
  for (const left of [1, 0]) {
    // The first form ends everything of the person.
    await browser.press(formOf(page, "/account/end", 2 - left), "", "");
    time.tick(1);
    const answers = await Promise.all(tokens.map((it) => callWith(server, it)));
    assert.equal(answers.filter((it) => it.status === 200).length, left);
  }
});

Deno.test("another person ends no one's token", async () => {
  await using server = await start();
  const first = await make(await signIn(server));
  const [, id] = /name="grants" value="(\w+)"/.exec(first.page.text)!;
  const other = await signIn(server, { as: "43" });
  const own = await make(other);
  await other.browser.press(formOf(own.page, "/account/end"), "", "", {
    grants: id,
  });
  assert.equal((await callWith(server, first.token)).status, 200);
});

Deno.test("a made token ends where its person may no longer sign in", async () => {
  using kv = await Deno.openKv(":memory:");

  await using server = await start({ kv });
  const { token } = await make(await signIn(server));
  await using strict = await start({
    kv,
    environment: { OAUTH_ALLOWED_USERS: "else@example.com" },
  });
  assert.equal((await callWith(strict, token)).status, 401);
});

for (
  const [what, fields, message] of [
    ["without a name", { name: " " }, /name must be 1 to 80/],
    ["with a long name", { name: "x".repeat(81) }, /name must be 1 to 80/],
    ["with a line break in its name", { name: "a\nb" }, /name must be 1 to 80/],
    ["without an end", { days: "" }, /days must be one of/],
    ["for longer than there is", { days: "366" }, /days must be one of/],
    ["by a page of another session", { csrf: "x.y" }, /signed in|sign in/i],
  ] as const
) {
  Deno.test(`POST /account/tokens makes none ${what}`, async () => {
    await using server = await start();
    const { page, token } = await make(await signIn(server), fields);
    assert(page.status >= 400, String(page.status));
    assert.match(page.text, message);
    assert.equal(token, "");
  });
}

for (
  const [who, environment] of [
    ["is on no list of who may sign in", {
      OAUTH_ALLOWED_USERS: "else@example.com",
    }],
    ["is in no group, where everything needs a permission", {
      OAUTH_PERMISSIONS: "org:acme=*",
    }],
  ] as const
) {
  Deno.test(`a person who ${who} is told that no token would open anything`, async () => {
    const tools = [tool({ name: "read", scopes: ["read"], run: () => "read" })];
    await using server = await startOAuthServer({ tools, environment });
    const signedIn = await signIn(server);
    const { text } = signedIn.page;
    assert.match(text, /You may use nothing here, and nor may a token of you/);
    assert.doesNotMatch(text, /action="\/account\/tokens"/);
    const { page, token } = await makeUnasked(signedIn);
    assert.equal(page.status, 403);
    assert.match(page.text, /This account may not use this server/);
    assert.equal(token, "");
  });
}

Deno.test("POST /account/tokens gives no scope that the server does not have", async () => {
  await using server = await start();
  const { token } = await make(await signIn(server), { "scope.admin": "on" });
  const { scopes } = JSON.parse((await callWith(server, token)).text);
  assert.deepEqual(scopes, ["mail:read"]);
});

Deno.test("POST /account/tokens makes fifty, and no more before one ends", async () => {
  await using server = await start();
  const signedIn = await signIn(server);
  let last = await make(signedIn);
  for (let count = 2; count <= 50; count++) last = await make(signedIn);
  assert.notEqual(last.token, "");
  const refused = await make(signedIn);
  assert.deepEqual([refused.page.status, refused.token], [409, ""]);
  await signedIn.browser.press(formOf(last.page, "/account/end"), "", "");
  assert.notEqual((await make(signedIn)).token, "");
});

Deno.test("POST /account/tokens makes none for someone whose everything ends just before its commit", async () => {
  using kv = await Deno.openKv(":memory:");
  const sessions = accountSessionStore(new Database(kv));
  let isEnding = false;
  const slow = kvWith(kv, {
    atomic: atomicWith(kv, async (commit) => {
      if (isEnding) await sessions.endAllOf("github:42");
      return await commit();
    }),
  });
  await using server = await start({ kv: slow });
  const signedIn = await signIn(server);
  isEnding = true;
  assert.equal((await make(signedIn)).page.status, 403);
  const grants = await Array.fromAsync(kv.list({ prefix: ["grant"] }));
  assert.deepEqual(grants, []);
});

for (
  const [most, offered] of [
    ["365", ["7", "30", "90", "365"]],
    ["90", ["7", "30", "90"]],
    ["10", ["7", "10"]],
  ] as const
) {
  Deno.test(`the page offers no end of a token twice, nor one after the ${most} days of the operator`, async () => {
    const environment = { OAUTH_PERSONAL_TOKEN_DAYS: most };
    await using server = await start({ environment });
    const { page } = await signIn(server);
    const days = [...page.text.matchAll(/<option value="(\d+)"/g)];
    assert.deepEqual(days.map(([, day]) => day), offered);
  });
}

Deno.test("the page says that a token opens nothing that needs a permission, to who may have none", async () => {
  const environment = { OAUTH_PERMISSIONS: "org:acme=*" };
  await using server = await start({ environment });
  const none = /You may use nothing here that needs a permission/;
  assert.match((await signIn(server)).words, none);
  server.provider.memberships = { organizations: ["acme"] };
  const member = await signIn(server);
  assert.match(member.words, /It may use/);
  assert.doesNotMatch(member.words, none);
  // Nor to anyone where nothing needs one.
  await using open = await startOAuthServer();
  const anyone = await signIn(open);
  assert.doesNotMatch(anyone.words, none);
});

Deno.test("POST /account/tokens makes none without a sign-in of the last five minutes at which the provider asked, and the log has each that it makes", async () => {
  using time = new FakeTime();
  const { log, events } = recordLog();
  await using server = await start({ log });
  const visitor = await AccountVisitor.signIn(server, { at: "/tokens" });
  // They are signed in since a moment ago; who knows if they were asked then.
  assert.doesNotMatch(visitor.words, /Make a token/);
  const out = formOf(visitor.page, "/account/sign-out");
  const text = out.text.replace("sign-out", "tokens");
  const unasked = await make({ ...visitor, page: { ...out, text } });
  assert.deepEqual([unasked.page.status, unasked.token], [403, ""]);
  // A browser applies the policy to the redirect to the provider too.
  const policy = visitor.page.headers.get("content-security-policy")!;
  assert.doesNotMatch(policy, /form-action/);
  await visitor.press("/account/sign-in");
  assert.equal(server.provider.asked?.isFresh, true);
  time.tick(5 * 60 - 1);
  assert.notEqual((await make(visitor)).token, "");
  time.tick(1);
  const late = await make(visitor);
  assert.deepEqual([late.page.status, late.token], [403, ""]);
  assert.match(late.page.text, /Only a sign-in of the last 5 minutes/);
  // A token that was made before can be ended without such a sign-in.
  await visitor.look("/tokens");
  assert.match((await visitor.press("/account/end")).text, /Ended: /);
  const made = events.filter(({ message }) => /token made/.test(message));
  assert.deepEqual(made.map(({ properties }) => properties.subject), [
    "github:42",
  ]);
});
