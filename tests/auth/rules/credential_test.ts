import assert from "node:assert/strict";
import {
  mintCredential,
  newGrantId,
  tokenShape,
} from "../../../src/auth/rules/credential.ts";

const HEADER = "eyJhbGciOiJFUzI1NiJ9";

for (
  const [what, token, shape] of [
    [
      "an access token of ours",
      mintCredential("access_token", newGrantId()),
      "own",
    ],
    ["a broken one of ours", "tsa_x", "own"],
    ["ours with the parts of a JWT", `tsa_${HEADER}.e30.c2ln`, "own"],
    ["a JWT", `${HEADER}.e30.c2ln`, "jwt"],
    ["a JWT whose header has spaces", "eyAiYWxnIjogIkVTMjU2IiB9.e30.x", "jwt"],
    ["an unsigned JWT", "eyJhbGciOiJub25lIn0.e30.", "jwt"],
    ["a JWT with our prefix inside", `${HEADER}.e30.tsa_`, "jwt"],
    ["a JWT behind another sign", `+${HEADER}.e30.c2ln`, "static"],
    ["three words with dots", "one.two.three", "static"],
    ["a header without alg", "e30.e30.c2ln", "static"],
    ["a header that is null", "bnVsbA.e30.c2ln", "static"],
    ["two parts", `${HEADER}.e30`, "static"],
    ["five parts", `${HEADER}.a.b.c.d`, "static"],
    [
      "a JWT's neighbour with a character too many",
      `${HEADER}.e30.c+`,
      "static",
    ],
    ["a text", "the-only-secret-token", "static"],
    ["a text that begins nearly like ours", "ts_secret-token", "static"],
    ["ours in capitals", "TSA_secret-token", "static"],
    ["nothing", "", "static"],
  ] as const
) {
  Deno.test(`tokenShape() takes ${what} for ${shape}`, () => {
    assert.equal(tokenShape(token), shape);
  });
}
