/** The permissions of a person, from sign-in to the last token. */
import assert from "node:assert/strict";
import type { Identity } from "../../src/core/caller.ts";
import { tool } from "../../src/authoring/tool.ts";
import { FakeTime } from "../kit/fake_time.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import { BASE_URL, startServer } from "../kit/server.ts";
import { browserOf } from "../kit/browser.ts";
import { Client } from "../kit/client.ts";
import { startOAuthServer } from "../kit/sign_in.ts";
import { FakeProvider } from "../kit/fake_provider.ts";

const tools = ["read", "write", "admin"].map((scope) =>
  tool({ name: scope, scopes: [scope], run: () => scope })
);

function start(
  OAUTH_PERMISSIONS: string,
  memberships: Partial<Identity> = {},
  { kv, provider = new FakeProvider() }: {
    kv?: Deno.Kv;
    provider?: FakeProvider;
  } = {},
) {
  provider.memberships = memberships;
  const environment: Environment = { OAUTH_PERMISSIONS };
  return startOAuthServer({ tools, environment, kv, provider });
}

type Server = Awaited<ReturnType<typeof start>>;

async function statusOf(client: Client, token: string, name: string) {
  const { status, body } = await client.call(token, name);
  await body?.cancel();
  return status;
}

/** Signs in with approval, and gives the page at the end. */
async function arrive(server: Server, scope?: string) {
  const client = await Client.register(server);
  const browser = server.browser();
  const url = client.authorizationUrl(scope === undefined ? {} : { scope });
  const page = await browser.open(url);
  const { url: end } = await browser.press(page, "decision", "approve");
  return new URL(end).searchParams;
}

for (
  const [who, memberships] of [
    ["42", {}],
    ["jo@example.com", {}],
    ["@example.com", {}],
    ["group:staff", { groups: ["staff", "other"] }],
    ["role:editor", { roles: ["editor"] }],
    ["org:acme", { organizations: ["acme"] }],
    ["team:acme/dev", { teams: ["acme/dev"] }],
  ] as const
) {
  Deno.test(`a sign-in by ${who} is granted what its entry says, and told so`, async () => {
    await using server = await start(`${who}=read write`, memberships);
    const client = await Client.register(server);
    const { access_token, scope } = await client.connect();
    assert.equal(scope, "read write");
    assert.equal(await statusOf(client, access_token, "write"), 200);

    server.provider.subject = "43";
    server.provider.email = "jo@example.org";
    server.provider.memberships = {};
    const answer = await arrive(server);
    assert.equal(answer.get("error"), "access_denied");
    assert.match(answer.get("error_description")!, /ask the people who run/);
  });
}

Deno.test("a grant keeps of a person only what a rule names", async () => {
  await using server = await start("group:staff=read", {
    groups: ["staff", "secret"],
    roles: ["secret"],
  });
  await (await Client.register(server)).connect();
  const kept = await Array.fromAsync(server.kv.list({ prefix: [] }));
  const text = JSON.stringify(
    kept.map(({ value }) => value),
    (_, it) => typeof it === "bigint" ? `${it}` : it,
  );
  assert.match(text, /"groups":\["staff"\]/);
  assert.doesNotMatch(text, /secret/);
});

Deno.test("without rules nothing is kept of what a person belongs to", async () => {
  const provider = new FakeProvider();
  provider.memberships = { groups: ["staff"] };
  await using server = await startOAuthServer({ tools, provider });
  const { scope } = await (await Client.register(server)).connect();
  assert.equal(scope, "read write admin");
  const kept = await Array.fromAsync(server.kv.list({ prefix: [] }));
  assert.doesNotMatch(JSON.stringify(kept.map(({ value }) => value)), /staff/);
});

