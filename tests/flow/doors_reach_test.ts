/**
 * Every door by which a caller is known, and the rules for the things they ask
 * for: granted, grantable, and never grantable.
 */
import assert from "node:assert/strict";
import { resource } from "../../src/authoring/resource.ts";
import { tool } from "../../src/authoring/tool.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../src/core/oauth/client.ts";
import { keyServer } from "../kit/key_server.ts";
import {
  type Ask,
  asksOf,
  BASE_URL,
  startServer,
  type TestServer,
} from "../kit/server.ts";
import { Events, isStream, resultOf, statusOf } from "../kit/answer.ts";
import type { HeadersOf, Json } from "../kit/message.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { until } from "../kit/wait.ts";
import { startAssertionProvider } from "../kit/assertion_provider.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { Client } from "../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";
import { resourcesOf, taskOf } from "./scoped_definitions.ts";

const SCOPES = ["granted", "grantable", "never"] as const;

/** The possible outcomes of a request. */
type Fate =
  | "done"
  /** 403: the scope is missing, and can be requested. */
  | "step up"
  /** 401: the caller is not known. */
  | "sign in"
  /** The same answer as for a name that does not exist. */
  | "unknown";

/** Lets the tool `held` return. */
let releaseHeld = () => {};

const tools = [
  ...SCOPES.flatMap((scope) => [
    tool({ name: scope, scopes: [scope], run: () => scope }),
    taskOf(scope),
  ]),
  tool({
    name: "held",
    handOver: 0,
    async run(_, { progress, signal }) {
      const held = Promise.withResolvers<void>();
      releaseHeld = held.resolve;
      signal.addEventListener("abort", releaseHeld);
      await progress(1);
      await held.promise;
      return "held";
    },
  }),
  tool({
    name: "touch",
    async run(_, { resourceUpdated }) {
      for (const id of [...SCOPES, "open"]) {
        await resourceUpdated(`one://${id}`);
      }
      return "";
    },
  }),
];
const resources = [
  resource({ uri: "one://open", name: "open", read: () => "open" }),
  ...SCOPES.flatMap(resourcesOf),
];

const SECRET = "a-secret-of-many-letters";
const KEY = "the-only-secret-key";
const ISSUER = "https://login.example.com";
const CLIENTS = ["client_credentials", JWT_BEARER_GRANT_TYPE].map((type) => ({
  client_id: type === JWT_BEARER_GRANT_TYPE ? "desk" : "machine",
  grant_types: [type],
  client_secret_env: "OAUTH_CLIENT_SECRET_MACHINE",
  scope: "granted",
}));

/**
 * Starts a server with every door open, and the keys and provider behind two of
 * them.
 */
async function open() {
  const keys = await keyServer();
  const idp = await startAssertionProvider();
  const server = await startOAuthServer({
    tools,
    resources,
    environment: {
      AUTH_STRATEGY: "oauth,jwt,bearer,api_key",
      AUTH_ANONYMOUS: "true",
      OAUTH_PERMISSIONS: "*=granted grantable",
      OAUTH_CLIENTS: JSON.stringify(CLIENTS),
      OAUTH_CLIENT_SECRET_MACHINE: SECRET,
      OAUTH_ASSERTION_ISSUERS: idp.issuer,
      JWT_ISSUER: ISSUER,
      JWT_AUDIENCE: "tools",
      JWT_JWKS_URL: keys.url,
      BEARER_TOKEN: SECRET,
      API_KEY: KEY,
    },
  });
  return {
    keys,
    idp,
    server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await idp[Symbol.asyncDispose]();
      await keys[Symbol.asyncDispose]();
    },
  };
}

type Open = Awaited<ReturnType<typeof open>>;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function tokenFor(
  server: OAuthServer,
  parameters: Record<string, string>,
): Promise<HeadersOf> {
  const response = await server.form("/token", {
    client_secret: SECRET,
    ...parameters,
  });
  const { access_token, scope } = await response.json();
  assert.equal(scope, "granted");
  return bearer(access_token);
}

/** Makes an access token of a person, with one of the two boxes ticked. */
async function personalToken(server: OAuthServer): Promise<HeadersOf> {
  const visitor = await AccountVisitor.signIn(server);
  return bearer(await visitor.makeToken({ "scope.grantable": "" }));
}

/**
 * The credentials of callers of each door, and the outcomes of their requests.
 */
const DOORS: Record<
  string,
  [(open: Open) => Promise<HeadersOf>, fates: [Fate, Fate, Fate]]
