/**
 * Ways to come to another person's account at a service, or to put one into
 * their place: none lets anyone in.
 */
import assert from "node:assert/strict";
import { JWT_BEARER_GRANT_TYPE } from "../../../src/core/oauth/client.ts";
import { openRegister } from "../../../packages/operate/register.ts";
import { runCommand } from "../../../packages/operate/run_command.ts";
import { accountKey } from "../../../src/core/kv/keys.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { resultOf, statusOf, textOf } from "../../kit/answer.ts";
import { startAssertionProvider } from "../../kit/assertion_provider.ts";
import { Client } from "../../kit/client.ts";
import {
  type Call,
  callBy,
  clientOf,
  connect,
  linkOf,
  openConnect,
  startConnected,
} from "../../kit/connected.ts";
import { keyOf, KeyService, OTHER_SECRETS_KEY } from "../../kit/key_service.ts";
import { keyServer } from "../../kit/key_server.ts";
import { silentLogger } from "../../kit/log.ts";
import { BASE_URL } from "../../kit/server.ts";
import type { OAuthServer } from "../../kit/sign_in.ts";
import { test } from "../../kit/databases.ts";
import { now } from "../../../src/core/clock.ts";

const ADA = "ada@acme";
const EVE = "eve@acme";

/** The places of two people: Ada has connected an account, Eve has not. */
async function scene(kv?: Deno.Kv, environment?: Record<string, string>) {
  const service = new KeyService(ADA, EVE);
  const linear = service.key();
  const server = await startConnected(linear, { kv, environment });
  const ada = await clientOf(server, "2026", { as: "ada" });
  const visitor = await openConnect(server, { as: "ada" });
  await connect(visitor, keyOf(ADA));
  assert.equal(await textOf(ada("who")), `200 ${ADA}`);
  return {
    service,
    linear,
    server,
    ada,
    visitor,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Checks that a caller has no account here, and is only asked to connect one. */
async function checkHasNone(call: Call): Promise<void> {
  assert.match(linkOf(await resultOf(call("who"))), /connect\/linear\?w=/);
}

Deno.test("another person reaches nothing with their own clients", async () => {
  await using at = await scene();
  for (const generation of ["2025", "2026"] as const) {
    await checkHasNone(await clientOf(at.server, generation, { as: "eve" }));
  }
});

Deno.test("another client of the same person is told on the consent page what it reaches", async () => {
  await using at = await scene();
  const client = await Client.register(at.server);
  const consent = await at.visitor.browser.open(client.authorizationUrl());
  const words = consent.text.replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ");
  const day = new Date().toISOString().slice(0, 10);
  assert.ok(
    words.includes(
      `Where else it can act as you With tools that need it: Linear , which you`,
    ),
    words,
  );
  assert.ok(words.includes(day));
  // Before anyone has signed in, the page knows what, and not since when.
  const other = await at.server.browser().open(client.authorizationUrl());
  assert.match(other.text, /Linear<\/strong>, once you have connected it/);
});

Deno.test("a link that was made for one person is no use to another, and fills no place but theirs", async () => {
  await using at = await scene();
  const eve = await clientOf(at.server, "2026", { as: "eve" });
  const link = linkOf(await resultOf(eve("who")));
  // Eve sends it to Ada, who is signed in here.
  at.visitor.page = await at.visitor.browser.open(link);
  assert.equal(at.visitor.page.status, 404);
  assert.match(at.visitor.words, /this link is for someone else/);
  // Without the name of the call it connects Ada's own.
  at.service.accounts.set("lin_second", "ada@second");
  at.visitor.page = await at.visitor.browser.open(link.split("?")[0]);
  await connect(at.visitor, "lin_second");
  await checkHasNone(eve);
  // With it in the form, Eve's call is told nothing.
  const page = await at.visitor.browser.open(link.split("?")[0]);
  await at.visitor.browser.press(page, "answer", "not-now", {
    w: new URL(link).searchParams.get("w")!,
  });
  await checkHasNone(eve);
});

Deno.test("a form counts in the browser, and for the person, that it was made for", async () => {
  await using at = await scene();
  const eve = await AccountVisitor.signIn(at.server, { as: "eve" });
  const page = await eve.browser.open(`${BASE_URL}/connect/linear`);
  const fields = { key: keyOf(EVE), answer: "connect" };
  const send = async (browser: AccountVisitor["browser"], form = page) =>
    (await browser.press(form, "", "", fields)).status;
  // Another browser, without a session, and with another person's.
  assert.equal(await send(at.server.browser()), 403);
  assert.equal(await send(at.visitor.browser), 403);
  // The account was switched in another tab.
  at.server.provider.subject = "ada";
  const account = await eve.browser.open(`${BASE_URL}/account`);
  await eve.browser.press(formOf(account, "/account/sign-out"), "", "");
  const out = await eve.browser.open(`${BASE_URL}/account`);
  await eve.browser.press(formOf(out, "/account/sign-in"), "", "");
  assert.equal(await send(eve.browser), 403);
  assert.equal(await textOf(at.ada("who")), `200 ${ADA}`);
  await checkHasNone(await clientOf(at.server, "2026", { as: "eve" }));
});

Deno.test("a page that was confirmed counts for its session alone", async () => {
  await using at = await scene();
  const eve = await openConnect(at.server, { as: "eve" });
  await eve.press("/connect/linear", { answer: "connect", key: keyOf(EVE) });
  const checked = /name="checked" value="([^"]*)"/.exec(eve.page.text)![1];
  const ada = await openConnect(at.server, { as: "ada" });
  await ada.press("/connect/linear", { answer: "connect", checked });
  assert.equal(ada.page.status, 400);
  assert.equal(await textOf(at.ada("who")), `200 ${ADA}`);
});