Deno.test("a demotion at the provider narrows the next token, and the old one", async () => {
  using time = new FakeTime();
  await using server = await start("*=read;group:staff=write", {
    groups: ["staff"],
  });
  const { client, tokens } = await server.person();
  assert.equal(tokens.scope, "read write");

  server.provider.memberships = {};
  const { status, body } = await client.refresh(tokens.refresh_token);
  assert.equal(status, 200);
  assert.equal(body.scope, "read");
  time.tick(2);
  for (const token of [tokens.access_token, body.access_token]) {
    assert.equal(await statusOf(client, token, "read"), 200);
    const answer = await (await client.call(token, "write")).json();
    assert.equal(answer.error.code, -32602);
  }

  // A person who is back in the group has the approved scopes again.
  server.provider.memberships = { groups: ["staff"] };
  const again = await client.refresh(body.refresh_token);
  assert.equal(again.body.scope, "read write");
});

Deno.test("a refresh that leaves nothing ends", async () => {
  await using server = await start("group:staff=write", { groups: ["staff"] });
  const { client, tokens } = await server.person();
  server.provider.memberships = {};
  const { status, body } = await client.refresh(tokens.refresh_token);
  assert.equal(status, 400);
  assert.equal(body.error, "invalid_grant");
});

Deno.test("a provider that does not answer is 503 at refresh, and nothing is lost", async () => {
  await using server = await start("group:staff=write", { groups: ["staff"] });
  const { client, tokens } = await server.person();
  for (const failure of ["unavailable", "misbehaved"] as const) {
    server.provider.identityFailure = failure;
    const { status, headers } = await client.refresh(tokens.refresh_token);
    assert.equal(status, 503);
    assert(headers.get("retry-after"));
  }
  server.provider.identityFailure = undefined;
  const { body } = await client.refresh(tokens.refresh_token);
  assert.equal(body.scope, "write");
});

Deno.test("a refresh is refused when the provider took its token back", async () => {
  await using server = await start("group:staff=write", { groups: ["staff"] });
  const { client, tokens } = await server.person();
  server.provider.identityFailure = "dead";
  const { status, body } = await client.refresh(tokens.refresh_token);
  assert.equal(status, 400);
  assert.equal(body.error, "invalid_grant");
  assert.equal(await statusOf(client, tokens.access_token, "write"), 401);
});

const DAY_SECONDS = 24 * 60 * 60;

Deno.test("memberships that the provider does not tell any more count for a day", async () => {
  using time = new FakeTime();
  const provider = new FakeProvider();
  provider.givesRefreshTokens = false;
  provider.ttlSeconds = 600;
  await using server = await start(
    "*=read;group:staff=write",
    { groups: ["staff"] },
    { provider },
  );
  const { client, tokens } = await server.person();
  const first = await client.refresh(tokens.refresh_token);
  assert.equal(first.body.scope, "read write");
  // The provider's token has expired, so it cannot be asked for memberships.
  time.tick(DAY_SECONDS - 60);
  const second = await client.refresh(first.body.refresh_token);
  assert.equal(second.body.scope, "read write");
  time.tick(60);
  const { body } = await client.refresh(second.body.refresh_token);
  assert.equal(body.scope, "read");
});

Deno.test("a provider that names someone else at refresh is not believed", async () => {
  await using server = await start("group:staff=write", { groups: ["staff"] });
  const { client, tokens } = await server.person();
  server.provider.subject = "43";
  const { status } = await client.refresh(tokens.refresh_token);
  assert.equal(status, 503);
});

Deno.test("rules that changed since count at the gate, at /token and at refresh", async () => {
  using time = new FakeTime();
  await using before = await start("*=read write");
  const client = await Client.register(before);
  const tokens = await client.connect();
  const code = await client.signIn();
  const late = new Client(before, client.clientId);
  const lateCode = await late.signIn();

  await using after = await start("*=read", {}, { kv: before.kv });
  client.server = after;
  late.server = after;
  const { status, body } = await client.redeem(code);
  assert.equal(status, 200);
  assert.equal(body.scope, "read");
  assert.equal(await statusOf(client, tokens.access_token, "read"), 200);
  const hidden = await (await client.call(tokens.access_token, "write")).json();
  assert.equal(hidden.error.code, -32602);
  const refreshed = await client.refresh(tokens.refresh_token);
  assert.equal(refreshed.body.scope, "read");

  await using never = await start("43=*", {}, { kv: before.kv });
  client.server = never;
  late.server = never;
  time.tick(2);
  assert.equal(await statusOf(client, tokens.access_token, "read"), 401);
  const refused = await late.redeem(lateCode);
  assert.equal(refused.body.error, "invalid_grant");
  const ended = await client.refresh(refreshed.body.refresh_token);
  assert.equal(ended.body.error, "invalid_grant");
});

