import assert from "node:assert/strict";
import { base64url, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import type { Membership } from "../../../src/core/caller.ts";
import type {
  Provider,
  UpstreamRequest,
} from "../../../src/core/provider/provider.ts";
import { createProvider } from "../../../src/core/provider/create_provider.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { jwk, serveOpenId, sign, SIGN_IN, type Words } from "./fake_openid.ts";
import type { ServedProvider } from "../../kit/served_provider.ts";
import { assertRefused } from "./refusal.ts";

const REQUEST = {
  state: "the-state",
  nonce: "the-nonce",
  codeChallenge: "the-challenge",
  redirectUri: SIGN_IN.redirectUri,
};

function oidc(
  { origin }: ServedProvider,
  settings: {
    scopes?: string[];
    extraAuthParams?: Record<string, string>;
    issuer?: string;
  } = {},
): Provider {
  return createProvider({
    provider: "oidc",
    issuer: origin,
    clientId: "our-app",
    clientSecret: "hush-hush",
    extraAuthParams: {},
    ...settings,
  }, { timeoutSeconds: 2 });
}

Deno.test("authorizationUrl() passes a hint on, and keeps what the provider needs or the operator set", async () => {
  await using fake = serveOpenId({
    metadata: { scopes_supported: ["offline_access"] },
  });
  const asked = async (
    hints: Pick<UpstreamRequest, "loginHint" | "prompts">,
    extraAuthParams: Record<string, string> = {},
  ) => {
    const provider = oidc(fake, { extraAuthParams });
    const { searchParams } = await provider.authorizationUrl({
      ...REQUEST,
      ...hints,
    });
    return [searchParams.get("login_hint"), searchParams.get("prompt")];
  };
  assert.deepEqual(await asked({}), [null, "consent"]);
  assert.deepEqual(
    await asked({ loginHint: "jo@example.com", prompts: ["select_account"] }),
    ["jo@example.com", "consent select_account"],
  );
  assert.deepEqual(
    await asked({ prompts: ["login"] }, { prompt: "none" }),
    [null, "none"],
  );
});

Deno.test("authorizationUrl() of a fresh sign-in asks who it is, whatever the operator set, and redeem() tells when that was", async () => {
  await using fake = serveOpenId({ claims: { auth_time: 1_790_000_000 } });
  const extraAuthParams = { prompt: "none", max_age: "9000" };
  const provider = oidc(fake, { extraAuthParams });
  const { searchParams } = await provider.authorizationUrl({
    ...REQUEST,
    isFresh: true,
  });
  assert.equal(searchParams.get("prompt"), "login");
  assert.equal(searchParams.get("max_age"), "0");
  const { authenticatedAt } = await provider.redeem(SIGN_IN);
  assert.equal(authenticatedAt, 1_790_000_000);
});

Deno.test("authorizationUrl() asks with state, nonce and PKCE", async () => {
  await using fake = serveOpenId();
  const url = await oidc(fake).authorizationUrl(REQUEST);
  assert.equal(url.origin + url.pathname, `${fake.origin}/authorize`);
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    response_type: "code",
    client_id: "our-app",
    redirect_uri: SIGN_IN.redirectUri,
    scope: "openid profile email",
    state: "the-state",
    nonce: "the-nonce",
    code_challenge: "the-challenge",
    code_challenge_method: "S256",
  });
});

Deno.test("authorizationUrl() adds parameters and lets none replace ours", async () => {
  await using fake = serveOpenId({
    metadata: { authorization_endpoint: "https://id.example/go?tenant=7" },
  });
  const ours = [...(await oidc(fake).authorizationUrl(REQUEST)).searchParams];
  const theirs = Object.fromEntries(ours.map(([name]) => [name, "evil"]));
  const extraAuthParams = {
    ...theirs,
    tenant: "8",
    request: "evil",
    request_uri: "evil",
    response_mode: "form_post",
    login_hint: "ada",
  };
  const url = await oidc(fake, { extraAuthParams }).authorizationUrl(REQUEST);
  assert.deepEqual(
    Object.fromEntries(url.searchParams),
    { ...Object.fromEntries(ours), tenant: "8", login_hint: "ada" },
  );
});

Deno.test("authorizationUrl() asks for a refresh token where one can be had", async () => {
  await using fake = serveOpenId({
    metadata: { scopes_supported: ["openid", "offline_access"] },
  });
  const { searchParams } = await oidc(fake).authorizationUrl(REQUEST);
  assert.equal(
    searchParams.get("scope"),
    "openid profile email offline_access",
  );
  assert.equal(searchParams.get("prompt"), "consent");
});

