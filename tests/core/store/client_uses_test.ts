import assert from "node:assert/strict";
import { clientUseStore } from "../../../src/core/store/client_uses.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { test } from "../../kit/databases.ts";

const NOW = 1_800_000_000;

test.onDatabases("touch() notes a use at most once a minute", async ({ kv }) => {
  let time = NOW;
  const database = new Database(kv, { clock: () => time * 1000 });
  const uses = clientUseStore(database);
  const touched = async () => {
    uses.touch("ci");
    await database.idle();
    return await uses.find("ci");
  };
  assert.equal(await uses.find("ci"), undefined);
  assert.equal(await touched(), NOW);
  time = NOW + 59;
  assert.equal(await touched(), NOW);
  time = NOW + 60;
  assert.equal(await touched(), NOW + 60);
  assert.equal(await uses.find("other"), undefined);
});
