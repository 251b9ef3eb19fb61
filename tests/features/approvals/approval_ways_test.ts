/**
 * Ways to a tool whose calls wait for approval, and the ends of what allowed a
 * call while it waits: none begins a run.
 */
import assert from "node:assert/strict";
import { openRegister } from "../../../packages/operate/register.ts";
import { tool } from "../../../src/mod.ts";
import { now } from "../../../src/core/clock.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { blockStore } from "../../../src/core/store/blocks.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../../src/core/oauth/client.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { messagesOf, resultOf, textOf } from "../../kit/answer.ts";
import { startAssertionProvider } from "../../kit/assertion_provider.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { keyServer } from "../../kit/key_server.ts";
import { silentLogger } from "../../kit/log.ts";
import type { HeadersOf, Json } from "../../kit/message.ts";
import { BASE_URL } from "../../kit/server.ts";
import { type OAuthServer, startOAuthServer } from "../../kit/sign_in.ts";
import { until } from "../../kit/wait.ts";
import { followTask, FORMS, open, OPENS, press } from "./approving.ts";

let ran: string[] = [];

const NAMES = ["wipe", "wipe_long", "wipe_durable"] as const;

const tools = NAMES.map((name, index) =>
  tool({
    name,
    task: [undefined, "optional", { durable: true }][index] as "optional",
    approval: {},
    run(_input, { caller }) {
      ran.push(caller.subject);
      return "wiped";
    },
  })
);

const ISSUER = "https://id.example.com/acme";

/** Callers by the door through which they come, on servers of their own. */
const DOORS: Record<
  string,
  () => Promise<
    AsyncDisposable & { server: OAuthServer; headers: HeadersOf }
  >
> = {
  "a connection": async () => {
    const server = await startOAuthServer({ tools });
    const { headers } = await server.person();
    return { server, headers, [Symbol.asyncDispose]: async () => {} };
  },

  "a personal token": async () => {
    const server = await startOAuthServer({ tools });
    const token = await (await AccountVisitor.signIn(server)).makeToken();
    const headers = { authorization: `Bearer ${token}` };
    return { server, headers, [Symbol.asyncDispose]: async () => {} };
  },

  "a JWT of the issuer where people sign in": async () => {
    const keys = await keyServer();
    const server = await startOAuthServer({
      tools,
      environment: {
        AUTH_STRATEGY: "oauth,jwt",
        OAUTH_PROVIDER: "oidc",
        OAUTH_ISSUER: ISSUER,
        JWT_ISSUER: ISSUER,
        JWT_AUDIENCE: "tools",
        JWT_JWKS_URL: keys.url,
      },
    });
    const token = await keys.sign({
      iss: ISSUER,
      aud: "tools",
      exp: now() + 3600,
      sub: "42",
    });
    const headers = { authorization: `Bearer ${token}` };
    return {
      server,
      headers,
      [Symbol.asyncDispose]: () => keys[Symbol.asyncDispose](),
    };
  },

  "the word of an identity provider (ID-JAG)": async () => {
    const idp = await startAssertionProvider();
    const secret = "a-secret-of-many-letters";
    const server = await startOAuthServer({
      tools,
      environment: {
        OAUTH_ASSERTION_ISSUERS: idp.issuer,
        OAUTH_CLIENTS: JSON.stringify([{
          client_id: "desk",
          grant_types: [JWT_BEARER_GRANT_TYPE],
          client_secret_env: "OAUTH_CLIENT_SECRET_DESK",
        }]),
        OAUTH_CLIENT_SECRET_DESK: secret,
      },
    });
    const response = await server.form("/token", {
      grant_type: JWT_BEARER_GRANT_TYPE,
      assertion: await idp.assertion(BASE_URL),
      client_id: "desk",
      client_secret: secret,
    });
    const { access_token } = await response.json();
    const headers = { authorization: `Bearer ${access_token}` };
    return {
      server,
      headers,
      [Symbol.asyncDispose]: () => idp[Symbol.asyncDispose](),
    };
  },
};

