import assert from "node:assert/strict";
import {
  ChallengeError,
  HttpError,
  OAuthError,
  RpcError,
  StorageError,
} from "../src/core/errors.ts";

const cause = new Error("the disk is full");

for (
  const refusal of [
    new OAuthError("invalid_request", "No", { cause }),
    new ChallengeError("No", "invalid_token", [], { cause }),
    new HttpError(503, "No", { cause }),
    new StorageError({ cause }),
    new RpcError(-32600, "No", { cause }),
  ]
) {
  Deno.test(`${refusal.name} is an Error that costs no stack, and its cause has one`, () => {
    assert(refusal instanceof Error);
    assert.equal(refusal.stack, undefined);
    assert.equal(String(refusal), `${refusal.name}: ${refusal.message}`);
    assert.match((refusal.cause as Error).stack!, /errors_test/);
  });
}