Deno.test("authorizationUrl() asks for groups where a rule is about them and the provider has that scope", async () => {
  await using fake = serveOpenId({
    metadata: { scopes_supported: ["openid", "groups"] },
  });
  await using silent = serveOpenId();
  const asked = async (
    { origin }: ServedProvider,
    names: Membership[],
    settings: { groupsClaim?: string; scopes?: string[] } = {},
  ) => {
    const provider = createProvider({
      provider: "oidc",
      issuer: origin,
      clientId: "our-app",
      clientSecret: "hush-hush",
      extraAuthParams: {},
      ...settings,
    }, { needed: { memberships: new Set(["groups"]), named: new Set(names) } });
    const { searchParams } = await provider.authorizationUrl(REQUEST);
    return searchParams.get("scope");
  };
  const usual = "openid profile email";
  assert.equal(await asked(fake, ["groups"]), `${usual} groups`);
  assert.equal(await asked(fake, []), usual);
  assert.equal(await asked(silent, ["groups"]), usual);
  assert.equal(await asked(fake, ["groups"], { groupsClaim: "roles" }), usual);
  assert.equal(
    await asked(fake, ["groups"], { scopes: ["email"] }),
    "openid email",
  );
});

Deno.test("authorizationUrl() asks for the scopes of the settings, and always openid", async () => {
  await using fake = serveOpenId();
  const { searchParams } = await oidc(fake, { scopes: ["mail"] })
    .authorizationUrl(REQUEST);
  assert.equal(searchParams.get("scope"), "openid mail");
});

Deno.test("redeem() tells the tokens and who it is", async () => {
  using _time = new FakeTime();
  await using fake = serveOpenId();
  const { tokens, identity } = await oidc(fake).redeem(SIGN_IN);
  assert.deepEqual(identity, {
    subject: "user-1",
    name: "Ada",
    email: "ada@example.com",
    emailVerified: true,
  });
  const { expiresAt, refreshAt, ...rest } = tokens;
  assert.deepEqual(rest, {
    accessToken: "upstream-access",
    tokenType: "Bearer",
    refreshToken: "upstream-refresh",
    scope: undefined,
  });
  assert.equal(expiresAt, Math.floor(Date.now() / 1000) + 3600);
  assert.equal(refreshAt, Math.floor(Date.now() / 1000) + 3540);
  const { form } = fake.asked.find(({ url }) => url.pathname === "/token")!;
  assert.deepEqual(form, {
    grant_type: "authorization_code",
    code: "the-code",
    code_verifier: "the-verifier",
    redirect_uri: SIGN_IN.redirectUri,
    client_id: "our-app",
    client_secret: "hush-hush",
  });
});

Deno.test("redeem() asks userinfo for what the id_token left out", async () => {
  await using fake = serveOpenId({
    claims: { email: undefined, email_verified: undefined },
    userinfo: {
      sub: "user-1",
      email: "ada@example.com",
      email_verified: false,
    },
  });
  const { identity } = await oidc(fake).redeem(SIGN_IN);
  assert.deepEqual(identity, {
    subject: "user-1",
    name: "Ada",
    email: "ada@example.com",
    emailVerified: false,
  });
  const { headers } = fake.asked.at(-1)!;
  assert.equal(headers.get("authorization"), "Bearer upstream-access");
});

Deno.test("redeem() believes no address on the word about another one", async () => {
  await using fake = serveOpenId({
    claims: { name: undefined },
    userinfo: { sub: "user-1", name: "Ada", email: "changed@example.com" },
  });
  const { identity } = await oidc(fake).redeem(SIGN_IN);
  assert.equal(identity.email, "changed@example.com");
  assert.equal(identity.emailVerified, false);
});

Deno.test("redeem() keeps the id_token's address when userinfo has none", async () => {
  await using fake = serveOpenId({
    claims: { name: undefined },
    userinfo: { sub: "user-1", name: "Ada" },
  });
  const { identity } = await oidc(fake).redeem(SIGN_IN);
  assert.equal(identity.name, "Ada");
  assert.equal(identity.email, "ada@example.com");
  assert.equal(identity.emailVerified, true);
});

Deno.test("redeem() takes an issuer parameter that is the provider's", async () => {
  await using fake = serveOpenId({
    metadata: { authorization_response_iss_parameter_supported: true },
  });
  const { identity } = await oidc(fake).redeem({
    ...SIGN_IN,
    issuer: fake.origin,
  });
  assert.equal(identity.subject, "user-1");
});

Deno.test("redeem() takes several audiences when we are the authorized party", async () => {
  await using fake = serveOpenId({
    claims: { aud: ["our-app", "their-app"], azp: "our-app" },
  });
  assert.equal((await oidc(fake).redeem(SIGN_IN)).identity.subject, "user-1");
});

function bare(claims: JWTPayload, header: Record<string, unknown>): string {
  const encode = (value: unknown) => base64url.encode(JSON.stringify(value));
  return `${encode(header)}.${encode(claims)}.`;
}