Deno.test("a form of another site is refused", async () => {
  await using at = await scene();
  const page = await at.visitor.browser.open(`${BASE_URL}/connect/linear`);
  const csrf = /name="csrf" value="([^"]*)"/.exec(page.text)![1];
  const cookie = [...at.visitor.browser.cookies]
    .map(([name, value]) => `${name.split(" ")[1]}=${value}`).join("; ");
  const post = (headers: Record<string, string>) =>
    statusOf(at.server.form(
      "/connect/linear",
      { csrf, key: keyOf(EVE), answer: "connect" },
      { cookie, ...headers },
    ));
  assert.equal(await post({ "sec-fetch-site": "cross-site" }), 403);
  assert.equal(await post({ origin: "https://evil.example" }), 403);
  assert.equal(
    await statusOf(at.server.form("/connect/linear", { csrf })),
    403,
  );
});

/** Finds the only account of a person in the database. */
async function recordOf(kv: Deno.Kv, subject: string) {
  const [entry] = await Array.fromAsync(
    kv.list({ prefix: accountKey(subject) }),
  );
  return entry as Deno.KvEntry<Record<string, unknown>>;
}

test.inMemory("who can write the database moves no key under another name", async ({ kv }) => {
  await using at = await scene(kv);
  const subject = "github:eve";
  const { key, value } = await recordOf(kv, "github:ada");
  const eve = await clientOf(at.server, "2026", { as: "eve" });
  const place = accountKey(subject, String(key.at(-1)));
  for (const swapped of [value, { ...value, subject }]) {
    await kv.set(place, swapped);
    await checkHasNone(eve);
    await kv.delete(place);
  }
  // Nor Ada's own to the place of another service.
  await kv.delete(key);
  await kv.set([...key.slice(0, -1), "elsewhere"], value);
  await using server = await startConnected(at.linear, { kv });
  await checkHasNone(await clientOf(server, "2026", { as: "ada" }));
});

