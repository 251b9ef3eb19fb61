/**
 * Approvals by people with a scope: someone else than the caller decides, who
 * holds the permission now.
 */
import assert from "node:assert/strict";
import { taskKey } from "../../../src/core/kv/keys.ts";
import type { Json } from "../../kit/message.ts";
import {
  accountOf,
  emailsOf,
  mayDecide,
} from "../../../src/features/approvals/approver.ts";
import type { CallApproval } from "../../../src/features/approvals/call_approval.ts";
import { createServer } from "../../../src/server.ts";
import { tool, z } from "../../../src/mod.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { testServer } from "../../../packages/testing/mod.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { openTestKv } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import { Client } from "../../kit/client.ts";
import { startTwoProviders } from "../../kit/listed_providers.ts";
import { signInAt } from "../../kit/open_id_provider.ts";
import { BASE_URL, IMPLEMENTATION, startServer } from "../../kit/server.ts";
import {
  type OAuthServer,
  type OAuthServerOptions,
  startOAuthServer,
} from "../../kit/sign_in.ts";
import {
  CALL,
  type Call,
  clientOf,
  followTask,
  FORMS,
  linkOf,
  PAYLOAD,
  press,
} from "./approving.ts";

const ran: unknown[] = [];

const pay = tool({
  name: "pay",
  input: z.object({ cents: z.int() }),
  approval: {
    by: { scope: "pay:approve" },
    show: ({ cents }) => ({ title: `Pay ${cents}` }),
  },
  run({ cents }, { approval }) {
    ran.push([cents, approval?.by]);
    return `paid ${cents}`;
  },
});

const SECRET = "s".repeat(40);
const PERMISSIONS = "boss@example.com=pay:approve;two@example.com=pay:approve";

function start(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  ran.length = 0;
  return startOAuthServer({
    tools: [pay],
    ...options,
    environment: { OAUTH_PERMISSIONS: PERMISSIONS, ...options.environment },
  });
}

/** Signs someone in, and opens a link. */
async function visit(
  server: OAuthServer,
  link: string,
  as: string,
  email: string,
): Promise<AccountVisitor> {
  const visitor = await AccountVisitor.signIn(server, { as, email });
  visitor.page = await visitor.browser.open(link);
  return visitor;
}

/** Asks for a payment as the person 42. */
async function ask(server: OAuthServer, email = "jo@example.com") {
  server.provider.email = email;
  const call = await clientOf(server, "2026");
  const result = await resultOf(call("pay", { cents: 5 }));
  assert.match(
    result.content[0].text,
    /Someone else, who has the permission pay:approve, has to approve by [-:\d ]+ UTC: Pay 5/,
  );
  return { call, link: linkOf(result) };
}

Deno.test("someone else with the scope finds the call in their list, and approves it once", async () => {
  const { log, events } = recordLog();
  await using server = await start({ log });
  const { call, link } = await ask(server);
  const caller = await visit(server, link, "42", "jo@example.com");
  assert.match(caller.words, /It waits for someone else, .* pay:approve/);
  assert.doesNotMatch(caller.page.text, /value="approve"/);
  assert.doesNotMatch(await caller.look(), /Wants your approval/);
  const boss = await visit(server, link, "1", "boss@example.com");
  // The name is chosen freely; the provider vouches for the address.
  assert.match(boss.words, /Pay 5 .* For whom Jo .*\( ?jo@example\.com ?\)/);
  assert.match(
    await boss.look(),
    /Wants your approval: Pay 5.* Asked by Jo .*\( ?jo@example\.com ?\) ?, with/,
  );
  boss.page = await boss.browser.open(link);
  await press(boss, "approve");
  assert.match(boss.words, /Approved\. It begins/);
  assert.doesNotMatch(await boss.look(), /Wants your approval/);
  const pages = [await caller.look("/calls")];
  caller.page = await caller.browser.open(link);
  pages.push(caller.words);
  for (const words of pages) assert.doesNotMatch(words, /boss@|github:1\b/);
  assert.equal(await textOf(call("pay", { cents: 5 })), "paid 5");
  assert.deepEqual(ran, [[5, "github:1"]]);
  const { properties } = events.find(({ message }) =>
    message === "A call was approved"
  )!;
  assert.deepEqual(
    [properties.subject, properties.owner],
    ["github:1", "github:42"],
  );
});

