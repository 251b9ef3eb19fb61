import assert from "node:assert/strict";
import { Database } from "../../../../src/core/kv/database.ts";
import {
  checkDevProvider,
  devProvider,
} from "../../../../src/core/provider/dev/dev_provider.ts";
import type { HttpError } from "../../../../src/core/errors.ts";
import { codeChallenge } from "../../../../src/core/oauth/pkce.ts";
import type { UpstreamResponse } from "../../../../src/core/provider/provider.ts";
import { assertRefused } from "../refusal.ts";

const BASE_URL = "http://127.0.0.1:3000";
const REDIRECT_URI = `${BASE_URL}/oauth/provider-callback`;
const VERIFIER = "v".repeat(43);
const REQUEST = {
  state: "the-state",
  nonce: "the-nonce",
  codeChallenge: codeChallenge(VERIFIER),
  redirectUri: REDIRECT_URI,
};

/** A process: its routes, and its view of the provider. */
function start(kv: Deno.Kv) {
  return devProvider({
    database: new Database(kv),
    baseUrl: BASE_URL,
    redirectUri: REDIRECT_URI,
    deployed: false,
    serverTitle: "Tool Server",
  });
}

type Process = ReturnType<typeof start>;

/** Fills in the form that a request leads to. */
async function submit(
  { routes, provider }: Process,
  fields: Record<string, string>,
): Promise<URL> {
  const { searchParams } = await provider.authorizationUrl(REQUEST);
  const body = new URLSearchParams(searchParams);
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  const response = await routes.request("/dev-provider/authorize", {
    method: "POST",
    body,
  });
  assert.equal(response.status, 303);
  return new URL(response.headers.get("location")!);
}

/** Gives the provider's answer for a person who types a name. */
async function signIn(
  process: Process,
  name: string,
): Promise<UpstreamResponse> {
  const answer = await submit(process, { name });
  assert.equal(answer.origin + answer.pathname, REDIRECT_URI);
  assert.equal(answer.searchParams.get("state"), "the-state");
  return {
    code: answer.searchParams.get("code")!,
    issuer: answer.searchParams.get("iss")!,
    codeVerifier: VERIFIER,
    nonce: "the-nonce",
    redirectUri: REDIRECT_URI,
  };
}

function withProcess(
  name: string,
  test: (process: Process, kv: Deno.Kv) => Promise<void>,
): void {
  Deno.test(name, async () => {
    using kv = await Deno.openKv(":memory:");
    await test(start(kv), kv);
  });
}

withProcess("dev believes a name", async (process) => {
  const response = await signIn(process, "  Ada   Lovelace ");
  const { tokens, identity } = await process.provider.redeem(response);
  assert.deepEqual(identity, {
    subject: "ada lovelace",
    name: "Ada Lovelace",
    login: "ada lovelace",
  });
  const left = tokens.expiresAt! - Math.floor(Date.now() / 1000);
  assert(left > 290 && left <= 300);
});

withProcess(
  "dev believes an address, so that lists of allowed people can be tried",
  async (process) => {
    const response = await signIn(process, "Ada@Example.com");
    const { identity } = await process.provider.redeem(response);
    assert.equal(identity.email, "ada@example.com");
    assert.equal(identity.emailVerified, true);
  },
);

withProcess(
  "dev shows one form with a text field for the name, and it needs no script",
  async ({ routes, provider }) => {
    const url = await provider.authorizationUrl(REQUEST);
    const response = await routes.request(url.href);
    assert.equal(response.status, 200);
    const html = await response.text();
    assert.equal(html.match(/<form/g)?.length, 1);
    assert.match(
      html,
      /<form method="post" action="\/dev-provider\/authorize">/,
    );
    assert.match(html, /<input id="name" name="name" type="text"/);
    assert(!html.includes("<script"));
    for (const [name, value] of url.searchParams) {
      assert(
        html.includes(`<input type="hidden" name="${name}" value="${value}"`),
      );
    }
    const policy = response.headers.get("content-security-policy")!;
    assert.match(policy, /frame-ancestors 'none'/);
    // Chrome applies it to every redirect after the form, up to the client's.
    assert(!policy.includes("form-action"));
  },
);

withProcess(
  "dev's codes and tokens serve every process on the database",
  async (process, kv) => {
    const other = start(kv);
    const response = await signIn(process, "Ada");
    const { tokens, identity } = await other.provider.redeem(response);
    assert.equal(identity.name, "Ada");
    const refreshed = await process.provider.refresh(tokens.refreshToken!);
    assert.equal(refreshed.refreshToken, tokens.refreshToken);
    const userinfo = await other.routes.request("/dev-provider/userinfo", {
      headers: { authorization: `Bearer ${refreshed.accessToken}` },
    });
    assert.equal((await userinfo.json()).name, "Ada");
  },
);

withProcess(
  "dev's code is good once, however many try",
  async (process, kv) => {
    const other = start(kv);
    const response = await signIn(process, "Ada");
    const attempts = Array.from(
      { length: 50 },
      (_, n) => (n % 2 ? process : other).provider.redeem(response),
    );
    const outcomes = await Promise.allSettled(attempts);
    assert.equal(
      outcomes.filter(({ status }) => status === "fulfilled").length,
      1,
    );
  },
);

