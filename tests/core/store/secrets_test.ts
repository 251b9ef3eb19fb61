import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { secretStore } from "../../../src/core/store/secrets.ts";
import { test } from "../../kit/databases.ts";

test.onDatabases("find() makes a secret once for all processes, and reads it once in each", async ({ kv, other }) => {
  const database = new Database(kv);
  const secrets = secretStore(database);
  const [here, there] = await Promise.all([
    secrets.find("cookies"),
    secretStore(new Database(other)).find("cookies"),
  ]);
  assert.equal(here.length, 32);
  assert.deepEqual(here, there);
  assert.notDeepEqual(here, await secrets.find("tickets"));
  database.get = () => assert.fail("It is known");
  assert.equal(await secrets.find("cookies"), here);
});
