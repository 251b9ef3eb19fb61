import assert from "node:assert/strict";
import { DEFAULT_LIFETIMES } from "../../../../src/core/oauth/lifetimes.ts";
import { Database } from "../../../../src/core/kv/database.ts";
import { accessTokenStore } from "../../../../src/core/store/access_tokens.ts";
import { blockStore } from "../../../../src/core/store/blocks.ts";
import {
  grantStore,
  refreshTokenStore,
} from "../../../../src/core/store/grants.ts";
import { dataKeyOf } from "../../../../src/core/oauth/refresh_token.ts";
import { upstreamTokenStore } from "../../../../src/core/store/upstream_tokens.ts";
import { StorageError } from "../../../../src/core/errors.ts";
import { StalledKv } from "../../../kit/stalled_kv.ts";
import { FakeTime } from "../../../kit/fake_time.ts";
import { test } from "../../../kit/databases.ts";
import { kvThrough } from "../../../kit/kv.ts";
import { redeem, refresh, signIn } from "../../../kit/records.ts";

async function begin(kv: Deno.Kv) {
  const { code, grant, client } = await signIn(kv, {
    upstreamTokens: "theirs",
  });
  const { clientId } = client;
  const tokens = await redeem(new Database(kv), { code, clientId });
  return { grantId: grant.id, clientId, refreshToken: tokens.refreshToken! };
}

/** Reads a token that may be exchanged. */
async function readLive(kv: Deno.Kv, refreshToken: string) {
  const read = await refreshTokenStore(new Database(kv), DEFAULT_LIFETIMES)
    .read(refreshToken);
  const grant = read!.grant.value!;
  const dataKey = await dataKeyOf(grant, refreshToken);
  return { grant, dataKey, read: read! };
}

const USED = {
  code: "invalid_grant",
  description: "The refresh token was used before",
};

/** Checks that a token is refused as used, and waits for what follows. */
async function rejectsUsed(
  kv: Deno.Kv,
  refreshToken: string,
  clientId: string,
): Promise<void> {
  const database = new Database(kv);
  await assert.rejects(refresh(database, refreshToken, clientId), USED);
  await database.idle();
}

async function statusOf(kv: Deno.Kv, grantId: string) {
  return (await grantStore(new Database(kv)).find(grantId))?.value.status;
}

test.onDatabases("refresh() gives fifty simultaneous refreshes the same pair", async ({ kv, other }) => {
  const { refreshToken, clientId, grantId } = await begin(kv);
  const all = await Promise.all(
    Array.from(
      { length: 50 },
      (_, n) =>
        refresh(new Database(n % 2 ? kv : other), refreshToken, clientId),
    ),
  );
  for (const tokens of all) assert.deepEqual(tokens, all[0]);
  assert.equal(await statusOf(kv, grantId), "active");
});

test.onDatabases("refresh() gives a used refresh token's successors until they are used, then ends the grant", async ({ kv }) => {
  const { refreshToken, clientId, grantId } = await begin(kv);
  const first = await refresh(new Database(kv), refreshToken, clientId);
  assert.deepEqual(
    await refresh(new Database(kv), refreshToken, clientId),
    first,
  );
  const second = await refresh(new Database(kv), first.refreshToken!, clientId);
  await rejectsUsed(kv, refreshToken, clientId);
  assert.equal(await statusOf(kv, grantId), "closed");
  await assert.rejects(
    refresh(new Database(kv), second.refreshToken!, clientId),
    { code: "invalid_grant" },
  );
  assert.equal(
    await accessTokenStore(new Database(kv)).find(second.accessToken),
    undefined,
  );
});

