/**
 * Ways to come to another person's account at a service of OAuth, or to put one
 * into their place: none lets anyone in.
 */
import assert from "node:assert/strict";
import { tool } from "../../../src/mod.ts";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import type { Arrival } from "../../kit/browser.ts";
import { resultOf, textOf } from "../../kit/answer.ts";
import { type Call, clientOf, linkOf, toolsOf } from "../../kit/connected.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import { SECRETS_KEY } from "../../kit/key_service.ts";
import { BASE_URL } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { TokenService } from "../../kit/token_service.ts";
import { until } from "../../kit/wait.ts";

const CRM = "/connect/crm";

/** A server with two services, and Ada and Eve on the way back from one. */
async function scene() {
  const crm = new TokenService("crm");
  const other = new TokenService("other");
  const kv = await Deno.openKv(":memory:");
  const elsewhere = other.declare();
  const server = await startOAuthServer({
    kv,
    tools: [
      ...toolsOf(crm.declare()),
      tool({
        name: "elsewhere",
        needs: { elsewhere },
        run: async (_input, { needs }) => await needs.elsewhere.reveal(),
      }),
    ],
    environment: {
      SECRETS_KEYS: SECRETS_KEY,
      ...crm.environment,
      ...other.environment,
    },
  });
  return {
    crm,
    other,
    kv,
    server,
    ada: await leave(server, crm, "ada"),
    eve: await leave(server, crm, "eve"),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await crm[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

/** A person whose browser was sent to a service, and has not come back. */
interface Away {
  visitor: AccountVisitor;
  /** The address to which the service sends them back. */
  back: string;
}

/** Sends a person to a service, where they have an account of their name. */
async function leave(
  server: OAuthServer,
  service: TokenService,
  as: string,
): Promise<Away> {
  const path = `/connect/${service.name}`;
  const visitor = await AccountVisitor.signIn(server, { as });
  visitor.page = await visitor.browser.open(BASE_URL + path);
  const { url } = await visitor.press(path, { answer: "connect" });
  service.account = `${as}@acme`;
  const response = await fetch(url, { redirect: "manual" });
  await response.body?.cancel();
  return { visitor, back: response.headers.get("location")! };
}

/** Opens an address in a browser, which must end in a page that keeps nothing. */
async function checkRefused(
  { browser }: AccountVisitor,
  address: string,
  status = 400,
): Promise<void> {
  const page = await browser.open(address);
  assert.equal(page.status, status, page.text);
  assert.doesNotMatch(page.text, /name="checked"/);
  assert.doesNotMatch(page.text, /crm-(code|access|refresh)/);
}

/** Checks that a person has no account, once what was read is a second old. */
async function checkHasNone(call: Call): Promise<void> {
  await until(async () => (await resultOf(call("who"))).isError === true);
  assert.match(linkOf(await resultOf(call("who"))), /connect\/crm\?w=/);
}

/** Finishes what a person began, whom nothing has hurt. */
async function finish({ visitor, back }: Away): Promise<void> {
  visitor.page = await visitor.browser.open(back);
  await visitor.press(CRM, { answer: "connect" });
  assert.match(visitor.words, /is connected/);
}

Deno.test("the way back of one person is no way for another, another browser, or one who is not signed in", async () => {
  await using at = await scene();
  // A link that was sent to the victim, and one that was stolen from them.
  await checkRefused(at.ada.visitor, at.eve.back);
  await checkRefused(at.eve.visitor, at.ada.back);
  const again = await AccountVisitor.signIn(at.server, { as: "ada" });
  await checkRefused(again, at.ada.back);
  const stranger = at.server.browser();
  const page = await stranger.open(at.ada.back);
  assert.equal(page.status, 403);
  assert.equal(at.crm.asked.filter((it) => it === "/token").length, 0);
  await finish(at.ada);
  assert.equal(
    await textOf((await clientOf(at.server, "2026", { as: "ada" }))("who")),
    "200 ada@acme",
  );
  await checkHasNone(await clientOf(at.server, "2026", { as: "eve" }));
});

Deno.test("who switches the account here in another tab finishes nothing of the first", async () => {
  await using at = await scene();
  const { visitor, back } = at.ada;
  const account = await visitor.browser.open(`${BASE_URL}/account`);
  await visitor.browser.press(formOf(account, "/account/sign-out"), "", "");
  at.server.provider.subject = "eve";
  const out = await visitor.browser.open(`${BASE_URL}/account`);
  await visitor.browser.press(formOf(out, "/account/sign-in"), "", "");
  await checkRefused(visitor, back);
  await checkHasNone(await clientOf(at.server, "2026", { as: "eve" }));
});

Deno.test("a code of another person does not fit into an own way back", async () => {
  await using at = await scene();
  const mixed = new URL(at.ada.back);
  mixed.searchParams.set(
    "code",
    new URL(at.eve.back).searchParams.get("code")!,
  );
  // PKCE: the verifier is another.
  await checkRefused(at.ada.visitor, mixed.href);
  await checkHasNone(await clientOf(at.server, "2026", { as: "ada" }));
});

Deno.test("a code of one service is not taken at the address of another", async () => {
  await using at = await scene();
  const atOther = at.ada.back.replace(CRM, "/connect/other");
  await checkRefused(at.ada.visitor, atOther);
  const { back } = await leave(at.server, at.other, "ada");
  await checkRefused(at.ada.visitor, back.replace("/connect/other", CRM));
  assert.equal(at.other.asked.includes("/token"), false);
});

Deno.test("an answer counts once: loading it again asks the service nothing, and keeps what was kept", async () => {
  await using at = await scene();
  const { visitor, back } = at.ada;
  const confirm = await visitor.browser.open(back);
  await checkRefused(visitor, back);
  const press = (page: Arrival) =>
    visitor.browser.press(formOf(page, CRM), "answer", "connect");
  assert.match((await press(confirm)).text, /is connected/);
  await checkRefused(visitor, back);
  assert.equal(at.crm.reused, 0);
  // The form once more, after the tokens were refreshed.
  at.crm.grants[0].access.clear();
  const call = await clientOf(at.server, "2026", { as: "ada" });
  assert.equal(await textOf(call("who")), "200 ada@acme");
  assert.match((await press(confirm)).text, /is connected/);
  at.crm.grants[0].access.clear();
  // A refused token is replaced once a minute.
  using time = new MovedTime();
  time.tick(61);
  assert.equal(await textOf(call("who")), "200 ada@acme");
  assert.equal(at.crm.reused, 0);
});

Deno.test("a page that names an account is confirmed by its own session alone", async () => {
  await using at = await scene();
  const page = await at.eve.visitor.browser.open(at.eve.back);
  const checked = /name="checked" value="([^"]+)"/.exec(page.text)![1];
  const { visitor } = at.ada;
  visitor.page = await visitor.browser.open(BASE_URL + CRM);
  // It counts as a new begin: Ada is sent to the service.
  const { url } = await visitor.press(CRM, { answer: "connect", checked });
  assert.equal(new URL(url).origin, at.crm.origin);
  await checkHasNone(await clientOf(at.server, "2026", { as: "ada" }));
});

Deno.test("a state that was changed, is old, or is none, is refused", async () => {
  await using at = await scene();
  const { visitor, back } = at.ada;
  const url = new URL(back);
  const state = url.searchParams.get("state")!;
  for (const changed of ["", "x", `${state}x`, state.slice(0, -1)]) {
    url.searchParams.set("state", changed);
    await checkRefused(visitor, url.href);
  }
  url.searchParams.delete("state");
  await checkRefused(visitor, url.href);
});

Deno.test("who may not use the server any more comes back to nothing", async () => {
  await using at = await scene();
  await using tightened = await startOAuthServer({
    kv: at.kv,
    tools: toolsOf(at.crm.declare()),
    environment: {
      SECRETS_KEYS: SECRETS_KEY,
      ...at.crm.environment,
      OAUTH_ALLOWED_USERS: "github:1",
    },
  });
  const browser = tightened.browser();
  for (const cookie of at.ada.visitor.browser.cookies) {
    browser.cookies.set(...cookie);
  }
  const page = await browser.open(at.ada.back);
  assert.equal(page.status, 403);
  assert.match(page.text, /may not use this server/);
  assert.equal(at.crm.asked.includes("/token"), false);
});

Deno.test("tokens open in their own record alone, and for their own application", async () => {
  await using at = await scene();
  await finish(at.ada);
  await finish(at.eve);
  const rows = await Array.fromAsync(at.kv.list({ prefix: ["account"] }));
  const records = rows.filter(({ key }) => key.length > 2);
  assert.equal(records.length, 2);
  const [one, two] = records;
  for (const [row, from] of [[one, two], [two, one]]) {
    const { sealed, keyId } = from.value as { sealed: string; keyId: string };
    await at.kv.set(row.key, { ...row.value as object, sealed, keyId });
  }
  for (const as of ["ada", "eve"]) {
    await checkHasNone(await clientOf(at.server, "2026", { as }));
  }
  // Back in place, under the name of another application.
  for (const { key, value } of records) {
    const oauth = { application: "another" };
    await at.kv.set(key, { ...value as object, oauth });
  }
  for (const as of ["ada", "eve"]) {
    await checkHasNone(await clientOf(at.server, "2026", { as }));
  }
});
