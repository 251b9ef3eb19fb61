import assert from "node:assert/strict";
import { ChallengeError } from "../../../src/errors.ts";
import {
  parseBearer,
  printChallenge,
} from "../../../src/auth/rules/challenge.ts";

Deno.test("parseBearer() reads the token, whatever the case of the scheme", () => {
  assert.equal(parseBearer("Bearer abc.-_~+/=="), "abc.-_~+/==");
  assert.equal(parseBearer("bearer  abc"), "abc");
  for (
    const header of [
      null,
      "",
      "Bearer",
      "Bearer ",
      "Basic abc",
      "Bearer a b",
      "xBearer a",
    ]
  ) assert.equal(parseBearer(header), undefined);
});

const METADATA = { resource_metadata: "https://t.example/m" };

Deno.test("printChallenge() names no error when nothing was presented", () => {
  assert.equal(
    printChallenge(new ChallengeError("Sign in"), METADATA, ["a", "b"]),
    'Bearer resource_metadata="https://t.example/m", scope="a b"',
  );
  assert.equal(printChallenge(new ChallengeError("Sign in")), "Bearer");
});

Deno.test("printChallenge() says why a token did not do", () => {
  assert.equal(
    printChallenge(new ChallengeError("It ended", "invalid_token"), METADATA),
    'Bearer error="invalid_token", error_description="It ended", ' +
      'resource_metadata="https://t.example/m"',
  );
});

Deno.test("printChallenge() lists the scopes that a call needs, not the usual ones", () => {
  assert.equal(
    printChallenge(
      new ChallengeError("More", "insufficient_scope", ["c"]),
      {},
      ["a"],
    ),
    'Bearer error="insufficient_scope", error_description="More", scope="c"',
  );
});

Deno.test("printChallenge() asks a stranger for what the call needs, and what every sign-in asks for", () => {
  assert.equal(
    printChallenge(
      new ChallengeError("Sign in", undefined, ["c", "a"]),
      {},
      ["a", "b"],
    ),
    'Bearer scope="c a b"',
  );
});

Deno.test("printChallenge() lets nothing out of its quotes", () => {
  const refusal = new ChallengeError('a"b\\c\r\nd', "invalid_token");
  assert.equal(
    printChallenge(refusal),
    `Bearer error="invalid_token", error_description="a'b?c??d"`,
  );
});
