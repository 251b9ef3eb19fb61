import assert from "node:assert/strict";
import { kvWith } from "../../../kit/kv.ts";
import { statusOf } from "../../../kit/answer.ts";
import { until } from "../../../kit/wait.ts";
import { tokenEndpoint } from "../../../../src/core/auth/server/token.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { blockStore } from "../../../../src/core/store/blocks.ts";
import { Database } from "../../../../src/core/kv/database.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { BASE_URL } from "../../../kit/server.ts";
import { Client } from "../../../kit/client.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";
import { answerOf, refuseLate } from "./endpoint_alone.ts";

const greet = tool({ name: "greet", run: () => "hello" });

Deno.test("POST /token answers as RFC 6749 §5.1 has it, and nothing keeps it", async () => {
  using _time = new FakeTime();
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const { status, headers, body } = await client.redeem(await client.signIn());
  assert.equal(status, 200);
  assert.equal(headers.get("cache-control"), "no-store");
  assert.match(headers.get("content-type")!, /^application\/json/);
  assert.equal(headers.get("access-control-allow-origin"), "*");
  assert.match(body.access_token, /^tsa_/);
  assert.match(body.refresh_token, /^tsr_/);
  assert.equal(body.token_type, "Bearer");
  assert.equal(body.expires_in, 3600);
  assert.equal(body.scope, "");
});

/** Makes a database that records the keys that are checked and written. */
function keepKeys(real: Deno.Kv) {
  const keys: string[] = [];
  const kv = kvWith(real, {
    atomic() {
      const operation = real.atomic();
      const { check, set } = operation;
      operation.check = (...entries) => {
        keys.push(...entries.map(({ key }) => JSON.stringify(key)));
        return check.apply(operation, entries);
      };
      operation.set = (key, ...rest) => {
        keys.push(JSON.stringify(key));
        return set.call(operation, key, ...rest);
      };
      return operation;
    },
  });
  return { kv, keys };
}

Deno.test("POST /token writes no key that a refresh of another connection writes", async () => {
  using real = await Deno.openKv(":memory:");
  const { kv, keys } = keepKeys(real);
  await using server = await startOAuthServer({ kv });
  const client = await Client.register(server);
  const tokens = [await client.connect(), await client.connect()];
  const written = [];
  for (const { refresh_token } of tokens) {
    keys.length = 0;
    assert.equal((await client.refresh(refresh_token)).status, 200);
    // Read at every commit, and not written.
    written.push(
      new Set(keys.filter((key) => !/^\["(fence|block)"/.test(key))),
    );
  }
  const [one, other] = written;
  assert(one.size > 2);
  assert.deepEqual(one.intersection(other), new Set());
});

Deno.test("POST /token takes JSON too", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  const response = await server.json("/token", {
    grant_type: "authorization_code",
    client_id: client.clientId,
    code: await client.signIn(),
    code_verifier: client.verifier,
  });
  assert.equal(await statusOf(response), 200);
});

for (const resource of [`${BASE_URL}/`, ""]) {
  Deno.test(`POST /token takes ${resource || "no resource"} for ours`, async () => {
    await using server = await startOAuthServer();
    const client = await Client.register(server);
    const code = await client.signIn({ resource });
    assert.equal((await client.redeem(code, { resource })).status, 200);
  });
}

for (
  const [what, presented, read] of [
    ["a code", { code: "c" }, ["code c"]],
    ["a refresh token", { refresh_token: "r" }, ["refresh token r"]],
    ["nothing", {}, []],
  ] as const
) {
  Deno.test(`POST /token reads ${what} while it looks for a client that it then refuses`, async () => {
    const asked: string[] = [];
    const reader = (kind: string) => ({
      read(credential: string) {
        asked.push(`${kind} ${credential}`);
        return Promise.reject(new Error("no database"));
      },
    });
    const stores = {
      codes: reader("code"),
      refreshTokens: reader("refresh token"),
      clients: {
        authenticate() {
          asked.push("client");
          return refuseLate();
        },
      },
    };
    const endpoint = tokenEndpoint(stores as never);
    const body = new URLSearchParams(presented);
    const response = await answerOf(endpoint, "/", { method: "POST", body });
    assert.equal(await response.text(), "Who are you?");
    assert.deepEqual(asked, [...read, "client"]);
  });
}

