import assert from "node:assert/strict";
import type { OperatorInfo } from "../../../../src/authoring/about.ts";
import { oauthError, statusOf } from "../../../kit/answer.ts";
import { recordLog } from "../../../kit/log.ts";
import { scopesOf } from "../../../../src/authoring/scope.ts";
import { parseConfig } from "../../../../src/core/settings/config.ts";
import type { Environment } from "../../../../src/core/settings/setting.ts";
import { BASE_URL, startServer } from "../../../kit/server.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";
import {
  authorizationServerMetadata,
  protectedResourceMetadata,
} from "../../../../src/core/auth/server/well_known.ts";

for (
  const path of [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/any/thing",
    "/.well-known/oauth-protected-resource?sid=a.b_c~d-9",
  ]
) {
  Deno.test(`GET ${path} describes the resource`, async () => {
    await using server = await startOAuthServer();
    const response = await server.fetch(path);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type")!, /^application\/json/);
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    const { resource, authorization_servers } = await response.json();
    assert.equal(resource, `${BASE_URL}/mcp`);
    assert.deepEqual(authorization_servers, [BASE_URL]);
  });
}

Deno.test("GET /.well-known/oauth-protected-resource refuses a sid that is none", async () => {
  await using server = await startOAuthServer();
  assert.equal(
    await oauthError(server.fetch(
      "/.well-known/oauth-protected-resource?sid=a%20b",
    )),
    "400 invalid_request",
  );
});

Deno.test("a challenge passes the sid of the address on, and nothing that is none", async () => {
  await using server = await startOAuthServer();
  const metadataUrl = async (query: string, method: string) => {
    const response = await server.fetch(`/mcp${query}`, {
      method,
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-session-id": "x",
      },
    });
    assert.equal(response.status, 401);
    await response.body?.cancel();
    const challenge = response.headers.get("www-authenticate")!;
    return /resource_metadata="([^"]*)"/.exec(challenge)![1];
  };
  const plain = `${BASE_URL}/.well-known/oauth-protected-resource/mcp`;
  for (const method of ["POST", "DELETE"]) {
    assert.equal(await metadataUrl("", method), plain);
    assert.equal(await metadataUrl("?sid=a.b", method), `${plain}?sid=a.b`);
    assert.equal(await metadataUrl("?sid=a%22b", method), plain);
    assert.equal(await metadataUrl("?sid=a%0d%0aX:y=1", method), plain);
    assert.equal(await metadataUrl("?other=1", method), plain);
  }
});

for (
  const path of [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
  ]
) {
  Deno.test(`GET ${path} describes the authorization server`, async () => {
    await using server = await startOAuthServer();
    const response = await server.fetch(path);
    assert.equal(response.status, 200);
    const metadata = await response.json();
    assert.equal(metadata.issuer, BASE_URL);
    assert.equal(metadata.request_uri_parameter_supported, false);
  });
}

Deno.test("GET /.well-known/openid-configuration is not there: half of one breaks clients", async () => {
  await using server = await startOAuthServer();
  assert.equal(
    await statusOf(server.fetch("/.well-known/openid-configuration")),
    404,
  );
});

const ROUTES: [string, string, number][] = [
  ["GET", "/.well-known/oauth-protected-resource", 404],
  ["GET", "/.well-known/oauth-authorization-server", 404],
  ["GET", "/authorize", 501],
  ["POST", "/authorize", 501],
  ["GET", "/oauth/provider-callback", 501],
  ["POST", "/token", 501],
  ["POST", "/revoke", 501],
  ["POST", "/register", 501],
];

for (const [method, path, status] of ROUTES) {
  Deno.test(`${method} ${path} says under another strategy that no one signs in`, async () => {
    await using server = await startServer();
    const response = await server.fetch(path, { method });
    assert.equal(response.status, status);
    const { error_description } = await response.json();
    assert.equal(error_description, "This server has no sign-in");
  });
}

for (
  const [strategy, env] of [
    ["none", {}],
    ["bearer", { AUTH_STRATEGY: "bearer", BEARER_TOKEN: "b".repeat(32) }],
  ] as const
) {
  Deno.test(`the log says that AUTH_STRATEGY is ${strategy} where no one signs in`, async () => {
    const { log, events } = recordLog("debug");
    await using server = await startServer({ env, log });
    await (await server.fetch("/authorize")).body?.cancel();
    assert.match(
      Deno.inspect(events),
      RegExp(`AUTH_STRATEGY is ${strategy}\\.`),
    );
  });
}

