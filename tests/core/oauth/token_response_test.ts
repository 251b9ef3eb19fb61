import assert from "node:assert/strict";
import { printTokenResponse } from "../../../src/core/oauth/refresh_token.ts";

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
