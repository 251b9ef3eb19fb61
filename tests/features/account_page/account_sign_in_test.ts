/** Signing in to the account page, through the provider. */
import assert from "node:assert/strict";
import { cookieName } from "../../../src/core/http/browser.ts";
import { fingerprint } from "../../../src/core/crypto/crypto.ts";
import { BASE_URL } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { switchableKv } from "../../kit/switchable_kv.ts";
import type { HeadersOf } from "../../kit/message.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { settled, until } from "../../kit/wait.ts";

Deno.test("signing in to the account page says when the provider refuses or is down", async () => {
  await using server = await startOAuthServer();
  for (
    const [failure, status] of [
      ["denied", 403],
      ["unavailable", 503],
      ["misbehaved", 502],
    ] as const
  ) {
    server.provider.failure = failure;
    const { page } = await AccountVisitor.signIn(server);
    assert.equal(page.status, status, failure);
  }
});

Deno.test("signing in to the account page answers a mistake of ours with 500", async () => {
  await using server = await startOAuthServer();
  const mistake = () => Promise.reject(new TypeError("a mistake"));
  server.provider.authorizationUrl = mistake;
  assert.equal((await AccountVisitor.signIn(server)).page.status, 500);
});

for (
  const [what, revokesOne, environment, isRevoked] of [
    ["ends the provider's token it took", true, {}, true],
    ["keeps it where ending one ends all", false, {}, false],
  ] as const
) {
  Deno.test(`signing in to the account page ${what}`, async () => {
    await using server = await startOAuthServer({ environment });
    server.provider.revokesOne = revokesOne;
    const { page } = await AccountVisitor.signIn(server);
    assert.equal(page.status, 200);
    await server.fetch("/account");
    const revoked = () => server.provider.log.includes("revoke");
    if (isRevoked) await until(() => Promise.resolve(revoked()));
    else await settled();
    assert.equal(revoked(), isRevoked);
  });
}

/** Sends a browser to the provider and back to our callback. */
async function returning(server: OAuthServer, to = server) {
  const started = await server.fetch("/account/sign-in", { method: "POST" });
  await started.body?.cancel();
  const cookies = started.headers.getSetCookie();
  const { searchParams } = new URL(started.headers.get("location")!);
  const state = searchParams.get("state")!;
  const code = searchParams.get("code")!;
  const come = async (
    parameters: Record<string, string> = {},
    sent: readonly string[] = cookies,
  ) => {
    const query = new URLSearchParams({ state, code, ...parameters });
    // An empty parameter counts as absent.
    for (const [name, value] of [...query]) if (!value) query.delete(name);
    const response = await to.fetch(`/oauth/provider-callback?${query}`, {
      headers: {
        cookie: sent.map((cookie) => cookie.split(";")[0]).join("; "),
        accept: "text/html",
      },
      redirect: "manual",
    });
    const { status, headers } = response;
    return { status, headers, text: await response.text() };
  };
  return { state, cookies, come };
}

Deno.test("a person back on the account page from another provider than today's is told to start again", async () => {
  await using before = await startOAuthServer();
  await using after = await startOAuthServer({
    kv: before.kv,
    environment: { OAUTH_PROVIDER: "gitlab" },
  });
  const { come } = await returning(before, after);
  const { status, text } = await come();
  assert.equal(status, 400);
  assert.match(text, /sign-in has expired/);
  assert.deepEqual(after.provider.log, []);
});

Deno.test("signing in to the account page checks the state, with both cookies there", async () => {
  await using server = await startOAuthServer();
  const { state, come } = await returning(server);
  for (const other of ["account.", `account.${"x".repeat(43)}`, `${state}x`]) {
    const { status, headers } = await come({ state: other });
    assert.equal(status, 400, other);
    assert.equal(headers.get("set-cookie"), null);
  }
  assert.deepEqual(server.provider.log, ["authorize"]);
  assert.equal((await come()).status, 302);
});

Deno.test("signing in to the account page needs both cookies, whatever the state says", async () => {
  await using server = await startOAuthServer();
  const { state, cookies, come } = await returning(server);
  // The one of a browser without any, which a stranger can make too.
  const mark = fingerprint("undefined undefined github").slice(0, 16);
  for (const sent of [[], ...cookies.map((cookie) => [cookie])]) {
    for (const said of [state, `account.undefined.${mark}`]) {
      assert.equal((await come({ state: said }, sent)).status, 400);
    }
  }
  assert.deepEqual(server.provider.log, ["authorize"]);
});

Deno.test("a sign-in to the account page that is begun again leaves other tabs theirs", async () => {
  await using server = await startOAuthServer();
  const { state, cookies } = await returning(server);
  const started = await server.fetch("/account/sign-in", {
    method: "POST",
    headers: { cookie: cookies.map((it) => it.split(";")[0]).join("; ") },
  });
  await started.body?.cancel();
  const { searchParams } = new URL(started.headers.get("location")!);
  assert.equal(searchParams.get("state"), state);
});

