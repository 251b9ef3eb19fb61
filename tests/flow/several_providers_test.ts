/** Two real providers at once, behind one server. */
import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { resultOf, statusOf } from "../kit/answer.ts";
import type { Arrival, Browser } from "../kit/browser.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../src/core/oauth/client.ts";
import { startAssertionProvider } from "../kit/assertion_provider.ts";
import { FakeProvider } from "../kit/fake_provider.ts";
import { AccountVisitor, formOf } from "../kit/account_visitor.ts";
import { Client } from "../kit/client.ts";
import {
  startTwoProviders,
  type TwoProviders,
} from "../kit/listed_providers.ts";
import { initialize, type Json, rpc } from "../kit/message.ts";
import { type OpenIdProvider, signInAt } from "../kit/open_id_provider.ts";
import { BASE_URL, startServer, type TestServer } from "../kit/server.ts";
import { MovedTime } from "../kit/fake_time.ts";
import { TASKS } from "../kit/task.ts";
import { until } from "../kit/wait.ts";

const tools = [
  tool({
    name: "whoami",
    run: (_, { caller }) => `${caller.subject} of ${caller.provider}`,
  }),
  tool({
    name: "token",
    run: async (_, { upstream }) => await upstream.token(),
  }),
  ...[["sleepy", 3600], ["another", 7200]].map(([name, seconds]) =>
    tool({
      name: String(name),
      task: { durable: true },
      async run(_, { sleep }) {
        await sleep("nap", Number(seconds));
        return "slept";
      },
    })
  ),
  tool({ name: "secret", scopes: ["secret"], run: () => "told" }),
];

/** Starts a server for both on their database, with more settings. */
function start(
  { kv, environment }: TwoProviders,
  settings: Record<string, string> = {},
): Promise<TestServer> {
  return startServer({ kv, tools, env: { ...environment, ...settings } });
}

/** Starts a server for the first alone on their database. */
function startAlone({ kv, work }: TwoProviders): Promise<TestServer> {
  return startServer({ kv, tools, env: { BASE_URL, ...work.environment } });
}

function hostOf({ issuer }: OpenIdProvider): string {
  return new URL(issuer).host;
}

/** Approves, and chooses a provider: the browser is on its pages then. */
async function choose(
  browser: Browser,
  client: Client,
  key: string,
  changes: Record<string, string> = {},
): Promise<Arrival> {
  const page = await browser.open(client.authorizationUrl(changes));
  const chooser = await browser.press(page, "decision", "approve");
  return await browser.press(chooser, "provider", key);
}

/** Signs a person in with a client, at one of the providers. */
async function connectAt(
  server: TestServer,
  two: TwoProviders,
  key: "work" | "partner",
  { browser = two.browser(server), client }: {
    browser?: Browser;
    client?: Client;
  } = {},
): Promise<{ client: Client; tokens: Json; browser: Browser }> {
  client ??= await Client.register(server);
  const away = await choose(browser, client, key);
  const back = await signInAt(two[key].issuer, browser, away);
  const { status, body } = await client.redeem(client.codeFrom(back));
  assert.equal(status, 200, JSON.stringify(body));
  return { client, tokens: body, browser };
}

async function textOf(calling: Promise<Response>): Promise<string> {
  const response = await calling;
  return `${response.status} ${await response.text()}`;
}

