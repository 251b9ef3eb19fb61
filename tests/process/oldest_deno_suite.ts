/**
 * The oldest Deno that this server runs on: the one that Deno Deploy's page
 * names. Fetched from npm, so no test of the usual suites.
 *
 * @module
 */
import assert from "node:assert/strict";
import { browserOf } from "../kit/browser.ts";
import { freePort } from "../kit/port.ts";
import { BASE_URL, RemoteServer } from "../kit/server.ts";
import { Client } from "../kit/client.ts";
import { keyServer } from "../kit/key_server.ts";
import { messagesOf, resultOf } from "../kit/answer.ts";
import type { HeadersOf } from "../kit/message.ts";
import { Process, TemporaryDirectory } from "../kit/process.ts";

const OLDEST = "2.5.0";

const directory = new TemporaryDirectory();
Deno.test.afterAll(() => directory[Symbol.asyncDispose]());
const deno = await install();

/** That Deno, without the script that npm puts in front of it. */
async function install(): Promise<string> {
  const { path } = directory;
  await run("npm", "install", "--silent", "--prefix", path, `deno@${OLDEST}`);
  const script = `${path}/node_modules/.bin/deno`;
  return (await run(script, "eval", "console.log(Deno.execPath())")).trim();
}

async function run(command: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  assert(success, decoder.decode(stderr));
  return decoder.decode(stdout);
}

/** A server on it, as a platform starts it: with every permission. */
async function start(env: Record<string, string>) {
  const server = new Process(["run", "--quiet", "--allow-all", "main.ts"], {
    command: deno,
    env: { KV_PATH: ":memory:", ...env },
  });
  return { server, url: await server.url() };
}

/** Both generations of the protocol, an answer and a stream of each. */
async function serves(remote: RemoteServer): Promise<void> {
  const health = { name: "health", arguments: {} };
  const countdown = {
    name: "countdown",
    arguments: { from: 1 },
    _meta: { progressToken: "p" },
  };
  const session = await remote.openSession();
  for (
    const call of [
      session.request.bind(session, "tools/call"),
      (params: typeof health) =>
        remote.call("tools/call", params, {
          meta: "_meta" in params ? countdown._meta : {},
        }),
    ]
  ) {
    const { structuredContent } = await resultOf(call(health));
    assert.equal(structuredContent.version, OLDEST);
    const messages = await messagesOf(await call(countdown));
    assert.equal(messages[0].method, "notifications/progress");
    assert.match(JSON.stringify(messages.at(-1)), /Lift-off/);
  }
  assert.equal(await statusOf(session.end()), 202);
}

async function statusOf(answering: Promise<Response>): Promise<number> {
  const { status, body } = await answering;
  await body?.cancel();
  return status;
}

Deno.test(`a server on Deno ${OLDEST} lets everyone in`, async () => {
  const { server, url } = await start({});
  await using _ = server;
  await serves(new RemoteServer(url));
});

Deno.test(`a server on Deno ${OLDEST} knows tokens, keys and JWTs`, async () => {
  const token = "a-token-that-is-long-enough";
  await using keys = await keyServer();
  const claims = {
    iss: "https://id.example.com",
    aud: "tools",
    sub: "ada",
    exp: Math.floor(Date.now() / 1000) + 60,
  };
  const jwt = await keys.sign(claims);
  const { server, url } = await start({
    AUTH_STRATEGY: "bearer,api_key,jwt",
    BEARER_TOKEN: token,
    API_KEY: token,
    JWT_ISSUER: claims.iss,
    JWT_AUDIENCE: claims.aud,
    JWT_JWKS_URL: keys.url,
  });
  await using _ = server;
  assert.equal(await statusOf(new RemoteServer(url).call("tools/list")), 401);
  for (
    const credential of [
      { authorization: `Bearer ${token}` },
      { "x-api-key": token },
      { authorization: `Bearer ${jwt}` },
    ] as HeadersOf[]
  ) {
    await serves(new RemoteServer(url, credential));
  }
});

Deno.test(`a server on Deno ${OLDEST} signs people in, and ends with 0`, async () => {
  const port = String(freePort());
  const { server } = await start({
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "dev",
    BASE_URL,
    PORT: port,
    KV_PATH: `${directory.path}/tools.db`,
  });
  await using _ = server;
  // It says where people reach it, which is not where it listens.
  const url = `http://127.0.0.1:${port}`;
  const listens = new RemoteServer(url);
  const client = await Client.register(listens);
  const browser = browserOf(listens);
  const consent = await browser.open(client.authorizationUrl());
  const page = await browser.press(consent, "decision", "approve");
  const arrival = await browser.press(page, "name", "Ada Lovelace");
  const { status, body } = await client.redeem(client.codeFrom(arrival));
  assert.equal(status, 200, JSON.stringify(body));
  const { body: fresh } = await client.refresh(body.refresh_token);
  await serves(
    new RemoteServer(url, { authorization: `Bearer ${fresh.access_token}` }),
  );
  server.kill("SIGTERM");
  assert.equal(await server.end(), 0, server.output);
});
