import assert from "node:assert/strict";
import { FakeTime } from "../../../kit/fake_time.ts";
import { Client } from "../../../kit/client.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";

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
  assert.match(client_id, /^[\w-]{22}\.[\w.-]+$/);
  assert(Number.isInteger(client_id_issued_at));
  assert.deepEqual(metadata, {
    ...REDIRECTS,
    client_name: "App",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  });
});

Deno.test("POST /register stores nothing, and nothing makes its client unknown", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  await (await Client.register(server)).connect();
  const keys = async () =>
    (await Array.fromAsync(server.kv.list({ prefix: [] }))).length;
  const before = await keys();
  const client = await Client.register(server, {
    token_endpoint_auth_method: "client_secret_post",
  });
  assert.equal(await keys(), before);
  time.tick(1000 * 24 * 60 * 60);
  assert((await client.connect()).refresh_token);
});

Deno.test("POST /register knows its clients on every server of a database", async () => {
  using kv = await Deno.openKv(":memory:");

  await using first = await startOAuthServer({ kv });
  await using second = await startOAuthServer({ kv });
  const client = await Client.register(first);
  client.server = second;
  assert((await client.connect()).access_token);
  await using elsewhere = await startOAuthServer();
  const page = await elsewhere.browser().open(client.authorizationUrl());
  assert.equal(page.status, 400);
});

Deno.test("POST /register never repeats a private key", async () => {
  await using server = await startOAuthServer();
  const response = await server.json("/register", {
    ...REDIRECTS,
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [{ kty: "EC", crv: "P-256", x: "x", y: "y", d: "hush" }] },
  });
  assert.equal(response.status, 400);
  assert.doesNotMatch(await response.text(), /hush/);
});

const REFUSED: [string, string, number, string][] = [
  ["what is no JSON", "{", 400, "invalid_request"],
  ["no metadata", "[]", 400, "invalid_client_metadata"],
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
