/**
 * Ways to come to another person's token of a service behind the sign-in
 * provider: none gives one.
 */
import assert from "node:assert/strict";
import { account, tool } from "../../../src/mod.ts";
import type { UpstreamAccount } from "../../../src/mod.ts";
import { now } from "../../../src/core/clock.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../../src/core/oauth/client.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { statusOf, textOf } from "../../kit/answer.ts";
import { startAssertionProvider } from "../../kit/assertion_provider.ts";
import { browserOf } from "../../kit/browser.ts";
import { Client } from "../../kit/client.ts";
import { callBy, clientOf } from "../../kit/connected.ts";
import { ExchangingProvider } from "../../kit/exchanging_provider.ts";
import { keyServer } from "../../kit/key_server.ts";
import { spelled } from "../../kit/key_service.ts";
import { recordLog } from "../../kit/log.ts";
import { signInAt, startOpenIdProvider } from "../../kit/open_id_provider.ts";
import { BASE_URL, startServer } from "../../kit/server.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";

const ISSUER = "https://id.example.com/acme";

const mail = account("mail", {
  from: "upstream",
  api: "https://mail.example.com",
  scopes: ["mail"],
});
const files = account("files", {
  from: "upstream",
  api: "https://files.example.com",
  scopes: ["files"],
});
const tools = [
  tool({
    name: "token",
    needs: { mail, files },
    run: async (_input, { needs }) =>
      spelled(`${await needs.mail.reveal()} ${await needs.files.reveal()}`),
  }),
];

/** The settings of a server whose people sign in at this issuer. */
const SIGN_IN = { OAUTH_PROVIDER: "oidc", OAUTH_ISSUER: ISSUER };

Deno.test("each sign-in is given the tokens that its own was exchanged for, of each service its own", async () => {
  await using server = await startOAuthServer({ tools, environment: SIGN_IN });
  const given = new Set<string>();
  for (const as of ["ada", "ada", "eve"]) {
    let own = "";
    server.provider.onIssue = (token) => own = token;
    const call = await clientOf(server, "2026", { as });
    const text = spelled(`mail-for-${own} files-for-${own}`);
    assert.equal(await textOf(call("token")), text);
    assert.equal(await textOf(call("token")), text);
    given.add(text);
  }
  assert.equal(given.size, 3);
  const exchanges = server.provider.log.filter((it) => it === "exchange");
  assert.equal(exchanges.length, 6);
});

Deno.test("a caller without a sign-in of a person at the provider is told so plainly", async () => {
  await using keys = await keyServer();
  await using work = await startAssertionProvider();
  const secret = "a-secret-of-many-letters";
  const client = (id: string, grant: string) => ({
    client_id: id,
    grant_types: [grant],
    client_secret_env: "OAUTH_CLIENT_SECRET_OF_ALL",
  });
  await using server = await startOAuthServer({
    tools,
    environment: {
      ...SIGN_IN,
      AUTH_STRATEGY: "oauth,jwt,bearer",
      AUTH_ANONYMOUS: "true",
      OAUTH_ASSERTION_ISSUERS: `${work.issuer},${ISSUER}`,
      OAUTH_CLIENTS: JSON.stringify([
        client("machine", "client_credentials"),
        client("desk", JWT_BEARER_GRANT_TYPE),
      ]),
      OAUTH_CLIENT_SECRET_OF_ALL: secret,
      JWT_ISSUER: `https://login.example.com,${ISSUER}`,
      JWT_AUDIENCE: "tools",
      JWT_JWKS_URL: `${keys.url},${keys.url}`,
      BEARER_TOKEN: secret,
      SECRETS_KEYS: "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=",
    },
  });
  const tokenOf = async (fields: Record<string, string>) => {
    const all = { ...fields, client_secret: secret };
    const { access_token } = await (await server.form("/token", all)).json();
    return access_token;
  };
  const jwt = (iss: string, sub = "ada") =>
    keys.sign({ iss, aud: "tools", sub, exp: now() + 600 });
  const visitor = await AccountVisitor.signIn(server, { as: "ada" });
  const own = await jwt(ISSUER);
  const eve = await jwt(ISSUER, "eve");
  const told = (token: string) =>
    new RegExp(`^${spelled(`mail-for-${token} files-for-${token}`)}$`);
  const rows: [token: string, words: RegExp][] = [
    [
      await tokenOf({
        grant_type: "client_credentials",
        client_id: "machine",
      }),
      /this client acts for itself, for no person/,
    ],
    [
      await tokenOf({
        grant_type: JWT_BEARER_GRANT_TYPE,
        client_id: "desk",
        assertion: await work.assertion(BASE_URL, { sub: "ada" }),
      }),
      /this client has no sign-in of a person there/,
    ],
    [await visitor.makeToken(), /has no sign-in behind it/],
    [await visitor.makeToken({ accounts: "on" }), /has no sign-in behind it/],
    [secret, /no one is signed in/],
    [
      await jwt("https://login.example.com"),
      /this client has no sign-in of a person there/,
    ],
    // The JWT of who could sign in here is itself the token to exchange.
    [own, told(own)],
    [eve, told(eve)],
    [own, told(own)],
  ];
  for (const [token, expected] of rows) {
    const headers = { authorization: `Bearer ${token}` };
    const call = await callBy(server, "2026", headers);
    assert.match(await textOf(call("token")), expected);
  }
  const stranger = await callBy(server, "2026", {});
  assert.equal(await statusOf(stranger("token")), 401);
});

