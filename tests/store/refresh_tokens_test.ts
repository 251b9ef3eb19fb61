import assert from "node:assert/strict";
import { mintCredential } from "../../src/oauth/credential.ts";
import type { IssuedTokens } from "../../src/oauth/token_request.ts";
import { Database } from "../../src/store/database.ts";
import { accessTokenStore } from "../../src/store/access_tokens.ts";
import { codeStore } from "../../src/store/codes.ts";
import { grantStore } from "../../src/store/grants.ts";
import { refreshTokenStore } from "../../src/store/refresh_tokens.ts";
import { upstreamTokenStore } from "../../src/store/upstream_tokens.ts";
import { FakeTime } from "./fake_time.ts";
import { signIn, VERIFIER, withKv } from "./fixture.ts";

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

Deno.test("rotate() exchanges a refresh token for a pair that works", () =>
  withKv(async (kv) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    const first = await refresh(kv, refreshToken, clientId);
    const access = await accessTokenStore(new Database(kv)).find(
      first.accessToken,
    );
    assert.equal(access?.grant.id, grantId);
    const second = await refresh(kv, first.refreshToken!, clientId);
    assert.notEqual(second.refreshToken, first.refreshToken);
  }));

Deno.test("rotate() gives fifty simultaneous refreshes the same pair", () =>
  withKv(async (kv) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    const all = await Promise.all(
      Array.from({ length: 50 }, () => refresh(kv, refreshToken, clientId)),
    );
    for (const tokens of all) assert.deepEqual(tokens, all[0]);
    assert.equal(
      (await grantStore(new Database(kv)).find(grantId))?.value.status,
      "active",
    );
  }));

Deno.test("find() gives a used refresh token's successors for 30 seconds, then ends the grant", () =>
  withKv(async (kv) => {
    using time = new FakeTime();
    const { refreshToken, clientId, grantId } = await begin(kv);
    const first = await refresh(kv, refreshToken, clientId);
    time.tick(29);
    assert.deepEqual(await refresh(kv, refreshToken, clientId), first);
    time.tick(1);
    await assert.rejects(refresh(kv, refreshToken, clientId), {
      code: "invalid_grant",
    });
    const found = await grantStore(new Database(kv)).find(grantId);
    assert.equal(found?.value.status, "closed");
    await assert.rejects(refresh(kv, first.refreshToken!, clientId), {
      code: "invalid_grant",
    });
    assert.equal(
      await accessTokenStore(new Database(kv)).find(first.accessToken),
      undefined,
    );
  }));

Deno.test("find() counts a successor's 30 seconds from when it was stored", () =>
  withKv(async (kv) => {
    using time = new FakeTime();
    const { refreshToken, clientId } = await begin(kv);
    // The first commit fails after a while; the next one is stored.
    let failures = 0;
    const slow = new Proxy(kv, {
      get(kv, name) {
        if (name !== "atomic") {
          return (kv[name as keyof Deno.Kv] as () => unknown).bind(kv);
        }
        return () => {
          const operation = kv.atomic();
          if (failures++ > 0) return operation;
          operation.commit = () => {
            time.tick(20);
            return Promise.reject(new Error("connection reset"));
          };
          return operation;
        };
      },
    });
    const first = await refresh(slow, refreshToken, clientId);
    assert.equal(failures, 2);
    time.tick(29);
    assert.deepEqual(await refresh(kv, refreshToken, clientId), first);
    time.tick(1);
    await assert.rejects(refresh(kv, refreshToken, clientId), {
      code: "invalid_grant",
    });
  }));

Deno.test("find() refuses another client's refresh token and changes nothing", () =>
  withKv(async (kv) => {
    using time = new FakeTime();
    const { refreshToken, clientId, grantId } = await begin(kv);
    await assert.rejects(refresh(kv, refreshToken, "other"), {
      code: "invalid_grant",
    });
    await refresh(kv, refreshToken, clientId);
    time.tick(60);
    await assert.rejects(refresh(kv, refreshToken, "other"), {
      code: "invalid_grant",
    });
    assert.equal(
      (await grantStore(new Database(kv)).find(grantId))?.value.status,
      "active",
    );
  }));

Deno.test("find() refuses what is no refresh token", () =>
  withKv(async (kv) => {
    const { refreshToken, clientId } = await begin(kv);
    const { accessToken } = await refresh(kv, refreshToken, clientId);
    for (const other of ["", "x", accessToken, `tsr_${"a".repeat(66)}`]) {
      await assert.rejects(refresh(kv, other, clientId), {
        code: "invalid_grant",
      });
    }
  }));

Deno.test("find() refuses a refresh token that a live grant never gave", () =>
  withKv(async (kv) => {
    const { clientId, grantId } = await begin(kv);
    const guessed = mintCredential("refresh_token", grantId);
    await assert.rejects(refresh(kv, guessed, clientId), {
      code: "invalid_grant",
    });
  }));

Deno.test("find() refuses a grant that was idle for 30 days", () =>
  withKv(async (kv) => {
    using time = new FakeTime();
    const { refreshToken, clientId } = await begin(kv);
    time.tick(30 * 86400);
    await assert.rejects(refresh(kv, refreshToken, clientId), {
      code: "invalid_grant",
    });
  }));

Deno.test("rotate() never carries a grant beyond 90 days", () =>
  withKv(async (kv) => {
    using time = new FakeTime();
    let { refreshToken, clientId, grantId } = await begin(kv);
    for (let month = 0; month < 3; month++) {
      time.tick(29 * 86400);
      refreshToken = (await refresh(kv, refreshToken, clientId)).refreshToken!;
    }
    // 87 days are over. Its provider tokens are still there too.
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
  }));

Deno.test("find() refuses a refresh token whose grant was closed", () =>
  withKv(async (kv) => {
    const { refreshToken, clientId, grantId } = await begin(kv);
    await grantStore(new Database(kv)).close(grantId);
    await assert.rejects(refresh(kv, refreshToken, clientId), {
      code: "invalid_grant",
    });
  }));

Deno.test("rotate() loses against a close that came in between", () =>
  withKv(async (kv) => {
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
      (await grantStore(new Database(kv)).find(grantId))?.value.status,
      "closed",
    );
  }));