Deno.test("a sign-in to the account page may take ten minutes, and its cookie goes when it is done", async () => {
  await using server = await startOAuthServer();
  const { cookies, come } = await returning(server);
  const name = /^account-sign-in-[\w-]{8}=/;
  assert.match(cookies.find((it) => name.test(it))!, /; Max-Age=600;/);
  const after = (await come()).headers.getSetCookie();
  assert.match(after.find((it) => name.test(it))!, /; Max-Age=0;/);
});

Deno.test("signing in to the account page can be tried again while the provider is away", async () => {
  await using server = await startOAuthServer();
  const { come } = await returning(server);
  server.provider.failure = "unavailable";
  const { status, headers, text } = await come();
  assert.equal(status, 503);
  assert.doesNotMatch(text, /Start again from the beginning/);
  assert.equal(headers.get("set-cookie"), null);
  server.provider.failure = undefined;
  assert.equal((await come()).status, 302);
});

Deno.test("signing in to the account page says to start again when the provider's code is spent", async () => {
  using database = await switchableKv();
  await using server = await startOAuthServer({ kv: database.kv });
  const { provider } = server;
  const first = await returning(server);
  provider.failsAfterCode = true;
  const spent = await first.come();
  assert.equal(spent.status, 503);
  assert.match(spent.text, /Start again from the beginning/);
  provider.failsAfterCode = false;

  const second = await returning(server);
  const redeem = provider.redeem.bind(provider);
  provider.redeem = async (request) => {
    const signedIn = await redeem(request);
    database.state.isUp = false;
    return signedIn;
  };
  const unstored = await second.come();
  database.state.isUp = true;
  assert.equal(unstored.status, 503);
  assert.match(unstored.text, /Start again from the beginning/);
});

for (
  const [what, parameters] of [
    ["an error", { error: "access_denied", code: "" }],
    ["neither a code nor an error", { code: "" }],
    ["an error besides a code", { error: "access_denied" }],
  ] as const
) {
  Deno.test(`a person back from the provider with ${what} is refused, and begins anew`, async () => {
    await using server = await startOAuthServer();
    const { come } = await returning(server);
    const { status, headers } = await come(parameters);
    assert.equal(status, 403);
    assert.match(
      headers.get("set-cookie")!,
      /^account-sign-in-[\w-]{8}=; Max-Age=0/,
    );
    assert.deepEqual(server.provider.log, ["authorize"]);
  });
}

Deno.test("signing in to the account page goes on after an error of another issuer", async () => {
  await using server = await startOAuthServer();
  const { come } = await returning(server);
  const refused = await come({
    error: "access_denied",
    iss: "https://evil.example",
  });
  assert.equal(refused.status, 403);
  assert.equal(refused.headers.get("set-cookie"), null);
});

Deno.test("signing in to the account page lets no one in whose name looks like another issuer's subject", async () => {
  await using server = await startOAuthServer({
    environment: {
      OAUTH_ASSERTION_ISSUERS: "https://id.example.com",
      OAUTH_ADMINS: "https://id.example.com#42",
    },
  });
  const { page } = await AccountVisitor.signIn(server, {
    as: "https://id.example.com#42",
  });
  assert.equal(page.status, 403);
});

Deno.test("POST /account/sign-in is for no page of another site, whose form would replace the cookies of what is under way", async () => {
  await using server = await startOAuthServer();
  const send = async (headers: HeadersOf) => {
    const response = await server.fetch("/account/sign-in", {
      method: "POST",
      headers,
    });
    await response.body?.cancel();
    return [response.status, response.headers.has("set-cookie")];
  };
  for (
    const headers of [
      { "sec-fetch-site": "cross-site", origin: "null" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: `${BASE_URL}.evil.example` },
    ] as HeadersOf[]
  ) {
    assert.deepEqual(
      await send(headers),
      [403, false],
      JSON.stringify(headers),
    );
  }
  for (
    const headers of [
      { "sec-fetch-site": "same-origin", origin: "null" },
      { "sec-fetch-site": "none" },
      { origin: BASE_URL },
      {},
    ] as HeadersOf[]
  ) assert.deepEqual(await send(headers), [303, true]);
});

Deno.test("signing in to the account page tells whom the operator blocked, and makes them no session", async () => {
  const environment = { OAUTH_BLOCKED: "github:42" };
  await using server = await startOAuthServer({ environment });
  const { browser, page } = await AccountVisitor.signIn(server);
  assert.equal(page.status, 403);
  const account = cookieName({ name: "account", baseUrl: BASE_URL });
  assert.equal(browser.cookies.has(`127.0.0.1:3000 ${account}`), false);
});