Deno.test("under the jwt strategy the resource names someone else's server", async () => {
  await using server = await startServer({
    env: {
      AUTH_STRATEGY: "jwt",
      JWT_ISSUER: "https://login.example.com",
      JWT_AUDIENCE: "tools",
      JWT_JWKS_URL: "https://login.example.com/jwks",
    },
  });
  const response = await server.fetch("/.well-known/oauth-protected-resource");
  const { resource, authorization_servers } = await response.json();
  assert.equal(resource, `${BASE_URL}/mcp`);
  assert.deepEqual(authorization_servers, ["https://login.example.com"]);
});

function metadataOf(
  more: Environment = {},
  about?: OperatorInfo,
  added?: Parameters<typeof authorizationServerMetadata>[1],
) {
  const { auth } = parseConfig({
    BASE_URL,
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "github",
    OAUTH_CLIENT_ID: "our-client",
    OAUTH_CLIENT_SECRET: "our-secret",
    ...more,
  }, { scopes: [] });
  return authorizationServerMetadata({
    baseUrl: BASE_URL,
    scopes: scopesOf(["mail:read"]),
    config: auth.oauth!,
    about,
  }, added);
}

Deno.test("authorizationServerMetadata() advertises what clients look for", () => {
  const metadata = metadataOf();
  assert.equal(metadata.issuer, BASE_URL);
  assert.equal(metadata.authorization_endpoint, `${BASE_URL}/authorize`);
  assert.equal(metadata.token_endpoint, `${BASE_URL}/token`);
  assert.equal(metadata.registration_endpoint, `${BASE_URL}/register`);
  assert.equal(metadata.revocation_endpoint, `${BASE_URL}/revoke`);
  assert.deepEqual(metadata.scopes_supported, ["mail:read", "offline_access"]);
  assert.deepEqual(metadata.response_types_supported, ["code"]);
  assert.deepEqual(metadata.response_modes_supported, ["query"]);
  assert.deepEqual(metadata.code_challenge_methods_supported, ["S256"]);
  assert.deepEqual(metadata.token_endpoint_auth_methods_supported, [
    "none",
    "client_secret_basic",
    "client_secret_post",
    "private_key_jwt",
  ]);
  assert.equal(metadata.authorization_response_iss_parameter_supported, true);
  assert.equal(metadata.client_id_metadata_document_supported, true);
  const without = metadataOf({ CIMD_ENABLED: "false" });
  assert.equal(without.client_id_metadata_document_supported, false);
});

Deno.test("authorizationServerMetadata() names the grant types that someone here may use", () => {
  const OAUTH_CLIENTS = JSON.stringify([{
    client_id: "ci",
    grant_types: ["client_credentials"],
    client_secret_sha256: "0".repeat(64),
  }]);
  const added = { name: "added", metadata: { profiles_supported: ["one"] } };
  for (
    const [settings, grantType, profile] of [
      [{}],
      [{ OAUTH_CLIENTS }, "client_credentials"],
      [{}, "added", "one"],
    ] as [Environment, string?, string?][]
  ) {
    const metadata = metadataOf(settings, undefined, profile ? [added] : []);
    assert.deepEqual(metadata.grant_types_supported, [
      "authorization_code",
      "refresh_token",
      ...grantType ? [grantType] : [],
    ]);
    assert.deepEqual(
      metadata.profiles_supported,
      profile && [profile],
    );
    assert(!JSON.stringify(metadata).includes("idp.example.com"));
  }
});

Deno.test("both documents name the pages about the server, where it has them", () => {
  const about = {
    websiteUrl: "https://example.com/",
    privacyUrl: "https://example.com/privacy",
    termsUrl: "https://example.com/terms",
  };
  const options = { baseUrl: BASE_URL, scopesSupported: [], about };
  const server = metadataOf({}, about);
  assert.equal(server.service_documentation, about.websiteUrl);
  assert.equal(server.op_policy_uri, about.privacyUrl);
  assert.equal(server.op_tos_uri, about.termsUrl);
  const resource = protectedResourceMetadata({
    ...options,
    issuers: [BASE_URL],
    title: "Tools",
  });
  assert.equal(resource.resource_documentation, about.websiteUrl);
  assert.equal(resource.resource_policy_uri, about.privacyUrl);
  assert.equal(resource.resource_tos_uri, about.termsUrl);
});

Deno.test("protectedResourceMetadata() names the resource and its server, byte for byte", () => {
  const resource = (scopesSupported: string[]) =>
    protectedResourceMetadata({
      baseUrl: BASE_URL,
      issuers: [BASE_URL],
      scopesSupported,
      title: "Tools",
    });
  assert.deepEqual(JSON.parse(JSON.stringify(resource(["mail:read"]))), {
    resource: `${BASE_URL}/mcp`,
    authorization_servers: [BASE_URL],
    scopes_supported: ["mail:read"],
    bearer_methods_supported: ["header"],
    resource_name: "Tools",
  });
  assert(!("scopes_supported" in resource([])));
});
