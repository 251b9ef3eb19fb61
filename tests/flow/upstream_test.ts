import assert from "node:assert/strict";
import { tool, ToolError } from "../../src/authoring/tool.ts";
import { parseCredential } from "../../src/core/oauth/credential.ts";
import { pauseGrant } from "../../src/core/oauth/grant.ts";
import { Database } from "../../src/core/kv/database.ts";
import { grantStore } from "../../src/core/store/grants.ts";
import { UpstreamError } from "../../src/core/provider/provider.ts";
import { statusOf, textOf } from "../kit/answer.ts";
import { FakeTime, MovedTime } from "../kit/fake_time.ts";
import { Client } from "../kit/client.ts";
import { startOAuthServer } from "../kit/sign_in.ts";
import { until } from "../kit/wait.ts";

const token = tool({
  name: "token",
  run: async (_, { upstream }) => await upstream.token(),
});

/** Serves an API that accepts one access token at a time. */
function api() {
  const state = { good: "", seen: [] as string[] };
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const presented = request.headers.get("authorization")!.slice(7);
      state.seen.push(`${request.method} ${new URL(request.url).pathname}`);
      return presented === state.good
        ? new Response(`hello ${await request.text()}`)
        : new Response(null, { status: 401 });
    },
  );
  return {
    state,
    url: `http://127.0.0.1:${server.addr.port}/api`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function text(response: Response | Promise<Response>): Promise<string> {
  const { result } = await (await response).json();
  return result.content[0].text;
}

Deno.test("upstream.token() gives the provider's token to the tool, and never ours", async () => {
  await using server = await startOAuthServer({ tools: [token] });
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  assert.match(
    await text(client.call(access_token, "token")),
    /^provider-access-/,
  );
});

Deno.test("a token that upstream.token() has given is hidden in errors", async () => {
  const given: string[] = [];
  const quotes = tool({
    name: "quotes",
    async run(_, { upstream }) {
      given.push(await upstream.token());
      throw new ToolError(`The provider says no to ${given[0]}`);
    },
  });
  await using server = await startOAuthServer({ tools: [quotes] });
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  assert.equal(
    await text(client.call(access_token, "quotes")),
    "The provider says no to (hidden)",
  );
  assert.match(given[0], /^provider-access-/);
});

Deno.test("upstream.token() refreshes once however many ask, on two servers", async () => {
  using kv = await Deno.openKv(":memory:");

  using time = new FakeTime();
  await using one = await startOAuthServer({ kv, tools: [token] });
  const { provider } = one;
  await using other = await startOAuthServer({ kv, provider, tools: [token] });
  const client = await Client.register(one);
  const { access_token } = await client.connect();
  // Our token lives as long as the provider's here, so ours is renewed first.
  time.tick(3500);
  provider.ttlSeconds = 7200;
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => {
      client.server = n % 2 ? one : other;
      return text(client.call(access_token, "token"));
    }),
  );
  assert.equal(new Set(answers).size, 1);
  time.tick(60);
  const late = await Promise.all(
    Array.from({ length: 50 }, (_, n) => {
      client.server = n % 2 ? one : other;
      return text(client.call(access_token, "token"));
    }),
  );
  assert.equal(new Set(late).size, 1);
  assert.notEqual(late[0], answers[0]);
  assert.equal(provider.log.filter((it) => it === "refresh").length, 1);
});

Deno.test("a refresh that was overtaken takes the other's tokens, and does not end the grant", async () => {
  using kv = await Deno.openKv(":memory:");

  using time = new FakeTime();
  const options = { kv, tools: [token], handOver: 0 };
  await using slow = await startOAuthServer(options);
  await using quick = await startOAuthServer(options);
  slow.provider.ttlSeconds = 30;
  const client = await Client.register(slow);
  const { access_token } = await client.connect();
  const callAt = (server: typeof slow) => {
    client.server = server;
    return textOf(client.call(access_token, "token"));
  };
  let renewed = "";
  slow.provider.refresh = async () => {
    // Longer than its lease: meanwhile the other process has refreshed.
    const calling = callAt(quick).then((it) => renewed = it);
    await until(() => {
      time.tick(1);
      return renewed !== "";
    });
    await calling;
    throw new UpstreamError("dead", "It was used by the other one");
  };
  assert.equal(await callAt(slow), renewed);
  assert.match(renewed, /^provider-access-/);
});