Deno.test("a person at both providers is two people, and neither hears of the other's", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two);
  const { work, partner } = two;
  const client = await Client.register(server);
  const atWork = await connectAt(server, two, "work", { client });
  const atPartner = await connectAt(server, two, "partner", { client });
  const call = (tokens: Json, name = "whoami") =>
    textOf(client.call(tokens.access_token, name));
  for (
    const [tokens, own] of [
      [atWork.tokens, work],
      [atPartner.tokens, partner],
    ] as const
  ) {
    const subject = `${own.issuer}#jo of ${own.issuer}`;
    assert((await call(tokens)).includes(subject));
  }
  assert.notEqual(
    await call(atWork.tokens, "token"),
    await call(atPartner.tokens, "token"),
  );

  // A session of one is not there for the other.
  const opened = await server.post(initialize("2025-11-25"), {
    authorization: `Bearer ${atWork.tokens.access_token}`,
  });
  await opened.body?.cancel();
  const ping = (tokens: Json) =>
    statusOf(server.post(rpc("ping"), {
      authorization: `Bearer ${tokens.access_token}`,
      "mcp-session-id": opened.headers.get("mcp-session-id")!,
    }));
  assert.equal(await ping(atWork.tokens), 200);
  assert.equal(await ping(atPartner.tokens), 404);

  // A revocation goes to the grant's provider alone.
  work.asked.length = partner.asked.length = 0;
  const revoked = await server.fetch("/revoke", {
    method: "POST",
    body: new URLSearchParams({
      token: atPartner.tokens.refresh_token,
      client_id: client.clientId,
    }),
  });
  assert.equal(revoked.status, 200);
  assert(partner.asked.includes("/token/revocation"), partner.asked.join());
  assert.deepEqual(work.asked, []);
  assert.equal(
    (await client.refresh(atPartner.tokens.refresh_token)).status,
    400,
  );
  assert.equal((await client.refresh(atWork.tokens.refresh_token)).status, 200);
});

Deno.test("a refresh and a question who someone is go to the grant's provider alone", async () => {
  // Each token of theirs is about to expire.
  await using two = await startTwoProviders({ ttlSeconds: 30 });
  await using server = await start(two, {
    OAUTH_PERMISSIONS: "work/role:a=secret; partner/role:a=secret; *=secret",
  });
  for (
    const [key, other] of [["work", "partner"], ["partner", "work"]] as const
  ) {
    const { client, tokens } = await connectAt(server, two, key);
    two[key].asked.length = two[other].asked.length = 0;
    const { status } = await client.refresh(tokens.refresh_token);
    assert.equal(status, 200);
    assert(two[key].asked.includes("/token"), two[key].asked.join());
    assert.deepEqual(two[other].asked, []);
  }
});

Deno.test("a rule names one provider's person and group, and is not about the other's", async () => {
  await using two = await startTwoProviders();
  const { work, partner } = two;
  const claims = { groups: ["staff"] };
  work.claims = partner.claims = claims;
  await using server = await start(two, {
    OAUTH_PERMISSIONS: `work/group:staff=*; ${partner.issuer}#ann=*; *=`,
    OAUTH_BLOCKED: `${partner.issuer}#eve`,
  });
  const scopeOf = async (key: "work" | "partner", name: string) => {
    const browser = two.browser(server);
    const client = await Client.register(server);
    const away = await choose(browser, client, key, { scope: "secret" });
    const back = await signInAt(two[key].issuer, browser, away, name);
    const { searchParams } = new URL(back.url);
    return searchParams.get("error") ?? back.status;
  };
  // At its client's address, with a code.
  assert.equal(await scopeOf("work", "jo"), 0);
  assert.equal(await scopeOf("work", "ann"), 0);
  assert.equal(await scopeOf("work", "eve"), 0);
  assert.equal(await scopeOf("partner", "jo"), "access_denied");
  assert.equal(await scopeOf("partner", "ann"), 0);
  assert.equal(await scopeOf("partner", "eve"), 403);
});

Deno.test("an address counts from the provider that its domain is of, and from no other", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two, {
    OAUTH_WORK_PROVIDER_DOMAINS: "example.com",
    OAUTH_ALLOWED_USERS: "@example.com,@partner.example",
  });
  const { partner } = two;
  const endAt = async (key: "work" | "partner") => {
    const browser = two.browser(server);
    const client = await Client.register(server);
    const back = await signInAt(
      two[key].issuer,
      browser,
      await choose(browser, client, key),
    );
    return new URL(back.url).searchParams.get("error");
  };
  assert.equal(await endAt("work"), null);
  assert.equal(await endAt("partner"), "access_denied");
  partner.claims = { email: "jo@EXAMPLE.com" };
  assert.equal(await endAt("partner"), "access_denied");
  partner.claims = { email: "jo@partner.example" };
  assert.equal(await endAt("partner"), null);
});

