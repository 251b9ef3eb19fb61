import assert from "node:assert/strict";
import { FakeTime } from "./fake_time.ts";
import { accessTokenStore } from "../../src/store/access_tokens.ts";
import { useCode } from "../../src/store/codes.ts";
import { grantStore } from "../../src/store/grants.ts";
import { signIn, VERIFIER, withKv } from "./fixture.ts";

const GOOD = { codeVerifier: VERIFIER, refreshable: true };

Deno.test("useCode() gives tokens that let their holder in", () =>
  withKv(async (kv) => {
    const { code, client, grant } = await signIn(kv);
    const { clientId } = client;
    const tokens = await useCode(kv, { ...GOOD, code, clientId });
    assert.deepEqual(tokens.scopes, ["mail:read"]);
    assert(tokens.refreshToken);
    const access = await accessTokenStore(kv).find(tokens.accessToken);
    assert.equal(access?.grant.id, grant.id);
    assert.equal(access.grant.subject, "dev:42");
  }));

Deno.test("useCode() gives no refresh token to a client that registered without", () =>
  withKv(async (kv) => {
    const { code, client: { clientId } } = await signIn(kv);
    const tokens = await useCode(kv, {
      ...GOOD,
      code,
      clientId,
      refreshable: false,
    });
    assert.equal(tokens.refreshToken, undefined);
  }));

Deno.test("useCode() lets one of fifty simultaneous exchanges through and ends the grant for the others", () =>
  withKv(async (kv) => {
    const { code, client: { clientId }, grant } = await signIn(kv);
    const outcomes = await Promise.allSettled(
      Array.from(
        { length: 50 },
        () => useCode(kv, { ...GOOD, code, clientId }),
      ),
    );
    const won = outcomes.filter(({ status }) => status === "fulfilled");
    assert.equal(won.length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") {
        assert.equal(outcome.reason.code, "invalid_grant");
      }
    }
    const found = await grantStore(kv).find(grant.id);
    assert.equal(found?.value.closedReason, "code replayed");
    const { accessToken } = (won[0] as PromiseFulfilledResult<
      { accessToken: string }
    >).value;
    assert.equal(await accessTokenStore(kv).find(accessToken), undefined);
  }));

Deno.test("useCode() still knows a used code hours later", () =>
  withKv(async (kv) => {
    using time = new FakeTime();
    const { code, client: { clientId }, grant } = await signIn(kv);
    await useCode(kv, { ...GOOD, code, clientId });
    time.tick(23 * 3600);
    await assert.rejects(useCode(kv, { ...GOOD, code, clientId }), {
      code: "invalid_grant",
    });
    assert.equal((await grantStore(kv).find(grant.id))?.value.status, "closed");
  }));

Deno.test("useCode() refuses a code after 60 seconds", () =>
  withKv(async (kv) => {
    using time = new FakeTime();
    const { code, client: { clientId } } = await signIn(kv);
    time.tick(60);
    await assert.rejects(useCode(kv, { ...GOOD, code, clientId }), {
      code: "invalid_grant",
    });
  }));

const WRONG: [string, Record<string, string>][] = [
  ["another client", { clientId: "other" }],
  ["another verifier", { codeVerifier: "x".repeat(43) }],
  ["another redirect URI", { redirectUri: "https://app.example.com/other" }],
];

for (const [what, changes] of WRONG) {
  Deno.test(`useCode() refuses ${what} and changes nothing, used or not`, () =>
    withKv(async (kv) => {
      const { code, client: { clientId }, grant } = await signIn(kv);
      const good = { ...GOOD, code, clientId };
      const bad = { ...good, ...changes };
      await assert.rejects(useCode(kv, bad), { code: "invalid_grant" });
      await useCode(kv, good);
      await assert.rejects(useCode(kv, bad), { code: "invalid_grant" });
      assert.equal(
        (await grantStore(kv).find(grant.id))?.value.status,
        "active",
      );
    }));
}

Deno.test("useCode() refuses what is no code", () =>
  withKv(async (kv) => {
    const { code, client: { clientId } } = await signIn(kv);
    const tokens = await useCode(kv, { ...GOOD, code, clientId });
    for (const other of ["", "x", tokens.accessToken, tokens.refreshToken!]) {
      await assert.rejects(useCode(kv, { ...GOOD, code: other, clientId }), {
        code: "invalid_grant",
      });
    }
  }));
