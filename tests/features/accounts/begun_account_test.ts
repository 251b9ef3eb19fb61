import assert from "node:assert/strict";
import type { AccountRecord } from "../../../src/features/accounts/accounts.ts";
import { findBegun } from "../../../src/features/accounts/begun_account.ts";
import type { Found } from "../../../src/core/kv/database.ts";

function account(value: Partial<AccountRecord>): Found<AccountRecord> {
  return { key: [], value: value as AccountRecord, versionstamp: "" };
}

const ada = account({ label: "ada", accountId: "1" });
const bob = account({ label: "bob", accountId: "2" });
const begun = { label: "ada", accountId: "1", at: 100 };
const standsInFor = [begun];
const standIn = account({ ...bob.value, standsInFor });

for (
  const [words, own, by, found] of [
    ["the account of the same id", [bob, ada], begun, ada],
    ["none of the same name and another id", [bob], { ...begun, label: "bob" }],
    ["the account of the same name without ids", [bob, ada], {
      label: "ada",
      at: 100,
    }, ada],
    [
      "an account that had the name before",
      [
        bob,
        account({ label: "ada l", formerLabels: ["ada"] }),
      ],
      { label: "ada", at: 100 },
      account({
        label: "ada l",
        formerLabels: ["ada"],
      }),
    ],
    ["none that had the name before and has another id", [
      account({ label: "bob", accountId: "2", formerLabels: ["ada"] }),
    ], begun],
    ["an account without a name", [bob, account({})], { at: 100 }, account({})],
    ["the account that its person put in its place", [standIn], begun, standIn],
    [
      "the account itself before the one in its place",
      [standIn, ada],
      begun,
      ada,
    ],
    [
      "the one in its place where it is refused",
      [
        account({ ...ada.value, refusedAt: 1 }),
        standIn,
      ],
      begun,
      standIn,
    ],
    ["none for what begins after that word", [standIn], { ...begun, at: 101 }],
  ] as const
) {
  Deno.test(`findBegun() finds ${words}`, () => {
    assert.deepEqual(findBegun(own, by), found);
  });
}
