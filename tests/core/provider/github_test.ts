import assert from "node:assert/strict";
import { parseListEntry } from "../../../src/core/oauth/list_entry.ts";
import { known } from "../../kit/known.ts";
import { gitHubApiUrl } from "../../../src/core/provider/github.ts";
import type { Provider } from "../../../src/core/provider/provider.ts";
import { createProvider } from "../../../src/core/provider/create_provider.ts";
import { signInProviders } from "../../../src/core/provider/sign_in_providers.ts";
import { silentLogger } from "../../kit/log.ts";
import { isAllowed, isBlocked } from "../../../src/core/oauth/allowed_users.ts";
import { SIGN_IN } from "./fake_openid.ts";
import {
  type Answers,
  type ServedProvider,
  serveProvider,
} from "../../kit/served_provider.ts";
import { assertRefused } from "./refusal.ts";

const TOKEN = "POST https://github.com/login/oauth/access_token";
const USER = "GET https://api.github.com/user";
const EMAILS = "GET https://api.github.com/user/emails";
const REVOKE = "DELETE https://api.github.com/applications/our-app/token";

/** Serves GitHub as its documentation describes it. */
function serveGitHub(changes: Answers = {}): ServedProvider {
  return serveProvider(() => ({
    [TOKEN]: () =>
      Response.json({
        access_token: "upstream-access",
        scope: "read:user,user:email",
        token_type: "bearer",
      }),
    [USER]: () =>
      Response.json({
        id: 583231,
        login: "octocat",
        name: "The Octocat",
        email: "public@example.com",
        avatar_url: "https://avatars.githubusercontent.com/u/583231",
      }),
    [EMAILS]: () =>
      Response.json([
        { email: "old@example.com", primary: false, verified: true },
        { email: "octo@example.com", primary: true, verified: true },
      ]),
    [REVOKE]: () => new Response(null, { status: 204 }),
    ...changes,
  }));
}

function gitHub(
  fake: ServedProvider,
  settings: { issuer?: string; scopes?: string[] } = {},
): Provider {
  return createProvider({
    provider: "github",
    clientId: "our-app",
    clientSecret: "hush-hush",
    extraAuthParams: { allow_signup: "false" },
    ...settings,
  }, { fetch: fake.fetch });
}

Deno.test("github asks for who it is and their address, with PKCE", async () => {
  await using fake = serveGitHub();
  const url = await gitHub(fake).authorizationUrl({
    state: "s",
    nonce: "n",
    codeChallenge: "c",
    redirectUri: SIGN_IN.redirectUri,
    loginHint: "octocat",
    isFresh: true,
  });
  assert.equal(
    url.origin + url.pathname,
    "https://github.com/login/oauth/authorize",
  );
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    allow_signup: "false",
    login: "octocat",
    prompt: "select_account",
    max_age: "0",
    response_type: "code",
    client_id: "our-app",
    redirect_uri: SIGN_IN.redirectUri,
    scope: "read:user user:email",
    state: "s",
    code_challenge: "c",
    code_challenge_method: "S256",
  });
});

Deno.test("github names people by number, with their verified address", async () => {
  await using fake = serveGitHub();
  const { tokens, identity } = await gitHub(fake).redeem({
    ...SIGN_IN,
    issuer: "https://github.com/login/oauth",
  });
  assert.deepEqual(identity, {
    subject: "583231",
    name: "The Octocat",
    email: "octo@example.com",
    emailVerified: true,
    otherEmails: ["old@example.com"],
    login: "octocat",
    picture: "https://avatars.githubusercontent.com/u/583231",
  });
  assert.equal(tokens.expiresAt, undefined);
  assert.equal(tokens.scope, "read:user,user:email");
  for (const { headers } of fake.asked) {
    assert.equal(headers.get("user-agent"), "tool-server");
    assert.equal(headers.get("accept"), "application/json");
  }
});

Deno.test("github's addresses all count that are verified, for a block all of them, whoever else's domain it is", async () => {
  await using fake = serveGitHub({
    [EMAILS]: () =>
      Response.json([
        { email: "claimed@example.org", primary: true, verified: false },
        { email: "work@example.com", primary: false, verified: true },
        { email: "Home@example.net", primary: false, verified: true },
      ]),
  });
  const { identity } = await gitHub(fake).redeem(SIGN_IN);
  const allows = (entry: string) =>
    isAllowed({ subject: "github:583231", identity }, [
      parseListEntry(entry, known("github")),
    ]);
  for (
    const entry of ["work@example.com", "home@example.net", "@example.net"]
  ) {
    assert(allows(entry), entry);
  }
  for (const entry of ["claimed@example.org", "@example.org"]) {
    assert(!allows(entry), entry);
  }
  const { vouched } = signInProviders({
    listed: [
      { id: "github", config: { provider: "dev" }, domains: [] },
      { id: "dev", config: { provider: "dev" }, domains: ["example.net"] },
    ],
    baseUrl: "https://tools.example.com",
    make: () => gitHub(fake),
    log: silentLogger,
  });
  const here = vouched("github", identity);
  const entryOf = (text: string) => parseListEntry(text, known("github"));
  const person = { subject: "github:583231", identity: here, clientId: "" };
  assert(!isAllowed(person, [entryOf("home@example.net")]));
  for (
    const entry of [
      "work@example.com",
      "home@example.net",
      "@example.net",
      "claimed@example.org",
    ]
  ) {
    assert(isBlocked(person, [entryOf(entry)]), entry);
  }
  assert(!isBlocked(person, [entryOf("jo@example.com")]));
});

