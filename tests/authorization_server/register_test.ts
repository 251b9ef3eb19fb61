import assert from "node:assert/strict";
import { startOAuthServer } from "../flow/kit.ts";

const REDIRECTS = { redirect_uris: ["https://app.example.com/cb"] };

Deno.test("POST /register answers 201 with the metadata, and without nulls", async () => {
  await using server = await startOAuthServer();
  const response = await server.json("/register", {
    ...REDIRECTS,
    client_name: "App",
    logo_uri: null,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  });
  assert.equal(response.status, 201);
  assert.equal(response.headers.get("cache-control"), "no-store");
  const { client_id, client_id_issued_at, ...metadata } = await response.json();
  assert.match(client_id, /^[\w-]{22}$/);
  assert(Number.isInteger(client_id_issued_at));
  assert.deepEqual(metadata, {
    ...REDIRECTS,
    client_name: "App",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  });
});

Deno.test("POST /register gives a confidential client a secret", async () => {
  await using server = await startOAuthServer();
  const response = await server.json("/register", {
    ...REDIRECTS,
    token_endpoint_auth_method: "client_secret_basic",
  });
  const { client_secret, client_secret_expires_at } = await response.json();
  assert.match(client_secret, /^[\w-]{43}$/);
  assert.equal(client_secret_expires_at, 0);
});

const REFUSED: [string, string, number, string][] = [
  ["what is no JSON", "{", 400, "invalid_request"],
  ["no metadata", "[]", 400, "invalid_client_metadata"],
  ["no redirect URI", "{}", 400, "invalid_redirect_uri"],
  [
    "a script for a redirect URI",
    '{"redirect_uris":["javascript:alert(1)"]}',
    400,
    "invalid_redirect_uri",
  ],
  [
    "a method that nobody has",
    '{"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"x"}',
    400,
    "invalid_client_metadata",
  ],
  ["a body without end", " ".repeat(17_000), 413, "invalid_request"],
];

for (const [what, body, status, error] of REFUSED) {
  Deno.test(`POST /register refuses ${what} with ${error}`, async () => {
    await using server = await startOAuthServer();
    const response = await server.fetch("/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    assert.equal(response.status, status);
    assert.equal((await response.json()).error, error);
  });
}