Deno.test("the page after consent asks where to sign in, the last choice first, and can be left", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two, {
    OAUTH_WORK_PROVIDER_NAME: "Work ID",
    OAUTH_PARTNER_PROVIDER_NAME: "Partner ID",
  });
  const browser = two.browser(server);
  const client = await Client.register(server);
  const consent = await browser.open(client.authorizationUrl());
  assert.match(consent.text, /Work ID or Partner ID/);
  const namesOn = ({ text }: Arrival) =>
    [...text.matchAll(/Sign in with ([^<]*)/g)].map(([, name]) => name);
  const asked = await browser.press(consent, "decision", "approve");
  assert.deepEqual(namesOn(asked), ["Work ID", "Partner ID"]);
  assert.equal(asked.url, `${BASE_URL}/authorize`);
  assert.doesNotMatch(asked.text, /<script/);
  await signInAt(
    two.partner.issuer,
    browser,
    await browser.press(asked, "provider", "partner"),
  );

  // The next time, also for the account page.
  const again = await browser.press(
    await browser.open(client.authorizationUrl()),
    "decision",
    "approve",
  );
  const order = ["Partner ID (used last)", "Work ID"];
  assert.deepEqual(namesOn(again), order);
  const account = await browser.open(`${BASE_URL}/account`);
  assert.deepEqual(namesOn(account), order);
  const strange = await browser.press(again, "provider", "github");
  assert.equal(strange.status, 400);
  const left = await browser.press(again, "decision", "deny");
  assert.equal(new URL(left.url).searchParams.get("error"), "access_denied");
  const late = await browser.press(again, "provider", "work");
  assert.equal(late.status, 400);
});

Deno.test("what was unticked on the consent page stays so over the choice of a provider", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two);
  const browser = two.browser(server);
  const client = await Client.register(server);
  const url = client.authorizationUrl({ scope: "secret offline_access" });
  const page = await browser.open(url);
  const chooser = await browser.press(page, "decision", "approve", {}, [
    "secret",
  ]);
  // Nothing is left but to say no.
  assert.equal(new URL(chooser.url).searchParams.get("error"), "access_denied");
  const kept = await browser.press(
    await browser.open(url),
    "decision",
    "approve",
  );
  const back = await signInAt(
    two.work.issuer,
    browser,
    await browser.press(kept, "provider", "work"),
  );
  const { body } = await client.redeem(client.codeFrom(back));
  assert.match(body.scope, /secret/);
});

Deno.test("an address that a client proposes leads to the provider of its domain, unless people are to choose", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two, {
    OAUTH_PARTNER_PROVIDER_DOMAINS: "partner.example",
  });
  const client = await Client.register(server);
  const arriveWith = async (changes: Record<string, string>) => {
    const browser = two.browser(server);
    const page = await browser.open(client.authorizationUrl(changes));
    return (await browser.press(page, "decision", "approve")).url;
  };
  const chooser = `${BASE_URL}/authorize`;
  const there = await arriveWith({ login_hint: "jo@Partner.example" });
  assert(there.startsWith(two.partner.issuer), there);
  for (
    const changes of [
      { login_hint: "jo@example.com" },
      { login_hint: "partner.example" },
      { login_hint: "jo@sub.partner.example" },
      { login_hint: "jo@partner.example", prompt: "select_account" },
    ]
  ) {
    assert.equal(
      await arriveWith(changes as Record<string, string>),
      chooser,
      JSON.stringify(changes),
    );
  }
});

/** Records the addresses at providers to which a server sends browsers. */
function recordSent(server: TestServer) {
  const sent: URLSearchParams[] = [];
  return {
    sent,
    async fetch(path: string, init?: RequestInit) {
      const response = await server.fetch(path, init);
      const location = response.headers.get("location") ?? "";
      if (location.includes("code_challenge")) {
        sent.push(new URL(location).searchParams);
      }
      return response;
    },
  };
}