> = {
  "a sign-in": [
    async ({ server }) => {
      const client = await Client.register(server);
      const { access_token } = await client.connect({ scope: "granted" });
      return bearer(access_token);
    },
    ["done", "step up", "unknown"],
  ],
  "a token of their own": [
    ({ server }) => personalToken(server),
    ["done", "step up", "unknown"],
  ],
  "an assertion": [
    async ({ server, idp }) =>
      await tokenFor(server, {
        client_id: "desk",
        grant_type: JWT_BEARER_GRANT_TYPE,
        assertion: await idp.assertion(BASE_URL, { scope: "granted" }),
      }),
    ["done", "step up", "unknown"],
  ],
  // The operator chose its scopes, so more cannot be requested.
  "a machine's token": [
    ({ server }) =>
      tokenFor(server, {
        client_id: "machine",
        grant_type: "client_credentials",
      }),
    ["done", "unknown", "unknown"],
  ],
  // Another authorization server decides about permissions.
  "a JWT": [
    async ({ keys }) =>
      bearer(
        await keys.sign({
          iss: ISSUER,
          aud: "tools",
          sub: "42",
          scope: "granted",
          exp: Math.floor(Date.now() / 1000) + 600,
        }),
      ),
    ["done", "step up", "step up"],
  ],
  "a static token": [
    () => Promise.resolve(bearer(SECRET)),
    ["done", "done", "done"],
  ],
  "a static key": [
    () => Promise.resolve({ "x-api-key": KEY }),
    ["done", "done", "done"],
  ],
  "nothing": [() => Promise.resolve({}), ["sign in", "sign in", "unknown"]],
};

/** Names a refusal; undefined if it is none. */
async function refusalOf(
  response: Response,
  scope: string,
): Promise<Fate | undefined> {
  if (response.status === 200) return undefined;
  const challenge = response.headers.get("www-authenticate") ?? "";
  await response.body?.cancel();
  assert.match(challenge, new RegExp(` scope="([^"]* )?${scope}[ "]`));
  if (response.status === 401) return "sign in";
  assert.equal(response.status, 403);
  assert.match(challenge, /error="insufficient_scope"/);
  return "step up";
}

/** Makes a request with one answer, and the same for an unknown name. */
function answered(
  method: string,
  paramsOf: (name: string) => Json,
): (ask: Ask, scope: string) => Promise<Fate> {
  return async (ask, scope) => {
    const response = await ask(method, paramsOf(scope));
    const refusal = await refusalOf(response, scope);
    if (refusal) return refusal;
    const text = await response.text();
    const { result } = JSON.parse(text);
    if (result && !result.isError) return "done";
    const nothing = "x".repeat(scope.length);
    const unknown = await (await ask(method, paramsOf(nothing))).text();
    assert.equal(text, unknown.replaceAll(nothing, scope));
    return "unknown";
  };
}

async function listed(ask: Ask, scope: string): Promise<boolean> {
  const { tools } = await resultOf(ask("tools/list", {}));
  const { resources } = await resultOf(ask("resources/list", {}));
  const [tool, resource] = [tools, resources].map((list) =>
    list.some(({ name }: Json) => name === scope)
  );
  assert.equal(tool, resource);
  return tool;
}

/** Listens to a resource that everyone may read. */
function listen(server: TestServer, headers: HeadersOf): Promise<Response> {
  return server.call("subscriptions/listen", {
    notifications: { resourceSubscriptions: ["one://open"] },
  }, { headers });
}

/** Listens to changes until one that everyone hears of. */
async function subscribed(ask: Ask, scope: string): Promise<Fate> {
  const response = await ask("subscriptions/listen", {
    notifications: { resourceSubscriptions: [`one://${scope}`, "one://open"] },
  });
  const refusal = await refusalOf(response, scope);
  if (refusal) return refusal;
  assert(isStream(response));
  const events = new Events(response);
  await events.read();
  await resultOf(ask("tools/call", { name: "touch", arguments: {} }));
  const { params: { uri } } = await events.read();
  // The last change of `touch` must not reach the next subscription.
  if (uri !== "one://open") await events.read();
  await events.close();
  return uri === `one://${scope}` ? "done" : "unknown";
}

async function ranTask(ask: Ask, scope: string): Promise<Fate> {
  const start = answered("tools/call", (name) => ({
    name: `${name}-task`,
    arguments: {},
  }));
  const fate = await start(ask, scope);
  if (fate !== "done") return fate;
  const { taskId } = await resultOf(
    ask("tools/call", { name: `${scope}-task`, arguments: {} }),
  );
  let task: Json;
  await until(async () => {
    task = await resultOf(ask("tasks/get", { taskId }));
    return task.status === "completed";
  });
  assert.equal(task.result.content[0].text, scope);
  return "done";
}

