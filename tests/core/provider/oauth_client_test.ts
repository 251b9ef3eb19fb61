import assert from "node:assert/strict";
import { upstreamFetch } from "../../../src/core/provider/upstream_fetch.ts";
import { basicCredentials } from "../../../src/core/provider/basic.ts";
import { oauthClient } from "../../../src/core/provider/oauth_client.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { type Asked, serveProvider } from "../../kit/served_provider.ts";
import { assertRefused } from "./refusal.ts";

const GRANT = { grant_type: "refresh_token", refresh_token: "old-refresh" };

const TOKENS = { access_token: "upstream-access", token_type: "bearer" };

function serve(answer: (asked: Asked) => Response) {
  return serveProvider((origin) => ({ [`POST ${origin}/token`]: answer }));
}

interface Application {
  clientSecret?: string;
  methods?: string[];
}

function ask(
  origin: string,
  { clientSecret, methods }: Application = { clientSecret: "hush-hush" },
) {
  return oauthClient(upstreamFetch(fetch), {
    clientId: "our-app",
    clientSecret,
  }).refresh({
    issuer: origin,
    token_endpoint: `${origin}/token`,
    token_endpoint_auth_methods_supported: methods ?? ["client_secret_post"],
  }, "old-refresh");
}

/** Gives what is read from an answer. */
async function answered(answer: Record<string, unknown>) {
  await using fake = serve(() => Response.json(answer));
  return await ask(fake.origin);
}

Deno.test("refresh() reads a whole answer", async () => {
  using _time = new FakeTime();
  const answer = await answered({
    access_token: "a",
    token_type: "BEARER",
    expires_in: 60,
    refresh_token: "r",
    scope: "x y",
    id_token: "i",
  });
  assert.deepEqual(answer, {
    tokens: {
      accessToken: "a",
      tokenType: "BEARER",
      refreshToken: "r",
      scope: "x y",
      expiresAt: Math.floor(Date.now() / 1000) + 60,
      refreshAt: Math.floor(Date.now() / 1000) + 30,
    },
    idToken: "i",
  });
});

const DEFAULT_LIFETIMES: [unknown, number | undefined][] = [
  [undefined, undefined],
  [null, undefined],
  [60, 60],
  ["60", 60],
  [59.9, 59],
  [0, undefined],
  [-1, undefined],
  ["soon", undefined],
  ["1e999", undefined],
  [2 ** 32, undefined],
];

for (const [expires_in, seconds] of DEFAULT_LIFETIMES) {
  Deno.test(`refresh() reads expires_in ${JSON.stringify(expires_in)}`, async () => {
    using _time = new FakeTime();
    const { tokens } = await answered({ ...TOKENS, expires_in });
    const { expiresAt } = tokens;
    assert.equal(
      expiresAt && expiresAt - Math.floor(Date.now() / 1000),
      seconds,
    );
  });
}

/** Makes an array within arrays, too deep to be read as text. */
function nested(levels: number): unknown {
  return JSON.parse("[".repeat(levels) + "]".repeat(levels));
}

Deno.test("refresh() takes a token next to an error that is null", async () => {
  const { tokens } = await answered({ ...TOKENS, error: null });
  assert.equal(tokens.accessToken, "upstream-access");
  await assertRefused(answered({ error: null }), "misbehaved", /granted no/);
});

Deno.test("refresh() refuses what cannot be used", async () => {
  const answers = [
    {},
    { ...TOKENS, access_token: "" },
    { ...TOKENS, access_token: 1 },
    { ...TOKENS, access_token: "upstream-access\r\nX: y" },
    { ...TOKENS, access_token: "upstream-access\n" },
    { ...TOKENS, access_token: "upstream-access €" },
    { ...TOKENS, expires_in: true },
    { ...TOKENS, expires_in: { valueOf: 1, toString: 1 } },
    { ...TOKENS, expires_in: nested(300_000) },
    { ...TOKENS, token_type: "mac" },
    { ...TOKENS, token_type: null },
  ];
  for (const answer of answers) {
    await assertRefused(answered(answer), "misbehaved", /granted/);
  }
});

