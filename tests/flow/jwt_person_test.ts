/**
 * A person who signs in at an issuer, and comes with its JWTs too: one subject,
 * whom an operator blocks, ends, exports and erases at both doors.
 */
import assert from "node:assert/strict";
import { openRegister } from "../../packages/operate/register.ts";
import { runCommand } from "../../packages/operate/run_command.ts";
import { tool } from "../../src/authoring/tool.ts";
import { now } from "../../src/core/clock.ts";
import { blockStore } from "../../src/core/store/blocks.ts";
import { Database } from "../../src/core/kv/database.ts";
import { AccountVisitor, formOf } from "../kit/account_visitor.ts";
import { Events, outcome, resultOf, statusOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import { test } from "../kit/databases.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { keyServer } from "../kit/key_server.ts";
import { silentLogger } from "../kit/log.ts";
import { type HeadersOf, type Json, rpc } from "../kit/message.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";
import { TASKS } from "../kit/task.ts";
import { until } from "../kit/wait.ts";

const ISSUER = "https://id.example.com/acme";
const SUBJECT = `${ISSUER}#42`;

const tools = [
  tool({ name: "whoami", run: (_, { caller }) => caller.subject }),
  tool({
    name: "sleepy",
    task: { durable: true },
    async run(_, { step, sleep }) {
      await step("draft", () => "private");
      await sleep("a day", 86_400);
      return "slept";
    },
  }),
  tool({
    name: "endless",
    async run(_, { signal, progress }) {
      await progress(1);
      return await new Promise<never>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason))
      );
    },
  }),
];

/** The issuer, reduced to its keys, and the settings of a server that trusts it. */
async function startIssuer() {
  const keys = await keyServer();
  return {
    environment: {
      // The same issuer as without the slash at its end.
      JWT_ISSUER: `${ISSUER}/`,
      JWT_AUDIENCE: "tools",
      JWT_JWKS_URL: keys.url,
    },
    async headersOf(sub: string, claims = {}): Promise<HeadersOf> {
      const about = { iss: `${ISSUER}/`, aud: "tools", exp: now() + 3600 };
      const token = await keys.sign({ ...about, sub, ...claims });
      return { authorization: `Bearer ${token}` };
    },
    [Symbol.asyncDispose]: () => keys[Symbol.asyncDispose](),
  };
}

type Issuer = Awaited<ReturnType<typeof startIssuer>>;

/** Starts a server where that issuer's people sign in too. */
function start(
  { environment }: Issuer,
  kv: Deno.Kv,
  settings: Record<string, string> = {},
): Promise<OAuthServer> {
  return startOAuthServer({
    tools,
    kv,
    environment: {
      AUTH_STRATEGY: "oauth,jwt",
      OAUTH_PROVIDER: "oidc",
      OAUTH_ISSUER: ISSUER,
      ...environment,
      ...settings,
    },
  });
}

/** A command line on a database. */
async function run(kv: Deno.Kv, ...words: string[]): Promise<string> {
  const database = new Database(kv);
  const register = openRegister(database, silentLogger);
  const text = await runCommand(words, {
    register,
    log: silentLogger,
    by: "ops",
  });
  await register.close();
  return text;
}

/** The calls of who comes with a JWT. */
function callerOf(server: OAuthServer, headers: HeadersOf) {
  const options = { headers, capabilities: TASKS };
  return {
    call: () => server.call("tools/call", { name: "whoami" }, options),
    async beginTask(): Promise<string> {
      const begun = server.call("tools/call", { name: "sleepy" }, options);
      const { taskId } = await resultOf(begun);
      await until(async () => (await this.task(taskId)).statusMessage);
      return taskId;
    },
    async task(taskId: string): Promise<Json> {
      const response = await server.call("tasks/get", { taskId }, options);
      const { result, error } = await response.json();
      return result ?? error;
    },
  };
}

test.onDatabases("a block holds for the JWTs of a person within a second, for what runs and what sleeps", async ({ kv, other }) => {
  using time = new FakeTime();
  await using idp = await startIssuer();
  await using server = await start(idp, kv);
  const headers = await idp.headersOf("42");
  const jo = callerOf(server, headers);
  const ann = callerOf(server, await idp.headersOf("43"));
  const { content } = await resultOf(jo.call());
  assert.equal(content[0].text, SUBJECT);
  const taskId = await jo.beginTask();
  const session = await server.openSession({ headers });
  const running = new Events(
    await session.post({
      ...rpc("tools/call", {
        name: "endless",
        _meta: { progressToken: "p" },
      }),
    }),
  );
  assert.equal((await running.next()).value.method, "notifications/progress");

  // By an operator whose process dies before it has ended anything.
  const blocks = blockStore(new Database(other));
  await blocks.block(SUBJECT, { by: "ops" });
  time.tick(1);
  const { status, error } = await outcome(jo.call());
  assert.equal(status, 403);
  assert.match(error.message, /have blocked this account/);
  assert.equal(await statusOf(session.request("ping")), 403);
  assert.equal(await statusOf(ann.call()), 200);
  await until(() => server.app.running === 0);

  await blocks.lift(SUBJECT);
  time.tick(1);
  assert.equal(await statusOf(jo.call()), 200);
  assert.equal((await jo.task(taskId)).status, "working");
  await run(other, "people", "end", SUBJECT);
  await until(async () => (await jo.task(taskId)).status === "cancelled");
  assert.equal(await statusOf(session.request("ping")), 404);
});

