/**
 * The database of the last release, opened by this version: no one loses
 * anything they had open.
 *
 * @module
 */
import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { randomId } from "../../src/crypto/crypto.ts";
import { Database } from "../../src/store/database.ts";
import { replyStore } from "../../src/store/replies.ts";
import { browserOf } from "../kit/browser.ts";
import { Client } from "../kit/client.ts";
import { type OAuthServer, startOAuthServer } from "../kit/sign_in.ts";
import { messagesOf, resultOf, statusOf, textOf } from "../kit/answer.ts";
import { rpc } from "../kit/message.ts";
import { startServer, TestSession } from "../kit/server.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { type Leftover, leftoverOf, openLeftover } from "./leftover.ts";
import { FORMER_PEOPLE } from "./people.ts";
import { LONG, toolsOf } from "./tools.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const tools = toolsOf(tool);

/** The parts of an upgrade test. */
interface Upgraded {
  left: Leftover;
  server: OAuthServer;
  client: Client;
  headers: { authorization: string };
  kv: Deno.Kv;
  time: FakeTime;
}

for (const { former, subject, environment } of FORMER_PEOPLE) {
  const release = "0.2.0";
  const read = async (): Promise<Leftover> =>
    await leftoverOf(
      JSON.parse(
        await Deno.readTextFile(new URL(`${release}.json`, import.meta.url)),
      ),
      former,
    );

  /** Tests on a new database, at the moment when the release stopped. */
  const testUpgrade = (
    name: string,
    run: (upgraded: Upgraded) => Promise<void>,
  ) =>
    Deno.test(`after ${release}, ${name}: ${subject}`, async () => {
      const left = await read();
      using time = new FakeTime();
      time.tick(left.madeAt - Date.now() / 1000);
      using kv = await openLeftover(left);
      await using server = await startOAuthServer({ kv, tools, environment });
      const client = new Client(server, left.clientId);
      Object.assign(client, { verifier: left.verifier, state: left.state });
      const headers = { authorization: `Bearer ${left.accessToken}` };
      await run({ left, server, client, headers, kv, time });
    });

  testUpgrade("an access token is good", async ({ left, client }) => {
    const { accessToken } = left;
    const response = await client.call(accessToken, "greet");
    assert.match(await response.text(), /hello/);
    const upstream = await client.call(accessToken, "upstream");
    assert.match(await upstream.text(), /provider-access-/);
  });

  testUpgrade("a refresh token is exchanged", async ({ left, client }) => {
    const { status, body } = await client.refresh(left.refreshToken);
    assert.equal(status, 200);
    const response = await client.call(body.access_token, "greet");
    assert.match(await response.text(), /hello/);
  });

  testUpgrade(
    "a refresh whose answer was lost is answered again",
    async ({ left, client }) => {
      const { exchanged: { refreshToken, successor } } = left;
      const { status, body } = await client.refresh(refreshToken);
      assert.equal(status, 200);
      assert.equal(body.refresh_token, successor);
    },
  );

  testUpgrade(
    "a refresh token is used once, before the update or after it",
    async ({ left, client, time }) => {
      const { exchanged: { refreshToken, successor } } = left;
      const { body: first } = await client.refresh(left.refreshToken);
      const { body } = await client.refresh(first.refresh_token);
      // As long as version 0.2 kept what one was exchanged for.
      time.tick(30);
      for (
        const [used, last] of [
          [refreshToken, successor],
          [left.refreshToken, body.refresh_token],
        ]
      ) {
        assert.equal((await client.refresh(used)).status, 400);
        assert.equal((await client.refresh(last)).status, 400);
      }
    },
  );

  testUpgrade(
    "a token that was never given ends nothing",
    async ({ left, client }) => {
      const guess = (token: string) => token.slice(0, -43) + randomId();
      const { refreshToken } = left;
      assert.equal((await client.refresh(guess(refreshToken))).status, 400);
      const { status, body } = await client.refresh(refreshToken);
      assert.equal(status, 200);
      assert.equal((await client.refresh(guess(refreshToken))).status, 400);
      assert.equal((await client.refresh(body.refresh_token)).status, 200);
    },
  );

  testUpgrade("a code is redeemed, once", async ({ left, client }) => {
    assert.equal((await client.redeem(left.code)).status, 200);
    assert.equal((await client.redeem(left.code)).status, 400);
  });

  testUpgrade(
    "a sign-in goes on where it was",
    async ({ left, server, client }) => {
      const { url, text, cookies } = left.consent;
      const browser = browserOf(server);
      for (const [name, value] of cookies) browser.cookies.set(name, value);
      const page = { url, text, status: 200, headers: new Headers() };
      const arrival = await browser.press(page, "decision", "approve");
      const { status } = await client.redeem(client.codeFrom(arrival));
      assert.equal(status, 200);
    },
  );

  testUpgrade(
    "a session goes on, for its person and no one else",
    async ({ left, server, headers }) => {
      const session = new TestSession(server, left.session.id);
      const params = { name: "greet", arguments: {} };
      const call = async (headers: Record<string, string>) => {
        const response = await session.post(rpc("tools/call", params), headers);
        return { status: response.status, text: await response.text() };
      };
      const stranger = await Client.register(server);
      server.provider.subject = "another";
      const { access_token } = await stranger.connect();
      const foreign = { authorization: `Bearer ${access_token}` };
      assert.equal((await call(foreign)).status, 404);
      assert.match((await call(headers)).text, /hello/);
      assert.equal((await call(foreign)).status, 404);
    },
  );

  testUpgrade(
    "a session outlives its grant's successor",
    async ({ left, server, client, headers }) => {
      const session = new TestSession(server, left.session.id);
      assert.equal((await session.post(rpc("ping"), headers)).status, 200);
      const { access_token } = await client.connect();
      assert.equal(
        await statusOf(session.post(rpc("ping"), {
          authorization: `Bearer ${access_token}`,
        })),
        200,
      );
    },
  );

  testUpgrade(
    "a session ends when its client says so",
    async ({ left, server, headers }) => {
      const end = async () =>
        (await server.fetch("/mcp", {
          method: "DELETE",
          headers: { ...headers, "mcp-session-id": left.session.id },
        })).status;
      assert.equal(await end(), 202);
      assert.equal(await end(), 404);
    },
  );

  testUpgrade(
    "a session ends with its grant",
    async ({ left, server, client, headers, time }) => {
      const session = new TestSession(server, left.session.id);
      assert.equal((await session.post(rpc("ping"), headers)).status, 200);
      await server.form("/revoke", {
        token: left.refreshToken,
        client_id: client.clientId,
      });
      time.tick(1);
      const { access_token } = await client.connect();
      const { status } = await session.post(rpc("ping"), {
        authorization: `Bearer ${access_token}`,
      });
      assert.equal(status, 404);
    },
  );

  testUpgrade(
    "a question that waits is answered",
    async ({ left, server, headers, kv }) => {
      const database = new Database(kv);
      await using anonymousServer = await startServer({ kv, tools });
      for (
        const [open, at, more] of [
          [left.session, server, headers],
          [left.anonymousSession, anonymousServer, {}],
        ] as const
      ) {
        const { id, question } = open;
        const answer = { action: "accept", content: {} };
        assert.equal(
          await statusOf(new TestSession(at, id).post(
            { jsonrpc: "2.0", id: question, result: answer },
            more,
          )),
          202,
        );
        const signal = AbortSignal.timeout(30_000);
        const taken = await replyStore(database).take(id, question, signal);
        assert.deepEqual(taken?.result, answer);
      }
      await database.idle();
    },
  );

  testUpgrade(
    "a 2026 call that waits is answered",
    async ({ left, server, headers }) => {
      const response = server.call("tools/call", {
        name: "confirm",
        arguments: {},
        requestState: left.waiting.requestState,
        inputResponses: {
          [left.waiting.key]: { action: "accept", content: {} },
        },
      }, { capabilities: { elicitation: {} }, headers });
      assert.equal(await textOf(response), "accept");
    },
  );

  testUpgrade(
    "a task's result is read, by its person and no one else",
    async ({ left, server, headers }) => {
      const { taskId } = left;
      const get = (headers: Record<string, string>) =>
        server.call("tasks/get", { taskId }, { capabilities: TASKS, headers });
      server.provider.subject = "another";
      const stranger = await Client.register(server);
      const { access_token } = await stranger.connect();
      const [refused] = await messagesOf(
        await get({ authorization: `Bearer ${access_token}` }),
      );
      assert.equal(refused.error.code, -32602);
      const { status, result } = await resultOf(get(headers));
      assert.equal(status, "completed");
      assert.equal(result.content[0].text, LONG);
    },
  );
}