Deno.test("refresh() reads a form, and takes a silent type for Bearer", async () => {
  await using fake = serve(() =>
    new Response(new URLSearchParams({ access_token: "a", expires_in: "60" }))
  );
  const { tokens } = await ask(fake.origin);
  assert.equal(tokens.accessToken, "a");
  assert.equal(tokens.tokenType, "Bearer");
});

Deno.test("basicCredentials() keeps a colon in a secret from splitting it", () => {
  assert.equal(
    basicCredentials("a:b", "c:d é"),
    `Basic ${btoa("a%3Ab:c%3Ad%20%C3%A9")}`,
  );
});

Deno.test("refresh() sends the secret in the body or in the header, never in both", async () => {
  await using fake = serve(() => Response.json(TOKENS));
  await ask(fake.origin);
  await ask(fake.origin, {
    clientSecret: "hush-hush",
    methods: ["client_secret_basic"],
  });
  const [post, header] = fake.asked;
  assert.deepEqual(post.form, {
    ...GRANT,
    client_id: "our-app",
    client_secret: "hush-hush",
  });
  assert.equal(post.headers.get("authorization"), null);
  assert.deepEqual(header.form, GRANT);
  assert.equal(
    header.headers.get("authorization"),
    basicCredentials("our-app", "hush-hush"),
  );
});

Deno.test("refresh() only names a client without a secret", async () => {
  await using fake = serve(() => Response.json(TOKENS));
  await ask(fake.origin, {});
  assert.deepEqual(fake.asked[0].form, { ...GRANT, client_id: "our-app" });
});

for (const error of ["invalid_client", "invalid_request"]) {
  Deno.test(`refresh() tries the next way to authenticate after ${error}`, async () => {
    await using fake = serve(({ headers }) =>
      headers.has("authorization")
        ? Response.json({ error }, { status: 401 })
        : Response.json(TOKENS)
    );
    const { tokens } = await ask(fake.origin, {
      clientSecret: "hush-hush",
      methods: ["client_secret_basic", "client_secret_post"],
    });
    assert.equal(tokens.accessToken, "upstream-access");
    assert.equal(fake.asked.length, 2);
  });
}

Deno.test("refresh() does not send a dead grant twice", async () => {
  await using fake = serve(() =>
    Response.json({ error: "invalid_grant" }, { status: 400 })
  );
  const application = {
    clientSecret: "hush-hush",
    methods: ["client_secret_basic", "client_secret_post"],
  };
  await assertRefused(ask(fake.origin, application), "dead", /invalid_grant/);
  assert.equal(fake.asked.length, 1);
});

const ERRORS = [
  ["invalid_grant", "dead"],
  ["bad_verification_code", "dead"],
  ["bad_refresh_token", "dead"],
  ["interaction_required", "dead"],
  ["login_required", "dead"],
  ["consent_required", "dead"],
  ["access_denied", "denied"],
  ["unverified_user_email", "denied"],
  ["temporarily_unavailable", "unavailable"],
  ["server_error", "unavailable"],
  ["invalid_client", "misbehaved"],
  ["incorrect_client_credentials", "misbehaved"],
  ["redirect_uri_mismatch", "misbehaved"],
  ["invalid_scope", "misbehaved"],
  ["constructor", "misbehaved"],
] as const;

for (const [error, kind] of ERRORS) {
  for (const status of [400, 200]) {
    Deno.test(`refresh() takes ${error} with status ${status} for ${kind}`, async () => {
      await using fake = serve(() =>
        Response.json(
          { error, error_description: "you sent hush-hush and old-refresh" },
          { status },
        )
      );
      await assertRefused(ask(fake.origin), kind, RegExp(error));
    });
  }
}

for (const error of ["old-refresh is bad", { code: 1 }, "x".repeat(65), 7]) {
  Deno.test(`refresh() does not repeat an error that is no code: ${JSON.stringify(error).slice(0, 20)}`, async () => {
    await using fake = serve(() => Response.json({ error }, { status: 400 }));
    await assertRefused(ask(fake.origin), "misbehaved", /answered 400$/);
  });
}

Deno.test("refresh() refuses a page in place of an answer", async () => {
  await using fake = serve(() =>
    new Response("<p>old-refresh", { status: 403 })
  );
  await assertRefused(ask(fake.origin), "misbehaved", /403 without a JSON/);
});
