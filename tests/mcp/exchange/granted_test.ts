import assert from "node:assert/strict";
import { ANONYMOUS, type Caller, STRANGER } from "../../../src/caller.ts";
import {
  checkGranted,
  isWithinReach,
  scopeChallenge,
} from "../../../src/mcp/exchange/granted.ts";
import { ChallengeError } from "../../../src/errors.ts";

const ADA: Caller = { subject: "ada", binding: "ada", scopes: ["read"] };
const NEEDED = ["read", "write"];

/** Reads the status, code and scopes of a challenge. */
function told(challenge: unknown) {
  assert(challenge instanceof ChallengeError);
  const { status, error, scopes } = challenge;
  return [status, error, scopes];
}

Deno.test("scopeChallenge() asks for every scope: of a person with 403, of a stranger with 401", () => {
  assert.deepEqual(
    told(scopeChallenge(ADA, NEEDED)),
    [403, "insufficient_scope", NEEDED],
  );
  assert.deepEqual(
    told(scopeChallenge(STRANGER, NEEDED)),
    [401, undefined, NEEDED],
  );
  assert.equal(scopeChallenge(ADA, ["read"]), undefined);
  assert.equal(scopeChallenge(ANONYMOUS, NEEDED), undefined);
});

Deno.test("checkGranted() throws the challenge, if there is one", () => {
  checkGranted(ADA, ["read"]);
  assert.throws(() => checkGranted(ADA, NEEDED), ChallengeError);
});

Deno.test("isWithinReach() is whether a caller could be granted all of it", () => {
  assert(isWithinReach(ADA, NEEDED));
  assert(isWithinReach({ ...ADA, ceiling: ["write", "read"] }, NEEDED));
  assert(!isWithinReach({ ...ADA, ceiling: ["read"] }, NEEDED));
  assert(isWithinReach({ ...ADA, ceiling: [] }, []));
});
