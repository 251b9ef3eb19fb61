import assert from "node:assert/strict";
import type { Provider } from "../../../src/core/provider/provider.ts";
import { createProvider } from "../../../src/core/provider/create_provider.ts";
import { SIGN_IN } from "./fake_openid.ts";
import {
  type Answers,
  type ServedProvider,
  serveProvider,
} from "../../kit/served_provider.ts";
import { assertRefused } from "./refusal.ts";

const HOST = "https://id.example";

function servePlain(changes: Answers = {}): ServedProvider {
  return serveProvider(() => ({
    [`POST ${HOST}/token`]: () =>
      Response.json({ access_token: "upstream-access", token_type: "bearer" }),
    [`GET ${HOST}/me`]: () =>
      Response.json({
        id: "80351110224678912",
        username: "nelly",
        email: "nelly@example.com",
        avatar_url: "https://cdn.example/nelly.png",
      }),
    [`POST ${HOST}/revoke`]: () => new Response(),
    ...changes,
  }));
}

function custom(
  fake: ServedProvider,
  settings: { revocationUrl?: string; scopes?: string[] } = {},
): Provider {
  return createProvider({
    provider: "custom",
    authorizationUrl: `${HOST}/authorize?tenant=7`,
    tokenUrl: `${HOST}/token`,
    userinfoUrl: `${HOST}/me`,
    clientId: "our-app",
    clientSecret: "hush-hush",
    extraAuthParams: {},
    ...settings,
  }, { fetch: fake.fetch });
}

Deno.test("custom keeps the query of its authorization endpoint, and asks for no scope by itself", async () => {
  await using fake = servePlain();
  const provider = custom(fake);
  const url = await provider.authorizationUrl({
    state: "s",
    nonce: "n",
    codeChallenge: "c",
    redirectUri: SIGN_IN.redirectUri,
  });
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    tenant: "7",
    response_type: "code",
    client_id: "our-app",
    redirect_uri: SIGN_IN.redirectUri,
    state: "s",
    code_challenge: "c",
    code_challenge_method: "S256",
  });
  assert.equal(provider.name, "id.example");
  assert.equal(provider.apiUrl, HOST);
});

Deno.test("custom knows the usual names of plain providers, and believes no address", async () => {
  await using fake = servePlain();
  const { identity } = await custom(fake).redeem(SIGN_IN);
  assert.deepEqual(identity, {
    subject: "80351110224678912",
    email: "nelly@example.com",
    emailVerified: false,
    login: "nelly",
    picture: "https://cdn.example/nelly.png",
  });
  const [{ headers }] = fake.asked;
  assert.equal(
    headers.get("authorization"),
    `Basic ${btoa("our-app:hush-hush")}`,
  );
});

const NOBODY = [{}, { id: "" }, { id: 1.5 }, { sub: null }, {
  sub: "x".repeat(256),
}, { sub: {}, id: "1" }];

for (const user of NOBODY) {
  Deno.test(`custom refuses a user without a subject: ${JSON.stringify(user).slice(0, 30)}`, async () => {
    await using fake = servePlain({
      [`GET ${HOST}/me`]: () => Response.json(user),
    });
    await assertRefused(
      custom(fake).redeem(SIGN_IN),
      "misbehaved",
      /must name the person/,
    );
  });
}

Deno.test("custom leaves out what is too long or not a safe link", async () => {
  await using fake = servePlain({
    [`GET ${HOST}/me`]: () =>
      Response.json({
        sub: "1",
        name: "x".repeat(2049),
        picture: "data:image/png;base64,AAAA",
        email: 7,
      }),
  });
  const { identity } = await custom(fake).redeem(SIGN_IN);
  assert.deepEqual(identity, { subject: "1" });
});

Deno.test("custom refreshes and keeps the old refresh token when no new one comes", async () => {
  await using fake = servePlain();
  const { refreshToken } = await custom(fake).refresh("old-refresh");
  assert.equal(refreshToken, "old-refresh");
});

Deno.test("custom ends tokens where the settings say how", async () => {
  await using fake = servePlain();
  assert.equal(custom(fake).revoke, undefined);
  const { revoke } = custom(fake, { revocationUrl: `${HOST}/revoke` });
  await revoke!({ accessToken: "upstream-access", tokenType: "bearer" });
  assert.equal(fake.asked[0].form.token, "upstream-access");
});

Deno.test("custom ends tokens at a provider that wants the secret in the body", async () => {
  await using fake = servePlain({
    [`POST ${HOST}/revoke`]: ({ form }) =>
      form.client_secret
        ? new Response()
        : Response.json({ error: "invalid_client" }, { status: 401 }),
  });
  const { revoke } = custom(fake, { revocationUrl: `${HOST}/revoke` });
  await revoke!({ accessToken: "upstream-access", tokenType: "bearer" });
  assert.equal(fake.asked.length, 2);
});

for (const [status, isAlive] of [[200, true], [401, false], [403, undefined]]) {
  Deno.test(`custom takes a user endpoint's ${status} for ${isAlive}`, async () => {
    await using fake = servePlain({
      [`GET ${HOST}/me`]: () => Response.json({}, { status: status as number }),
    });
    assert.equal(await custom(fake).isAlive!("upstream-access"), isAlive);
    const { authorization } = Object.fromEntries(fake.asked[0].headers);
    assert.equal(authorization, "Bearer upstream-access");
  });
}

Deno.test("custom says that the code is spent when its user endpoint fails", async () => {
  await using fake = servePlain({
    [`GET ${HOST}/me`]: () => new Response(null, { status: 503 }),
  });
  await assert.rejects(custom(fake).redeem(SIGN_IN), {
    kind: "unavailable",
    isCodeSpent: true,
  });
});