Deno.test("the list of those who approve begins with what ends first, and says exactly when there is more", async () => {
  using time = new FakeTime();
  await using server = await start({ environment: { CALLS_PER_MINUTE: "0" } });
  const boss = await AccountVisitor.signIn(server, {
    as: "1",
    email: "boss@example.com",
  });
  server.provider.email = "jo@example.com";
  const listed = async () => {
    const words = await boss.look();
    return [...words.matchAll(/Wants your approval: Pay (\d+)/g)]
      .map(([, cents]) => Number(cents));
  };
  const asked: number[] = [];
  const askFor = async (call: Call) => {
    const cents = 100 + asked.length;
    asked.push(cents);
    linkOf(await resultOf(call("pay", { cents })));
  };
  for (const as of ["601", "602"]) {
    for (let client = 0; client < 4; client++) {
      const call = await clientOf(server, "2026", { as });
      for (let n = 0; n < 25; n++) {
        await askFor(call);
        time.tick(1);
      }
    }
  }
  const [first, last] = [asked[0], asked.at(-1)!];
  const all = await listed();
  assert.deepEqual([...all].sort((a, b) => a - b), asked);
  assert.deepEqual([all[0], all.at(-1)], [first, last]);
  assert.doesNotMatch(boss.words, /There are more/);
  await askFor(await clientOf(server, "2026", { as: "603" }));
  const most = await listed();
  assert.equal(most.length, 200);
  assert.equal(most[0], first);
  assert.ok(!most.includes(asked.at(-1)!));
  assert.match(
    boss.words,
    /There are more\. These 200 have to be answered first\./,
  );
});

Deno.test("a task that has ended, and a connection that is paused, leave nothing in a list to approve", async () => {
  const { log } = recordLog();
  const work = { ...pay, name: "long", task: "optional" } as const;
  await using server = await start({ log, tools: [pay, work] });
  server.provider.email = "jo@example.com";
  server.provider.subject = "42";
  const { headers } = await server.person();
  const input = { cents: 7 };
  const { taskId } = await followTask(server, { headers, name: "long", input });
  const boss = await AccountVisitor.signIn(server, {
    as: "1",
    email: "boss@example.com",
  });
  assert.match(await boss.look(), /Wants your approval: Pay 7/);
  // As if its process had died.
  const { key, value } = await server.kv.get<Json>(taskKey(taskId));
  await server.kv.set(key, { ...value, status: "failed" });
  assert.doesNotMatch(await boss.look(), /Wants your approval/);

  const { link } = await ask(server);
  assert.match(await boss.look(), /Wants your approval: Pay 5/);
  const caller = await visit(server, link, "42", "jo@example.com");
  await caller.look();
  for (let n = 0; n < 2; n++) await caller.press("/account/pause");
  assert.doesNotMatch(await boss.look(), /Wants your approval/);
  boss.page = await boss.browser.open(link);
  assert.equal(boss.page.status, 404);
});

Deno.test("a caller never approves their own call, also not as another subject with their address; others need the scope", async () => {
  await using server = await start();
  const { call, link } = await ask(server, "boss@example.com");
  const forms = await visit(server, link, "1", "two@example.com");
  const { page } = forms;
  for (
    const [as, email, status] of [
      ["42", "boss@example.com", 200],
      ["43", "Boss@example.com", 404],
      ["7", "nobody@example.com", 404],
    ] as const
  ) {
    const visitor = await visit(server, link, as, email);
    assert.equal(visitor.page.status, status, email);
    assert.doesNotMatch(await visitor.look(), /Wants your approval/);
    // The form of another page, with their own token.
    const csrf = /name="csrf" value="([^"]*)"/.exec(visitor.page.text)![1];
    const text = page.text.replace(
      /name="csrf" value="[^"]*"/,
      () => `name="csrf" value="${csrf}"`,
    );
    visitor.page = { ...page, text };
    await press(visitor, "approve");
    assert.doesNotMatch(visitor.words, /Approved/);
  }
  linkOf(await resultOf(call("pay", { cents: 5 })));
  assert.deepEqual(ran, []);
});

