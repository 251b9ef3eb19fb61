import assert from "node:assert/strict";
import { mintCredential } from "../../src/auth/rules/credential.ts";
import type { IssuedTokens } from "../../src/auth/rules/token_request.ts";
import { Database } from "../../src/store/database.ts";
import { accessTokenStore } from "../../src/store/access_tokens.ts";
import { codeStore } from "../../src/store/codes.ts";
import { grantStore } from "../../src/store/grants.ts";
import { refreshTokenStore } from "../../src/store/refresh_tokens.ts";
import { upstreamTokenStore } from "../../src/store/upstream_tokens.ts";
import { StorageError } from "../../src/errors.ts";
import { StalledKv } from "../kit/stalled_kv.ts";
import { FakeTime } from "../kit/fake_time.ts";
import { testOnDatabases } from "../kit/databases.ts";
import { signIn, VERIFIER } from "../kit/records.ts";

async function begin(kv: Deno.Kv) {
  const { code, grant, client } = await signIn(kv, {
    upstreamTokens: "theirs",
  });
  const { clientId } = client;
  const tokens = await codeStore(new Database(kv)).use({
    code,
    clientId,
    codeVerifier: VERIFIER,
    refreshable: true,
  });
  return { grantId: grant.id, clientId, refreshToken: tokens.refreshToken! };
}

async function refresh(
  kv: Deno.Kv,
  refreshToken: string,
  clientId: string,
): Promise<IssuedTokens> {
  const refreshTokens = refreshTokenStore(new Database(kv));
  for (;;) {
    const found = await refreshTokens.find(refreshToken, clientId);
    if ("successors" in found) return found.successors;
    const { scopes } = found.grant;
    const tokens = await refreshTokens.rotate(refreshToken, found, scopes);
    if (tokens) return tokens;
  }
}

const UNKNOWN = {
  code: "invalid_grant",
  description: "The refresh token is unknown, expired or revoked",
};
const USED = {
  code: "invalid_grant",
  description: "The refresh token was used before",
};

async function statusOf(kv: Deno.Kv, grantId: string) {
  return (await grantStore(new Database(kv)).find(grantId))?.value.status;
}

testOnDatabases(
  "rotate() exchanges a refresh token for a pair that works",
  async (kv) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    const first = await refresh(kv, refreshToken, clientId);
    const access = await accessTokenStore(new Database(kv)).find(
      first.accessToken,
    );
    assert.equal(access?.grant.id, grantId);
    const second = await refresh(kv, first.refreshToken!, clientId);
    assert.notEqual(second.refreshToken, first.refreshToken);
  },
);

testOnDatabases(
  "rotate() gives fifty simultaneous refreshes the same pair",
  async (kv, other) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    const all = await Promise.all(
      Array.from(
        { length: 50 },
        (_, n) => refresh(n % 2 ? kv : other, refreshToken, clientId),
      ),
    );
    for (const tokens of all) assert.deepEqual(tokens, all[0]);
    assert.equal(
      await statusOf(kv, grantId),
      "active",
    );
  },
);

testOnDatabases(
  "find() gives a used refresh token's successors until they are used, then ends the grant",
  async (kv) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    const first = await refresh(kv, refreshToken, clientId);
    assert.deepEqual(await refresh(kv, refreshToken, clientId), first);
    const second = await refresh(kv, first.refreshToken!, clientId);
    await assert.rejects(refresh(kv, refreshToken, clientId), USED);
    assert.equal(await statusOf(kv, grantId), "closed");
    await assert.rejects(refresh(kv, second.refreshToken!, clientId), {
      code: "invalid_grant",
    });
    assert.equal(
      await accessTokenStore(new Database(kv)).find(second.accessToken),
      undefined,
    );
  },
);

testOnDatabases(
  "find() gives a used refresh token's successors for weeks, with an access token that works",
  async (kv, other) => {
    using time = new FakeTime();
    const { refreshToken, clientId, grantId } = await begin(kv);
    const first = await refresh(kv, refreshToken, clientId);
    let latest = first;
    for (let week = 0; week < 6; week++) {
      time.tick(7 * 86400);
      const all = await Promise.all(
        [kv, other, kv].map((kv) => refresh(kv, refreshToken, clientId)),
      );
      for (const tokens of all) assert.deepEqual(tokens, all[0]);
      [latest] = all;
      assert.equal(latest.refreshToken, first.refreshToken);
    }
    const access = await accessTokenStore(new Database(kv)).find(
      latest.accessToken,
    );
    assert.equal(access?.grant.id, grantId);
    await refresh(kv, first.refreshToken!, clientId);
    await assert.rejects(refresh(kv, refreshToken, clientId), USED);
  },
);

testOnDatabases(
  "find() answers a used token for 30 s after the first call with its successor",
  async (kv, other) => {
    using time = new FakeTime();
    const { refreshToken, clientId, grantId } = await begin(kv);
    await refresh(kv, refreshToken, clientId);
    time.tick(3600);
    const { accessToken } = await refresh(kv, refreshToken, clientId);
    const database = new Database(kv);
    assert(await accessTokenStore(database).find(accessToken));
    await database.idle();
    time.tick(29);
    assert.equal(
      (await refresh(other, refreshToken, clientId)).accessToken,
      accessToken,
    );
    // Later calls do not make it longer.
    assert(await accessTokenStore(database).find(accessToken));
    await database.idle();
    time.tick(1);
    await assert.rejects(refresh(other, refreshToken, clientId), USED);
    assert.equal(await statusOf(kv, grantId), "closed");
  },
);