const now = Math.floor(Date.now() / 1000);

const REFUSED_ID_TOKENS: [string, Words, RegExp][] = [
  ["of another issuer", { claims: { iss: "https://evil.example" } }, /iss/],
  ["without an issuer", { claims: { iss: undefined } }, /iss/],
  ["for another audience", { claims: { aud: "their-app" } }, /"aud"/],
  ["for several without an authorized party", {
    claims: { aud: ["our-app", "their-app"] },
  }, /untrusted audiences/],
  ["for another authorized party", { claims: { azp: "their-app" } }, /azp/],
  ["with another nonce", { claims: { nonce: "other" } }, /nonce/],
  ["without a nonce", { claims: { nonce: undefined } }, /nonce/],
  ["that has expired", { claims: { exp: now - 120 } }, /"exp"/],
  ["that never expires", { claims: { exp: undefined } }, /"exp".+ missing/],
  ["without an issue time", { claims: { iat: undefined } }, /"iat".+ missing/],
  ["that is not valid yet", { claims: { nbf: now + 600 } }, /"nbf"/],
  ["about no one", { claims: { sub: "" } }, /sub/],
  ["without a subject", { claims: { sub: undefined } }, /"sub".+ missing/],
  ["that no one signed", {
    metadata: { id_token_signing_alg_values_supported: ["none", "ES256"] },
    signed: (claims) => bare(claims, { alg: "none" }),
  }, /"alg"/],
  ["signed with our own secret", {
    metadata: { id_token_signing_alg_values_supported: ["HS256", "ES256"] },
    signed: (claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: "HS256" })
        .sign(new TextEncoder().encode("hush-hush")),
  }, /"alg"/],
  ["signed by an algorithm that the provider does not name", {
    metadata: { id_token_signing_alg_values_supported: ["RS256"] },
  }, /"alg"/],
  [
    "signed by an algorithm when the provider names only ones for which anyone has the key",
    { metadata: { id_token_signing_alg_values_supported: ["none", "HS256"] } },
    /"alg"/,
  ],
  ["signed by someone else", {
    signed: async (claims) =>
      sign(claims, (await generateKeyPair("ES256")).privateKey),
  }, /signature/],
  ["signed with a key that is not published", {
    signed: (claims, key) =>
      new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "2" })
        .sign(key),
  }, /no applicable keys/],
  ["that is none", { answer: { id_token: "nonsense" } }, /Invalid JWT/],
  ["that is missing", { answer: { id_token: undefined } }, /no id_token/],
];

for (const [what, words, reason] of REFUSED_ID_TOKENS) {
  Deno.test(`redeem() refuses an id_token ${what}, and revokes what came with it`, async () => {
    await using fake = serveOpenId(words);
    await assertRefused(oidc(fake).redeem(SIGN_IN), "misbehaved", reason);
    assert.deepEqual(revokedAt(fake), ["upstream-refresh"]);
  });
}

/** Lists the tokens that were revoked. */
function revokedAt({ asked }: ServedProvider): string[] {
  return asked.filter(({ url }) => url.pathname === "/revoke")
    .map(({ form }) => form.token);
}

Deno.test("redeem() revokes nothing where the provider only does not answer: a person's tokens may end together", async () => {
  await using fake = serveOpenId({
    claims: { email: undefined },
    answers: { "GET /userinfo": () => new Response("", { status: 503 }) },
  });
  await assertRefused(oidc(fake).redeem(SIGN_IN), "unavailable", /503/);
  assert.deepEqual(revokedAt(fake), []);
});

const REFUSED_ANSWERS: [string, Words, RegExp][] = [
  ["userinfo about someone else", {
    claims: { email: undefined },
    userinfo: { sub: "user-2", email: "eve@example.com" },
  }, /sub of userinfo/],
  ["userinfo that fails", {
    claims: { email: undefined },
    answers: { "GET /userinfo": () => new Response("", { status: 403 }) },
  }, /403/],
  ["tokens not for bearers", { answer: { token_type: "DPoP" } }, /bearer/],
  ["an answer without an access token", {
    answer: { access_token: undefined },
  }, /no access token/],
  ["keys that are not there", {
    answers: { "GET /jwks": () => new Response("", { status: 404 }) },
  }, /id_token is refused/],
  ["no supported way of client authentication", {
    metadata: { token_endpoint_auth_methods_supported: ["tls_client_auth"] },
  }, /must support client_secret_post/],
];

for (const [what, words, reason] of REFUSED_ANSWERS) {
  Deno.test(`redeem() refuses ${what}`, async () => {
    await using fake = serveOpenId(words);
    await assertRefused(oidc(fake).redeem(SIGN_IN), "misbehaved", reason);
  });
}

