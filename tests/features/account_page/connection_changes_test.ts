/** Connections that go on, with fewer scopes or after a pause. */
import assert from "node:assert/strict";
import { tool } from "../../../src/authoring/tool.ts";
import { recordLog } from "../../kit/log.ts";
import { openGrantFor } from "../../../src/core/oauth/new_grant.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore, setGrant } from "../../../src/core/store/grants.ts";
import { grantKey } from "../../../src/core/kv/keys.ts";
import { DEFAULT_LIFETIMES } from "../../../src/core/oauth/lifetimes.ts";
import { BASE_URL } from "../../kit/server.ts";
import { Client } from "../../kit/client.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";

const running = { count: 0, ended: 0 };
const tools = [
  tool({ name: "hello", run: () => "hello" }),
  tool({ name: "read", scopes: ["read"], run: () => "read" }),
  tool({ name: "write", scopes: ["write"], run: () => "written" }),
  tool({
    name: "wait",
    run: (_, { signal }) => {
      running.count++;
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          running.ended++;
          reject(signal.reason);
        })
      );
    },
  }),
];

const start = (options = {}) => startOAuthServer({ tools, ...options });

async function ask(client: Client, token: string, name: string) {
  const response = await client.call(token, name);
  const body = await response.json();
  const challenge = response.headers.get("www-authenticate");
  return { status: response.status, challenge, body };
}

async function statusOf(client: Client, token: string, name: string) {
  return (await ask(client, token, name)).status;
}

Deno.test("POST /account/pause refuses a connection's tokens within a second, through every process", async () => {
  using time = new FakeTime();
  await using server = await start();
  await using other = await start({ kv: server.kv });
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const there = new Client(other, client.clientId);
  for (const at of [client, there]) {
    assert.equal(await statusOf(at, access_token, "hello"), 200);
  }
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/pause");
  assert.match(
    visitor.words,
    /Paused: “ App ”\. It is refused until you resume it/,
  );
  assert.match(visitor.words, /Paused just now/);

  time.tick(1);
  for (const at of [client, there]) {
    const { status, challenge, body } = await ask(at, access_token, "hello");
    assert.equal(status, 403);
    // After a 401 or a challenge its client would sign in again.
    assert.equal(challenge, null);
    assert.equal(
      body.error.message,
      `This connection is paused: resume it at ${BASE_URL}/account`,
    );
  }
  const deleted = await other.fetch("/mcp", {
    method: "DELETE",
    headers: { authorization: `Bearer ${access_token}`, "mcp-session-id": "x" },
  });
  await deleted.body?.cancel();
  assert.equal(deleted.status, 403);
});

Deno.test("POST /account/pause is in the log, with the names of what it paused", async () => {
  const { log, events } = recordLog();
  await using server = await start({ log });
  const client = await Client.register(server);
  await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  const { page } = visitor;
  await visitor.press("/account/pause");
  visitor.page = page;
  await visitor.press("/account/pause", { grant: "nothing" });
  const told = events.filter(({ message }) => message.startsWith("Connection"))
    .map((
      { message, properties: { subject, client } },
    ) => [message, subject, client]);
  assert.deepEqual(told, [
    ["Connection paused on the account page", "github:42", "App"],
  ]);
});

Deno.test("a connection that was paused and then ended is paused nowhere", async () => {
  await using server = await start();
  const client = await Client.register(server);
  await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  const copied = async () => {
    await visitor.look("/data");
    const { text } = await visitor.press("/account/export");
    return text;
  };
  await visitor.press("/account/pause");
  assert.equal((await copied()).match(/"pausedAt"/g)?.length, 2);
  await visitor.look();
  await visitor.press("/account/end");
  assert.doesNotMatch(visitor.words, /Paused/);
  const copy = await copied();
  assert.doesNotMatch(copy, /"pausedAt"/);
  assert.match(copy, /"status": "closed"/);
  // Another sign-in of it begins anew.
  const { access_token } = await client.connect();
  assert.equal(await statusOf(client, access_token, "hello"), 200);
});

Deno.test("POST /account/resume lets a connection go on, however long it was paused", async () => {
  using time = new FakeTime();
  await using server = await start();
  const { client, tokens } = await server.person();
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/pause");
  // Its tokens are exchanged meanwhile, but give no access.
  time.tick(DEFAULT_LIFETIMES.accessTokenSeconds);
  assert.equal(await statusOf(client, tokens.access_token, "hello"), 401);
  const { status, body } = await client.refresh(tokens.refresh_token);
  assert.equal(status, 200);
  assert.equal(await statusOf(client, body.access_token, "hello"), 403);

  const again = await AccountVisitor.signIn(server);
  await again.press("/account/resume");
  assert.match(again.words, /Resumed: “ App ”\. It can go on as before/);
  time.tick(1);
  assert.equal(await statusOf(client, body.access_token, "hello"), 200);
  const refreshed = await client.refresh(body.refresh_token);
  assert.equal(refreshed.status, 200);
  assert.equal(
    await statusOf(client, refreshed.body.access_token, "write"),
    200,
  );
});

