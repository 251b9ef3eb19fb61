import assert from "node:assert/strict";
import { KeyRefusalWatch } from "../../../src/features/accounts/account_keys.ts";
import type { AccountRecord } from "../../../src/features/accounts/accounts.ts";
import type { Found } from "../../../src/core/kv/database.ts";

Deno.test("a 401 says that a key is refused, unless another answer of the call says that it is taken", () => {
  const calls: [
    refusedBefore: boolean,
    statuses: number[],
    noted: boolean[],
  ][] = [
    [false, [401, 401], [true]],
    [false, [200, 401], []],
    [false, [401, 204, 401], [true, false]],
    [false, [403, 404, 429, 500, 301], []],
    [false, [500, 401, 403], [true]],
    [true, [401], []],
    [true, [403, 500], []],
    [true, [200, 401], [false]],
  ];
  for (const [refusedBefore, statuses, expected] of calls) {
    const noted: boolean[] = [];
    const refusals = new KeyRefusalWatch({
      noteRefusalLater: (_, isRefused) => void noted.push(isRefused),
    });
    const refusedAt = refusedBefore ? 1 : undefined;
    const value = { service: "linear", refusedAt };
    const found = { value } as Found<AccountRecord>;
    for (const status of statuses) refusals.note(found, status);
    assert.deepEqual(noted, expected, statuses.join());
  }
});