test.onDatabases("durable work of a JWT does not go on while its person is blocked", async ({ kv, other }) => {
  using time = new FakeTime();
  await using idp = await startIssuer();
  await using server = await start(idp, kv);
  const headers = await idp.headersOf("42", { exp: now() + 3 * 86_400 });
  const jo = callerOf(server, headers);
  const taskId = await jo.beginTask();
  const blocks = blockStore(new Database(other));
  await blocks.block(SUBJECT, { by: "ops" });
  time.tick(86_400);
  await until(async () => {
    await server.app.wake();
    const { value } = await kv.get<{ status: string }>(["task", taskId]);
    return value?.status === "cancelled" || value?.status === "failed";
  });
});

test.onDatabases("an export and the account page have what a person did with JWTs, and an erasure deletes it", async ({ kv, other }) => {
  await using idp = await startIssuer();
  await using server = await start(idp, kv);
  const headers = await idp.headersOf("42");
  const jo = callerOf(server, headers);
  const ann = callerOf(server, await idp.headersOf("43"));
  const [taskId, anns] = [await jo.beginTask(), await ann.beginTask()];
  await server.openSession({ headers });

  const visitor = await AccountVisitor.signIn(server, { as: "42" });
  assert.match(await visitor.look("/work"), /sleepy/);
  assert.match(await visitor.look(`/work?task=${taskId}`), /draft/);
  await visitor.look(`/work?task=${anns}`);
  assert.equal(visitor.page.status, 404);
  await visitor.look("/data");
  const form = formOf(visitor.page, "/account/export");
  const own = JSON.parse((await visitor.browser.press(form, "", "")).text);
  for (
    const copy of [
      own,
      JSON.parse(await run(other, "people", "export", SUBJECT)),
    ]
  ) {
    assert.equal(copy.sessions, 1);
    assert.deepEqual(
      copy.tasks.map(({ tool, steps }: Json) => [tool, steps.length]),
      [["sleepy", 2]],
    );
  }

  await visitor.signInToErase();
  await visitor.press("/account/erase", { erase: "on" });
  assert.match(visitor.words, /Erased/);
  assert.match((await jo.task(taskId)).message, /^Unknown task/);
  assert.equal((await ann.task(anns)).status, "working");
  await assert.rejects(
    run(other, "people", "export", SUBJECT),
    /Nothing is known/,
  );
  // Their token is good until its issuer says otherwise, and so they are back.
  const again = await jo.beginTask();
  assert.match(await run(other, "people", "erase", SUBJECT), /is erased/);
  assert.match((await jo.task(again)).message, /^Unknown task/);
});

test.inMemory("a subject of OAUTH_BLOCKED, and an address, hold for JWTs too", async ({ kv }) => {
  await using idp = await startIssuer();
  for (const entry of [SUBJECT, "@example.com"]) {
    await using server = await start(idp, kv, { OAUTH_BLOCKED: entry });
    const claims = { email: "jo@example.com" };
    const jo = callerOf(server, await idp.headersOf("42", claims));
    assert.equal(await statusOf(jo.call()), 403);
    const ann = callerOf(server, await idp.headersOf("43"));
    assert.equal(await statusOf(ann.call()), 200);
  }
});

test.onDatabases("an address of OAUTH_BLOCKED that a connection tells holds for JWTs without it, also once its person has ended it", async ({ kv, other }) => {
  using time = new FakeTime();
  await using idp = await startIssuer();
  const exp = now() + 3 * 86_400;
  const jos = await idp.headersOf("42", { exp });
  const anns = await idp.headersOf("43", { exp });
  const before = await start(idp, kv);
  const client = await Client.register(before);
  const { refresh_token } = await client.connect();
  const jo = callerOf(before, jos);
  assert.equal(await statusOf(jo.call()), 200);
  const taskId = await jo.beginTask();
  await before[Symbol.asyncDispose]();

  for (const entry of ["jo@example.com", "@example.com"]) {
    await using server = await start(idp, other, { OAUTH_BLOCKED: entry });
    assert.equal(await statusOf(callerOf(server, jos).call()), 403);
    assert.equal(await statusOf(callerOf(server, anns).call()), 200);
    const token = { token: refresh_token, client_id: client.clientId };
    assert.equal(await statusOf(server.form("/revoke", token)), 200);
    time.tick(1);
    assert.equal(await statusOf(callerOf(server, jos).call()), 403);
  }
  await using blocking = await start(idp, kv, {
    OAUTH_BLOCKED: "jo@example.com",
  });
  time.tick(86_400);
  await until(async () => {
    await blocking.app.wake();
    const { value } = await kv.get<{ status: string }>(["task", taskId]);
    return value?.status === "cancelled" || value?.status === "failed";
  });
  await using after = await start(idp, kv, { OAUTH_BLOCKED: "@example.org" });
  assert.equal(await statusOf(callerOf(after, jos).call()), 200);
});

test.inMemory("who comes with JWTs alone is blocked, exported and erased by the name with the issuer in front", async ({ kv }) => {
  using time = new FakeTime();
  await using idp = await startIssuer();
  await using server = await start(idp, kv, { AUTH_STRATEGY: "jwt" });
  const jo = callerOf(server, await idp.headersOf("42"));
  assert.equal((await resultOf(jo.call())).content[0].text, "42");
  const taskId = await jo.beginTask();
  assert.match(await run(kv, "people", "show", SUBJECT), /tasks: 1/);
  await assert.rejects(
    run(kv, "people", "block", "42"),
    /No one is called 42: .*https:\/\/id\.example\.com#42/,
  );
  await run(kv, "people", "block", SUBJECT);
  time.tick(1);
  assert.equal(await statusOf(jo.call()), 403);
  await run(kv, "people", "unblock", SUBJECT);
  await run(kv, "people", "erase", SUBJECT);
  time.tick(1);
  assert.equal(await statusOf(jo.call()), 200);
  assert.match((await jo.task(taskId)).message, /^Unknown task/);
});