Deno.test("POST /account/pause ends what a connection has running", async () => {
  await using server = await start();
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const { count, ended } = running;
  const response = client.call(access_token, "wait");
  await until(() => running.count > count);
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/pause");
  await until(() => running.ended > ended);
  await (await response).body?.cancel();
});

Deno.test("POST /account/narrow takes scopes from the tokens there are, and from those that follow", async () => {
  using time = new FakeTime();
  await using server = await start();
  const { client, tokens } = await server.person();
  assert.equal(tokens.scope, "read write");
  assert.equal(await statusOf(client, tokens.access_token, "write"), 200);
  // A token that was issued for named scopes loses them too.
  const named = await client.refresh(tokens.refresh_token, {
    scope: "write read",
  });
  assert.equal(named.body.scope, "write read");

  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/narrow", { "scope.write": "" });
  assert.match(visitor.words, /Permissions taken away: “ App ”/);
  assert.match(
    visitor.words,
    /It may: read\. read It may use hello , read and wait \. Latest calls/,
  );
  time.tick(1);
  for (const { access_token } of [tokens, named.body]) {
    assert.equal(await statusOf(client, access_token, "read"), 200);
    const { status, challenge } = await ask(client, access_token, "write");
    assert.equal(status, 403);
    assert.match(challenge!, /error="insufficient_scope".*scope="write"/);
  }
  assert.match(await visitor.look("/calls"), /Refused 2 times just now write/);
  // It is still listed, so that the client can ask for it.
  const listed = await server.call("tools/list", {}, {
    headers: { authorization: `Bearer ${tokens.access_token}` },
  });
  const { result } = await listed.json();
  assert(result.tools.some(({ name }: { name: string }) => name === "write"));
});

Deno.test("a refresh brings back no scope that was taken away, and does not fail for naming it", async () => {
  await using server = await start();
  const client = await Client.register(server);
  let { refresh_token } = await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/narrow", { "scope.write": "" });
  for (const scope of ["", "read", "read write"]) {
    const { status, body } = await client.refresh(refresh_token, { scope });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.scope, "read");
    assert.equal(await statusOf(client, body.access_token, "write"), 403);
    refresh_token = body.refresh_token;
  }
  const beyond = await client.refresh(refresh_token, { scope: "read admin" });
  assert.equal(beyond.body.error, "invalid_scope");
});

Deno.test("a step-up gives back what was taken away, once the person consents", async () => {
  await using server = await start();
  const client = await Client.register(server);
  const first = await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/narrow", { "scope.write": "" });
  const browser = server.browser();
  const page = await browser.open(
    client.authorizationUrl({ scope: "read write" }),
  );
  assert.match(page.text, /type="checkbox" name="scope" value="write"/);
  const arrival = await browser.press(page, "decision", "approve");
  const { body } = await client.redeem(client.codeFrom(arrival));
  assert.equal(body.scope, "read write");
  assert.equal(await statusOf(client, body.access_token, "write"), 200);
  // Scopes that were taken away before stay away.
  assert.equal(await statusOf(client, first.access_token, "write"), 403);
});

Deno.test("a narrowing that takes nothing leaves a consent under way what it gives back", async () => {
  using time = new FakeTime();
  await using server = await start();
  const client = await Client.register(server);
  await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/narrow", { "scope.write": "" });
  const browser = server.browser();
  time.tick(1);
  const page = await browser.open(
    client.authorizationUrl({ scope: "read write" }),
  );
  time.tick(1);
  await visitor.press("/account/narrow", {});
  const arrival = await browser.press(page, "decision", "approve");
  const { body } = await client.redeem(client.codeFrom(arrival));
  assert.equal(body.scope, "read write");
});

Deno.test("POST /account/narrow never adds a scope, and may leave none", async () => {
  using time = new FakeTime();
  await using server = await start();
  const client = await Client.register(server);
  const { access_token } = await client.connect();
  const visitor = await AccountVisitor.signIn(server);
  const { page } = visitor;
  await visitor.press("/account/narrow", { "scope.write": "" });
  // An older page still has both boxes ticked.
  visitor.page = page;
  await visitor.press("/account/narrow", { "scope.admin": "on" });
  assert.equal(await statusOf(client, access_token, "write"), 403);
  await visitor.press("/account/narrow", { "scope.read": "" });
  time.tick(1);
  assert.equal(await statusOf(client, access_token, "read"), 403);
  assert.equal(await statusOf(client, access_token, "hello"), 200);
  assert.doesNotMatch(visitor.words, /Take permissions away/);
});

