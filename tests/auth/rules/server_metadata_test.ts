import assert from "node:assert/strict";
import {
  authorizationServerMetadata,
  protectedResourceMetadata,
} from "../../../src/auth/rules/server_metadata.ts";

const BASE_URL = "https://tools.example.com";

Deno.test("authorizationServerMetadata() advertises what clients look for", () => {
  const metadata = authorizationServerMetadata({
    baseUrl: BASE_URL,
    scopesSupported: ["mail:read"],
    metadataDocuments: true,
  });
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
});

Deno.test("authorizationServerMetadata() names the grant types that someone here may use", () => {
  const told = (more: { machines?: boolean; assertions?: boolean }) => {
    const metadata = authorizationServerMetadata({
      baseUrl: BASE_URL,
      scopesSupported: [],
      metadataDocuments: true,
      ...more,
    });
    return [
      metadata.grant_types_supported,
      metadata.authorization_grant_profiles_supported,
    ];
  };
  const usual = ["authorization_code", "refresh_token"];
  assert.deepEqual(told({}), [usual, undefined]);
  assert.deepEqual(told({ machines: true }), [
    [...usual, "client_credentials"],
    undefined,
  ]);
  assert.deepEqual(told({ assertions: true }), [
    [...usual, "urn:ietf:params:oauth:grant-type:jwt-bearer"],
    ["urn:ietf:params:oauth:grant-profile:id-jag"],
  ]);
});

Deno.test("both documents name the pages about the server, where it has them", () => {
  const about = {
    websiteUrl: "https://example.com/",
    privacyUrl: "https://example.com/privacy",
    termsUrl: "https://example.com/terms",
  };
  const options = { baseUrl: BASE_URL, scopesSupported: [], about };
  const server = authorizationServerMetadata({
    ...options,
    metadataDocuments: true,
  });
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
    resource: "https://tools.example.com/mcp",
    authorization_servers: ["https://tools.example.com"],
    scopes_supported: ["mail:read"],
    bearer_methods_supported: ["header"],
    resource_name: "Tools",
  });
  assert(!("scopes_supported" in resource([])));
});