const SHARED = {
  "tools/call": answered("tools/call", (name) => ({ name, arguments: {} })),
  "resources/read": answered("resources/read", (name) => ({
    uri: `one://${name}`,
  })),
  "resources/read by a template": answered("resources/read", (name) => ({
    uri: `${name}://1`,
  })),
  "completion/complete": answered("completion/complete", (name) => ({
    ref: { type: "ref/resource", uri: `${name}://{id}` },
    argument: { name: "id", value: "" },
  })),
};

const RULES: Record<
  "2025" | "2026",
  Record<string, (ask: Ask, scope: string) => Promise<Fate>>
> = {
  "2025": SHARED,
  "2026": { ...SHARED, "subscriptions/listen": subscribed, "tasks": ranTask },
};

async function checkRules(
  server: TestServer,
  headers: HeadersOf,
  fates: readonly Fate[],
): Promise<void> {
  const asks = await asksOf(server, headers);
  for (const generation of ["2025", "2026"] as const) {
    const ask = asks[generation];
    for (const [index, scope] of SCOPES.entries()) {
      const fate = fates[index];
      const what = `${generation} ${scope}`;
      assert.equal(await listed(ask, scope), fate !== "unknown", what);
      for (const [rule, outcome] of Object.entries(RULES[generation])) {
        assert.equal(await outcome(ask, scope), fate, `${rule} ${what}`);
      }
    }
    if (generation === "2026") continue;
    // In 2025 it has no effect, so an unknown URI is accepted like any other.
    for (const [index, scope] of SCOPES.entries()) {
      const subscribe = await ask("resources/subscribe", {
        uri: `one://${scope}`,
      });
      const fate = await refusalOf(subscribe, scope) ??
        await subscribe.body?.cancel();
      const isRefused = ["step up", "sign in"].includes(fates[index]);
      assert.equal(fate, isRefused ? fates[index] : undefined, scope);
    }
  }
}

for (const [door, [enter, fates]] of Object.entries(DOORS)) {
  Deno.test(`who comes by ${door} reaches what they were granted: ${fates.join(", ")}`, async () => {
    await using world = await open();
    await checkRules(world.server, await enter(world), fates);
  });
}

const HOUR = 60 * 60;

/** The seconds until a credential has expired, and the end of what it opened. */
const EXPIRES: Record<string, [seconds: number, call: "answered" | "ended"]> = {
  "a sign-in": [HOUR, "answered"],
  // With JWT_LEEWAY.
  "a JWT": [10 * 60 + 60, "answered"],
  // Their permission ends with their only token.
  "a token of their own": [30 * 24 * HOUR, "ended"],
  "an assertion": [HOUR, "ended"],
  "a machine's token": [HOUR, "ended"],
};

for (const [door, [seconds, end]] of Object.entries(EXPIRES)) {
  Deno.test(`a subscription of who comes by ${door} ends when that has expired, and a call under way is ${end}`, async () => {
    using time = new FakeTime();
    await using world = await open();
    const { server } = world;
    const headers = await DOORS[door][0](world);
    const subscription = new Events(await listen(server, headers));
    await subscription.read();
    const call = server.call("tools/call", {
      name: "held",
      arguments: {},
    }, { headers, meta: { progressToken: 1 } });
    const events = new Events(await call);
    await events.read();

    time.tick(seconds - 1);
    await resultOf(
      server.call("tools/call", { name: "touch", arguments: {} }, {
        headers: { "x-api-key": KEY },
      }),
    );
    const { method } = await subscription.read();
    assert.equal(method, "notifications/resources/updated");

    time.tick(1);
    const { result } = await subscription.read();
    assert.equal(result.resultType, "complete");
    assert((await subscription.next()).done);
    assert.equal(await statusOf(listen(server, headers)), 401);
    if (end === "answered") releaseHeld();
    const last = await events.read();
    if (end === "answered") assert.equal(last.result.content[0].text, "held");
    else assert.match(last.error.message, /permission of this call has ended/);
    releaseHeld();
  });
}

Deno.test("a subscription ends when its access token is revoked", async () => {
  using time = new FakeTime();
  await using world = await open();
  const { server } = world;
  const client = await Client.register(server);
  const { access_token } = await client.connect({ scope: "granted" });
  const headers = bearer(access_token);
  const subscription = new Events(await listen(server, headers));
  await subscription.read();
  await server.form("/revoke", {
    token: access_token,
    client_id: client.clientId,
  });
  time.tick(1);
  assert((await subscription.read()).result);
});

Deno.test("where no one is asked who they are everyone reaches everything", async () => {
  await using server = await startServer({ tools, resources });
  await checkRules(server, {}, ["done", "done", "done"]);
});