Deno.test("the address that an app proposes is told to no other provider than that of its domain", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two, {
    OAUTH_PARTNER_PROVIDER_DOMAINS: "partner.example",
  });
  const client = await Client.register(server);
  const recording = recordSent(server);
  const toldTo = async (key: string, login_hint: string) => {
    const changes = { login_hint, prompt: "select_account" };
    await choose(two.browser(recording), client, key, changes);
    return recording.sent.pop()!.get("login_hint");
  };
  const theirs = "jo@PARTNER.example";
  assert.equal(await toldTo("partner", theirs), theirs);
  assert.equal(await toldTo("work", theirs), null);
  // No one's domain: it may be known where the person chooses to sign in.
  assert.equal(await toldTo("work", "jo@example.com"), "jo@example.com");
});

Deno.test("a person who signs in again to erase what is kept comes to their provider, without a choice", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two);
  const recording = recordSent(server);
  const browser = two.browser(recording);
  const page = await browser.open(`${BASE_URL}/account`);
  const away = await browser.press(page, "provider", "partner");
  await signInAt(two.partner.issuer, browser, away);
  const data = await browser.open(`${BASE_URL}/account/data`);
  const again = formOf(data, "/account/sign-in");
  const asked = await browser.press(again, "", "");
  assert(asked.url.startsWith(two.partner.issuer), asked.url);
  // They are signed in there, and asked all the same.
  assert.match(asked.text, /name="login"/);
  assert.equal(recording.sent.pop()!.get("max_age"), "0");
  const back = await signInAt(two.partner.issuer, browser, asked);
  assert.match(back.text, /action="\/account\/erase"/);
});

Deno.test("a client that needs no consent comes to the choice at once, and nothing is approved by it", async () => {
  await using two = await startTwoProviders();
  const redirectUri = "https://intranet.example/cb";
  await using server = await start(two, {
    OAUTH_CLIENTS: JSON.stringify([{
      client_id: "intranet",
      client_secret_env: "INTRANET_SECRET",
      redirect_uris: [redirectUri],
    }]),
    INTRANET_SECRET: "a-secret-of-many-letters",
    OAUTH_TRUSTED_CLIENTS: "intranet",
  });
  const browser = two.browser(server);
  const client = await Client.register(server);
  Object.assign(client, { clientId: "intranet", redirectUri });
  const page = await browser.open(client.authorizationUrl());
  assert.match(page.text, /Where do you sign in/);
  const back = await signInAt(
    two.work.issuer,
    browser,
    await browser.press(page, "provider", "work"),
  );
  assert(client.codeFrom(back));
  assert.equal(
    (await Array.fromAsync(two.kv.list({ prefix: ["approval"] }))).length,
    0,
  );
});

/** The answer with which a provider sends a browser back, not followed. */
async function answerOf(
  two: TwoProviders,
  key: "work" | "partner",
  away: Arrival,
  cookies: Browser["cookies"],
): Promise<URL> {
  // Its server is not there: the walk ends at our address.
  const alone = two.browser({ fetch: () => Promise.reject(new Error("off")) });
  for (const [name, value] of cookies) alone.cookies.set(name, value);
  let last = "";
  const server = {
    fetch(path: string) {
      last = path;
      return Promise.resolve(new Response());
    },
  };
  const held = two.browser(server);
  for (const [name, value] of cookies) held.cookies.set(name, value);
  await signInAt(two[key].issuer, held, away);
  return new URL(BASE_URL + last);
}