const REFUSED: [string, Record<string, string>, number, string][] = [
  ["no grant type", { grant_type: "" }, 400, "invalid_request"],
  [
    "another grant type",
    { grant_type: "password" },
    400,
    "unsupported_grant_type",
  ],
  ["no code", { code: "" }, 400, "invalid_request"],
  ["no verifier", { code_verifier: "" }, 400, "invalid_request"],
  ["no refresh token", { grant_type: "refresh_token" }, 400, "invalid_request"],
  [
    "a scope that is none",
    { grant_type: "refresh_token", refresh_token: "r", scope: "ä" },
    400,
    "invalid_scope",
  ],
  ["an unknown code", { code: "x" }, 400, "invalid_grant"],
  ["another verifier", { code_verifier: "x".repeat(43) }, 400, "invalid_grant"],
  [
    "another redirect URI",
    { redirect_uri: "https://x.example/" },
    400,
    "invalid_grant",
  ],
  ["another resource", { resource: "https://x/mcp" }, 400, "invalid_target"],
  ["no client", { client_id: "" }, 401, "invalid_client"],
  ["an unknown client", { client_id: "x" }, 401, "invalid_client"],
  ["a secret where none is", { client_secret: "x" }, 401, "invalid_client"],
];

for (const [what, changes, expected, error] of REFUSED) {
  Deno.test(`POST /token refuses ${what} with ${error}`, async () => {
    await using server = await startOAuthServer();
    const client = await Client.register(server);
    const code = await client.signIn();
    const { status, body, headers } = await client.redeem(code, changes);
    assert.equal(status, expected);
    assert.equal(body.error, error);
    assert(body.error_description);
    assert.equal(headers.get("cache-control"), "no-store");
    // The code is still valid.
    assert.equal((await client.redeem(code)).status, 200);
  });
}

Deno.test("POST /token gives no token that outlives its grant", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  server.provider.ttlSeconds = undefined;
  const client = await Client.register(server);
  let { refresh_token } = await client.connect();
  const day = 24 * 60 * 60;
  for (const days of [29, 29, 29]) {
    time.tick(days * day);
    const { status, body } = await client.refresh(refresh_token);
    assert.equal(status, 200);
    assert.equal(body.expires_in, 3600);
    refresh_token = body.refresh_token;
  }
  time.tick(3 * day - 600);
  const { body } = await client.refresh(refresh_token);
  assert.equal(body.expires_in, 600);
});

for (const what of ["code", "refresh token"]) {
  Deno.test(`POST /token leaves no address of a person whose ${what} ended their last grant`, async () => {
    using time = new FakeTime();
    await using server = await startOAuthServer({ tools: [greet] });
    server.provider.email = "jo@quince.example";
    const client = await Client.register(server);
    const code = await client.signIn();
    const { body: { refresh_token } } = await client.redeem(code);
    const isKept = async () =>
      /quince/.test(
        Deno.inspect(await Array.fromAsync(server.kv.list({ prefix: [] })), {
          depth: 9,
        }),
      );
    assert(await isKept());
    if (what === "code") {
      await client.redeem(code);
    } else {
      const { body } = await client.refresh(refresh_token);
      await statusOf(client.call(body.access_token, "greet"));
      time.tick(60);
      await client.refresh(body.refresh_token);
      await client.refresh(refresh_token);
    }
    await until(async () => !await isKept());
  });
}

Deno.test("POST /token refreshes a connection 600 times at once and each second, and loses nothing of what it refuses", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  const client = await Client.register(server);
  let { refresh_token } = await client.connect();
  const refresh = async () => {
    const { status, body } = await client.refresh(refresh_token);
    if (status === 200) ({ refresh_token } = body);
    return status;
  };
  for (let n = 0; n < 600; n++) assert.equal(await refresh(), 200);
  assert.equal(await refresh(), 429);
  time.tick(1);
  assert.equal(await refresh(), 200);
  assert.equal(await refresh(), 429);
});

