import assert from "node:assert/strict";
import { StorageError } from "../../../src/core/errors.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { makeProbe } from "../../../src/core/kv/probe.ts";

Deno.test("makeProbe() tells whether the database answers", async () => {
  const kv = memoryKv();
  const database = new Database(kv);
  const look = makeProbe(database);
  await look();
  kv.close();
  await assert.rejects(look(), StorageError);
});