Deno.test("the answer of one provider is never taken for the other's", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two);
  const { work, partner } = two;
  const client = await Client.register(server);
  const asAnswer = (
    key: string,
    from: URL,
    changes: Record<string, string> = {},
  ) => {
    const url = new URL(
      `${BASE_URL}/oauth/provider-callback${key && `/${key}`}`,
    );
    url.search = from.search;
    for (const [name, value] of Object.entries(changes)) {
      url.searchParams.set(name, value);
    }
    return url;
  };

  // Two sign-ins of one browser, one at each.
  const browser = two.browser(server);
  const atWork = await choose(browser, client, "work");
  const atPartner = await choose(browser, client, "partner");
  const answers = {
    work: await answerOf(two, "work", atWork, browser.cookies),
    partner: await answerOf(two, "partner", atPartner, browser.cookies),
  };
  const states = {
    work: answers.work.searchParams.get("state")!,
    partner: answers.partner.searchParams.get("state")!,
  };
  assert.equal(answers.work.pathname, "/oauth/provider-callback/work");
  work.asked.length = partner.asked.length = 0;
  for (
    const [url, what] of [
      [asAnswer("partner", answers.work), "the answer at another's address"],
      [asAnswer("", answers.work), "the answer at the address of an only one"],
      [asAnswer("github", answers.work), "an address of no one"],
      [
        asAnswer("partner", answers.partner, { state: states.work }),
        "the code of one with the state of the other",
      ],
      [
        asAnswer("partner", answers.partner, {
          state: states.work,
          iss: work.issuer,
        }),
        "with the other's iss too",
      ],
    ] as const
  ) {
    const refused = await browser.open(url);
    assert.equal(refused.status, 400, what);
    assert.match(refused.text, /expired/, what);
  }
  // Neither was asked anything: no code went to a stranger.
  assert.deepEqual([...work.asked, ...partner.asked], []);

  // The code of one at the other's address, with the other's state: it goes to
  // the other, by the standard's rule of iss not even that.
  const mixed = await browser.open(
    asAnswer("work", answers.partner, { state: states.work }),
  );
  assert.match(mixed.text, /not the answer of/);
  assert(!work.asked.includes("/token"), work.asked.join());
  // The other sign-in is as it was.
  const back = await browser.open(answers.partner);
  assert.equal((await client.redeem(client.codeFrom(back))).status, 200);
});

Deno.test("who chose another provider meanwhile is not signed in by the first, which knows no secret of the second", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two);
  const client = await Client.register(server);
  const browser = two.browser(server);
  const page = await browser.open(client.authorizationUrl());
  const chooser = await browser.press(page, "decision", "approve");
  const recording = recordSent(server);
  const { sent } = recording;
  const watching = two.browser(recording);
  for (const [name, value] of browser.cookies) {
    watching.cookies.set(name, value);
  }
  const first = await watching.press(chooser, "provider", "work");
  const second = await watching.press(chooser, "provider", "partner");
  const [one, other] = sent;
  assert.equal(one.get("state"), other.get("state"));
  for (const name of ["code_challenge", "nonce", "redirect_uri"]) {
    assert(one.get(name));
    assert.notEqual(one.get(name), other.get(name), name);
  }
  const late = await signInAt(two.work.issuer, watching, first);
  assert.equal(late.status, 400);
  const back = await signInAt(two.partner.issuer, watching, second);
  const { body } = await client.redeem(client.codeFrom(back));
  const told = await textOf(client.call(body.access_token, "whoami"));
  assert(told.includes(`${two.partner.issuer}#jo`), told);
});

/** Signs in to the account page. */
async function openAccount(
  two: TwoProviders,
  key: "work" | "partner",
  browser: Browser,
): Promise<Arrival> {
  const page = await browser.open(`${BASE_URL}/account`);
  const form = formOf(page, "/account/sign-in");
  const away = await browser.press(form, "provider", key);
  return await signInAt(two[key].issuer, browser, away);
}

