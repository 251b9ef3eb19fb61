import assert from "node:assert/strict";
import { SortedKeys } from "../../../src/core/kv/sorted_keys.ts";

Deno.test("SortedKeys has each key once and in order, whatever was added and deleted before", () => {
  const keys = new SortedKeys();
  const known = new Set<string>();
  // Steps that share no factor with the number of keys come to all of them.
  for (let n = 0; n < 20_000; n++) {
    const key = String(n * 7919 % 5003);
    if (n % 3 === 2) {
      keys.delete(key);
      known.delete(key);
    } else {
      keys.add(key);
      known.add(key);
    }
  }
  const sorted = [...known].sort();
  assert.deepEqual([...keys.from("")], sorted);
  for (const start of ["", "0", "17", sorted[1], `${sorted[1]}x`, "9999"]) {
    const expected = sorted.filter((key) => key >= start);
    assert.deepEqual([...keys.from(start)], expected, start);
  }
  for (const key of known) keys.delete(key);
  assert.deepEqual([...keys.from("")], []);
});
