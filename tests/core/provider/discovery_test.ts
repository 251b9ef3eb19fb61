import assert from "node:assert/strict";
import { metadataReader } from "../../../src/core/provider/discovery.ts";
import { upstreamFetch } from "../../../src/core/provider/upstream_fetch.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { serveProvider } from "../../kit/served_provider.ts";
import { assertRefused } from "./refusal.ts";

const ISSUER = "https://id.example/realm";

const DOCUMENT = {
  issuer: ISSUER,
  authorization_endpoint: "https://id.example/authorize",
  token_endpoint: "https://id.example/token",
  jwks_uri: "https://id.example/jwks",
};

async function discovered(
  changes: Record<string, unknown> = {},
  issuer = ISSUER,
) {
  await using fake = serveProvider(() => ({
    [`GET ${issuer}/.well-known/openid-configuration`]: () =>
      Response.json({ ...DOCUMENT, ...changes }),
  }));
  return await metadataReader(upstreamFetch(fake.fetch), issuer)();
}

Deno.test("discover() fills in what the standards say of silence", async () => {
  assert.deepEqual(await discovered(), {
    ...DOCUMENT,
    token_endpoint_auth_methods_supported: ["client_secret_basic"],
    id_token_signing_alg_values_supported: ["RS256"],
    scopes_supported: [],
  });
});

Deno.test("discover() leaves no algorithm that anyone can sign with", async () => {
  const metadata = await discovered({
    id_token_signing_alg_values_supported: [
      "none",
      "HS256",
      "HS384",
      "HS512",
      "dir",
      "ES256",
      "RS256",
    ],
  });
  assert.deepEqual(
    metadata.id_token_signing_alg_values_supported,
    ["ES256", "RS256"],
  );
});

Deno.test("discover() takes plain http between two servers on this machine", async () => {
  const issuer = "http://127.0.0.1:9/realm";
  const token_endpoint = "http://127.0.0.1:9/token";
  const metadata = await discovered({ issuer, token_endpoint }, issuer);
  assert.equal(metadata.token_endpoint, token_endpoint);
});

const REFUSED: [string, Record<string, unknown>, RegExp][] = [
  ["of another issuer", { issuer: "https://evil.example" }, /another issuer/],
  ["of almost the issuer", { issuer: `${ISSUER}/` }, /another issuer/],
  ["of no issuer", { issuer: undefined }, /another issuer/],
  ["without an authorization endpoint", {
    authorization_endpoint: undefined,
  }, /must have authorization_endpoint/],
  ["without a token endpoint", { token_endpoint: undefined }, /have token_end/],
  ["without keys", { jwks_uri: undefined }, /must have jwks_uri/],
  ["with an endpoint without TLS", {
    token_endpoint: "http://id.example/token",
  }, /token_endpoint of .* must be an https URL/],
  ["with an endpoint on our own machine", {
    userinfo_endpoint: "http://127.0.0.1/",
  }, /userinfo_endpoint of .* must be an https URL/],
  ["with an endpoint that runs code", {
    authorization_endpoint: "javascript:alert(1)",
  }, /authorization_endpoint of .* must be an https URL/],
  [
    "with an endpoint that is no text",
    { jwks_uri: 1 },
    /jwks_uri of .* must be an https URL/,
  ],
];

for (const [what, changes, reason] of REFUSED) {
  Deno.test(`discover() refuses metadata ${what}`, async () => {
    await assertRefused(discovered(changes), "misbehaved", reason);
  });
}

for (const path of ["", "/", "/realm", "/realm/"]) {
  Deno.test(`discover() looks at both places for https://id.example${path}, and keeps what it finds`, async () => {
    const issuer = `https://id.example${path}`;
    const bare = path.replace(/\/$/, "");
    const places = [
      `https://id.example${bare}/.well-known/openid-configuration`,
      `https://id.example/.well-known/oauth-authorization-server${bare}`,
    ];
    await using fake = serveProvider(() => ({
      [`GET ${places[1]}`]: () => Response.json({ ...DOCUMENT, issuer }),
    }));
    const discover = metadataReader(upstreamFetch(fake.fetch), issuer);
    const [first, second] = await Promise.all([discover(), discover()]);
    assert.equal(first, second);
    assert.equal(await discover(), first);
    assert.deepEqual(fake.asked.map(({ url }) => url.href), places);
  });
}

Deno.test("discover() asks again after an hour", async () => {
  using time = new FakeTime();
  await using fake = serveProvider((origin) => ({
    [`GET ${origin}/.well-known/openid-configuration`]: () =>
      Response.json({ ...DOCUMENT, issuer: origin }),
  }));
  const discover = metadataReader(upstreamFetch(fetch), fake.origin);
  await discover();
  time.tick(3599);
  await discover();
  assert.equal(fake.asked.length, 1);
  time.tick(1);
  await discover();
  assert.equal(fake.asked.length, 2);
});

Deno.test("discover() keeps what it has for a day while it cannot fetch it again", async () => {
  using time = new FakeTime();
  let status = 200;
  await using fake = serveProvider((origin) => ({
    [`GET ${origin}/.well-known/openid-configuration`]: () =>
      Response.json({ ...DOCUMENT, issuer: origin }, { status }),
  }));
  const discover = metadataReader(upstreamFetch(fetch), fake.origin);
  const first = await discover();
  status = 503;
  time.tick(3600);
  assert.equal(await discover(), first);
  const asked = fake.asked.length;
  // Not with every sign-in.
  assert.equal(await discover(), first);
  assert.equal(fake.asked.length, asked);
  status = 200;
  time.tick(60);
  const second = await discover();
  assert.notEqual(second, first);
  status = 503;
  time.tick(24 * 3600 - 1);
  assert.equal(await discover(), second);
  time.tick(1);
  await assertRefused(discover(), "unavailable", /503/);
});

Deno.test("discover() asks again after a failure", async () => {
  let status = 503;
  await using fake = serveProvider((origin) => ({
    [`GET ${origin}/.well-known/openid-configuration`]: () =>
      Response.json({ ...DOCUMENT, issuer: origin }, { status }),
  }));
  const discover = metadataReader(upstreamFetch(fetch), fake.origin);
  await assertRefused(discover(), "unavailable", /503/);
  status = 200;
  assert.equal((await discover()).issuer, fake.origin);
});

Deno.test("discover() says when there is nothing to be found", async () => {
  await using fake = serveProvider(() => ({}));
  await assertRefused(
    metadataReader(upstreamFetch(fetch), fake.origin)(),
    "misbehaved",
    /404/,
  );
});
