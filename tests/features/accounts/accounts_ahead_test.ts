import assert from "node:assert/strict";
import { AccountsAhead } from "../../../src/features/accounts/accounts_ahead.ts";

function start() {
  const read: string[] = [];
  const readAhead = (subject: string) => void read.push(subject);
  return { read, ahead: new AccountsAhead({ readAhead }) };
}

Deno.test("AccountsAhead reads for callers who needed accounts, and for no others", () => {
  const { read, ahead } = start();
  ahead.read("grant-of-ada");
  ahead.note({ grantId: "grant-of-ada", subject: "ada" });
  ahead.note({ subject: "bob" });
  for (const name of ["grant-of-ada", "bob", "ada", "grant-of-eve"]) {
    ahead.read(name);
  }
  assert.deepEqual(read, ["ada", "bob"]);
});

Deno.test("AccountsAhead remembers no more than 10,000 callers, the latest", () => {
  const { read, ahead } = start();
  for (let n = 0; n <= 10_000; n++) ahead.note({ subject: `${n}` });
  for (const name of ["0", "1", "10000"]) ahead.read(name);
  assert.deepEqual(read, ["1", "10000"]);
});
