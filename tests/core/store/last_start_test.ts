import assert from "node:assert/strict";
import { closeGrant } from "../../../src/core/oauth/grant.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { setGrant } from "../../../src/core/store/grants.ts";
import { noteBaseUrl } from "../../../src/core/store/last_start.ts";
import { test } from "../../kit/databases.ts";
import { ISSUER, redeem, signIn } from "../../kit/records.ts";

const ELSEWHERE = "https://renamed.example.com";

test.onDatabases("noteBaseUrl() tells the first start at another address what is left of the one before", async ({ kv, other }) => {
  const database = new Database(kv);
  // The servers before had no BASE_URL: no one noted where it was made.
  const { code, client: { clientId } } = await signIn(kv);
  await redeem(database, { code, clientId });
  assert.equal(await noteBaseUrl(database, ISSUER), undefined);
  const told = await Promise.all(
    [kv, other].map((kv) => noteBaseUrl(new Database(kv), ELSEWHERE)),
  );
  assert.deepEqual(told.filter(Boolean), [{ baseUrl: ISSUER, connections: 1 }]);
  assert.equal(await noteBaseUrl(database, ELSEWHERE), undefined);
  // Back where they are good, there is nothing to tell.
  assert.equal(await noteBaseUrl(database, ISSUER), undefined);
});

test.onDatabases("noteBaseUrl() tells nothing where no connection is left", async ({ kv }) => {
  const database = new Database(kv);
  const { grant } = await signIn(kv);
  await database.commit((transaction) =>
    setGrant(transaction, closeGrant(grant, database.now()))
  );
  assert.equal(await noteBaseUrl(database, ELSEWHERE), undefined);
});
