/** The authorization server alone, in an app that is not ours. */
import assert from "node:assert/strict";
import { DEFAULT_LIFETIMES } from "../../../../src/core/oauth/lifetimes.ts";
import { Hono } from "@hono/hono";
import { oauthDoor } from "../../../../src/core/auth/doors/oauth_door.ts";
import { authorizationServer } from "../../../../src/core/auth/server/authorization_server.ts";
import { effectiveScopesBy } from "../../../../src/core/oauth/grant.ts";
import { scopesOf } from "../../../../src/authoring/scope.ts";
import { parseConfig } from "../../../../src/core/settings/config.ts";
import { accessTokenStore } from "../../../../src/core/store/access_tokens.ts";
import { Database } from "../../../../src/core/kv/database.ts";
import { grantStore } from "../../../../src/core/store/grants.ts";
import { memoryKv } from "../../../../src/core/kv/memory_kv.ts";
import { sessionStore } from "../../../../src/core/store/sessions.ts";
import { FakeProvider } from "../../../kit/fake_provider.ts";
import { silentLogger } from "../../../kit/log.ts";

const BASE_URL = "https://tools.example.com";

function start() {
  const { auth } = parseConfig({
    BASE_URL,
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "github",
    OAUTH_CLIENT_ID: "our-client",
    OAUTH_CLIENT_SECRET: "our-secret",
    OAUTH_CLIENTS: JSON.stringify([{
      client_id: "ci",
      grant_types: ["client_credentials"],
      client_secret_env: "OAUTH_CLIENT_SECRET_CI",
      scope: "mail:read",
    }]),
    OAUTH_CLIENT_SECRET_CI: "a-secret-of-many-letters",
  }, { scopes: ["mail:read"] });
  const database = new Database(memoryKv());
  const config = auth.oauth!;
  const server = authorizationServer({
    config,
    log: silentLogger,
    database,
    sessions: sessionStore(database),
    baseUrl: BASE_URL,
    serverTitle: "Tools",
    provider: () => new FakeProvider(),
    fetchDocument: () => Promise.reject(new Error("no documents")),
    scopes: scopesOf(["mail:read"]),
    opensUnscoped: true,
    inWords: (scopes) => scopes.map((scope) => ({ scope, words: scope })),
    server: {} as never,
    records: [],
    toolsWithin: () => [],
    servicesWithin: () => [],
    needsAccount: () => false,
    titleOf: () => undefined,
  });
  const door = oauthDoor({
    providers: [],
    baseUrl: BASE_URL,
    scopes: { usual: [] },
    effectiveScopes: effectiveScopesBy({
      ...config,
      baseUrl: BASE_URL,
      permissions: undefined,
    }),
    accessTokens: accessTokenStore(database),
    grants: grantStore(database),
    lifetimes: DEFAULT_LIFETIMES,
    upstream: server.upstream,
    exchange: server.exchange,
    clock: database.clock,
  });
  const verify = (token: string) =>
    door.authenticate(new Headers({ authorization: `Bearer ${token}` }));
  return { server, verify };
}

Deno.test("authorizationServer() is an app that another can mount, and its tokens are verified without it", async () => {
  const { server, verify } = start();
  const app = new Hono();
  app.route("/", server.app);
  const metadata = await (await app.request(
    "/.well-known/oauth-authorization-server",
  )).json();
  assert.equal(metadata.issuer, BASE_URL);
  const response = await app.request(
    new URL(metadata.token_endpoint).pathname,
    {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_id: "ci",
        client_secret: "a-secret-of-many-letters",
      }),
    },
  );
  const { access_token } = await response.json();
  const { caller, isLive } = await verify(access_token);
  assert.equal(caller.subject, "client:ci");
  assert.deepEqual(caller.scopes, ["mail:read"]);
  assert.equal(caller.clientId, "ci");
  assert(caller.grantId);
  assert.equal(await isLive!(), true);
  await assert.rejects(async () => await verify(`${access_token}x`), {
    name: "ChallengeError",
    error: "invalid_token",
  });
  await server.close();
});