for (const [door, enter] of Object.entries(DOORS)) {
  Deno.test(`calls with ${door} wait for their approval, in both generations and in tasks`, async () => {
    ran = [];
    await using scene = await enter();
    const { server, headers } = scene;
    await using _server = server;
    const session = await server.openSession({
      headers,
      capabilities: FORMS,
    });
    const texts = [
      await textOf(session.request("tools/call", { name: "wipe" })),
      await textOf(
        server.call("tools/call", { name: "wipe" }, {
          headers,
          capabilities: FORMS,
        }),
      ),
    ];
    for (const name of NAMES.slice(1)) {
      const task = await followTask(server, { headers, name });
      texts.push(task.result?.content[0].text ?? task.statusMessage);
    }
    const isWithoutPage = door.includes("ID-JAG");
    for (const text of texts) {
      assert.match(
        text,
        isWithoutPage
          ? /to which this caller cannot sign in\. .* does not wait\./
          : /\/approve\/[\w-]{43}/,
      );
    }
    assert.deepEqual(ran, []);
  });
}

interface Scene {
  server: OAuthServer;
  visitor: AccountVisitor;
  subject: string;
}

/** The ends of what allows a call, and true for one that can be taken back. */
const ENDS: Record<string, (scene: Scene) => Promise<unknown>> = {
  "its connection has ended": async ({ visitor }) => {
    await visitor.look();
    await visitor.press("/account/end");
  },
  "its connection is paused": async ({ visitor }) => {
    await visitor.look();
    await visitor.press("/account/pause");
  },
  "an operator has blocked its person": ({ server, subject }) =>
    blockStore(new Database(server.kv)).block(subject, { by: "ops" }),
  "an operator has ended everything of its person": ({ server, subject }) =>
    openRegister(new Database(server.kv), silentLogger).endPerson(subject),
  "its person has been erased": ({ server, subject }) =>
    openRegister(new Database(server.kv), silentLogger).erase(subject),
};

/** Begins a call that waits. Returns its link, and its answer if it is held. */
async function begin(
  { server }: Scene,
  name: string,
  headers: HeadersOf,
): Promise<{ link: string; held?: Promise<Json> }> {
  if (name === "wipe") {
    const asking = { headers, capabilities: OPENS };
    const asked = await resultOf(server.call("tools/call", { name }, asking));
    const [[key, { params }]] = Object.entries<Json>(asked.inputRequests);
    // It is held until the press.
    const held = server.call("tools/call", {
      name,
      requestState: asked.requestState,
      inputResponses: { [key]: { action: "accept" } },
    }, asking).then(messagesOf);
    await until(() => server.app.running === 1);
    return { link: params.url, held };
  }
  const task = await followTask(server, { headers, name });
  return { link: task.statusMessage.match(/http\S*/)[0] };
}

for (const [what, end] of Object.entries(ENDS)) {
  for (const name of NAMES) {
    Deno.test(`no press counts for ${name} a second after ${what}, and nothing of it runs`, async () => {
      ran = [];
      using time = new FakeTime();
      await using server = await startOAuthServer({ tools });
      const { headers } = await server.person();
      const scene = {
        server,
        visitor: await AccountVisitor.signIn(server),
        subject: "github:42",
      };
      const { link, held } = await begin(scene, name, headers);
      const before = await open(server, link);
      assert.match(before.words, /Nothing has been done yet/);
      await end(scene);
      time.tick(1);
      // The form that was open before, and the page anew.
      await press(before, "approve");
      // While it is paused, the caller is told so.
      const isPaused = /Its connection is paused/.test(before.words);
      assert.equal(isPaused, /paused/.test(what));
      assert.equal(before.page.status === 200, isPaused, before.words);
      assert.doesNotMatch(before.words, /Approved/);
      const again = await server.call("tools/call", { name }, {
        headers,
        capabilities: FORMS,
      });
      assert.ok([401, 403].includes(again.status), `${again.status}`);
      await again.body?.cancel();
      assert.deepEqual(ran, []);
      // A call that is held ends with words.
      const told = await held;
      assert.notEqual(told?.length, 0);
      for (const { result, error } of told ?? []) {
        const said = error?.message ?? JSON.stringify(result);
        assert.match(
          said,
          /It was not run|connection has ended|inputRequests|permission .* has ended, or is paused/,
        );
      }
      // A task stays through a pause or a block, which may end; durable work
      // leaves the process meanwhile.
      const stays = !held && /paused|blocked/.test(what);
      if (stays && name !== "wipe_durable") return;
      await until(() => server.app.running === 0);
      assert.deepEqual(ran, []);
    });
  }
}
