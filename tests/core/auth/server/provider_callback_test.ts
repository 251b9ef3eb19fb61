import assert from "node:assert/strict";
import type { Answering } from "../../../kit/server.ts";
import { Client } from "../../../kit/client.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { switchableKv } from "../../../kit/switchable_kv.ts";
import { recordLog } from "../../../kit/log.ts";
import { UpstreamError } from "../../../../src/core/provider/provider.ts";
import { PROVIDER_URL } from "../../../kit/fake_provider.ts";
import { Browser } from "../../../kit/browser.ts";

/** Makes a browser that stops on its way back from the provider. */
function stoppingBrowser(server: Answering) {
  let callback = "";
  const browser = new Browser(({ origin }) => {
    if (origin === PROVIDER_URL) {
      return ({ url }) => {
        const { searchParams } = new URL(url);
        callback = `${searchParams.get("redirect_uri")}?${new URLSearchParams({
          state: searchParams.get("state")!,
          code: searchParams.get("code")!,
        })}`;
        return Promise.resolve(new Response("Sign in"));
      };
    }
    if (origin !== "http://127.0.0.1:3000") return undefined;
    return (request) => server.fetch(request.url.slice(origin.length), request);
  });
  return { browser, callback: () => callback };
}

async function approved(options: Parameters<typeof startOAuthServer>[0] = {}) {
  const server = await startOAuthServer(options);
  const client = await Client.register(server);
  const { browser, callback } = stoppingBrowser(server);
  const page = await browser.open(client.authorizationUrl());
  await browser.press(page, "decision", "approve");
  return {
    server,
    client,
    browser,
    url: callback(),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

Deno.test("GET /oauth/provider-callback gives the client a code of ours", async () => {
  await using flow = await approved();
  const { client, browser, url } = flow;
  const code = client.codeFrom(await browser.open(url));
  assert.match(code, /^tsc_/);
  assert.equal((await client.redeem(code)).status, 200);
});

Deno.test("GET /oauth/provider-callback finishes once, and says so when loaded again", async () => {
  await using flow = await approved();
  const { client, browser, url, server } = flow;
  client.codeFrom(await browser.open(url));
  const again = await browser.open(url);
  assert.equal(again.status, 400);
  assert.match(again.text, /<h1>You are signed in<\/h1>/);
  assert.match(again.text, /was completed, and the app has its answer/);
  assert.equal(server.provider.log.filter((it) => it === "redeem").length, 1);
});

Deno.test("GET /oauth/provider-callback refuses a browser that the request did not begin in", async () => {
  await using flow = await approved();
  const { client, browser, url, server } = flow;
  const stranger = server.browser();
  await stranger.open(client.authorizationUrl());
  const refused = await stranger.open(url);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /another browser/);
  client.codeFrom(await browser.open(url));
});

Deno.test("GET /oauth/provider-callback refuses a request that no one approved", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const browser = server.browser();
  const page = await browser.open(client.authorizationUrl());
  const [, state] = /name="request" value="([^"]*)"/.exec(page.text)!;
  const refused = await browser.open(
    `http://127.0.0.1:3000/oauth/provider-callback?code=x&state=${state}`,
  );
  assert.equal(refused.status, 400);
  assert.match(refused.text, /This sign-in was not approved/);
});

Deno.test("GET /oauth/provider-callback lets no one in whose name looks like another issuer's subject", async () => {
  const environment = { OAUTH_ASSERTION_ISSUERS: "https://id.example.com" };
  await using server = await startOAuthServer({ environment });
  const client = await Client.register(server);
  const answerTo = async (subject: string) => {
    server.provider.subject = subject;
    const browser = server.browser();
    const page = await browser.open(client.authorizationUrl());
    const { url } = await browser.press(page, "decision", "approve");
    return new URL(url).searchParams.get("error");
  };
  assert.equal(await answerTo("https://id.example.com#42"), "access_denied");
  assert.equal(await answerTo("client:desk"), "access_denied");
  assert.equal(await answerTo("id.example.com"), null);
});

for (const query of ["", "?code=x", "?state=x&state=y"]) {
  Deno.test(`GET /oauth/provider-callback refuses ${query || "nothing"}`, async () => {
    await using server = await startOAuthServer();
    const refused = await server.browser().open(
      `http://127.0.0.1:3000/oauth/provider-callback${query}`,
    );
    assert.equal(refused.status, 400);
  });
}

Deno.test("GET /oauth/provider-callback refuses an answer without code or error", async () => {
  await using flow = await approved();
  const { browser, url } = flow;
  const refused = await browser.open(url.replace(/&code=.*/, ""));
  assert.equal(refused.status, 400);
});