Deno.test("the account page of a person is of the provider that they chose, and takes no answer of the other", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two, {
    OAUTH_ADMINS: `${two.work.issuer}#jo`,
  });
  const { tokens, client } = await connectAt(server, two, "work");
  const at = {
    work: await openAccount(two, "work", two.browser(server)),
    partner: await openAccount(two, "partner", two.browser(server)),
  };
  assert.match(at.work.text, /action="\/account\/end"/);
  assert.match(at.work.text, new RegExp(`with ${hostOf(two.work)}`));
  // Another person, and no operator.
  assert.doesNotMatch(at.partner.text, /action="\/account\/end"/);
  assert.match(at.partner.text, new RegExp(`with ${hostOf(two.partner)}`));
  assert.equal(await statusOf(client.call(tokens.access_token, "whoami")), 200);

  const browser = two.browser(server);
  const page = await browser.open(`${BASE_URL}/account`);
  const form = formOf(page, "/account/sign-in");
  const away = await browser.press(form, "provider", "partner");
  const answer = await answerOf(two, "partner", away, browser.cookies);
  two.work.asked.length = 0;
  for (const key of ["/work", "", "/github"]) {
    const url = new URL(`${BASE_URL}/oauth/provider-callback${key}`);
    url.search = answer.search;
    assert.equal((await browser.open(url)).status, 400, key);
  }
  assert.deepEqual(two.work.asked, []);
  // One that lies sends the person to the other's address, with a code of its
  // own account there and the state that this person would have had.
  const states = await Promise.all(
    [browser, two.browser(server)].map(async (own) => {
      const away = await own.press(form, "provider", "work");
      const { searchParams } = await answerOf(two, "work", away, own.cookies);
      return searchParams.get("state")!.split(".");
    }),
  );
  const [, handle] = answer.searchParams.get("state")!.split(".");
  const [[, ownHandle], [, , mark]] = states;
  assert.equal(ownHandle, handle);
  two.work.asked.length = 0;
  const lie = new URL(`${BASE_URL}/oauth/provider-callback/work`);
  lie.search = String(
    new URLSearchParams({
      state: `account.${handle}.${mark}`,
      code: "another-person",
      iss: two.work.issuer,
    }),
  );
  assert.equal((await browser.open(lie)).status, 400);
  assert.deepEqual(two.work.asked, []);
  const back = await browser.open(answer);
  const left = await browser.press(formOf(back, "/account/sign-out"), "", "");
  // It chose this one after the first.
  assert.match(left.text, new RegExp(`${hostOf(two.work)} \\(used last\\)`));

  // A form that names none, or no one: it asks again.
  const stranger = two.browser(server);
  const asked = await stranger.open(`${BASE_URL}/account`);
  const again = await stranger.press(formOf(asked, "/account/sign-in"), "", "");
  assert.match(again.text, /Sign in with/);
  const other = await stranger.press(
    formOf(asked, "/account/sign-in"),
    "provider",
    "github",
  );
  assert.equal(other.status, 400);
});

Deno.test("one provider that is away keeps no one of the other out", async () => {
  await using two = await startTwoProviders();
  // Nothing listens there.
  await using server = await start(two, {
    OAUTH_PARTNER_ISSUER: "http://127.0.0.1:1",
    OAUTH_ALLOWED_USERS: "@example.com",
  });
  const ready = async () =>
    (await (await server.fetch("/ready")).json()).providers;
  assert.deepEqual(await ready(), { work: "unknown", partner: "unknown" });
  const { client, tokens } = await connectAt(server, two, "work");
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);

  const browser = two.browser(server);
  const page = await browser.open(client.authorizationUrl());
  const chooser = await browser.press(page, "decision", "approve");
  const away = await browser.press(chooser, "provider", "partner");
  assert.equal(away.status, 503);
  // The same page leads to the other.
  const back = await signInAt(
    two.work.issuer,
    browser,
    await browser.press(chooser, "provider", "work"),
  );
  assert(client.codeFrom(back));
  assert.deepEqual(await ready(), { work: "ok", partner: "unavailable" });
  const { status } = await openAccount(two, "work", two.browser(server));
  assert.equal(status, 200);
});

/** Everything that a person of a provider can leave open. */
async function openAll(
  server: TestServer,
  two: TwoProviders,
  key: "work" | "partner",
) {
  const { client, tokens, browser } = await connectAt(server, two, key);
  const opened = await server.post(initialize("2025-11-25"), {
    authorization: `Bearer ${tokens.access_token}`,
  });
  await opened.body?.cancel();
  const unredeemed = new Client(server, client.clientId);
  const code = client.codeFrom.call(
    unredeemed,
    await signInAt(
      two[key].issuer,
      browser,
      await choose(browser, unredeemed, key),
    ),
  );
  const account = await openAccount(two, key, browser);
  const stranger = two.browser(server);
  const left = await choose(stranger, client, key);
  return {
    client,
    tokens,
    sessionId: opened.headers.get("mcp-session-id")!,
    unredeemed,
    code,
    personal: await new AccountVisitor(
      browser,
      account,
      async (ask) => await signInAt(two[key].issuer, browser, await ask()),
    ).makeToken({ days: "365" }),
    browser,
    stranger,
    left,
  };
}

