/** A service's own check of a key: its end with the call that it is for. */
import assert from "node:assert/strict";
import { personalKey } from "../../../src/authoring/personal_key.ts";
import { checkAccount } from "../../../src/features/accounts/account_check.ts";
import { settled } from "../../kit/wait.ts";

Deno.test("checkAccount() ends with the call that it is for", async () => {
  const service = personalKey("notes", {
    api: "https://notes.example/v1",
    check: () => new Promise(() => {}),
  });
  const call = new AbortController();
  let isOver = false;
  const checked = checkAccount(service, "secret", call.signal)
    .finally(() => isOver = true);
  call.abort();
  await settled();
  assert(isOver);
  assert.equal(await checked, undefined);
});
