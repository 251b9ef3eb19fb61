import assert from "node:assert/strict";
import { createContextKey, ROOT_CONTEXT } from "@opentelemetry/api";
import { LinkedContext } from "../../../src/core/telemetry/tally.ts";

Deno.test("LinkedContext has its parent's values, and changes none of them", () => {
  const [one, two] = [createContextKey("one"), createContextKey("two")];
  const parent = ROOT_CONTEXT.setValue(one, 1);
  const linked = new LinkedContext(parent, two, 2);
  const changed = linked.setValue(one, 3);
  const deleted = changed.deleteValue(two);

  const valuesOf = (context: typeof parent) =>
    [one, two].map((key) => context.getValue(key));
  assert.deepEqual(valuesOf(linked), [1, 2]);
  assert.deepEqual(valuesOf(changed), [3, 2]);
  assert.deepEqual(valuesOf(deleted), [3, undefined]);
  assert.deepEqual(valuesOf(parent), [1, undefined]);
});
