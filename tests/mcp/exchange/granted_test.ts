import assert from "node:assert/strict";
import { ANONYMOUS, type Caller, STRANGER } from "../../../src/caller.ts";
import {
  checkGranted,
  isWithinReach,
} from "../../../src/mcp/exchange/check.ts";
import { ChallengeError } from "../../../src/errors.ts";

const ADA: Caller = { subject: "ada", binding: "ada", scopes: ["read"] };
const NEEDED = ["read", "write"];

Deno.test("checkGranted() asks for every scope: of a person with 403, of a stranger with 401", () => {
  for (
    const [caller, status, error] of [
      [ADA, 403, "insufficient_scope"],
      [STRANGER, 401, undefined],
    ] as const
  ) {
    assert.throws(() => checkGranted(caller, NEEDED), (thrown) => {
      assert(thrown instanceof ChallengeError);
      assert.deepEqual(
        [thrown.status, thrown.error, thrown.scopes],
        [status, error, NEEDED],
      );
      return true;
    });
  }
  checkGranted(ADA, ["read"]);
  checkGranted(ANONYMOUS, NEEDED);
});

Deno.test("isWithinReach() is whether a caller could be granted all of it", () => {
  assert(isWithinReach(ADA, NEEDED));
  assert(isWithinReach({ ...ADA, ceiling: ["write", "read"] }, NEEDED));
  assert(!isWithinReach({ ...ADA, ceiling: ["read"] }, NEEDED));
  assert(isWithinReach({ ...ADA, ceiling: [] }, []));
});
