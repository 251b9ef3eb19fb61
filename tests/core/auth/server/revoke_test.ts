import assert from "node:assert/strict";
import { revokeEndpoint } from "../../../../src/core/auth/server/revoke.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { statusOf } from "../../../kit/answer.ts";
import { switchableKv } from "../../../kit/switchable_kv.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { Client } from "../../../kit/client.ts";
import { startOAuthServer } from "../../../kit/sign_in.ts";
import {
  mintCredential,
  mintPersonalToken,
  newGrantId,
  newPersonalGrantId,
  parseCredential,
} from "../../../../src/core/oauth/credential.ts";
import { answerOf, refuseLate } from "./endpoint_alone.ts";

const greet = tool({ name: "greet", run: () => "hello" });

async function connected() {
  const server = await startOAuthServer({ tools: [greet] });
  const { client, tokens } = await server.person();
  const revoke = (token: string, changes: Record<string, string> = {}) =>
    statusOf(
      server.form("/revoke", { token, client_id: client.clientId, ...changes }),
    );
  const call = () => statusOf(client.call(tokens.access_token, "greet"));
  return {
    server,
    client,
    tokens,
    revoke,
    call,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

Deno.test("POST /revoke ends a grant by a refresh token that was just exchanged", async () => {
  await using flow = await connected();
  const { tokens, revoke, client } = flow;
  const { body } = await client.refresh(tokens.refresh_token);
  assert.equal(await revoke(tokens.refresh_token), 200);
  assert.equal(flow.server.provider.log.at(-1), "revoke");
  assert.equal((await client.refresh(body.refresh_token)).status, 400);
});

Deno.test("POST /revoke ends a grant by a refresh token of which nothing is left", async () => {
  using time = new FakeTime();
  await using flow = await connected();
  const { tokens, revoke, call, client } = flow;
  const { body: second } = await client.refresh(tokens.refresh_token);
  const { body: third } = await client.refresh(second.refresh_token);
  await client.refresh(third.refresh_token);
  assert.equal(await call(), 200);
  assert.equal(await revoke(tokens.refresh_token), 200);
  time.tick(1);
  assert.equal(await call(), 401);
});

Deno.test("POST /revoke answers 200 for what is unknown, and changes nothing", async () => {
  await using flow = await connected();
  const { tokens, revoke, call } = flow;
  for (
    const unknown of [
      "unknown",
      tokens.access_token.slice(0, -1) + "_",
      mintCredential("refresh_token", newGrantId()),
      // A guess for a grant whose ID is known.
      mintCredential(
        "refresh_token",
        parseCredential(tokens.refresh_token)!.grantId,
      ),
      mintPersonalToken(newPersonalGrantId()),
    ]
  ) {
    assert.equal(await revoke(unknown), 200, unknown);
    assert.equal(await revoke(unknown, { client_id: "" }), 200, unknown);
  }
  assert.equal(await call(), 200);
});

Deno.test("POST /revoke refuses a client that does not authenticate", async () => {
  await using flow = await connected();
  const { tokens, revoke, call } = flow;
  assert.equal(
    await revoke(tokens.refresh_token, { client_secret: "wrong" }),
    401,
  );
  assert.equal(await revoke(""), 400);
  assert.equal(await call(), 200);
});

Deno.test("POST /revoke takes a client's Basic authentication, and no one's word for it", async () => {
  await using server = await startOAuthServer({ tools: [greet] });
  const client = await Client.register(server, {
    token_endpoint_auth_method: "client_secret_basic",
  });
  const { refresh_token } = await client.connect();
  const revoke = (headers: Record<string, string>) =>
    statusOf(server.form("/revoke", { token: refresh_token }, headers));
  assert.equal(await revoke({}), 200);
  const { body } = await client.refresh(refresh_token);
  const basic = (secret: string) => ({
    authorization: `Basic ${
      btoa(`${encodeURIComponent(client.clientId)}:${secret}`)
    }`,
  });
  assert.equal(await revoke(basic("guess")), 401);
  assert.equal((await client.refresh(body.refresh_token)).status, 200);
  assert.equal(await revoke(basic(client.clientSecret!)), 200);
  assert.equal((await client.refresh(body.refresh_token)).status, 400);
});

Deno.test("POST /revoke takes a token without a client for its holder alone", async () => {
  await using flow = await connected();
  const { tokens, revoke, client } = flow;
  assert.equal(await revoke(tokens.refresh_token, { client_id: "" }), 200);
  assert.equal((await client.refresh(tokens.refresh_token)).status, 400);
  assert.equal(await revoke("unknown", { client_id: "" }), 200);
});

Deno.test("POST /revoke ends the grant even if the provider does not answer", async () => {
  await using flow = await connected();
  const { tokens, revoke, client, server } = flow;
  server.provider.failure = "unavailable";
  assert.equal(await revoke(tokens.refresh_token), 200);
  server.provider.failure = undefined;
  assert.equal((await client.refresh(tokens.refresh_token)).status, 400);
});

Deno.test("POST /revoke closes the grant before it tells the provider, which may be lost", async () => {
  await using flow = await connected();
  const { tokens, revoke, client, server } = flow;
  let meanwhile = 0;
  server.provider.revoke = async () => {
    meanwhile = (await client.refresh(tokens.refresh_token)).status;
    throw new Error("The connection was cut");
  };
  assert.equal(await revoke(tokens.refresh_token), 200);
  assert.equal(meanwhile, 400);
});

Deno.test("POST /revoke answers 503 while the database is away, and ends nothing", async () => {
  using database = await switchableKv();
  await using server = await startOAuthServer({
    kv: database.kv,
    tools: [greet],
  });
  const client = await Client.register(server);
  const { refresh_token, access_token } = await client.connect();
  for (const token of [access_token, refresh_token]) {
    for (const client_id of [client.clientId, ""]) {
      database.state.isUp = false;
      const form = { token, client_id };
      assert.equal(await statusOf(server.form("/revoke", form)), 503);
      database.state.isUp = true;
    }
  }
  assert.equal(await statusOf(client.call(access_token, "greet")), 200);
  assert.equal((await client.refresh(refresh_token)).status, 200);
});

Deno.test("POST /revoke takes an assertion for the name of a client", async () => {
  await using flow = await connected();
  const { server, tokens, call } = flow;
  const form = {
    token: tokens.refresh_token,
    client_assertion_type:
      "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: `x.${btoa('{"sub":"no one"}')}.x`,
  };
  assert.equal(await statusOf(server.form("/revoke", form)), 401);
  assert.equal(await call(), 200);
});

Deno.test("POST /revoke answers nothing that may be kept", async () => {
  await using flow = await connected();
  const { server, client, tokens } = flow;
  const response = await server.form("/revoke", {
    token: tokens.access_token,
    client_id: client.clientId,
  });
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.equal(await response.text(), "");
});

/** Gives the endpoint's answer to a token, with these stores. */
async function revokeWith(stores: Record<string, unknown>, token: string) {
  const endpoint = revokeEndpoint(stores as never);
  const body = new URLSearchParams({ token, client_id: "app" });
  const response = await answerOf(endpoint, "/", { method: "POST", body });
  return { status: response.status, text: await response.text() };
}

for (
  const [what, read, answer] of [
    [
      "has ended meanwhile",
      () =>
        Promise.resolve({
          grant: { value: { clientId: "app", status: "closed" } },
        }),
      200,
    ],
    ["cannot be read", () => Promise.reject(new Error("no database")), 500],
  ] as const
) {
  Deno.test(`POST /revoke answers ${answer} for a refresh token that ${what}`, async () => {
    const token = mintCredential("refresh_token", newGrantId());
    const { status } = await revokeWith({
      clients: {
        authenticate: (_: unknown, act: (client: unknown) => unknown) =>
          act({ clientId: "app" }),
      },
      refreshTokens: { read },
    }, token);
    assert.equal(status, answer);
  });
}

Deno.test("POST /revoke refuses a client also when its token cannot be read", async () => {
  const token = mintCredential("access_token", newGrantId());
  const answer = await revokeWith({
    clients: { authenticate: refuseLate },
    accessTokens: { find: () => Promise.reject(new Error("no database")) },
  }, token);
  assert.equal(answer.text, "Who are you?");
});