Deno.test("a refresh whose grant was changed meanwhile keeps what the provider gave, and goes on", async () => {
  using kv = await Deno.openKv(":memory:");
  await using server = await startOAuthServer({ kv, tools: [token] });
  const { provider } = server;
  provider.ttlSeconds = 30;
  const client = await Client.register(server);
  const { refresh_token } = await client.connect();
  const grants = grantStore(new Database(kv));
  const grantId = parseCredential(refresh_token)!.grantId;
  const refresh = provider.refresh.bind(provider);
  provider.refresh = async (refreshToken) => {
    const found = await grants.find(grantId);
    await grants.change(found, (grant) => pauseGrant(grant, 1));
    provider.refresh = refresh;
    // Valid for so long that nothing else refreshes it.
    provider.ttlSeconds = 3600;
    return await refresh(refreshToken);
  };
  const { status, body } = await client.refresh(refresh_token);
  assert.equal(status, 200);
  assert.equal((await grants.find(grantId))!.value.pausedAt, 1);
  assert.equal((await client.refresh(body.refresh_token)).status, 200);
  assert.deepEqual(provider.log, ["authorize", "redeem", "refresh"]);
});

Deno.test("a provider token that died becomes a 401, and the grant ends", async () => {
  await using server = await startOAuthServer({ tools: [token] });
  server.provider.ttlSeconds = 30;
  const client = await Client.register(server);
  const { access_token, refresh_token } = await client.connect();
  server.provider.failure = "dead";
  const response = await client.call(access_token, "token");
  assert.equal(response.status, 401);
  assert.match(
    response.headers.get("www-authenticate")!,
    /error="invalid_token"/,
  );
  await response.body?.cancel();
  const { body } = await client.refresh(refresh_token);
  assert.equal(body.error, "invalid_grant");
});

Deno.test("a provider that does not answer becomes a 503 once its token has expired, and nothing ends", async () => {
  using time = new MovedTime();
  await using server = await startOAuthServer({ tools: [token] });
  server.provider.ttlSeconds = 30;
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  server.provider.failure = "unavailable";
  assert.equal(await statusOf(client.call(access_token, "token")), 200);
  time.tick(30);
  const response = await client.call(access_token, "token");
  assert.equal(response.status, 503);
  assert.equal(response.headers.get("retry-after"), "5");
  await response.body?.cancel();
  server.provider.failure = undefined;
  assert.equal(await statusOf(client.call(access_token, "token")), 200);
});

Deno.test("a provider token without a refresh token serves until it expires, by the provider's clock if it says", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer({ tools: [token] });
  server.provider.givesRefreshTokens = false;
  server.provider.ttlSeconds = 600;
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  time.tick(595);
  assert.equal(await statusOf(client.call(access_token, "token")), 200);
  time.tick(5);
  assert.equal(await statusOf(client.call(access_token, "token")), 200);
  server.provider.alive = undefined;
  assert.equal(await statusOf(client.call(access_token, "token")), 401);
});

const fetches = tool({
  name: "fetches",
  run: async (_, { upstream }) =>
    (await upstream.fetch("/me", { method: "POST", body: "jo" })).text(),
});

Deno.test("upstream.fetch() takes a path below the API and renews a refused token once", async () => {
  await using there = api();
  await using server = await startOAuthServer({ tools: [token, fetches] });
  server.provider.apiUrl = there.url;
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const { provider } = server;
  provider.onIssue = (issued) => there.state.good = issued;
  provider.alive = false;
  assert.equal(await text(client.call(access_token, "fetches")), "hello jo");
  assert.deepEqual(there.state.seen, ["POST /api/me", "POST /api/me"]);
  assert.equal(await text(client.call(access_token, "fetches")), "hello jo");
  assert.equal(there.state.seen.length, 3);
});