testOnDatabases(
  "rotate() that was given up and carried out later is answered with what it made",
  async (kv) => {
    const { refreshToken, clientId } = await begin(kv);
    const stall = new StalledKv(kv);
    const refreshTokens = refreshTokenStore(
      new Database(stall.kv, { deadlineMilliseconds: 20 }),
    );
    const found = await refreshTokens.find(refreshToken, clientId);
    assert("grant" in found);
    stall.begin();
    await assert.rejects(
      refreshTokens.rotate(refreshToken, found, ["mail:read"]),
      StorageError,
    );
    await stall.end();
    const first = await refresh(kv, refreshToken, clientId);
    assert.deepEqual(await refresh(kv, refreshToken, clientId), first);
    await refresh(kv, first.refreshToken!, clientId);
  },
);

testOnDatabases(
  "find() refuses another client's refresh token and changes nothing",
  async (kv) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    await assert.rejects(refresh(kv, refreshToken, "other"), {
      code: "invalid_grant",
    });
    await refresh(kv, refreshToken, clientId);
    await assert.rejects(refresh(kv, refreshToken, "other"), {
      code: "invalid_grant",
    });
    assert.equal(
      await statusOf(kv, grantId),
      "active",
    );
  },
);

testOnDatabases(
  "find() refuses what is no refresh token",
  async (kv) => {
    const { refreshToken, clientId } = await begin(kv);
    const { accessToken } = await refresh(kv, refreshToken, clientId);
    for (const other of ["", "x", accessToken, `tsr_${"a".repeat(66)}`]) {
      await assert.rejects(refresh(kv, other, clientId), {
        code: "invalid_grant",
      });
    }
  },
);

testOnDatabases(
  "find() refuses a refresh token that a live grant never gave",
  async (kv) => {
    const { clientId, grantId } = await begin(kv);
    const guessed = mintCredential("refresh_token", grantId);
    await assert.rejects(refresh(kv, guessed, clientId), {
      code: "invalid_grant",
    });
    assert.equal(await statusOf(kv, grantId), "active");
  },
);

testOnDatabases(
  "find() refuses a grant that was idle for 30 days",
  async (kv) => {
    using time = new FakeTime();
    const { refreshToken, clientId } = await begin(kv);
    time.tick(30 * 86400);
    await assert.rejects(refresh(kv, refreshToken, clientId), {
      code: "invalid_grant",
    });
  },
);

testOnDatabases(
  "rotate() never carries a grant beyond 90 days",
  async (kv) => {
    using time = new FakeTime();
    let { refreshToken, clientId, grantId } = await begin(kv);
    for (let month = 0; month < 3; month++) {
      time.tick(29 * 86400);
      refreshToken = (await refresh(kv, refreshToken, clientId)).refreshToken!;
    }
    // After 87 days its provider tokens still exist too.
    const upstream = upstreamTokenStore(new Database(kv));
    const found = await refreshTokenStore(new Database(kv)).find(
      refreshToken,
      clientId,
    );
    assert("grant" in found);
    assert.equal(
      (await upstream.find(grantId, found.dataKey))?.tokens,
      "theirs",
    );
    time.tick(3 * 86400);
    await assert.rejects(refresh(kv, refreshToken, clientId), {
      code: "invalid_grant",
    });
  },
);

testOnDatabases(
  "find() refuses a refresh token whose grant was closed",
  async (kv) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    await grantStore(new Database(kv)).close(grantId);
    await assert.rejects(refresh(kv, refreshToken, clientId), {
      code: "invalid_grant",
    });
  },
);

testOnDatabases(
  "rotate() loses against a close that came in between",
  async (kv) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    const refreshTokens = refreshTokenStore(new Database(kv));
    const found = await refreshTokens.find(refreshToken, clientId);
    assert("grant" in found);
    await grantStore(new Database(kv)).close(grantId);
    assert.equal(
      await refreshTokens.rotate(refreshToken, found, ["mail:read"]),
      undefined,
    );
    assert.equal(
      await statusOf(kv, grantId),
      "closed",
    );
  },
);

testOnDatabases(
  "find() ends the grant for a token that was used months ago, and of which nothing is left",
  async (kv, other) => {
    using time = new FakeTime();
    const { refreshToken, clientId, grantId } = await begin(kv);
    let last = refreshToken;
    for (let month = 0; month < 3; month++) {
      last = (await refresh(kv, last, clientId)).refreshToken!;
      time.tick(28 * 86400);
    }
    // The last, and what it was exchanged for.
    for (const [kind, count] of [["refresh-token", 2], ["successor", 1]]) {
      const records = await new Database(kv).list([kind]);
      assert.equal(records.length, count, `${kind}`);
    }
    await assert.rejects(refresh(other, refreshToken, clientId), USED);
    assert.equal(await statusOf(kv, grantId), "closed");
  },
);

testOnDatabases(
  "find() ends nothing for a tag of another grant",
  async (kv) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    const own = await begin(kv);
    await refresh(kv, own.refreshToken, own.clientId);
    const secret = own.refreshToken.slice(-43);
    const forged = mintCredential("refresh_token", grantId, secret);
    await assert.rejects(refresh(kv, forged, clientId), UNKNOWN);
    assert.equal(await statusOf(kv, grantId), "active");
    await refresh(kv, refreshToken, clientId);
  },
);
