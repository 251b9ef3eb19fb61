import assert from "node:assert/strict";
import { codeChallenge } from "../../../src/core/oauth/pkce.ts";
import { createProvider } from "../../../src/core/provider/create_provider.ts";
import { Browser } from "../../kit/browser.ts";
import { signInAt, startOpenIdProvider } from "../../kit/open_id_provider.ts";
import { assertRefused } from "./refusal.ts";

const BASE_URL = "http://127.0.0.1:9";
const REDIRECT_URI = `${BASE_URL}/oauth/provider-callback`;
const VERIFIER = "v".repeat(43);

Deno.test("oidc signs in, refreshes and revokes at a provider that we did not write", async () => {
  await using server = await startOpenIdProvider(BASE_URL);
  const { issuer, environment } = server;
  const provider = createProvider({
    provider: "oidc",
    issuer,
    clientId: environment.OAUTH_CLIENT_ID,
    clientSecret: environment.OAUTH_CLIENT_SECRET,
    extraAuthParams: {},
  });
  const browser = new Browser(({ origin }) =>
    origin === issuer ? (request) => fetch(request) : undefined
  );
  const start = await provider.authorizationUrl({
    state: "the-state",
    nonce: "the-nonce",
    codeChallenge: codeChallenge(VERIFIER),
    redirectUri: REDIRECT_URI,
  });
  const { url } = await signInAt(issuer, browser, await browser.open(start));
  const answer = new URL(url).searchParams;
  assert.equal(answer.get("state"), "the-state");
  const response = {
    code: answer.get("code")!,
    codeVerifier: VERIFIER,
    nonce: "the-nonce",
    redirectUri: REDIRECT_URI,
    issuer: answer.get("iss")!,
  };

  const { tokens, identity } = await provider.redeem(response);
  assert.deepEqual(identity, {
    subject: "jo",
    name: "jo of the tests",
    email: "jo@example.com",
    emailVerified: true,
  });
  assert(tokens.expiresAt! > Date.now() / 1000);

  const refreshed = await provider.refresh(tokens.refreshToken!);
  assert.notEqual(refreshed.accessToken, tokens.accessToken);
  await provider.revoke!(refreshed);
  await assertRefused(
    provider.refresh(refreshed.refreshToken!),
    "dead",
    /invalid_grant/,
  );
  await assertRefused(provider.redeem(response), "dead", /invalid_grant/);
});
