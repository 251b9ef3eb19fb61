import assert from "node:assert/strict";
import { Parameters } from "../../../src/auth/rules/parameters.ts";
import {
  parseTokenRequest,
  printTokenResponse,
} from "../../../src/auth/rules/token_request.ts";

const BASE_URL = "https://tools.example.com";

function parse(parameters: Record<string, string>, takesAssertions = true) {
  return parseTokenRequest(
    new Parameters(Object.entries(parameters)),
    { baseUrl: BASE_URL, takesAssertions },
  );
}

Deno.test("parseTokenRequest() reads a refresh", () => {
  assert.deepEqual(
    parse({ grant_type: "refresh_token", refresh_token: "r", scope: "a b" }),
    { grantType: "refresh_token", refreshToken: "r", scopes: ["a", "b"] },
  );
});

const REFUSED: [string, Record<string, string>, string][] = [
  ["no refresh token", { grant_type: "refresh_token" }, "invalid_request"],
  ["a scope that is none", {
    grant_type: "refresh_token",
    refresh_token: "r",
    scope: "ä",
  }, "invalid_scope"],
];

for (const [what, parameters, code] of REFUSED) {
  Deno.test(`parseTokenRequest() refuses ${what}`, () => {
    assert.throws(() => parse(parameters), { code });
  });
}

Deno.test("parseTokenRequest() misses no assertion where no one may speak for people", () => {
  const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
  assert.throws(() => parse({ grant_type }), { code: "invalid_request" });
  const refusal = { code: "unsupported_grant_type" };
  assert.throws(() => parse({ grant_type }, false), refusal);
  assert.throws(() => parse({ grant_type, assertion: "a" }, false), refusal);
});

Deno.test("printTokenResponse() has what RFC 6749 §5.1 has", () => {
  const tokens = { accessToken: "a", scopes: ["x", "y"], expiresAt: 110 };
  assert.deepEqual(printTokenResponse(tokens, 50), {
    access_token: "a",
    token_type: "Bearer",
    expires_in: 60,
    scope: "x y",
  });
  assert.equal(printTokenResponse({ ...tokens, scopes: [] }, 50).scope, "");
  assert.equal(
    printTokenResponse({ ...tokens, refreshToken: "r" }, 50).refresh_token,
    "r",
  );
});