Deno.test("POST /token narrows scopes for one token and not for the grant", async () => {
  const mail = tool({ name: "mail", scopes: ["mail:read"], run: () => "" });
  const send = tool({ name: "send", scopes: ["mail:send"], run: () => "" });
  await using server = await startOAuthServer({ tools: [mail, send] });
  const client = await Client.register(server);
  const { refresh_token } = await client.connect();
  const narrow = await client.refresh(refresh_token, { scope: "mail:read" });
  assert.equal(narrow.body.scope, "mail:read");
  const { access_token } = narrow.body;
  assert.equal(await statusOf(client.call(access_token, "mail")), 200);
  assert.equal(await statusOf(client.call(access_token, "send")), 403);
  const wide = await client.refresh(narrow.body.refresh_token);
  assert.equal(wide.body.scope, "mail:read mail:send");
});

Deno.test("POST /token answers a lost refresh as its scope says", async () => {
  const mail = tool({ name: "mail", scopes: ["mail:read"], run: () => "" });
  const send = tool({ name: "send", scopes: ["mail:send"], run: () => "" });
  await using server = await startOAuthServer({ tools: [mail, send] });
  const client = await Client.register(server);
  const { refresh_token } = await client.connect();
  const wide = await client.refresh(refresh_token);
  const unknown = await client.refresh(refresh_token, { scope: "zzz" });
  assert.equal(unknown.status, 400);
  assert.equal(unknown.body.error, "invalid_scope");
  const narrow = await client.refresh(refresh_token, { scope: "mail:read" });
  assert.equal(narrow.body.scope, "mail:read");
  assert.equal(narrow.body.refresh_token, wide.body.refresh_token);
  // Lost again: the same pair for the same scope.
  const again = await client.refresh(refresh_token, { scope: "mail:read" });
  assert.equal(again.body.access_token, narrow.body.access_token);
  const { access_token } = narrow.body;
  assert.equal(await statusOf(client.call(access_token, "mail")), 200);
  assert.equal(await statusOf(client.call(access_token, "send")), 403);
});

Deno.test("POST /token tells the scope, because less was granted than was asked for", async () => {
  const mail = tool({ name: "mail", scopes: ["mail:read"], run: () => "" });
  await using server = await startOAuthServer({ tools: [mail] });
  const { client, tokens } = await server.person({
    scope: "mail:read mail:send",
  });
  assert.equal(tokens.scope, "mail:read");
  const refreshed = await client.refresh(tokens.refresh_token);
  assert.equal(refreshed.body.scope, "mail:read");
});

Deno.test("POST /token gives no refresh token to a client that registered without", async () => {
  await using server = await startOAuthServer();
  const client = await Client.register(server, {
    grant_types: ["authorization_code"],
  });
  assert.equal((await client.connect()).refresh_token, undefined);
});

Deno.test("POST /token refreshes the provider's token first", async () => {
  await using server = await startOAuthServer();
  server.provider.ttlSeconds = 30;
  const client = await Client.register(server);
  const { refresh_token } = await client.connect();
  assert.equal((await client.refresh(refresh_token)).status, 200);
  assert.equal(server.provider.log.at(-1), "refresh");
});

for (
  const [rules, asked] of [
    ["group:staff=read", ["refresh", "identify"]],
    ["github:42=read", ["refresh"]],
  ] as const
) {
  Deno.test(`POST /token asks the provider for ${asked.join(" and ")} where permission is ${rules}`, async () => {
    using time = new FakeTime();
    await using server = await startOAuthServer({
      tools: [tool({ name: "read", scopes: ["read"], run: () => "read" })],
      environment: { OAUTH_PERMISSIONS: rules },
    });
    const { provider } = server;
    provider.memberships = { groups: ["staff"] };
    const client = await Client.register(server);
    const { refresh_token } = await client.connect();
    time.tick(3600);
    provider.log.length = 0;
    const { status, body } = await client.refresh(refresh_token);
    assert.equal(status, 200);
    assert.deepEqual(provider.log, asked);

    provider.memberships = {};
    const after = await client.refresh(body.refresh_token);
    assert.equal(
      after.body.error,
      rules.startsWith("group:") ? "invalid_grant" : undefined,
    );
  });
}

