/**
 * People of version 0.2 under the subjects of today: what they have, what
 * operators do to it, and what is seen of it.
 *
 * @module
 */
import assert from "node:assert/strict";
import { runCommand } from "../../packages/operate/run_command.ts";
import { openRegister } from "../../packages/operate/register.ts";
import {
  mintPersonalToken,
  newPersonalGrantId,
  parseCredential,
} from "../../src/oauth/credential.ts";
import type { Grant } from "../../src/oauth/grant.ts";
import { tool } from "../../src/authoring/tool.ts";
import { fingerprint } from "../../src/crypto/crypto.ts";
import { Log, type LogEvent } from "../../src/log/log.ts";
import { Database } from "../../src/store/database.ts";
import {
  accessTokenKey,
  grantKey,
  grantsOfSubjectKey,
  sessionKey,
} from "../../src/store/keys.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { resultOf, statusOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { rpc } from "../kit/message.ts";
import { TestSession } from "../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";
import { type Leftover, leftoverOf, openLeftover } from "./leftover.ts";
import { FORMER_PEOPLE, type FormerPerson } from "./people.ts";

const TOOLS = [tool({ name: "whose", run: (_, { caller }) => caller.subject })];

/** The parts of a test. */
interface Updated extends FormerPerson {
  left: Leftover;
  server: OAuthServer;
  client: Client;
  kv: Deno.Kv;
  events: LogEvent[];
  time: FakeTime;
  /** A token that the person made for a program. */
  personal: string;
  /** Runs a command of an operator. */
  operate(line: string): Promise<string>;
}

/** Gives the subject of whoever holds a token; its status where it is dead. */
async function subjectAt(client: Client, token: string) {
  const response = client.call(token, "whose");
  const { status } = await response;
  if (status === 200) return (await resultOf(response)).content[0].text;
  await (await response).body?.cancel();
  return status;
}

/** Keeps a token that the person made, as version 0.2 did. */
async function keepPersonal(
  kv: Deno.Kv,
  { left, former }: { left: Leftover; former: string },
): Promise<string> {
  const { grantId } = parseCredential(left.refreshToken)!;
  const { value } = await kv.get<Grant>(grantKey(grantId));
  const { refreshKey: _key, redirectUri: _uri, ...grant } = value!;
  const id = newPersonalGrantId();
  const token = mintPersonalToken(id);
  const { expiresAt } = grant;
  await kv.set(grantKey(id), {
    ...grant,
    id,
    kind: "token",
    clientId: "",
    clientName: "A script",
    endsAt: expiresAt,
  });
  await kv.set(grantsOfSubjectKey(former, id), { expiresAt, v: 1 });
  await kv.set(accessTokenKey(token), { expiresAt, v: 1 });
  return token;
}

function test(name: string, run: (updated: Updated) => Promise<void>): void {
  for (const person of FORMER_PEOPLE) {
    Deno.test(`after 0.2.0, ${name}: ${person.subject}`, async () => {
      const file = new URL("0.2.0.json", import.meta.url);
      const left = await leftoverOf(
        JSON.parse(await Deno.readTextFile(file)),
        person.former,
      );
      using time = new FakeTime();
      time.tick(left.madeAt - Date.now() / 1000);
      using kv = await openLeftover(left);
      const personal = await keepPersonal(kv, { left, ...person });
      const events: LogEvent[] = [];
      const log = { write: (event: LogEvent) => void events.push(event) };
      await using server = await startOAuthServer({
        kv,
        tools: TOOLS,
        log,
        environment: {
          ...person.environment,
          OAUTH_ADMINS: "root@example.com",
        },
      });
      const client = new Client(server, left.clientId);
      const operate = async (line: string) => {
        const log = new Log({}, { write: (event) => void events.push(event) })
          .logger("operate");
        const register = openRegister(new Database(kv), log);
        try {
          return await runCommand(line.split(" "), {
            register,
            log,
            by: "ops",
          });
        } finally {
          await register.close();
        }
      };
      await run({
        ...person,
        left,
        server,
        client,
        kv,
        events,
        time,
        personal,
        operate,
      });
    });
  }
}

/** Posts a ping in the session of the leftovers. */
async function ping({ server, left }: Updated, token: string) {
  const session = new TestSession(server, left.session.id);
  return await statusOf(session.post(rpc("ping"), {
    authorization: `Bearer ${token}`,
  }));
}

test("every credential is of the subject of today, and what changes is written so", async (updated) => {
  const { left, client, kv, events, personal, subject, former } = updated;
  assert.equal(await subjectAt(client, left.accessToken), subject);
  assert.equal(await subjectAt(client, personal), subject);
  assert.equal(await ping(updated, left.accessToken), 200);
  const { body } = await client.refresh(left.refreshToken);
  assert.equal(await subjectAt(client, body.access_token), subject);
  const { grantId } = parseCredential(left.refreshToken)!;
  const grant = await kv.get<Grant>(grantKey(grantId));
  assert.equal(grant.value!.subject, subject);
  const { value } = await kv.get(sessionKey(left.session.id));
  assert.deepEqual(
    JSON.parse((value as { binding: string }).binding).at(-1),
    subject,
  );
  assert.equal(await ping(updated, body.access_token), 200);
  const told = JSON.stringify(events);
  assert(told.includes(subject));
  if (former !== subject) assert(!told.includes(`"${former}"`));
});