test.onDatabases("refresh() gives a used refresh token's successors for weeks, with an access token that works", async ({ kv, other }) => {
  using time = new FakeTime();
  const { refreshToken, clientId, grantId } = await begin(kv);
  const first = await refresh(new Database(kv), refreshToken, clientId);
  let latest = first;
  for (let week = 0; week < 6; week++) {
    time.tick(7 * 86400);
    const all = await Promise.all(
      [kv, other, kv].map((kv) =>
        refresh(new Database(kv), refreshToken, clientId)
      ),
    );
    for (const tokens of all) assert.deepEqual(tokens, all[0]);
    [latest] = all;
    assert.equal(latest.refreshToken, first.refreshToken);
  }
  const access = await accessTokenStore(new Database(kv)).find(
    latest.accessToken,
  );
  assert.equal(access?.grant.id, grantId);
  await refresh(new Database(kv), first.refreshToken!, clientId);
  await rejectsUsed(kv, refreshToken, clientId);
});

test.onDatabases("refresh() gives an access token that its client has ended no second time", async ({ kv, other }) => {
  const { refreshToken, clientId, grantId } = await begin(kv);
  const first = await refresh(new Database(kv), refreshToken, clientId);
  const ours = accessTokenStore(new Database(other));
  const { read } = (await ours.find(first.accessToken))!;
  // The state of the grant meanwhile does not matter.
  const store = grantStore(new Database(kv));
  await store.change(
    await store.find(grantId),
    (it) => ({ ...it, clientName: "B" }),
  );
  await ours.revoke(first.accessToken, read);
  const second = await refresh(new Database(kv), refreshToken, clientId);
  assert.notEqual(second.accessToken, first.accessToken);
  assert.equal(second.refreshToken, first.refreshToken);
  const tokens = accessTokenStore(new Database(other));
  assert.equal((await tokens.find(second.accessToken))?.grant.id, grantId);
  assert.equal(await tokens.find(first.accessToken), undefined);
});

test.onDatabases("refresh() answers a used token for 30 s after the first call with its successor", async ({ kv, other }) => {
  using time = new FakeTime();
  const { refreshToken, clientId, grantId } = await begin(kv);
  await refresh(new Database(kv), refreshToken, clientId);
  time.tick(3600);
  const { accessToken } = await refresh(
    new Database(kv),
    refreshToken,
    clientId,
  );
  const database = new Database(kv);
  assert(await accessTokenStore(database).find(accessToken));
  await database.idle();
  time.tick(29);
  assert.equal(
    (await refresh(new Database(other), refreshToken, clientId)).accessToken,
    accessToken,
  );
  // Later calls do not make it longer.
  assert(await accessTokenStore(database).find(accessToken));
  await database.idle();
  time.tick(1);
  await rejectsUsed(other, refreshToken, clientId);
  assert.equal(await statusOf(kv, grantId), "closed");
});

test.inMemory("refresh() gives another access token in the last minute of one that was lost", async ({ kv }) => {
  using time = new FakeTime();
  const { refreshToken, clientId } = await begin(kv);
  const again = () => refresh(new Database(kv), refreshToken, clientId);
  const first = await again();
  time.tick(3600 - 61);
  assert.deepEqual(await again(), first);
  time.tick(1);
  const second = await again();
  assert.notEqual(second.accessToken, first.accessToken);
  assert.equal(second.refreshToken, first.refreshToken);
  // It was not lost after all: the client has the refresh token.
  const database = new Database(kv);
  assert(await accessTokenStore(database).find(first.accessToken));
  await database.idle();
  time.tick(30);
  await rejectsUsed(kv, refreshToken, clientId);
});

test.onDatabases("refresh() that was given up and carried out later is answered with what it made", async ({ kv }) => {
  const { refreshToken, clientId } = await begin(kv);
  const stall = new StalledKv(kv);
  const slow = new Database(stall.kv, { deadlineMilliseconds: 20 });
  stall.begin();
  await assert.rejects(refresh(slow, refreshToken, clientId), StorageError);
  await stall.end();
  await slow.idle();
  const first = await refresh(new Database(kv), refreshToken, clientId);
  assert.deepEqual(
    await refresh(new Database(kv), refreshToken, clientId),
    first,
  );
  await refresh(new Database(kv), first.refreshToken!, clientId);
});

