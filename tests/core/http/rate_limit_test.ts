import assert from "node:assert/strict";
import { now } from "../../../src/core/clock.ts";
import { openPersonalGrant } from "../../../src/core/oauth/new_grant.ts";
import { accessTokenStore } from "../../../src/core/store/access_tokens.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { type Answering, BASE_URL } from "../../kit/server.ts";
import { type Browser, browserOf } from "../../kit/browser.ts";
import { Client } from "../../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";

type Sent = Pick<RequestInit, "method" | "body" | "headers">;

const REGISTER: Sent = {
  method: "POST",
  body: '{"redirect_uris":["https://app.example.com/cb"]}',
};
const JUNK_REFRESH: Sent = {
  method: "POST",
  body: new URLSearchParams({
    grant_type: "refresh_token",
    refresh_token: "junk",
    client_id: "no one",
  }),
};

async function send(
  server: OAuthServer,
  address: string,
  path: string,
  init: Sent,
): Promise<number> {
  const response = await server.app.fetch(
    new Request(BASE_URL + path, init),
    { remoteAddr: { hostname: address } },
  );
  await response.body?.cancel();
  if (response.status === 429) {
    assert.match(response.headers.get("retry-after")!, /^[1-9]\d*$/);
    if (["/register", "/token", "/revoke"].includes(path)) {
      assert.equal(response.headers.get("cache-control"), "no-store");
    }
  }
  return response.status;
}

/** Counts the requests that are refused with 429. */
async function refused(
  count: number,
  one: (n: number) => Promise<number>,
): Promise<number> {
  let refused = 0;
  for (let n = 0; n < count; n++) if (await one(n) === 429) refused++;
  return refused;
}

for (
  const [path, init] of [
    ["/register", REGISTER],
    ["/authorize", { method: "GET" }],
    ["/authorize", { method: "POST" }],
    ["/token", JUNK_REFRESH],
    ["/revoke", JUNK_REFRESH],
    ["/oauth/provider-callback", { method: "GET" }],
    ["/account/sign-in", { method: "POST" }],
  ] as const
) {
  Deno.test(`${init.method} ${path} lets 1000 at once of one network through, and no other pays for it`, async () => {
    using _time = new FakeTime();
    await using server = await startOAuthServer();
    const flood = () => send(server, "192.0.2.1", path, init);
    assert.equal(await refused(1010, flood), 10);
    assert.notEqual(await send(server, "192.0.2.2", path, init), 429);
    assert.equal(await send(server, "::ffff:192.0.2.1", path, init), 429);
    assert.notEqual(await send(server, "::ffff:192.0.2.3", path, init), 429);
  });
}

Deno.test("no page and no form of the account is for a network beyond its rate", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  const from = (method: string, path: string) =>
    send(server, "192.0.2.1", path, { method });
  await refused(1000, () => from("POST", "/account/export"));
  const parts = ["", "/tokens", "/calls", "/work", "/data", "/people"]
    .concat("/clients", "/attempts", "/durable");
  for (const part of parts) {
    assert.equal(await from("GET", `/account${part}`), 429, part);
  }
  const forms = ["sign-in", "sign-out", "end", "pause", "resume", "narrow"]
    .concat("work/cancel", "work/answer", "tokens", "export", "erase");
  for (const form of forms) {
    assert.equal(await from("POST", `/account/${form}`), 429, form);
  }
  for (const method of ["GET", "POST"]) {
    assert.equal(await from(method, "/wait/junk"), 429, method);
  }
});

Deno.test("a network of IPv6 is a /64", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  const from = (address: string) =>
    send(server, address, "/register", REGISTER);
  const flood = (n: number) => from(`2001:db8:1:2::${n.toString(16)}`);
  assert.equal(await refused(1010, flood), 10);
  assert.notEqual(await from("2001:db8:1:3::1"), 429);
});

Deno.test("a flood from many networks leaves a newcomer served", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  let refusedInAll = 0;
  for (let n = 1; n <= 7; n++) {
    refusedInAll += await refused(
      1000,
      () => send(server, `198.51.100.${n}`, "/authorize", { method: "GET" }),
    );
  }
  // Seven networks have 20 each of their own, and share five times the burst of
  // one.
  assert.equal(refusedInAll, 7 * 980 - 5000);
  const newcomer = () =>
    send(server, "192.0.2.1", "/authorize", { method: "GET" });
  assert.equal(await refused(20, newcomer), 0);
});

