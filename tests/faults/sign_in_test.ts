/**
 * Signing in, refreshing and revoking, with a fault at every operation on the
 * database.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Client } from "../kit/client.ts";
import { type Line, testFaults } from "../kit/faults.ts";
import { FAULTS } from "../kit/faulty_kv.ts";
import type { Json } from "../kit/message.ts";
import { call, OPTIONS, persistent, read, register, signIn } from "./walks.ts";

testFaults("signing in", OPTIONS, async (line) => {
  const client = await register(line);
  const { access_token, refresh_token, code } = await signIn(line, client);
  assert.match((await call(client, access_token)).text, /hello/);
  const again = await persistent(() => client.redeem(code));
  assert.equal(again.status, 400);
  return async () => {
    const { status } = await persistent(() => client.refresh(refresh_token));
    assert.equal(status, 400, "a code used twice ends what it gave");
  };
});

async function refreshTwice(line: Line, client: Client): Promise<Json> {
  let tokens: Json = await signIn(line, client);
  for (let round = 0; round < 2; round++) {
    const { status, body } = await persistent(() =>
      client.refresh(tokens.refresh_token)
    );
    assert.equal(status, 200, JSON.stringify(body));
    tokens = body;
  }
  return tokens;
}

testFaults("refreshing", OPTIONS, async (line) => {
  const client = await register(line);
  const { access_token } = await refreshTwice(line, client);
  return async () =>
    assert.match((await call(client, access_token)).text, /hello/);
});

/** Replays by the kind of request; each must be answered by its own rule. */
const REPLAYS: Record<
  string,
  (line: Line, client: Client, token: string) => Promise<void>
> = {
  "replaying a refresh token": async (_, client, token) => {
    const { status } = await persistent(() => client.refresh(token));
    assert.equal(status, 400);
  },
  "revoking a refresh token that was used": async (line, client, token) => {
    const body = new URLSearchParams({ token, client_id: client.clientId });
    const { status } = await persistent(() =>
      read(line.fetch("/revoke", { method: "POST", body }))
    );
    assert.equal(status, 200);
  },
};

for (const [name, replay] of Object.entries(REPLAYS)) {
  testFaults(name, OPTIONS, async (line) => {
    const client = await register(line);
    const { refresh_token } = await signIn(line, client);
    let body: Json = { refresh_token };
    for (let round = 0; round < 2; round++) {
      const answer = await persistent(() => client.refresh(body.refresh_token));
      assert.equal(answer.status, 200);
      body = answer.body;
    }
    await replay(line, client, refresh_token);
    return async () => {
      const own = await persistent(() => client.refresh(body.refresh_token));
      assert.equal(own.status, 400);
      assert.equal((await call(client, body.access_token)).status, 401);
    };
  });
}

testFaults("refreshing at the provider too", OPTIONS, async (line) => {
  line.provider.ttlSeconds = 30;
  const client = await register(line);
  // The second refresh needs the provider's tokens of the first.
  await refreshTwice(line, client);
}, FAULTS.filter((fault) => !fault.startsWith("dies")));

/** Revokes a token of a client until it is told that this was done. */
async function revoke(line: Line, client: Client, token: string) {
  const body = new URLSearchParams({ token, client_id: client.clientId });
  const { status } = await persistent(() =>
    read(line.fetch("/revoke", { method: "POST", body }))
  );
  assert.equal(status, 200);
}

testFaults("revoking", OPTIONS, async (line) => {
  const client = await register(line);
  const { access_token, refresh_token } = await signIn(line, client);
  await revoke(line, client, refresh_token);
  return async () => {
    const { status } = await persistent(() => client.refresh(refresh_token));
    assert.equal(status, 400);
    assert.equal((await call(client, access_token)).status, 401);
  };
});

testFaults("revoking an access token", OPTIONS, async (line) => {
  const client = await register(line);
  const { refresh_token } = await signIn(line, client);
  const { body } = await persistent(() => client.refresh(refresh_token));
  await revoke(line, client, body.access_token);
  return async () =>
    assert.equal((await call(client, body.access_token)).status, 401);
});