withProcess("dev's person may turn back", async (process) => {
  const forms: Record<string, string>[] = [
    { name: "Ada", cancel: "1" },
    { name: " " },
  ];
  for (const fields of forms) {
    const { searchParams } = await submit(process, fields);
    assert.equal(searchParams.get("error"), "access_denied");
    assert.equal(searchParams.get("state"), "the-state");
    assert.equal(searchParams.get("code"), null);
  }
});

const WRONG: [
  string,
  Partial<UpstreamResponse>,
  "dead" | "misbehaved",
  RegExp,
][] = [
  ["other verifier", { codeVerifier: "w".repeat(43) }, "dead", /invalid_grant/],
  ["no code of ours", { code: "nonsense" }, "dead", /invalid_grant/],
  ["other redirect", { redirectUri: `${BASE_URL}/x` }, "dead", /invalid_grant/],
  ["another issuer", { issuer: BASE_URL }, "misbehaved", /iss/],
  ["no issuer", { issuer: undefined }, "misbehaved", /iss/],
  ["another nonce", { nonce: "other" }, "misbehaved", /nonce/],
];

for (const [what, change, kind, reason] of WRONG) {
  withProcess(`dev refuses a code with ${what}`, async (process) => {
    const response = { ...await signIn(process, "Ada"), ...change };
    await assertRefused(process.provider.redeem(response), kind, reason);
  });
}

withProcess("dev takes no token for another kind of token", async (process) => {
  const response = await signIn(process, "Ada");
  const { tokens } = await process.provider.redeem(response);
  const { provider, routes } = process;
  await assertRefused(provider.refresh(tokens.accessToken), "dead", /grant/);
  await assertRefused(provider.refresh(response.code), "dead", /grant/);
  const asCode = { ...response, code: tokens.refreshToken! };
  await assertRefused(provider.redeem(asCode), "dead", /grant/);
  for (const token of [tokens.refreshToken, "nonsense", ""]) {
    const { status } = await routes.request("/dev-provider/userinfo", {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(status, 401);
  }
});

withProcess(
  "dev sends no one anywhere but to our own callback",
  async ({ routes, provider }) => {
    const { searchParams } = await provider.authorizationUrl(REQUEST);
    const changes: Record<string, string>[] = [
      { redirect_uri: "https://evil.example/" },
      { redirect_uri: `${REDIRECT_URI}/../evil` },
      { client_id: "other" },
      { response_type: "token" },
      { code_challenge: "" },
      { code_challenge_method: "plain" },
      { state: "" },
    ];
    for (const change of changes) {
      const request = new URLSearchParams({
        ...Object.fromEntries(searchParams),
        name: "Ada",
        ...change,
      });
      const shown = await routes.request(`/dev-provider/authorize?${request}`);
      assert.equal(shown.status, 400, JSON.stringify(change));
      const sent = await routes.request("/dev-provider/authorize", {
        method: "POST",
        body: request,
      });
      assert.equal(sent.status, 400, JSON.stringify(change));
      assert.equal(sent.headers.get("location"), null);
    }
  },
);

withProcess(
  "dev is unavailable, and not dead, while the database is",
  async (process, kv) => {
    const response = await signIn(process, "Ada");
    kv.close();
    await assertRefused(
      process.provider.redeem(response),
      "unavailable",
      /not answer/,
    );
  },
);

const PLACES: [string, boolean, boolean][] = [
  ["http://127.0.0.1:3000", false, true],
  ["http://localhost:3000", false, true],
  ["http://[::1]:3000", false, true],
  ["https://localhost", false, true],
  ["http://127.0.0.1:3000", true, false],
  ["https://tools.example.com", false, false],
  ["http://localhost.example.com", false, false],
  ["http://127.0.0.1.example.com", false, false],
  ["http://192.168.0.7:3000", false, false],
  ["http://0.0.0.0:3000", false, false],
];

for (const [baseUrl, deployed, serves] of PLACES) {
  const where = `${baseUrl}${deployed ? ", deployed" : ""}`;
  Deno.test(`checkDevProvider() ${serves ? "serves" : "refuses"} ${where}`, () => {
    const check = () => checkDevProvider({ baseUrl, deployed });
    if (serves) check();
    else assert.throws(check, /anyone in under any name/);
  });
}

Deno.test("dev's routes and provider are refused on a public address", async () => {
  using kv = await Deno.openKv(":memory:");
  const baseUrl = "https://tools.example.com";
  assert.throws(
    () =>
      devProvider({
        database: new Database(kv),
        baseUrl,
        redirectUri: REDIRECT_URI,
        deployed: false,
        serverTitle: "T",
      }),
    /anyone in/,
  );
});

withProcess(
  "dev takes a form of its own page, of 16 KiB at most",
  async ({ routes, provider }) => {
    const { searchParams } = await provider.authorizationUrl(REQUEST);
    searchParams.set("name", "Ada");
    const send = async (
      groups: string,
      headers: Record<string, string> = {},
    ) => {
      searchParams.set("groups", groups);
      const body = new URLSearchParams(searchParams);
      const init = { method: "POST", headers, body };
      try {
        return (await routes.request("/dev-provider/authorize", init)).status;
      } catch (error) {
        return (error as HttpError).status;
      }
    };
    assert.equal(await send("a".repeat(10_000)), 303);
    assert.equal(await send("a".repeat(17_000)), 413);
    assert.equal(await send("a", { origin: "https://evil.example" }), 403);
  },
);