Deno.test("a loop that fails at /token stops no one's refreshes", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const address = "192.0.2.1";
  let { refresh_token } = await client.connect();
  for (let second = 0; second < 30; second++) {
    // A hundred times a second, from behind the same address.
    for (let n = 0; n < 100; n++) {
      await send(server, address, "/token", JUNK_REFRESH);
    }
    const response = await server.app.fetch(
      new Request(`${BASE_URL}/token`, {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "refresh_token",
          refresh_token,
          client_id: client.clientId,
        }),
      }),
      { remoteAddr: { hostname: address } },
    );
    assert.equal(response.status, 200);
    ({ refresh_token } = await response.json());
    time.tick(1);
  }
});

Deno.test("POST /token charges a network for what failed, and for nothing that succeeded", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const { refresh_token } = await client.connect();
  const refresh: Sent = {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token,
      client_id: client.clientId,
    }),
  };
  const token = (init: Sent) => send(server, "192.0.2.1", "/token", init);
  assert.equal(await refused(990, () => token(JUNK_REFRESH)), 0);
  for (let n = 0; n < 20; n++) assert.equal(await token(refresh), 200);
  assert.equal(await refused(11, () => token(JUNK_REFRESH)), 1);
});

Deno.test("POST /revoke charges a network for what it did not end", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const revoke = (token: string, client_id = client.clientId) =>
    send(server, "192.0.2.1", "/revoke", {
      method: "POST",
      body: new URLSearchParams({ token, client_id }),
    });
  assert.equal(await refused(980, () => revoke("junk")), 0);
  const thief = await Client.register(server);
  const { issuePersonal } = accessTokenStore(new Database(server.kv));
  for (let n = 0; n < 10; n++) {
    const personal = openPersonalGrant({
      issuer: BASE_URL,
      resource: `${BASE_URL}/mcp`,
      subject: "github:42",
      identity: { subject: "42" },
      scopes: [],
      name: "Backup",
      seconds: 60,
      now: now(),
    });
    assert.equal(await revoke((await issuePersonal(personal))!), 200);
    const { access_token, refresh_token } = await client.connect();
    assert.equal(await revoke(access_token, thief.clientId), 200);
    assert.equal(await revoke(access_token), 200);
    assert.equal(await revoke(refresh_token), 200);
  }
  assert.equal(await refused(11, () => revoke("junk")), 1);
});

for (const path of ["/account", "/authorize"]) {
  Deno.test(`a sign-in from ${path} is not charged by the provider's callback, and one that fails is`, async () => {
    using _time = new FakeTime();
    await using server = await startOAuthServer();
    const remoteAddr = { hostname: "192.0.2.1" };
    const office: Answering = {
      fetch: async (path, init) =>
        await server.app.fetch(new Request(BASE_URL + path, init), {
          remoteAddr,
        }),
    };
    const client = await Client.register(server);
    const signIn = async () => {
      const browser = browserOf(office);
      const page = await browser.open(
        path === "/account" ? `${BASE_URL}/account` : client.authorizationUrl(),
      );
      return await browser.press(page, "decision", "approve");
    };
    const junk = () =>
      send(server, "192.0.2.1", "/oauth/provider-callback", { method: "GET" });
    assert.equal(await refused(990, junk), 0);
    for (let n = 0; n < 20; n++) {
      const { url } = await signIn();
      assert.match(url, path === "/account" ? /\/account$/ : /[?&]code=/);
    }
    assert.equal(await refused(11, junk), 1);
  });
}

Deno.test("what one process refuses, another refuses after a tenth", async () => {
  using _time = new FakeTime();
  using kv = await Deno.openKv(":memory:");

  await using one = await startOAuthServer({ kv });
  await using other = await startOAuthServer({ kv });
  const flood = (server: OAuthServer) => () =>
    send(server, "192.0.2.1", "/register", REGISTER);
  assert.equal(await refused(1000, flood(one)), 0);
  assert.equal(await refused(400, flood(other)), 300);
});