for (
  const [theirs, ours] of [
    ["access_denied", "access_denied"],
    ["temporarily_unavailable", "temporarily_unavailable"],
    ["<script>", "server_error"],
  ]
) {
  Deno.test(`GET /oauth/provider-callback passes ${theirs} on as ${ours}`, async () => {
    await using flow = await approved();
    const { client, browser, url } = flow;
    const error = encodeURIComponent(theirs);
    const arrival = await browser.open(
      url.replace(/code=.*/, `error=${error}`),
    );
    assert(arrival.url.startsWith(client.redirectUri), arrival.url);
    const { searchParams } = new URL(arrival.url);
    assert.equal(searchParams.get("error"), ours);
    assert(!arrival.url.includes("%3Cscript"));
    assert.equal(searchParams.get("iss"), "http://127.0.0.1:3000");
  });
}

for (const answer of ["error=access_denied", "code=theirs"]) {
  Deno.test(`GET /oauth/provider-callback ends nothing when another issuer says ${answer}`, async () => {
    await using flow = await approved();
    const { browser, client, url, server } = flow;
    const iss = encodeURIComponent("https://evil.example");
    for (let nth = 0; nth < 3; nth++) {
      const foreign = await browser.open(
        url.replace(/code=.*/, `${answer}&iss=${iss}`),
      );
      assert.equal(foreign.status, 400);
      assert.match(foreign.text, /not the answer of Example ID/);
    }
    assert(!server.provider.log.includes("redeem"));
    client.codeFrom(await browser.open(url));
  });
}

Deno.test("GET /oauth/provider-callback asks the provider about one code of another sign-in, and ends with the second", async () => {
  await using flow = await approved();
  const { browser, client, url, server } = flow;
  const foreign = url.replace(/code=.*/, "code=theirs");
  const refused = await browser.open(foreign);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /This is not the answer of/);
  client.codeFrom(await browser.open(url));

  await using again = await approved({ provider: server.provider });
  await again.browser.open(again.url.replace(/code=.*/, "code=theirs"));
  const { searchParams } = new URL(
    (await again.browser.open(again.url.replace(/code=.*/, "code=theirs")))
      .url,
  );
  assert.equal(searchParams.get("error"), "server_error");
  const redeems = server.provider.log.filter((it) => it === "redeem").length;
  assert.equal((await again.browser.open(again.url)).status, 400);
  assert.equal(
    server.provider.log.filter((it) => it === "redeem").length,
    redeems,
  );
});

Deno.test("GET /oauth/provider-callback ends with the first code that is dead because it was spent", async () => {
  await using flow = await approved();
  const { server, browser, url } = flow;
  server.provider.redeem = () =>
    Promise.reject(new UpstreamError("dead", "spent", { isCodeSpent: true }));
  const { url: arrival } = await browser.open(url);
  assert.equal(new URL(arrival).searchParams.get("error"), "server_error");
});

Deno.test("GET /oauth/provider-callback refuses an answer at the address of another provider", async () => {
  await using flow = await approved();
  const { client, browser, url, server } = flow;
  const other = url.replace("provider-callback?", "provider-callback/other?");
  assert.notEqual(other, url);
  const refused = await browser.open(other);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /This sign-in has expired/);
  assert.equal(server.provider.log.includes("redeem"), false);
  client.codeFrom(await browser.open(url));
});

Deno.test("GET /oauth/provider-callback passes an error on while the provider is away", async () => {
  await using flow = await approved();
  const { browser, url, server } = flow;
  server.provider.failure = "unavailable";
  const arrival = await browser.open(
    url.replace(
      /code=.*/,
      "error=access_denied&iss=https%3A%2F%2Fevil.example",
    ),
  );
  const { searchParams } = new URL(arrival.url);
  assert.equal(searchParams.get("error"), "access_denied");
});

for (
  const [kind, error] of [
    ["denied", "access_denied"],
    ["dead", "server_error"],
    ["misbehaved", "server_error"],
  ] as const
) {
  Deno.test(`GET /oauth/provider-callback ends with ${error} when the code is ${kind}`, async () => {
    await using flow = await approved();
    const { server, browser, url } = flow;
    server.provider.failure = kind;
    if (kind === "dead") await browser.open(url);
    const arrival = await browser.open(url);
    assert.equal(new URL(arrival.url).searchParams.get("error"), error);
    server.provider.failure = undefined;
    assert.equal((await browser.open(url)).status, 400);
  });
}

Deno.test("GET /oauth/provider-callback loses nothing when the provider does not answer", async () => {
  await using flow = await approved();
  const { server, client, browser, url } = flow;
  server.provider.failure = "unavailable";
  const down = await browser.open(url);
  assert.equal(down.status, 503);
  assert.match(down.text, /Nothing was lost/);
  server.provider.failure = undefined;
  assert.equal(
    (await client.redeem(client.codeFrom(await browser.open(url)))).status,
    200,
  );
});