for (const maxBytes of [undefined, 1000]) {
  Deno.test(`upstream.fetch() ends an endless answer after ${maxBytes ?? "10 MiB"}`, async () => {
    let isCancelled = false;
    await using there = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      () =>
        new Response(
          new ReadableStream({
            pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
            cancel: () => void (isCancelled = true),
          }),
        ),
    );
    const { hostname, port } = there.addr;
    const whole = tool({
      name: "whole",
      run: async (_, { upstream }) =>
        (await upstream.fetch("/me", { maxBytes })).text(),
    });
    await using server = await startOAuthServer({ tools: [whole] });
    server.provider.apiUrl = `http://${hostname}:${port}`;
    const client = await Client.register(server);
    const { access_token } = await client.connect();
    assert.equal(
      await text(client.call(access_token, "whole")),
      `${hostname}:${port} answered with more than ${
        maxBytes ?? 10 * 1024 * 1024
      } bytes.`,
    );
    await until(() => isCancelled);
  });
}

const answers = tool({
  name: "answers",
  run: async (_, { upstream }) => {
    const { status, body } = await upstream.fetch("/me");
    await body?.cancel();
    return String(status);
  },
});

/** Makes an API that refuses every token, and a connected client. */
async function refused(givesRefreshTokens: boolean) {
  const there = api();
  const server = await startOAuthServer({ tools: [answers] });
  const { provider } = server;
  provider.apiUrl = there.url;
  provider.givesRefreshTokens = givesRefreshTokens;
  const { client, tokens } = await server.person();
  return {
    provider,
    call: () => client.call(tokens.access_token, "answers"),
    refresh: async () => (await client.refresh(tokens.refresh_token)).status,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

for (const givesRefreshTokens of [true, false]) {
  const what = givesRefreshTokens ? "a" : "no";
  Deno.test(`upstream.fetch() passes a 401 on when the provider says that the token is good, with ${what} refresh token`, async () => {
    await using flow = await refused(givesRefreshTokens);
    assert.equal(await text(flow.call()), "401");
    assert.deepEqual(flow.provider.log.slice(2), ["is alive"]);
    assert.equal(await flow.refresh(), 200);
  });

  Deno.test(`upstream.fetch() ends nothing while the provider cannot be asked, with ${what} refresh token`, async () => {
    await using flow = await refused(givesRefreshTokens);
    flow.provider.failure = "unavailable";
    assert.equal(await statusOf(flow.call()), 503);
    flow.provider.failure = undefined;
    assert.equal(await flow.refresh(), 200);
  });
}

Deno.test("upstream.fetch() ends a connection whose token the provider says is dead", async () => {
  await using flow = await refused(false);
  flow.provider.alive = false;
  assert.equal(await statusOf(flow.call()), 401);
  assert.equal(await flow.refresh(), 400);
});

Deno.test("upstream.fetch() ends a connection whose refresh token died with the token", async () => {
  await using flow = await refused(true);
  flow.provider.alive = false;
  flow.provider.refresh = () =>
    Promise.reject(new UpstreamError("dead", "As told"));
  assert.equal(await statusOf(flow.call()), 401);
  assert.equal(await flow.refresh(), 400);
});

Deno.test("upstream.fetch() passes a 401 on that fresh tokens do not change, for which it refreshes them once a minute", async () => {
  using time = new MovedTime();
  await using flow = await refused(true);
  flow.provider.alive = undefined;
  const asked = ["is alive", "refresh"];
  for (const [seconds, ...more] of [[0], [0, "is alive"], [61, ...asked]]) {
    time.tick(Number(seconds));
    assert.equal(await text(flow.call()), "401");
    asked.push(...more as string[]);
    assert.deepEqual(flow.provider.log.slice(2), asked);
  }
  assert.equal(await flow.refresh(), 200);
});

Deno.test("upstream.fetch() ends nothing where no one can tell whether a token is good", async () => {
  await using flow = await refused(false);
  flow.provider.alive = undefined;
  assert.equal(await text(flow.call()), "401");
  assert.equal(await flow.refresh(), 200);
});

Deno.test("upstream.fetch() keeps the token from a stranger's API", async () => {
  await using there = api();
  const elsewhere = tool({
    name: "elsewhere",
    run: async (_, { upstream }) => {
      const { status } = await upstream.fetch(`${there.url}/x`);
      return String(status);
    },
  });
  await using server = await startOAuthServer({ tools: [elsewhere] });
  const client = await Client.register(server);
  const { access_token, refresh_token } = await client.connect();
  assert.match(
    await text(client.call(access_token, "elsewhere")),
    /^Internal error/,
  );
  assert.deepEqual(there.state.seen, []);
  assert.equal((await client.refresh(refresh_token)).status, 200);
});