Deno.test("behind a trusted proxy every client has a limit of its own", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer({
    environment: { TRUSTED_PROXIES: "127.0.0.1" },
  });
  const from = (client: string) => () =>
    send(server, "127.0.0.1", "/authorize", {
      method: "GET",
      headers: { "x-forwarded-for": client },
    });
  assert.equal(await refused(1001, from("192.0.2.1")), 1);
  assert.equal(await refused(1, from("192.0.2.2")), 0);
  assert.equal(await refused(1, from("192.0.2.2, 192.0.2.1")), 1);
});

/** A server whose network has used up every limit, and goes on asking. */
async function startFlooded() {
  const server = await startOAuthServer();
  const address = "192.0.2.1";
  const office: Answering = {
    fetch: async (path, init) =>
      await server.app.fetch(new Request(BASE_URL + path, init), {
        remoteAddr: { hostname: address },
      }),
  };
  const client = await Client.register(server);
  const flood = async (
    headers: Record<string, string> = {},
    count = 1000,
  ): Promise<void> => {
    const state = "x".repeat(43);
    await refused(
      count,
      async (n) =>
        Math.max(
          await send(server, address, `/account?${n}`, { headers }),
          await send(server, address, "/authorize", { headers }),
          await send(
            server,
            address,
            `/oauth/provider-callback?state=${state}`,
            { headers },
          ),
          await send(server, address, "/token", JUNK_REFRESH),
        ),
    );
  };
  return {
    server,
    office,
    /** The client, at the address of the flood. */
    client: new Client(office, client.clientId),
    flood,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Signs in to the account page, and gives the session's cookie. */
async function accountCookie(browser: Browser): Promise<string> {
  const page = await browser.open(`${BASE_URL}/account`);
  await browser.press(page, "provider", "");
  return cookiesOf(browser);
}

function cookiesOf({ cookies }: Browser): string {
  return [...cookies].map(([key, value]) => `${key.split(" ")[1]}=${value}`)
    .join("; ");
}

Deno.test("a neighbour's flood refuses no one who is signed in to the account page", async () => {
  using _time = new FakeTime();
  await using flooded = await startFlooded();
  const { server, office, flood } = flooded;
  const cookie = await accountCookie(server.browser());
  await flood();
  const open = async (cookie: string) =>
    await send(server, "192.0.2.1", "/account", { headers: { cookie } });
  assert.equal(await refused(15, () => open(cookie)), 0);
  const madeUp = cookie.replace(
    /(account-\w+=)[\w-]{43}/,
    `$1${"a".repeat(43)}`,
  );
  assert.notEqual(madeUp, cookie);
  assert.equal(await open(madeUp), 429);
  assert.equal((await office.fetch("/account")).status, 429);
});

Deno.test("a neighbour's flood refuses no refresh and no code, and no revocation", async () => {
  using _time = new FakeTime();
  await using flooded = await startFlooded();
  const { server, client, flood } = flooded;
  const outside = new Client(server, client.clientId);
  let { refresh_token } = await outside.connect();
  const code = await outside.signIn();
  await flood();
  for (let n = 0; n < 15; n++) {
    const { status, body } = await client.refresh(refresh_token);
    assert.equal(status, 200);
    ({ refresh_token } = body);
  }
  const redeemed = await client.redeem(code, {
    code_verifier: outside.verifier,
  });
  assert.equal(redeemed.status, 200);
  const { access_token } = redeemed.body;
  const revoke = (token: string) =>
    send(server, "192.0.2.1", "/revoke", {
      method: "POST",
      body: new URLSearchParams({ token, client_id: client.clientId }),
    });
  assert.equal(await revoke(access_token), 200);
  const junk = refresh_token.slice(0, -43) + "a".repeat(43);
  assert.equal((await client.refresh(junk)).status, 429);
  assert.equal(await revoke(junk), 429);
  // Used already, and of a grant that has ended.
  assert.equal((await client.refresh(refresh_token)).status, 200);
  assert.equal(await revoke(refresh_token), 200);
  const ended = (await outside.connect()).refresh_token;
  const end = { token: ended, client_id: client.clientId };
  await (await server.form("/revoke", end)).body?.cancel();
  assert.equal((await client.refresh(ended)).status, 429);
});

for (const [path, first] of [["/authorize", "approve"], ["/account", ""]]) {
  Deno.test(`a neighbour's flood does not stop a sign-in that has begun at ${path}`, async () => {
    using _time = new FakeTime();
    await using flooded = await startFlooded();
    const { server, office, client, flood } = flooded;
    const outside = new Client(server, client.clientId);
    const url = path === "/account"
      ? `${BASE_URL}/account`
      : outside.authorizationUrl();
    const browser = browserOf(office, { isAlone: true });
    const page = await browser.open(url);
    const name = path === "/account" ? "provider" : "decision";
    const sent = path === "/account"
      ? await browser.press(page, name, first)
      : undefined;
    await flood();
    // The person's decision, then the way back from the provider.
    const { url: provider } = sent ?? await browser.press(page, name, first);
    const asked = new URL(provider).searchParams;
    const back = new URL(asked.get("redirect_uri")!);
    back.searchParams.set("state", asked.get("state")!);
    back.searchParams.set("code", asked.get("code")!);
    const stranger = browserOf(office);
    assert.equal((await stranger.open(back)).status, 429);
    const arrival = await browser.open(back);
    assert.match(arrival.url, path === "/account" ? /\/account$/ : /[?&]code=/);
  });
}

Deno.test("a neighbour's flood does not stop a client that the browser has approved before, or whose person is signed in", async () => {
  using _time = new FakeTime();
  await using flooded = await startFlooded();
  const { server, client, flood } = flooded;
  const outside = new Client(server, client.clientId);
  const approved = server.browser();
  await outside.connect({ browser: approved });
  const account = server.browser();
  await accountCookie(account);
  await flood();
  const ask = (cookie: string, changes = {}) =>
    send(
      server,
      "192.0.2.1",
      client.authorizationUrl(changes).slice(BASE_URL.length),
      { headers: { cookie } },
    );
  for (const missing of ["client_id", "redirect_uri"]) {
    assert.equal(await ask(cookiesOf(approved), { [missing]: "" }), 429);
  }
  assert.equal(await ask(cookiesOf(approved)), 200);
  const [session] = cookiesOf(account).split("; ").filter((one) =>
    /^account-\w+=/.test(one) && !one.startsWith("account-sign-in")
  );
  assert.equal(await ask(session), 200);
  // A browser without either is one of the flood.
  const other = server.browser();
  await other.open(
    `${BASE_URL}/authorize?${new URL(client.authorizationUrl()).searchParams}`,
  );
  assert.equal(await ask(cookiesOf(other)), 429);
});

Deno.test("a million made-up cookies cost a look-up for some, and leave out no one who was seen before", async () => {
  using _time = new FakeTime();
  await using flooded = await startFlooded();
  const { server, flood } = flooded;
  const browsers = [server.browser(), server.browser()];
  const [seen, unseen] = await Promise.all(browsers.map(accountCookie));
  await flood();
  const open = (cookie: string) =>
    send(server, "192.0.2.1", "/account", { headers: { cookie } });
  assert.equal(await open(seen), 200);
  const [name] = /account-[0-9a-zA-Z_]{8}(?==)/.exec(seen)!;
  const makeUp = (n: number) => open(`${name}=${String(n).padStart(43, "0")}`);
  assert.equal(await refused(1000, makeUp), 1000);
  assert.equal(await open(seen), 200);
  assert.equal(await open(unseen), 429);
});

for (
  const [method, path] of [
    ["GET", "/authorize"],
    ["POST", "/authorize"],
    ["GET", "/oauth/provider-callback"],
    ["GET", "/account"],
    ["POST", "/account/sign-in"],
    ["GET", "/connect/x"],
    ["GET", "/wait/x"],
  ] as const
) {
  Deno.test(`${method} ${path} as an image, a frame or a script is refused, and not counted`, async () => {
    using _time = new FakeTime();
    await using server = await startOAuthServer();
    const from = (destination: string) =>
      send(server, "192.0.2.1", path, {
        method,
        headers: { "sec-fetch-dest": destination },
      });
    for (const destination of ["image", "iframe", "script", "empty"]) {
      for (let n = 0; n < 260; n++) {
        assert.equal(await from(destination), 403);
      }
    }
    assert.notEqual(await from("document"), 429);
  });
}
