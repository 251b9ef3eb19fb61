/** Secrets that an operator changes between two starts. */
import assert from "node:assert/strict";
import { statusOf } from "../kit/answer.ts";
import {
  BASE_URL,
  postForm,
  startServer,
  type TestServer,
} from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import { browserOf } from "../kit/browser.ts";
import { tool } from "../../src/authoring/tool.ts";

const whoami = tool({
  name: "whoami",
  run: (_, { caller }) => caller!.subject,
});

/** Serves a provider that records the secrets of its requests. */
function serveProvider() {
  const secrets: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      if (new URL(request.url).pathname === "/userinfo") {
        return Response.json({ sub: "jo" });
      }
      const sent = new URLSearchParams(await request.text());
      const basic = request.headers.get("authorization")?.slice(6);
      secrets.push(
        sent.get("client_secret") ?? atob(basic!).replace(/^.*?:/, ""),
      );
      return Response.json({ access_token: "at", token_type: "Bearer" });
    },
  );
  return { secrets, url: `http://127.0.0.1:${server.addr.port}`, server };
}

function start(
  kv: Deno.Kv,
  url: string,
  env: Record<string, string>,
): Promise<TestServer> {
  return startServer({
    kv,
    tools: [whoami],
    env: {
      BASE_URL,
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "custom",
      OAUTH_AUTHORIZATION_URL: `${url}/authorize`,
      OAUTH_TOKEN_URL: `${url}/token`,
      OAUTH_USERINFO_URL: `${url}/userinfo`,
      OAUTH_CLIENT_ID: "ours",
      OAUTH_CLIENT_SECRET: "the-first-secret",
      ...env,
    },
  });
}

/** Walks the whole way to tokens at the provider. */
async function connect(client: Client) {
  const browser = browserOf(client.server);
  const page = await browser.open(client.authorizationUrl());
  const away = await browser.press(page, "decision", "approve");
  const back = new URL(`${BASE_URL}/oauth/provider-callback?code=c`);
  const { searchParams } = new URL(away.url);
  back.searchParams.set("state", searchParams.get("state")!);
  const code = client.codeFrom(await browser.open(back.href));
  const { status, body } = await client.redeem(code);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

Deno.test("a new OAUTH_CLIENT_SECRET ends no connection, and is the one that is used", async () => {
  using kv = await Deno.openKv(":memory:");
  const { secrets, url, server } = serveProvider();
  await using _provider = server;
  let client: Client, tokens;
  {
    await using before = await start(kv, url, {});
    client = await Client.register(before);
    tokens = await connect(client);
  }
  await using after = await start(kv, url, {
    OAUTH_CLIENT_SECRET: "the-second-secret",
  });
  client.server = after;
  const called = await client.call(tokens.access_token, "whoami");
  assert.match(await called.text(), /jo/);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 200);
  // A client that registered before is known too.
  await connect(client);
  assert.deepEqual(secrets, ["the-first-secret", "the-second-secret"]);
});

Deno.test("a client's new secret is the only one that is taken, and its old tokens end by themselves", async () => {
  using kv = await Deno.openKv(":memory:");
  const url = "http://127.0.0.1:1";
  const clients = {
    OAUTH_CLIENTS: JSON.stringify([{
      client_id: "nightly",
      grant_types: ["client_credentials"],
      client_secret_env: "OAUTH_CLIENT_SECRET_NIGHTLY",
    }]),
  };
  const ask = async (server: TestServer, secret: string) => {
    const response = await postForm(server, "/token", {
      grant_type: "client_credentials",
      client_id: "nightly",
      client_secret: secret,
    });
    return { status: response.status, body: await response.json() };
  };
  const [first, second] = ["first", "second"].map((it) =>
    `${it}-of-16-letters`
  );
  await using before = await start(kv, url, {
    ...clients,
    OAUTH_CLIENT_SECRET_NIGHTLY: first,
  });
  const { body: { access_token, expires_in } } = await ask(before, first);
  await using after = await start(kv, url, {
    ...clients,
    OAUTH_CLIENT_SECRET_NIGHTLY: second,
  });
  assert.equal((await ask(after, first)).body.error, "invalid_client");
  assert.equal((await ask(after, second)).status, 200);
  assert.equal(
    await statusOf(new Client(after, "nightly").call(access_token, "whoami")),
    200,
  );
  assert(expires_in <= 3600);
});
