import assert from "node:assert/strict";
import { StorageError } from "../../src/errors.ts";
import { Database } from "../../src/store/database.ts";
import { memoryKv } from "../../src/store/memory_kv.ts";
import { probe } from "../../src/store/probe.ts";

Deno.test("probe() tells whether the database answers", async () => {
  const kv = memoryKv();
  const database = new Database(kv);
  const look = probe(database);
  await look();
  kv.close();
  await assert.rejects(look(), StorageError);
});