Deno.test("GET /oauth/provider-callback says to start again when the provider's code is spent", async () => {
  await using flow = await approved();
  const { server, browser, url } = flow;
  server.provider.failsAfterCode = true;
  const { status, text } = await browser.open(url);
  assert.equal(status, 503);
  assert.match(text, /Start again from the beginning/);
  assert.doesNotMatch(text, /Nothing was lost|load this page again/);
});

Deno.test("GET /oauth/provider-callback says to start again when our code cannot be stored", async () => {
  using database = await switchableKv();
  await using flow = await approved({ kv: database.kv });
  const { server, browser, url } = flow;
  const redeem = server.provider.redeem.bind(server.provider);
  server.provider.redeem = async (request) => {
    const signedIn = await redeem(request);
    database.state.isUp = false;
    return signedIn;
  };
  const { status, text } = await browser.open(url);
  database.state.isUp = true;
  assert.equal(status, 503);
  assert.match(text, /Start again from the beginning/);
});

for (const outcome of ["a code", "a refusal"]) {
  Deno.test(`GET /oauth/provider-callback gives no ${outcome} once the person said no meanwhile`, async () => {
    const { log, events } = recordLog("warning");
    const server = await startOAuthServer({ log });
    await using _ = server;
    const client = await Client.register(server);
    const { browser, callback } = stoppingBrowser(server);
    const consent = await browser.open(client.authorizationUrl());
    await browser.press(consent, "decision", "approve");
    const redeem = server.provider.redeem.bind(server.provider);
    server.provider.redeem = async (request) => {
      const denied = await browser.press(consent, "decision", "deny");
      assert.match(denied.url, /error=access_denied/);
      if (outcome === "a code") return await redeem(request);
      throw new UpstreamError("denied", "As told");
    };
    const arrival = await browser.open(callback());
    assert.equal(arrival.status, 400);
    assert(!arrival.url.startsWith(client.redirectUri), arrival.url);
    // A wrong step of the person is no failure; an error of the provider is.
    assert.deepEqual(
      events.map(({ message }) => message)
        .filter((it) => it === "Sign-in failed"),
      outcome === "a code" ? [] : ["Sign-in failed"],
    );
  });
}

Deno.test("GET /oauth/provider-callback refuses who may have nothing of what was consented to", async () => {
  await using flow = await approved({
    tools: [tool({ name: "read", scopes: ["read"], run: () => "read" })],
    environment: { OAUTH_PERMISSIONS: "github:7=read" },
  });
  const { searchParams } = new URL((await flow.browser.open(flow.url)).url);
  assert.equal(searchParams.get("error"), "access_denied");
});

for (
  const [what, error, logged] of [
    ["a code by the standard", "server_error", "server_error"],
    ["the longest code", "e".repeat(40), "e".repeat(40)],
    ["a longer one", "e".repeat(41), "unreadable"],
    ["anything else", "two words", "unreadable"],
    ["words around a line's end", "server_error\nFORGED", "unreadable"],
  ]
) {
  Deno.test(`GET /oauth/provider-callback logs ${what} of the provider as ${logged}`, async () => {
    const { log, events } = recordLog();
    await using flow = await approved({ log });
    await flow.browser.open(
      flow.url.replace(/code=.*/, `error=${encodeURIComponent(error)}`),
    );
    const told = events.map(({ properties }) => properties.providerError);
    assert.deepEqual(told.filter(Boolean), [logged]);
  });
}

Deno.test("GET /oauth/provider-callback answers a mistake of ours with 500, and tells the client nothing", async () => {
  await using flow = await approved();
  const { browser, url, server } = flow;
  server.provider.redeem = () => Promise.reject(new TypeError("a mistake"));
  const arrival = await browser.open(url);
  assert.equal(arrival.status, 500);
  assert.equal(arrival.url, url);
  assert.doesNotMatch(arrival.text, /a mistake/);
});

Deno.test("GET /oauth/provider-callback says that another window is finishing a sign-in", async () => {
  await using flow = await approved();
  const { client, browser, url, server: { provider } } = flow;
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const redeem = provider.redeem.bind(provider);
  provider.redeem = async (request) => {
    asked.resolve();
    await go.promise;
    return await redeem(request);
  };
  const first = browser.open(url);
  await asked.promise;
  const second = await browser.open(url);
  assert.equal(second.status, 400);
  assert.doesNotMatch(second.text, /You are signed in/);
  go.resolve();
  client.codeFrom(await first);
});

Deno.test("GET /oauth/provider-callback tells no one that was refused that they are signed in", async () => {
  await using flow = await approved();
  const { browser, url } = flow;
  await browser.open(url.replace(/code=.*/, "error=access_denied"));
  const again = await browser.open(url);
  assert.equal(again.status, 400);
  assert.doesNotMatch(again.text, /You are signed in/);
});