Deno.test("an address that is no longer verified, or is another provider's to verify, still tells that the caller is the approver", async () => {
  using time = new FakeTime();
  await using server = await start();
  Object.assign(server.provider, {
    givesRefreshTokens: false,
    subject: "42",
    email: "boss@example.com",
  });
  const { client, tokens } = await server.person();
  // No one can be asked whether the address is still theirs.
  time.tick(25 * 3600);
  const { body } = await client.refresh(tokens.refresh_token);
  const ask = (token: string) =>
    resultOf(client.call(token, "pay", { cents: 5 }));
  const stale = linkOf(await ask(body.access_token));
  const other = await visit(server, stale, "43", "boss@example.com");
  assert.equal(other.page.status, 404);
  assert.equal(
    (await visit(server, stale, "2", "two@example.com")).page.status,
    200,
  );

  await using two = await startTwoProviders();
  const claims = { email: "boss@example.com", email_verified: true };
  Object.assign(two.partner, { claims });
  Object.assign(two.work, { claims });
  await using guarded = await startServer({
    kv: two.kv,
    tools: [pay],
    env: {
      ...two.environment,
      OAUTH_PERMISSIONS: PERMISSIONS,
      OAUTH_WORK_PROVIDER_DOMAINS: "example.com",
    },
  });
  const app = await Client.register(guarded);
  const browser = two.browser(guarded);
  const consent = await browser.open(app.authorizationUrl());
  const chooser = await browser.press(consent, "decision", "approve");
  const away = await browser.press(chooser, "provider", "partner");
  const back = await signInAt(two.partner.issuer, browser, away);
  const partner = (await app.redeem(app.codeFrom(back))).body;
  const called = await resultOf(
    app.call(partner.access_token, "pay", { cents: 5 }),
  );
  const boss = two.browser(guarded);
  const account = await boss.open(`${BASE_URL}/account`);
  const form = formOf(account, "/account/sign-in");
  const gone = await boss.press(form, "provider", "work");
  await signInAt(two.work.issuer, boss, gone);
  assert.equal((await boss.open(linkOf(called))).status, 404);
});

Deno.test("mayDecide() knows the caller's address in every spelling", () => {
  const may = (asks: string, presses: string) => {
    const identityOf = (email: string) => ({ subject: "1", email });
    const addresses = emailsOf({ subject: "a", identity: identityOf(asks) });
    return mayDecide({
      ...CALL,
      approval: { ...CALL.approval, scope: "pay:approve" },
      payload: { ...PAYLOAD, caller: { ...PAYLOAD.caller, addresses } },
    } as unknown as CallApproval, {
      subject: "b",
      identity: identityOf(presses),
      scopes: ["pay:approve"],
    });
  };
  for (
    const [one, other] of [
      ["ann@example.com", "ANN@EXAMPLE.COM"],
      ["ann@école.fr", "ann@xn--cole-9oa.fr"],
      ["ann@école.fr", "ann@ÉCOLE.fr"],
      ["ann@école.fr", "ann@e\u0301cole.fr"],
      ["ann@straße.de", "ann@xn--strae-oqa.de"],
      ["strauß@example.com", "STRAUSS@example.com"],
      ["ann@example.com", "ann@example.com."],
      ["ann@example.com", "ann@example\u3002com"],
      ["ann@example.com", " ann@example.com\n"],
      ["ann@example.com", "a\u200bnn@example.com"],
      ["ann@example.com", "ａnn@example.com"],
      ["ann@example.com", '"ann"@example.com'],
      ["ÉVA@example.com", "e\u0301va@example.com"],
      ["no address", "NO ADDRESS."],
    ]
  ) {
    assert.equal(may(one, other), false, `${one} ${other}`);
    assert.equal(may(other, one), false, `${other} ${one}`);
  }
  for (const other of ["anne@example.com", "ann@example.org", "ann"]) {
    assert.equal(may("ann@example.com", other), true, other);
  }
});