Deno.test("an author's function decides by the person, and an operator's rules still hold", async () => {
  const permissions = ({ subject, identity }: {
    subject: string;
    identity: Identity;
  }) => {
    assert.equal(subject, `github:${identity.subject}`);
    return identity.groups?.includes("staff") ? "all" : ["read"];
  };
  const provider = new FakeProvider();
  await using server = await startOAuthServer({ tools, permissions, provider });
  const client = await Client.register(server);
  assert.equal((await client.connect()).scope, "read");
  provider.memberships = { groups: ["staff"] };
  assert.equal((await client.connect()).scope, "read write admin");

  await using both = await startOAuthServer({
    tools,
    permissions,
    provider,
    environment: { OAUTH_PERMISSIONS: "*=write" },
  });
  assert.equal((await (await Client.register(both)).connect()).scope, "write");
});

Deno.test("the last answer counts when a person goes back and chooses again", async () => {
  await using server = await startOAuthServer({ tools });
  const client = await Client.register(server);
  const browser = browserOf(server);
  const page = await browser.open(client.authorizationUrl());
  // The provider's page is not opened at first.
  const fields = { scope: "read" };
  const posted = new URLSearchParams({
    request: /name="request" value="([^"]*)"/.exec(page.text)![1],
    decision: "approve",
    ...fields,
  });
  const cookie = [...browser.cookies].map(([key, value]) =>
    `${key.split(" ")[1]}=${value}`
  ).join("; ");
  await server.form("/authorize", Object.fromEntries(posted), { cookie });
  const arrival = await browser.press(page, "decision", "approve", {}, [
    "admin",
  ]);
  const { body } = await client.redeem(client.codeFrom(arrival));
  assert.equal(body.scope, "read write");
});

Deno.test("scopes that wait for a step-up are asked for when they are needed", async () => {
  await using server = await startOAuthServer({
    tools,
    scopes: {
      read: "Read everything",
      admin: { description: "Change everything", stepUp: true },
    },
  });
  const refused = await server.call("tools/list");
  await refused.body?.cancel();
  const challenge = refused.headers.get("www-authenticate")!;
  assert.match(challenge, / scope="read write"/);
  const resource = await (await server.fetch(
    "/.well-known/oauth-protected-resource/mcp",
  )).json();
  assert.deepEqual(resource.scopes_supported, ["read", "write"]);

  const client = await Client.register(server);
  const browser = browserOf(server);
  const page = await browser.open(client.authorizationUrl());
  assert.match(page.text, /Read everything/);
  assert.match(page.text, /Opens <bdi>read/);
  assert.doesNotMatch(page.text, /Change everything/);
  const { access_token, scope } = await client.connect({ browser });
  assert.equal(scope, "read write");
  assert.equal(await statusOf(client, access_token, "admin"), 403);
  const more = await client.connect({ browser, scope: "admin" });
  assert.deepEqual(more.scope.split(" ").sort(), ["admin", "read", "write"]);
  assert.equal(await statusOf(client, more.access_token, "admin"), 200);
});

Deno.test("the development provider believes whatever groups are typed", async () => {
  await using server = await startServer({
    tools,
    env: {
      BASE_URL,
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "dev",
      OAUTH_PERMISSIONS: "*=read; group:staff=write; role:boss=admin",
    },
  });
  const client = await Client.register(server);
  const connect = async (groups: string) => {
    const browser = browserOf(server);
    const consent = await browser.open(client.authorizationUrl());
    const signIn = await browser.press(consent, "decision", "approve");
    const arrival = await browser.press(signIn, "name", "Ada", { groups });
    return (await client.redeem(client.codeFrom(arrival))).body;
  };
  assert.equal((await connect("")).scope, "read");
  const tokens = await connect(" staff, role:boss ,org:acme");
  assert.equal(tokens.scope, "read write admin");
  const { body } = await client.refresh(tokens.refresh_token);
  assert.equal(body.scope, "read write admin");
});
