import assert from "node:assert/strict";
import { FakeTime } from "../../../kit/fake_time.ts";
import {
  Database,
  type Transaction,
} from "../../../../src/core/kv/database.ts";
import { accessTokenStore } from "../../../../src/core/store/access_tokens.ts";
import { closeGrant, type Grant } from "../../../../src/core/oauth/grant.ts";
import { grantStore, setGrant } from "../../../../src/core/store/grants.ts";
import { upstreamKey } from "../../../../src/core/kv/keys.ts";
import { redeem, signIn } from "../../../kit/records.ts";
import { test } from "../../../kit/databases.ts";

test.inMemory("redeem() lets one of fifty simultaneous exchanges through and ends the grant for the others", async ({ kv }) => {
  const { code, client: { clientId }, grant } = await signIn(kv);
  const databases = Array.from({ length: 50 }, () => new Database(kv));
  const outcomes = await Promise.allSettled(
    databases.map((own) => redeem(own, { code, clientId })),
  );
  for (const own of databases) await own.idle();
  const won = outcomes.filter(({ status }) => status === "fulfilled");
  assert.equal(won.length, 1);
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") {
      assert.equal(outcome.reason.code, "invalid_grant");
    }
  }
  const found = await grantStore(new Database(kv)).find(grant.id);
  assert.equal(found?.value.status, "closed");
  const { accessToken } = (won[0] as PromiseFulfilledResult<
    { accessToken: string }
  >).value;
  assert.equal(
    await accessTokenStore(new Database(kv)).find(accessToken),
    undefined,
  );
});

test.inMemory("redeem() still knows a used code hours later", async ({ kv }) => {
  using time = new FakeTime();
  const { code, client: { clientId }, grant } = await signIn(kv);
  const database = new Database(kv);
  await redeem(database, { code, clientId });
  time.tick(23 * 3600);
  await assert.rejects(
    redeem(database, { code, clientId }),
    { code: "invalid_grant" },
  );
  await database.idle();
  assert.equal(
    (await grantStore(new Database(kv)).find(grant.id))?.value.status,
    "closed",
  );
});

const WRONG: [string, Record<string, string>][] = [
  ["another client", { clientId: "other" }],
  ["another verifier", { codeVerifier: "x".repeat(43) }],
  ["another redirect URI", { redirectUri: "https://app.example.com/other" }],
];

for (const [what, changes] of WRONG) {
  test.inMemory(`redeem() refuses ${what} and changes nothing, used or not`, async ({ kv }) => {
    const { code, client: { clientId }, grant } = await signIn(kv);
    const good = { code, clientId };
    const bad = { ...good, ...changes };
    await assert.rejects(redeem(new Database(kv), bad), {
      code: "invalid_grant",
    });
    await redeem(new Database(kv), good);
    await assert.rejects(redeem(new Database(kv), bad), {
      code: "invalid_grant",
    });
    assert.equal(
      (await grantStore(new Database(kv)).find(grant.id))?.value.status,
      "active",
    );
  });
}

test.inMemory("redeem() refuses what is no code", async ({ kv }) => {
  const { code, client: { clientId } } = await signIn(kv);
  const tokens = await redeem(new Database(kv), { code, clientId });
  for (const other of ["x", tokens.accessToken, tokens.refreshToken!]) {
    await assert.rejects(
      redeem(new Database(kv), { code: other, clientId }),
      { code: "invalid_grant" },
    );
  }
});

test.inMemory("redeem() says of a code that was used before that it was", async ({ kv }) => {
  const { code, client: { clientId } } = await signIn(kv);
  const database = new Database(kv);
  await redeem(database, { code, clientId });
  await assert.rejects(
    redeem(database, { code, clientId }),
    /The code was used before/,
  );
  await database.idle();
});

test.inMemory("redeem() refuses the code of a grant that has ended, or whose provider's tokens are gone", async ({ kv }) => {
  const database = new Database(kv);
  for (
    const end of [
      (grant: Grant) => (transaction: Transaction) =>
        setGrant(transaction, closeGrant(grant, database.now())),
      ({ id }: Grant) => (transaction: Transaction) =>
        transaction.delete(upstreamKey(id)),
    ]
  ) {
    const { code, client: { clientId }, grant } = await signIn(kv);
    await database.commit(end(grant));
    await assert.rejects(
      redeem(database, { code, clientId }),
      { code: "invalid_grant" },
    );
  }
});

test.inMemory("redeem() gives tokens that are good for no more than the grant may hold", async ({ kv }) => {
  const { code, client: { clientId } } = await signIn(kv);
  const { accessToken } = await redeem(new Database(kv), {
    code,
    clientId,
    effectiveScopes: () => ({ scopes: [] }),
  });
  const tokens = accessTokenStore(new Database(kv));
  assert.deepEqual((await tokens.find(accessToken))?.scopes, []);
});

test.inMemory("redeem() refuses the code of a person who may hold nothing by now", async ({ kv }) => {
  const { code, client: { clientId } } = await signIn(kv);
  const effectiveScopes = () => undefined;
  await assert.rejects(
    redeem(new Database(kv), { code, clientId, effectiveScopes }),
    {
      code: "invalid_grant",
    },
  );
});