test.inMemory("a stolen database opens nothing, nor with a key of another server", async ({ kv }) => {
  await using at = await scene(kv);
  const texts = await Array.fromAsync(
    kv.list({ prefix: [] }),
    ({ value }) => JSON.stringify(value),
  );
  const secret = keyOf(ADA);
  for (const form of [secret, btoa(secret).slice(0, -4)]) {
    assert.ok(!texts.some((text) => text?.includes(form)));
  }
  await at.server.app.close();
  for (const keys of [OTHER_SECRETS_KEY, ""]) {
    await using thief = await startConnected(at.linear, {
      kv,
      environment: { SECRETS_KEYS: keys },
    });
    const ada = await clientOf(thief, "2026", { as: "ada" });
    if (keys) await checkHasNone(ada);
    else assert.match(await textOf(ada("who")), /set SECRETS_KEYS/);
  }
});

Deno.test("a caller that is no person here, or whose token may not use accounts, is told so plainly", async () => {
  await using keys = await keyServer();
  const secret = "a-secret-of-many-letters";
  await using at = await scene(undefined, {
    AUTH_STRATEGY: "oauth,jwt,bearer",
    AUTH_ANONYMOUS: "true",
    OAUTH_CLIENTS: JSON.stringify([{
      client_id: "machine",
      grant_types: ["client_credentials"],
      client_secret_env: "OAUTH_CLIENT_SECRET_MACHINE",
    }]),
    OAUTH_CLIENT_SECRET_MACHINE: secret,
    JWT_ISSUER: "https://login.example.com",
    JWT_AUDIENCE: "tools",
    JWT_JWKS_URL: keys.url,
    BEARER_TOKEN: secret,
  });
  const { server } = at;
  const machine = await (await server.form("/token", {
    grant_type: "client_credentials",
    client_id: "machine",
    client_secret: secret,
  })).json();
  const jwt = await keys.sign({
    iss: "https://login.example.com",
    aud: "tools",
    sub: "ada",
    exp: now() + 600,
  });
  const visitor = await AccountVisitor.signIn(server, { as: "ada" });
  const words: [token: string, words: RegExp][] = [
    [machine.access_token, /this client acts for itself, for no person/],
    [jwt, /this person cannot sign in to the pages of this server/],
    [secret, /no one is signed in/],
    [await visitor.makeToken(), /access token may not act with its person/],
    [await visitor.makeToken({ accounts: "on" }), /^200 ada@acme$/],
  ];
  for (const [token, expected] of words) {
    const headers = { authorization: `Bearer ${token}` };
    const call = await callBy(server, "2026", headers);
    assert.match(await textOf(call("who")), expected);
  }
  const stranger = await callBy(server, "2026", {});
  assert.equal(await statusOf(stranger("who")), 401);
  assert.match(
    await visitor.look("/tokens"),
    /It may act with your accounts at other services/,
  );
});

Deno.test("who comes with a JWT acts with the accounts that they connected here, where they sign in at its issuer", async () => {
  await using keys = await keyServer();
  const issuer = "https://id.example.com/acme";
  await using at = await scene(undefined, {
    AUTH_STRATEGY: "oauth,jwt",
    OAUTH_PROVIDER: "oidc",
    OAUTH_ISSUER: issuer,
    JWT_ISSUER: `${issuer}/`,
    JWT_AUDIENCE: "tools",
    JWT_JWKS_URL: keys.url,
  });
  const callAs = async (sub: string) => {
    const exp = now() + 600;
    const claims = { iss: `${issuer}/`, aud: "tools", sub, exp };
    const authorization = `Bearer ${await keys.sign(claims)}`;
    return await callBy(at.server, "2026", { authorization });
  };
  const ada = await callAs("ada");
  assert.equal(await textOf(ada("who")), `200 ${ADA}`);
  await checkHasNone(await callAs("eve"));
});