Deno.test("the people of another provider have no token of a service, and neither provider is asked for one", async () => {
  await using work = await ExchangingProvider.start({ key: "work" });
  await using partner = await startOpenIdProvider(BASE_URL, { key: "partner" });
  const env = {
    BASE_URL,
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "work,partner",
    ...work.provider.group,
    ...partner.group,
  };
  const mailsOf = (mail: UpstreamAccount) =>
    tool({
      name: "mails",
      needs: { mail },
      run: async (_input, { needs }) =>
        await (await needs.mail.fetch("/me")).text(),
    });
  const mails = mailsOf(work.declare({ provider: "work" }));
  await using server = await startServer({ tools: [mails], env });
  const issuers = [work.issuer, partner.issuer];
  const callAt = async (key: string, issuer: string) => {
    const browser = browserOf(server, { issuers });
    const client = await Client.register(server);
    const page = await browser.open(client.authorizationUrl());
    const chooser = await browser.press(page, "decision", "approve");
    const away = await browser.press(chooser, "provider", key);
    const back = await signInAt(issuer, browser, away);
    const { body } = await client.redeem(client.codeFrom(back));
    return await textOf(client.call(body.access_token, "mails"));
  };
  assert.match(
    await callAt("partner", partner.issuer),
    /as a person who has signed in .* this person has signed in with another/,
  );
  assert.deepEqual([work.exchanges.length, work.seen.length], [0, 0]);
  assert.equal(await callAt("work", work.issuer), "mail of jo");
  // Of two that could, none is guessed.
  const log = recordLog();
  const unclear = mailsOf(work.declare());
  await using other = await startServer({ tools: [unclear], env, ...log });
  await other.app.start();
  assert.match(Deno.inspect(log.events, { depth: 9 }), /or several do/);
});

Deno.test("tokens of one grant that are moved under another's name open nothing", async () => {
  await using server = await startOAuthServer({ tools, environment: SIGN_IN });
  const ada = await clientOf(server, "2026", { as: "ada" });
  const eve = await clientOf(server, "2026", { as: "eve" });
  const [one, two] = await Array.fromAsync(
    server.kv.list({ prefix: ["upstream"] }),
  );
  await server.kv.set(one.key, two.value);
  await server.kv.set(two.key, one.value);
  for (const call of [ada, eve]) {
    const text = JSON.stringify(await (await call("token")).json());
    assert(!text.includes(spelled("mail-for")), text);
  }
  assert.ok(!server.provider.log.includes("exchange"));
});