type Open = Awaited<ReturnType<typeof openAll>>;

/** Finds what is open of a person, after their server started anew. */
async function stateOf(
  { client, unredeemed, ...open }: Open,
  { two, key, server }: {
    two: TwoProviders;
    key: "work" | "partner";
    server: TestServer;
  },
): Promise<Record<string, unknown>> {
  client.server = unredeemed.server = server;
  const call = (token: string) => statusOf(client.call(token, "whoami"));
  const page = async (browser: Browser, from: Browser) => {
    for (const [name, value] of from.cookies) browser.cookies.set(name, value);
    const { text } = await browser.open(`${BASE_URL}/account`);
    return text.includes('action="/account/sign-out"');
  };
  const coming = two.browser(server);
  for (const [name, value] of open.stranger.cookies) {
    coming.cookies.set(name, value);
  }
  return {
    call: await call(open.tokens.access_token),
    upstream: await statusOf(client.call(open.tokens.access_token, "token")),
    session: await statusOf(server.post(rpc("ping"), {
      authorization: `Bearer ${open.tokens.access_token}`,
      "mcp-session-id": open.sessionId,
    })),
    personal: await call(open.personal),
    account: await page(two.browser(server), open.browser),
    code: (await unredeemed.redeem(open.code)).status,
    underWay: (await signInAt(two[key].issuer, coming, open.left)).status,
    refresh: (await client.refresh(open.tokens.refresh_token)).status,
  };
}

const OVER = {
  call: 401,
  upstream: 401,
  session: 401,
  personal: 401,
  account: false,
  code: 400,
  underWay: 400,
  refresh: 400,
};

const AS_BEFORE = {
  call: 200,
  upstream: 200,
  session: 200,
  personal: 200,
  account: true,
  code: 200,
  // Out of the test, at the client's address.
  underWay: 0,
  refresh: 200,
};

Deno.test("a provider that is no longer listed takes its people with it, and no one else", async () => {
  await using two = await startTwoProviders();
  await using third = await startTwoProviders();
  await using before = await start(two);
  const work = await openAll(before, two, "work");
  const partner = await openAll(before, two, "partner");
  // The name goes on, but means another place.
  await using after = await start(two, { ...third.partner.group });
  two.partner.asked.length = third.partner.asked.length = 0;
  const now = { two, server: after };
  assert.deepEqual(await stateOf(partner, { ...now, key: "partner" }), OVER);
  // Nothing of it was sent to the one that has its name.
  assert.deepEqual(third.partner.asked, []);
  assert.deepEqual(await stateOf(work, { ...now, key: "work" }), AS_BEFORE);
});

Deno.test("sleeping work of a provider's people is left to processes that know it, for an hour", async () => {
  await using two = await startTwoProviders();
  using time = new MovedTime();
  const lookAfter = async (seconds: number, { app }: TestServer) => {
    time.tick(seconds);
    await app.wake();
  };
  const stored = async (record: string, taskId: string) =>
    (await two.kv.get<Json>([record, taskId])).value;
  await using server = await start(two);
  const { tokens: { access_token } } = await connectAt(server, two, "partner");
  const begin = async (name = "sleepy") => {
    const { taskId } = await resultOf(
      server.call("tools/call", { name, arguments: {} }, {
        headers: { authorization: `Bearer ${access_token}` },
        capabilities: TASKS,
      }),
    );
    await until(() => server.app.running === 0);
    return taskId;
  };

  // At a process from before the roll-out.
  const taskId = await begin();
  const another = await begin("another");
  await server.app.stop();
  await using alone = await startAlone(two);
  await lookAfter(3600, alone);
  await until(async () => (await stored("task-run", taskId))?.missingSince);
  assert.equal((await stored("task", taskId)).status, "working");
  const both = await start(two);
  await lookAfter(60, both);
  await until(async () =>
    (await stored("task", taskId)).status === "completed"
  );
  await both[Symbol.asyncDispose]();

  // The provider was taken out for good.
  assert.equal((await stored("task", another)).status, "working");
  await lookAfter(3600, alone);
  await lookAfter(3600, alone);
  await until(async () => (await stored("task", another)).status !== "working");
});