Deno.test("who comes with an assertion of an employer acts with the accounts that they connected here, where they sign in at its issuer", async () => {
  await using work = await startAssertionProvider();
  await using other = await startAssertionProvider();
  const client_secret = "a-secret-of-many-letters";
  await using at = await scene(undefined, {
    OAUTH_PROVIDER: "oidc",
    OAUTH_ISSUER: work.issuer,
    OAUTH_ASSERTION_ISSUERS: `${work.issuer},${other.issuer}`,
    OAUTH_CLIENTS: JSON.stringify([{
      client_id: "desk",
      grant_types: [JWT_BEARER_GRANT_TYPE],
      client_secret_env: "OAUTH_CLIENT_SECRET_DESK",
    }]),
    OAUTH_CLIENT_SECRET_DESK: client_secret,
  });
  const callAs = async ({ assertion }: typeof work, sub: string) => {
    const { access_token } = await (await at.server.form("/token", {
      grant_type: JWT_BEARER_GRANT_TYPE,
      assertion: await assertion(BASE_URL, { sub }),
      client_id: "desk",
      client_secret,
    })).json();
    const authorization = `Bearer ${access_token}`;
    return await callBy(at.server, "2026", { authorization });
  };
  assert.equal(await textOf((await callAs(work, "ada"))("who")), `200 ${ADA}`);
  await checkHasNone(await callAs(work, "eve"));
  // Another issuer's person of the same name.
  assert.match(
    await textOf((await callAs(other, "ada"))("who")),
    /this person cannot sign in to the pages of this server/,
  );
});

test.inMemory("a person who is erased, ended or blocked loses their accounts", async ({ kv }) => {
  for (const verb of ["erase", "end", "block"]) {
    await using at = await scene(kv);
    const database = new Database(kv);
    const register = openRegister(database, silentLogger);
    const operator = { register, log: silentLogger, by: "ops" };
    const subject = "github:ada";
    const shown = await runCommand(["people", "show", subject], operator);
    assert.match(shown, /accounts: linear/);
    const copy = JSON.parse(
      await runCommand(["people", "export", subject], operator),
    );
    assert.equal(copy.accounts[0].label, ADA);
    assert.equal(copy.accounts[0].sealed, undefined);
    // A page that is open meanwhile connects nothing more.
    const page = await openConnect(at.server, { as: "ada" });
    assert.match(
      await runCommand(["people", verb, subject], operator),
      /, 1 account at other services disconnected$/,
    );
    assert.deepEqual(Object(await register.gather(subject)).accounts, []);
    await connect(page, keyOf(ADA));
    assert.equal(page.page.status, 403);
    assert.deepEqual(Object(await register.gather(subject)).accounts, []);
    await register.close();
  }
});

/** Disconnects on the account page. */
async function disconnect(server: OAuthServer, as: string) {
  const visitor = await AccountVisitor.signIn(server, { as, at: "/accounts" });
  assert.match(visitor.words, /Linear .* As ada@acme , connected just now/);
  await visitor.press("/account/accounts/disconnect");
  return visitor;
}

Deno.test("a person sees what used an account, replaces and disconnects it: within a second no tool acts with it", async () => {
  await using at = await scene();
  const visitor = await disconnect(at.server, "ada");
  assert.match(visitor.words, /Disconnected.*No tool acts with it any more/);
  const started = performance.now();
  while ((await resultOf(at.ada("who"))).isError !== true) {
    assert.ok(performance.now() - started < 5000);
  }
  // Another person's is treated like none.
  const eve = await AccountVisitor.signIn(at.server, { as: "eve" });
  await connect(await openConnect(at.server, { as: "ada" }), keyOf(ADA));
  await visitor.look("/accounts");
  const account = /name="account" value="([^"]*)"/.exec(visitor.page.text)![1];
  await eve.look("/tokens");
  const csrf = /name="csrf" value="([^"]*)"/.exec(eve.page.text)![1];
  const cookie = [...eve.browser.cookies]
    .map(([name, value]) => `${name.split(" ")[1]}=${value}`).join("; ");
  await statusOf(at.server.form(
    "/account/accounts/disconnect",
    { csrf, account },
    { cookie },
  ));
  await visitor.look("/accounts");
  assert.match(visitor.words, /As ada@acme/);
});