Deno.test("a token that a person made is paused, resumed and narrowed too", async () => {
  using time = new FakeTime();
  await using server = await start();
  const visitor = await AccountVisitor.signIn(server);
  const token = await visitor.makeToken();
  const program = new Client(server, "");
  assert.equal(await statusOf(program, token, "write"), 200);
  await visitor.press("/account/narrow", { "scope.write": "" });
  await visitor.press("/account/pause");
  time.tick(1);
  assert.equal(await statusOf(program, token, "read"), 403);
  await visitor.press("/account/resume");
  time.tick(1);
  assert.equal(await statusOf(program, token, "read"), 200);
  assert.equal(await statusOf(program, token, "write"), 403);
});

for (const action of ["pause", "resume", "narrow"]) {
  Deno.test(`POST /account/${action} does nothing to a connection that is another's, or over`, async () => {
    await using server = await start({
      environment: { OAUTH_ADMINS: "thief@example.com" },
    });
    const client = await Client.register(server);
    await client.connect();
    const owner = await AccountVisitor.signIn(server);
    await (await owner.openFresh("/tokens")).look();
    if (action === "resume") await owner.press("/account/pause");
    const [, grant] = /name="grant" value="([^"]*)"/.exec(owner.page.text)!;
    const before = await server.kv.get(grantKey(grant));

    // Operators can end connections of others, but not change them.
    const thief = await AccountVisitor.signIn(server, {
      as: "thief",
      email: "thief@example.com",
    });
    await client.connect();
    await thief.look();
    if (action === "resume") await thief.press("/account/pause");
    for (const id of [grant, "nothing", "x".repeat(5000)]) {
      await thief.press(`/account/${action}`, { grant: id });
      assert.match(thief.words, /That connection had already ended/);
    }
    assert.deepEqual(await server.kv.get(grantKey(grant)), before);

    const { page } = owner;
    await owner.press("/account/end");
    await owner.makeToken({ name: "Backup", days: "30" });
    const [, token] = /name="grant" value="([^"]*)"/.exec(owner.page.text)!;
    await owner.press("/account/end");
    for (const over of [grant, token]) {
      owner.page = page;
      await owner.press(`/account/${action}`, { grant: over });
      assert.match(owner.words, /That connection had already ended/);
    }
  });

  Deno.test(`POST /account/${action} refuses a form that this server did not render for the session`, async () => {
    await using server = await start();
    const client = await Client.register(server);
    await client.connect();
    const owner = await AccountVisitor.signIn(server);
    if (action === "resume") await owner.press("/account/pause");
    const [, grant] = /name="grant" value="([^"]*)"/.exec(owner.page.text)!;
    const before = await server.kv.get(grantKey(grant));
    const other = await AccountVisitor.signIn(server, { as: "other" });
    const [, csrf] = /name="csrf" value="([^"]*)"/.exec(other.page.text)!;
    const { page } = owner;
    for (const token of ["", "x.y", csrf]) {
      owner.page = page;
      const { status } = await owner.press(`/account/${action}`, {
        csrf: token,
      });
      assert.equal(status, 403, token);
    }
    assert.deepEqual(await server.kv.get(grantKey(grant)), before);
  });
}

Deno.test("what an identity provider allowed is not paused or narrowed: its client would get another", async () => {
  await using server = await start();
  const database = new Database(server.kv);
  const grant = openGrantFor(3600, {
    kind: "assertion",
    issuer: BASE_URL,
    resource: `${BASE_URL}/mcp`,
    subject: "github:42",
    identity: { subject: "42" },
    clientId: "desk",
    clientName: "Desk",
    scopes: ["read"],
    assertedBy: "https://id.example.com",
    now: database.now(),
  });
  await database.commit((transaction) => setGrant(transaction, grant));
  const visitor = await AccountVisitor.signIn(server);
  assert.match(visitor.words, /Desk/);
  assert.doesNotMatch(visitor.words, /Pause|Take permissions away/);

  await (await Client.register(server)).connect();
  for (const action of ["/account/pause", "/account/narrow"]) {
    await visitor.look();
    await visitor.press(action, { grant: grant.id });
    assert.match(visitor.words, /That connection had already ended/);
  }
  const { value } = (await grantStore(database).find(grant.id))!;
  assert.deepEqual([value.pausedAt, value.scopes], [undefined, ["read"]]);
});