Deno.test("the only one of several that stays keeps its people, but for sign-ins under way", async () => {
  await using two = await startTwoProviders();
  await using before = await start(two);
  const work = await openAll(before, two, "work");
  const partner = await openAll(before, two, "partner");
  await using after = await startAlone(two);
  const now = { two, server: after };
  assert.deepEqual(await stateOf(partner, { ...now, key: "partner" }), OVER);
  assert.deepEqual(await stateOf(work, { ...now, key: "work" }), {
    ...AS_BEFORE,
    // Its answer comes to an address that is no longer used.
    underWay: 400,
  });
});

Deno.test("a second provider changes nothing for people of the first", async () => {
  await using two = await startTwoProviders();
  await using before = await start(two);
  const work = await openAll(before, two, "work");
  await using alone = await startAlone(two);
  work.client.server = alone;
  assert.equal(
    await statusOf(work.client.call(work.tokens.access_token, "whoami")),
    200,
  );
  await using after = await start(two);
  assert.deepEqual(
    await stateOf(work, { two, server: after, key: "work" }),
    AS_BEFORE,
  );
});

Deno.test("an app's own provider takes the place of one, not of several", async () => {
  await using two = await startTwoProviders();
  await assert.rejects(
    startServer({
      kv: two.kv,
      tools,
      env: two.environment,
      provider: new FakeProvider(),
    }),
    /OAUTH_PROVIDER: got "work,partner", wants one provider/,
  );
});

Deno.test("the development provider may be one of several, with its own address", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two, {
    OAUTH_PROVIDER: "work,dev",
    OAUTH_PARTNER_CLIENT_ID: "",
  });
  const browser = two.browser(server);
  const client = await Client.register(server);
  const page = await choose(browser, client, "dev");
  const back = await browser.press(page, "", "", { name: "Ada" });
  const { body } = await client.redeem(client.codeFrom(back));
  const told = await textOf(client.call(body.access_token, "whoami"));
  assert(told.includes("dev:ada of dev"), told);
});

Deno.test("a person who is asked to a page chooses their provider there too", async () => {
  await using two = await startTwoProviders();
  await using server = await start(two);
  const browser = two.browser(server);
  const page = await browser.open(`${BASE_URL}/wait/${"w".repeat(43)}`);
  assert.equal(page.text.match(/Sign in with/g)?.length, 2);
  const away = await browser.press(page, "provider", "partner");
  assert(away.url.startsWith(two.partner.issuer), away.url);
});

Deno.test("an assertion vouches for no address of a provider's domain", async () => {
  await using two = await startTwoProviders();
  await using idp = await startAssertionProvider();
  const statusWith = async (domains: string) => {
    await using server = await start(two, {
      OAUTH_WORK_PROVIDER_DOMAINS: domains,
      OAUTH_ALLOWED_USERS: "@example.com",
      OAUTH_ASSERTION_ISSUERS: idp.issuer,
      OAUTH_CLIENTS: JSON.stringify([{
        client_id: "desk",
        grant_types: [JWT_BEARER_GRANT_TYPE],
        client_secret_env: "DESK_SECRET",
      }]),
      DESK_SECRET: "a-secret-of-many-letters",
    });
    const email = "ada@example.com";
    const { status, body } = await server.fetch("/token", {
      method: "POST",
      body: new URLSearchParams({
        grant_type: JWT_BEARER_GRANT_TYPE,
        assertion: await idp.assertion(BASE_URL, {
          email,
          email_verified: true,
          scope: "secret",
        }),
        client_id: "desk",
        client_secret: "a-secret-of-many-letters",
      }),
    });
    await body?.cancel();
    return status;
  };
  assert.equal(await statusWith("example.org"), 200);
  assert.equal(await statusWith("example.com"), 400);
});
