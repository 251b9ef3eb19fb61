import assert from "node:assert/strict";
import {
  discovery,
  metadataLocations,
  parseMetadata,
} from "../../../src/auth/provider/discovery.ts";
import { UpstreamError } from "../../../src/auth/provider/upstream_error.ts";
import { upstreamFetch } from "../../../src/auth/provider/upstream_fetch.ts";
import { FakeTime } from "../../store/fake_time.ts";
import { serveProvider } from "./fake_provider.ts";
import { assertRefused } from "./refusal.ts";

const ISSUER = "https://id.example/realm";

const DOCUMENT = {
  issuer: ISSUER,
  authorization_endpoint: "https://id.example/authorize",
  token_endpoint: "https://id.example/token",
  jwks_uri: "https://id.example/jwks",
};

function parse(changes: Record<string, unknown> = {}, issuer = ISSUER) {
  return parseMetadata(
    { ...DOCUMENT, ...changes },
    issuer,
    (named) => named === issuer,
  );
}

Deno.test("metadataLocations() knows both places", () => {
  assert.deepEqual(metadataLocations("https://id.example/realm"), [
    "https://id.example/realm/.well-known/openid-configuration",
    "https://id.example/.well-known/oauth-authorization-server/realm",
  ]);
  assert.deepEqual(metadataLocations("https://id.example/"), [
    "https://id.example/.well-known/openid-configuration",
    "https://id.example/.well-known/oauth-authorization-server",
  ]);
});

Deno.test("parseMetadata() fills in what the standards say of silence", () => {
  assert.deepEqual(parse(), {
    issuer: ISSUER,
    authorizationEndpoint: "https://id.example/authorize",
    tokenEndpoint: "https://id.example/token",
    userinfoEndpoint: undefined,
    revocationEndpoint: undefined,
    jwksUri: "https://id.example/jwks",
    authMethods: ["client_secret_basic"],
    algorithms: ["RS256"],
    scopes: [],
    sendsIssuer: false,
  });
});

Deno.test("parseMetadata() leaves no algorithm that anyone can sign with", () => {
  const { algorithms } = parse({
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
  assert.deepEqual(algorithms, ["ES256", "RS256"]);
});

Deno.test("parseMetadata() takes plain http between two servers on this machine", () => {
  const issuer = "http://127.0.0.1:9/realm";
  const token_endpoint = "http://127.0.0.1:9/token";
  assert.equal(
    parse({ issuer, token_endpoint }, issuer).tokenEndpoint,
    token_endpoint,
  );
});

const REFUSED: [string, Record<string, unknown>, RegExp][] = [
  ["of another issuer", { issuer: "https://evil.example" }, /another issuer/],
  ["of almost the issuer", { issuer: `${ISSUER}/` }, /another issuer/],
  ["of no issuer", { issuer: undefined }, /another issuer/],
  ["without an authorization endpoint", {
    authorization_endpoint: undefined,
  }, /no authorization_endpoint/],
  ["without a token endpoint", { token_endpoint: undefined }, /no token_end/],
  ["without keys", { jwks_uri: undefined }, /no jwks_uri/],
  ["with an endpoint without TLS", {
    token_endpoint: "http://id.example/token",
  }, /no safe token_endpoint/],
  ["with an endpoint on our own machine", {
    userinfo_endpoint: "http://127.0.0.1/",
  }, /no safe userinfo_endpoint/],
  ["with an endpoint that runs code", {
    authorization_endpoint: "javascript:alert(1)",
  }, /no safe authorization_endpoint/],
  ["with an endpoint that is no text", { jwks_uri: 1 }, /no safe jwks_uri/],
];

for (const [what, changes, reason] of REFUSED) {
  Deno.test(`parseMetadata() refuses metadata ${what}`, () => {
    assert.throws(
      () => parse(changes),
      (error) =>
        error instanceof UpstreamError && error.kind === "misbehaved" &&
        reason.test(error.message),
    );
  });
}

Deno.test("discover() finds metadata at the second place and keeps it", async () => {
  await using fake = serveProvider((origin) => ({
    [`GET ${origin}/.well-known/oauth-authorization-server`]: () =>
      Response.json({ ...DOCUMENT, issuer: origin }),
  }));
  const discover = discovery(upstreamFetch(fetch), fake.origin);
  const [first, second] = await Promise.all([discover(), discover()]);
  assert.equal(first, second);
  assert.equal(await discover(), first);
  assert.equal(fake.asked.length, 2);
});

Deno.test("discover() asks again after an hour", async () => {
  using time = new FakeTime();
  await using fake = serveProvider((origin) => ({
    [`GET ${origin}/.well-known/openid-configuration`]: () =>
      Response.json({ ...DOCUMENT, issuer: origin }),
  }));
  const discover = discovery(upstreamFetch(fetch), fake.origin);
  await discover();
  time.tick(3599);
  await discover();
  assert.equal(fake.asked.length, 1);
  time.tick(1);
  await discover();
  assert.equal(fake.asked.length, 2);
});

Deno.test("discover() asks again after a failure", async () => {
  let status = 503;
  await using fake = serveProvider((origin) => ({
    [`GET ${origin}/.well-known/openid-configuration`]: () =>
      Response.json({ ...DOCUMENT, issuer: origin }, { status }),
  }));
  const discover = discovery(upstreamFetch(fetch), fake.origin);
  await assertRefused(discover(), "unavailable", /503/);
  status = 200;
  assert.equal((await discover()).issuer, fake.origin);
});

Deno.test("discover() says when there is nothing to be found", async () => {
  await using fake = serveProvider(() => ({}));
  await assertRefused(
    discovery(upstreamFetch(fetch), fake.origin)(),
    "misbehaved",
    /no metadata/,
  );
});