test("people see each of their connections once, and end them", async (updated) => {
  const { left, server, client, personal, subject, former, time } = updated;
  // One has changed since, the others have not.
  const { body } = await client.refresh(left.refreshToken);
  assert.equal(await ping(updated, body.access_token), 200);
  const visitor = await AccountVisitor.signIn(server);
  const pages = [visitor.page.text];
  assert.equal(pages[0].split('action="/account/end"').length, 2);
  assert.match(await visitor.look("/tokens"), /A script/);
  pages.push(visitor.page.text);
  await visitor.press("/account/end");
  assert.doesNotMatch(await visitor.look("/tokens"), /A script/);
  assert.equal(await subjectAt(client, personal), 401);
  await visitor.look();
  await visitor.press("/account/end");
  time.tick(1);
  assert.equal(await subjectAt(client, body.access_token), 401);
  assert.equal((await client.refresh(body.refresh_token)).status, 400);
  const { successor } = left.exchanged;
  assert.equal((await client.refresh(successor)).status, 400);
  const { access_token } = await client.connect();
  assert.equal(await ping(updated, access_token), 404);
  assert.equal(await subjectAt(client, access_token), subject);
  if (former !== subject) assert(!pages.join().includes(`>${former}<`));
});

test("a session that was not used since ends with its connection", async (updated) => {
  const { left, server, client } = updated;
  const visitor = await AccountVisitor.signIn(server);
  await visitor.press("/account/end");
  const { access_token } = await client.connect();
  assert.equal(await ping(updated, access_token), 404);
  assert.equal(await subjectAt(client, left.accessToken), 401);
});

test("operators find, block and unblock them under the subject of today", async (updated) => {
  const { left, server, client, personal, subject, operate } = updated;
  const root = await AccountVisitor.signIn(server, {
    as: "1",
    email: "root@example.com",
  });
  assert((await root.look("/people")).includes(subject));
  const { people } = JSON.parse(await operate("people list --json"));
  assert.deepEqual(
    people.map((person: { subject: string }) => person.subject),
    [subject],
  );
  const blocked = await operate(`people block ${subject}`);
  assert.match(blocked, /is blocked; 4 connections ended/);
  for (const token of [left.accessToken, personal]) {
    assert.equal(await subjectAt(client, token), 401);
  }
  assert.equal((await client.refresh(left.refreshToken)).status, 400);
  await operate(`people unblock ${subject}`);
  server.provider.subject = "42";
  const { access_token } = await client.connect();
  assert.equal(await subjectAt(client, access_token), subject);
});

test("an export has everything of them, and an erasure leaves nothing", async (updated) => {
  const { left, client, personal, kv, subject, former, operate } = updated;
  // A grant that has changed since is there once, too.
  assert.equal((await client.refresh(left.refreshToken)).status, 200);
  const exported = await operate(`people export ${subject}`);
  const { connections, sessions, tasks } = JSON.parse(exported);
  assert.equal(connections.length, 4);
  assert.equal(sessions, 1);
  assert.equal(tasks.length, 1);
  if (former !== subject) assert(!exported.includes(`"${former}"`));
  await operate(`people erase ${subject}`);
  assert.equal(await subjectAt(client, personal), 401);
  const place = ["http://127.0.0.1:3000", "http://127.0.0.1:3000/mcp"];
  const names = [former, subject].flatMap((one) => [
    one,
    JSON.stringify([...place, one]),
  ]);
  for await (const { key, value } of kv.list({ prefix: [] })) {
    const kept = JSON.stringify([key, value]);
    for (const name of names) {
      assert(!key.includes(fingerprint(name)), kept);
      assert(!kept.includes(JSON.stringify(name).slice(1, -1)), kept);
    }
  }
});

test("no one of another provider has any of it, whatever they are called", async (updated) => {
  const { left, kv, former, subject } = updated;
  const others = [
    {
      OAUTH_PROVIDER: "oidc",
      OAUTH_ISSUER: "https://id.example.com",
      as: former.split(":").slice(1).join(":"),
    },
    { OAUTH_PROVIDER: "gitlab", as: former },
    { OAUTH_PROVIDER: "gitlab", as: subject },
    { OAUTH_PROVIDER: "gitlab", as: "42" },
  ];
  for (const { as, ...environment } of others) {
    await using server = await startOAuthServer({
      kv,
      tools: TOOLS,
      environment,
    });
    const client = new Client(server, left.clientId);
    server.provider.subject = as;
    const { access_token } = await client.connect();
    assert.notEqual(await subjectAt(client, access_token), subject);
    assert.equal(await ping({ ...updated, server }, access_token), 404);
    const visitor = await AccountVisitor.signIn(server, { as });
    assert.equal(visitor.page.text.split('action="/account/end"').length, 2);
    assert.doesNotMatch(await visitor.look("/tokens"), /A script/);
    assert.equal(await subjectAt(client, left.accessToken), 401);
  }
});