Deno.test("POST /token rotates nothing while the provider does not answer", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  server.provider.ttlSeconds = 30;
  const client = await Client.register(server);
  const { refresh_token } = await client.connect();
  time.tick(30);
  server.provider.failure = "unavailable";
  const { status, headers, body } = await client.refresh(refresh_token);
  assert.equal(status, 503);
  assert.equal(headers.get("retry-after"), "5");
  assert.equal(body.error, "temporarily_unavailable");
  server.provider.failure = undefined;
  assert.equal((await client.refresh(refresh_token)).status, 200);
});

Deno.test("POST /token ends a grant whose provider token died", async () => {
  await using server = await startOAuthServer();
  server.provider.ttlSeconds = 30;
  const client = await Client.register(server);
  const { refresh_token } = await client.connect();
  server.provider.failure = "dead";
  assert.equal(
    (await client.refresh(refresh_token)).body.error,
    "invalid_grant",
  );
  server.provider.failure = undefined;
  assert.equal(
    (await client.refresh(refresh_token)).body.error,
    "invalid_grant",
  );
});

Deno.test("POST /token lets a grant outlive a provider token that cannot be refreshed", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer({ tools: [greet] });
  server.provider.givesRefreshTokens = false;
  server.provider.ttlSeconds = 30;
  const client = await Client.register(server);
  const { refresh_token } = await client.connect();
  time.tick(60);
  const { body } = await client.refresh(refresh_token);
  assert.equal(await statusOf(client.call(body.access_token, "greet")), 200);
});

Deno.test("POST /token tells a person at their refresh that they are blocked, and no client that stole the token", async () => {
  using time = new FakeTime();
  await using server = await startOAuthServer();
  const { client, tokens } = await server.person();
  const thief = await Client.register(server);
  const blocks = blockStore(new Database(server.kv));
  await blocks.block("github:42", { by: "ops" });
  time.tick(1);
  for (
    const [by, words] of [[thief, /unknown/], [client, /have blocked/]] as const
  ) {
    const { body } = await by.refresh(tokens.refresh_token);
    assert.equal(body.error, "invalid_grant");
    assert.match(body.error_description, words);
  }
});

Deno.test("POST /token refuses people who were taken off the list since", async () => {
  using kv = await Deno.openKv(":memory:");

  const tools = [greet];
  await using before = await startOAuthServer({ kv, tools });
  // So that the provider's token has to be refreshed, too.
  before.provider.ttlSeconds = 30;
  const client = await Client.register(before);
  const { access_token, refresh_token } = await client.connect();
  await using after = await startOAuthServer({
    kv,
    tools,
    environment: { OAUTH_ALLOWED_USERS: "43" },
  });
  client.server = after;
  assert.equal(
    (await client.refresh(refresh_token)).body.error,
    "invalid_grant",
  );
  assert.deepEqual(after.provider.log, []);
  assert.equal(await statusOf(client.call(access_token, "greet")), 401);
});

for (const method of ["client_secret_basic", "client_secret_post"]) {
  Deno.test(`POST /token authenticates a client by ${method}`, async () => {
    await using server = await startOAuthServer();
    const client = await Client.register(server, {
      token_endpoint_auth_method: method,
    });
    const code = await client.signIn();
    const parameters = {
      grant_type: "authorization_code",
      code,
      code_verifier: client.verifier,
    };
    const basic = (secret: string) => ({
      authorization: `Basic ${btoa(`${client.clientId}:${secret}`)}`,
    });
    const wrong = await server.form("/token", parameters, basic("wrong"));
    assert.equal(await statusOf(wrong), 401);
    assert.match(wrong.headers.get("www-authenticate")!, /^Basic /);
    const none = await server.form("/token", {
      ...parameters,
      client_id: client.clientId,
    });
    assert.equal(await statusOf(none), 401);
    const right = method === "client_secret_basic"
      ? await server.form("/token", parameters, basic(client.clientSecret!))
      : await server.form("/token", {
        ...parameters,
        client_id: client.clientId,
        client_secret: client.clientSecret!,
      });
    assert.equal(await statusOf(right), 200);
  });
}