Deno.test("github answers with a form where JSON is not heard", async () => {
  await using fake = serveGitHub({
    [TOKEN]: () =>
      new Response(
        "access_token=upstream-access&expires_in=28800&token_type=bearer",
        { headers: { "content-type": "application/x-www-form-urlencoded" } },
      ),
  });
  const { tokens } = await gitHub(fake).redeem(SIGN_IN);
  assert.equal(tokens.accessToken, "upstream-access");
  assert(tokens.expiresAt! > Date.now() / 1000 + 28_000);
});

const UNVERIFIED: [string, () => Response][] = [
  ["we may not read them", () =>
    Response.json([
      { email: "octo@example.com", primary: true, verified: true },
    ], { status: 404 })],
  ["no one is verified", () =>
    Response.json([
      { email: "octo@example.com", primary: true, verified: false },
    ])],
  ["there are none", () => Response.json([])],
  ["they are no list", () => Response.json({ email: "a@b" })],
  [
    "they are no addresses",
    () => Response.json([null, 1, { primary: true, verified: true }]),
  ],
];

for (const [what, answer] of UNVERIFIED) {
  Deno.test(`github's public address counts as unverified when ${what}`, async () => {
    await using fake = serveGitHub({ [EMAILS]: answer });
    const { identity } = await gitHub(fake).redeem(SIGN_IN);
    assert.equal(identity.email, "public@example.com");
    assert.equal(identity.emailVerified, false);
  });
}

const REFUSED = [
  ["a bad code", "bad_verification_code", "dead"],
  ["a person without a verified address", "unverified_user_email", "denied"],
  ["a wrong secret", "incorrect_client_credentials", "misbehaved"],
] as const;

for (const [what, error, kind] of REFUSED) {
  Deno.test(`github says with status 200 that it refuses ${what}`, async () => {
    await using fake = serveGitHub({ [TOKEN]: () => Response.json({ error }) });
    await assertRefused(gitHub(fake).redeem(SIGN_IN), kind, RegExp(error));
  });
}

Deno.test("github refuses a dead refresh token with status 200", async () => {
  await using fake = serveGitHub({
    [TOKEN]: () => Response.json({ error: "bad_refresh_token" }),
  });
  await assertRefused(
    gitHub(fake).refresh("old-refresh"),
    "dead",
    /bad_refresh_token/,
  );
});

Deno.test("github's user without a number is no one", async () => {
  await using fake = serveGitHub({
    [USER]: () => Response.json({ login: "octocat", sub: "1" }),
  });
  await assertRefused(
    gitHub(fake).redeem(SIGN_IN),
    "misbehaved",
    /must name the person/,
  );
});

Deno.test("github's answers come from github's issuer", async () => {
  await using fake = serveGitHub();
  await assertRefused(
    gitHub(fake).redeem({ ...SIGN_IN, issuer: "https://evil.example" }),
    "misbehaved",
    /iss/,
  );
  assert.equal(fake.asked.length, 0);
});

Deno.test("github's tokens end through its API", async () => {
  await using fake = serveGitHub();
  await gitHub(fake).revoke!({
    accessToken: "upstream-access",
    tokenType: "bearer",
  });
  const [{ headers, body }] = fake.asked;
  assert.equal(
    headers.get("authorization"),
    `Basic ${btoa("our-app:hush-hush")}`,
  );
  assert.equal(headers.get("content-type"), "application/json");
  assert.deepEqual(JSON.parse(body), { access_token: "upstream-access" });
});

for (const status of [404, 422]) {
  Deno.test(`github's ${status} means that a token has ended already`, async () => {
    await using fake = serveGitHub({
      [REVOKE]: () => new Response("{}", { status }),
    });
    await gitHub(fake).revoke!({ accessToken: "x", tokenType: "bearer" });
  });
}

Deno.test("github's refusal to end a token is told", async () => {
  await using fake = serveGitHub({
    [REVOKE]: () => new Response("{}", { status: 401 }),
  });
  await assertRefused(
    gitHub(fake).revoke!({
      accessToken: "upstream-access",
      tokenType: "bearer",
    }),
    "misbehaved",
    /401/,
  );
});

Deno.test("gitHubApiUrl() knows Enterprise instances", () => {
  assert.equal(gitHubApiUrl("https://github.com"), "https://api.github.com");
  assert.equal(
    gitHubApiUrl("https://acme.ghe.com"),
    "https://api.acme.ghe.com",
  );
  assert.equal(
    gitHubApiUrl("https://git.acme.example"),
    "https://git.acme.example/api/v3",
  );
});

Deno.test("github's Enterprise instance is asked in place of the public one", async () => {
  await using fake = serveGitHub();
  const { origin, pathname } = await gitHub(fake, {
    issuer: "https://git.acme.example/",
  }).authorizationUrl({
    state: "s",
    nonce: "n",
    codeChallenge: "c",
    redirectUri: SIGN_IN.redirectUri,
  });
  assert.equal(
    origin + pathname,
    "https://git.acme.example/login/oauth/authorize",
  );
});

Deno.test("github's address is not taken away while it limits our rate", async () => {
  const limits: HeadersInit[] = [
    { "retry-after": "60" },
    { "x-ratelimit-remaining": "0" },
  ];
  for (const headers of limits) {
    await using fake = serveGitHub({
      [EMAILS]: () => Response.json({}, { status: 403, headers }),
    });
    await assertRefused(
      gitHub(fake).identify!({ accessToken: "a", tokenType: "bearer" }),
      "unavailable",
      /limits our rate/,
    );
  }
});
