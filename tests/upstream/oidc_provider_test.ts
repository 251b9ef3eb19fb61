/**
 * The flow against an OpenID provider that we did not write.
 *
 * @module
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import OidcProvider from "oidc-provider";
import { codeChallenge } from "../../src/oauth/pkce.ts";
import { createProvider } from "../../src/upstream/provider.ts";
import { assertRefused } from "./refusal.ts";

const REDIRECT_URI = "http://127.0.0.1:9/oauth/provider-callback";
const VERIFIER = "v".repeat(43);

/** Starts one that signs everybody in as Ada, without asking. */
async function serveOidcProvider(authMethod: string) {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new OidcProvider(issuer, {
    clients: [{
      client_id: "our-app",
      client_secret: "hush-hush",
      redirect_uris: [REDIRECT_URI],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: authMethod,
    }],
    clientAuthMethods: [authMethod],
    scopes: ["openid", "offline_access"],
    claims: {
      openid: ["sub"],
      profile: ["name"],
      email: ["email", "email_verified"],
    },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
    },
    pkce: { required: () => true },
    cookies: { keys: ["test"] },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        name: "Ada",
        email: "ada@example.com",
        email_verified: true,
      }),
    }),
    interactions: {
      url: (_: unknown, { uid }: { uid: string }) => `/sign-in/${uid}`,
    },
  });
  const handle = provider.callback();
  server.on("request", async (request, response) => {
    if (!request.url!.startsWith("/sign-in/")) return handle(request, response);
    const { params } = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({
      accountId: "ada",
      clientId: params.client_id,
    });
    grant.addOIDCScope(params.scope);
    await provider.interactionFinished(request, response, {
      login: { accountId: "ada" },
      consent: { grantId: await grant.save() },
    });
  });
  return {
    issuer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Follows redirects with cookies until they leave the provider. */
async function signIn(start: URL): Promise<URL> {
  const jar = new Map<string, string>();
  let url = start;
  for (let hop = 0; hop < 10 && url.origin === start.origin; hop++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join(
      "; ",
    );
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie },
    });
    await response.body?.cancel();
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      jar.set(name, value);
    }
    url = new URL(response.headers.get("location")!, url);
  }
  return url;
}

for (const authMethod of ["client_secret_basic", "client_secret_post"]) {
  Deno.test(`oidc signs in, refreshes and revokes at oidc-provider with ${authMethod}`, async () => {
    await using server = await serveOidcProvider(authMethod);
    const provider = createProvider({
      provider: "oidc",
      issuer: server.issuer,
      clientId: "our-app",
      clientSecret: "hush-hush",
      extraAuthParams: {},
      baseUrl: "http://127.0.0.1:9",
    });
    const answer = await signIn(
      await provider.authorizationUrl({
        state: "the-state",
        nonce: "the-nonce",
        codeChallenge: codeChallenge(VERIFIER),
        redirectUri: REDIRECT_URI,
      }),
    );
    assert.equal(answer.searchParams.get("state"), "the-state");
    const response = {
      code: answer.searchParams.get("code")!,
      codeVerifier: VERIFIER,
      nonce: "the-nonce",
      redirectUri: REDIRECT_URI,
      issuer: answer.searchParams.get("iss")!,
    };

    const { tokens, identity } = await provider.redeem(response);
    assert.deepEqual(identity, {
      subject: "ada",
      name: "Ada",
      email: "ada@example.com",
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
}
