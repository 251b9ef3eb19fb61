import assert from "node:assert/strict";
import { Parameters } from "../../../src/core/oauth/parameters.ts";
import {
  checkCodeVerifier,
  codeChallenge,
  parseCodeChallenge,
} from "../../../src/core/oauth/pkce.ts";

// RFC 7636 appendix B.
const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

Deno.test("codeChallenge() gives the challenge of RFC 7636 appendix B", () => {
  assert.equal(codeChallenge(VERIFIER), CHALLENGE);
});

Deno.test("checkCodeVerifier() takes the verifier and no other", () => {
  checkCodeVerifier(VERIFIER, CHALLENGE);
  const short = "a".repeat(42);
  for (
    const [verifier, challenge] of [
      [VERIFIER.toLowerCase(), CHALLENGE],
      ["", CHALLENGE],
      // Right by its digest, but not a verifier.
      [short, codeChallenge(short)],
      ["a".repeat(129), codeChallenge("a".repeat(129))],
      ["ä".repeat(43), codeChallenge("ä".repeat(43))],
    ]
  ) {
    assert.throws(() => checkCodeVerifier(verifier, challenge), {
      code: "invalid_grant",
    });
  }
});

Deno.test("parseCodeChallenge() says that PKCE is required", () => {
  const method: [string, string] = ["code_challenge_method", "S256"];
  assert.throws(() => parseCodeChallenge(new Parameters([method])), {
    description: "PKCE is required: code_challenge is missing",
  });
});

Deno.test("parseCodeChallenge() takes a SHA-256 digest in base64url and no other text", () => {
  const parse = (challenge: string) =>
    parseCodeChallenge(
      new Parameters([
        ["code_challenge_method", "S256"],
        ["code_challenge", challenge],
      ]),
    );
  assert.equal(parse(CHALLENGE), CHALLENGE);
  for (const challenge of [`.${CHALLENGE}`, `${CHALLENGE}=`]) {
    assert.throws(() => parse(challenge), {
      code: "invalid_request",
      description: /43 characters/,
    });
  }
});