test.onDatabases("refresh() refuses what is no refresh token", async ({ kv }) => {
  const { refreshToken, clientId } = await begin(kv);
  const { accessToken } = await refresh(
    new Database(kv),
    refreshToken,
    clientId,
  );
  for (const other of ["x", accessToken, `tsr_${"a".repeat(66)}`]) {
    await assert.rejects(refresh(new Database(kv), other, clientId), {
      code: "invalid_grant",
    });
  }
});

test.onDatabases("refresh() never carries a grant beyond 90 days", async ({ kv }) => {
  using time = new FakeTime();
  let { refreshToken, clientId, grantId } = await begin(kv);
  for (let month = 0; month < 3; month++) {
    time.tick(29 * 86400);
    refreshToken = (await refresh(new Database(kv), refreshToken, clientId))
      .refreshToken!;
  }
  // After 87 days its provider tokens still exist too.
  const upstream = upstreamTokenStore(new Database(kv));
  const { dataKey } = await readLive(kv, refreshToken);
  assert.equal(
    (await upstream.find({ id: grantId, dataKey }))?.tokens,
    "theirs",
  );
  time.tick(3 * 86400);
  await assert.rejects(refresh(new Database(kv), refreshToken, clientId), {
    code: "invalid_grant",
  });
});

test.onDatabases("an exchange loses against a close that came in between", async ({ kv }) => {
  const { refreshToken, grantId } = await begin(kv);
  const { grant, dataKey, read } = await readLive(kv, refreshToken);
  await grantStore(new Database(kv)).close(grantId);
  const store = refreshTokenStore(new Database(kv), DEFAULT_LIFETIMES);
  const scopes = ["mail:read"];
  const about = { grant, dataKey, scopes };
  const issuance = await store.exchange(refreshToken, read, about);
  assert.equal(await store.commit(issuance, grant), false);
  assert.equal(await statusOf(kv, grantId), "closed");
});

test.onDatabases("refresh() ends the grant for a token that was used months ago, and of which nothing is left", async ({ kv, other }) => {
  using time = new FakeTime();
  const { refreshToken, clientId, grantId } = await begin(kv);
  let last = refreshToken;
  for (let month = 0; month < 3; month++) {
    last = (await refresh(new Database(kv), last, clientId)).refreshToken!;
    time.tick(28 * 86400);
  }
  await rejectsUsed(other, refreshToken, clientId);
  assert.equal(await statusOf(kv, grantId), "closed");
});

test.inMemory("refresh() ends nothing for a request that came in time to a process that then stood still", async ({ kv }) => {
  using time = new FakeTime();
  const { clientId, grantId, refreshToken } = await begin(kv);
  const stood = Promise.withResolvers<void>();
  const standing = kvThrough(kv, async (operation) => {
    await stood.promise;
    return await operation();
  });
  const late = refresh(new Database(standing), refreshToken, clientId);
  const database = new Database(kv);
  const pair = await refresh(database, refreshToken, clientId);
  const grant = (await grantStore(database).find(grantId))!;
  const replayUntil = Math.floor(Date.now() / 1000) + 30;
  const { exchange } = grant.value.refreshTokens!;
  const refreshTokens = {
    ...grant.value.refreshTokens!,
    exchange: { ...exchange!, replayUntil },
  };
  await database.replace(grant, { ...grant.value, refreshTokens });
  time.tick(31);
  stood.resolve();
  assert.deepEqual(await late, pair);
  await rejectsUsed(kv, refreshToken, clientId);
});

test.inMemory("refresh() repeats no answer to someone who was blocked since, or may have nothing any more", async ({ kv }) => {
  const { refreshToken, clientId, grantId } = await begin(kv);
  const database = new Database(kv);
  await refresh(database, refreshToken, clientId);
  await assert.rejects(
    refresh(database, refreshToken, clientId, () => undefined),
    { code: "invalid_grant", description: "The sign-in has ended" },
  );
  const { subject } = (await grantStore(database).find(grantId))!.value;
  await blockStore(database).block(subject, { by: "operator" });
  await assert.rejects(refresh(database, refreshToken, clientId), {
    code: "invalid_grant",
  });
});