Deno.test("accountOf() is a verified address, or else the subject", () => {
  const identity = { subject: "42", name: "Jo", email: "Jo@example.com" };
  const of = (emailVerified?: boolean) =>
    accountOf({ subject: "a:42", identity: { ...identity, emailVerified } });
  assert.equal(of(true), "jo@example.com");
  assert.equal(of(false), "a:42");
  assert.equal(of(), "a:42");
  assert.equal(accountOf({ subject: "machine" }), "machine");
});

Deno.test("the permission counts as it is now, and a refusal reaches the model", async () => {
  await using kv = await openTestKv();
  await using server = await start({ kv });
  const { call, link } = await ask(server);
  const boss = await visit(server, link, "1", "boss@example.com");
  await using changed = await start({
    kv,
    provider: server.provider,
    environment: { OAUTH_PERMISSIONS: "two@example.com=pay:approve" },
  });
  const { page } = boss;
  const there = await AccountVisitor.signIn(changed, {
    as: "1",
    email: "boss@example.com",
  });
  assert.equal((await there.browser.open(link)).status, 404);
  boss.page = page;
  const two = await visit(changed, link, "2", "two@example.com");
  await press(two, "refuse", "Not this month");
  assert.match(
    await textOf(call("pay", { cents: 5 })),
    /refused this, and said: "Not this month"/,
  );
  assert.deepEqual(ran, []);
});

Deno.test("a machine's call waits for a person with the scope", async () => {
  await using server = await start({
    environment: {
      OAUTH_CLIENTS: JSON.stringify([{
        client_id: "machine",
        grant_types: ["client_credentials"],
        client_secret_env: "OAUTH_CLIENT_SECRET_MACHINE",
      }]),
      OAUTH_CLIENT_SECRET_MACHINE: SECRET,
    },
  });
  const response = await server.form("/token", {
    grant_type: "client_credentials",
    client_id: "machine",
    client_secret: SECRET,
    resource: "http://127.0.0.1:3000/mcp",
  });
  const { access_token } = await response.json();
  const call = () =>
    server.call("tools/call", { name: "pay", arguments: { cents: 9 } }, {
      headers: { authorization: `Bearer ${access_token}` },
      capabilities: FORMS,
    });
  const link = linkOf(await resultOf(call()));
  const boss = await visit(server, link, "1", "boss@example.com");
  await press(boss, "approve");
  assert.equal(await textOf(call()), "paid 9");
  assert.deepEqual(ran, [[9, "github:1"]]);
});

Deno.test("a scope to approve needs permissions, and no client is asked for it", async () => {
  using kv = memoryKv();
  const env = {
    AUTH_STRATEGY: "oauth",
    BASE_URL: "https://tools.example.com",
    OAUTH_PROVIDER: "github",
    OAUTH_CLIENT_ID: "our-client",
    OAUTH_CLIENT_SECRET: "our-secret",
  };
  assert.throws(
    () => createServer({ ...IMPLEMENTATION, kv, env, tools: [pay] }),
    /OAUTH_PERMISSIONS.*people who may approve, by the scope pay:approve/s,
  );
  await using server = await start();
  const metadata = await server.fetch(
    "/.well-known/oauth-protected-resource/mcp",
  );
  assert.doesNotMatch(await metadata.text(), /pay:approve/);
});

Deno.test("the kit presses as someone else for a call that waits", async () => {
  ran.length = 0;
  await using server = await testServer({ tools: [pay] });
  const ann = server.as({ subject: "ann", clientId: "app" });
  const waiting = ann.call(pay, { cents: 7 });
  const boss = server.as({ subject: "bo", scopes: ["pay:approve"] });
  const { title } = await boss.approve(pay);
  assert.equal(title, "Pay 7");
  assert.equal((await waiting).text, "paid 7");
  const own = ann.call(pay, { cents: 8 });
  await assert.rejects(ann.approve(), /No call of a tool waits/);
  const other = server.as({ subject: "cy", scopes: ["other"] });
  await assert.rejects(other.approve(), /No call of a tool waits/);
  await boss.refuse("No");
  assert.match((await own).text, /and said: "No"/);
  assert.deepEqual(ran, [[7, "bo"]]);
});
