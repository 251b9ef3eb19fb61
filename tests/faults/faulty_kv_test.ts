import assert from "node:assert/strict";
import { test } from "../kit/databases.ts";
import { FaultyKv } from "../kit/faulty_kv.ts";

test.inMemory("carryOut() ends a stall once, though two ask for it at the same time", async ({ kv }) => {
  const faulty = new FaultyKv(kv, { kind: "stalls", at: 1 });
  let ends = 0;
  faulty.onEnd = () => ends++;
  const read = faulty.kv.get(["a"]);
  await Promise.all([faulty.carryOut(), faulty.carryOut()]);
  assert.equal((await read).value, null);
  assert.equal(ends, 1);
});