Deno.test("redeem() refuses an answer from another issuer before it spends the code", async () => {
  await using fake = serveOpenId();
  await assertRefused(
    oidc(fake).redeem({ ...SIGN_IN, issuer: "https://evil.example" }),
    "misbehaved",
    /iss/,
  );
  assert(fake.asked.every(({ url }) => url.pathname !== "/token"));
});

Deno.test("checkIssuer() refuses an error from another issuer, or from none where there is always one", async () => {
  await using fake = serveOpenId({
    metadata: { authorization_response_iss_parameter_supported: true },
  });
  const provider = oidc(fake);
  await provider.checkIssuer!(fake.origin);
  for (const issuer of ["https://evil.example", undefined]) {
    await assertRefused(provider.checkIssuer!(issuer), "misbehaved", /iss/);
  }
});

Deno.test("redeem() refuses an empty code", async () => {
  await using fake = serveOpenId();
  await assertRefused(
    oidc(fake).redeem({ ...SIGN_IN, code: "" }),
    "misbehaved",
    /code is empty/,
  );
});

Deno.test("redeem() refuses an answer without an issuer from a provider that always sends one", async () => {
  await using fake = serveOpenId({
    metadata: { authorization_response_iss_parameter_supported: true },
  });
  await assertRefused(oidc(fake).redeem(SIGN_IN), "misbehaved", /iss/);
});

Deno.test("redeem() looks for new keys when it does not know one", async () => {
  using time = new FakeTime();
  const published: unknown[] = [];
  await using fake = serveOpenId({
    claims: { exp: now + 3600 },
    answers: { "GET /jwks": () => Response.json({ keys: published }) },
  });
  const provider = oidc(fake);
  await assertRefused(provider.redeem(SIGN_IN), "misbehaved", /no applicable/);
  published.push(jwk);
  time.tick(61);
  assert.equal((await provider.redeem(SIGN_IN)).identity.subject, "user-1");
});

Deno.test("redeem() is unavailable while the keys are", async () => {
  await using fake = serveOpenId({
    answers: { "GET /jwks": () => new Response("", { status: 503 }) },
  });
  await assertRefused(oidc(fake).redeem(SIGN_IN), "unavailable", /503/);
});

Deno.test("refresh() keeps the old refresh token when no new one comes", async () => {
  await using fake = serveOpenId({ answer: { refresh_token: undefined } });
  const tokens = await oidc(fake).refresh("old-refresh");
  assert.equal(tokens.refreshToken, "old-refresh");
  assert.equal(tokens.accessToken, "upstream-access");
  assert.deepEqual(fake.asked.at(-1)!.form, {
    grant_type: "refresh_token",
    refresh_token: "old-refresh",
    client_id: "our-app",
    client_secret: "hush-hush",
  });
});

Deno.test("refresh() keeps tokens beside an id_token that is refused: the old ones have ended", async () => {
  await using fake = serveOpenId({ answer: { id_token: "nonsense" } });
  const provider = oidc(fake);
  const tokens = await provider.refresh("old-refresh");
  assert.equal(tokens.refreshToken, "upstream-refresh");
  await assertRefused(provider.identify!(tokens), "misbehaved", /id_token/);
});

Deno.test("refresh() takes the new refresh token", async () => {
  await using fake = serveOpenId();
  const tokens = await oidc(fake).refresh("old-refresh");
  assert.equal(tokens.refreshToken, "upstream-refresh");
});

Deno.test("revoke() ends the refresh token, or the access token where there is none", async () => {
  await using fake = serveOpenId();
  const provider = oidc(fake);
  const access = { accessToken: "upstream-access", tokenType: "Bearer" };
  await provider.revoke!({ ...access, refreshToken: "upstream-refresh" });
  await provider.revoke!(access);
  const [refresh, lone] = fake.asked.filter(({ url }) =>
    url.pathname === "/revoke"
  );
  assert.deepEqual(
    [refresh.form.token, refresh.form.token_type_hint],
    ["upstream-refresh", "refresh_token"],
  );
  assert.equal(refresh.form.client_secret, "hush-hush");
  assert.deepEqual(
    [lone.form.token, lone.form.token_type_hint],
    ["upstream-access", "access_token"],
  );
});

Deno.test("revoke() does nothing where the provider has no way to", async () => {
  await using fake = serveOpenId({
    metadata: { revocation_endpoint: undefined },
  });
  await oidc(fake).revoke!({ accessToken: "a", tokenType: "Bearer" });
  assert(fake.asked.every(({ method }) => method === "GET"));
});

Deno.test("revoke() says when the provider refuses", async () => {
  await using fake = serveOpenId({
    answers: { "POST /revoke": () => new Response("", { status: 400 }) },
  });
  await assertRefused(
    oidc(fake).revoke!({ accessToken: "upstream-access", tokenType: "Bearer" }),
    "misbehaved",
    /400/,
  );
});
