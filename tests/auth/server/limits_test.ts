/** The rate limits of the authorization server's endpoints. */
import assert from "node:assert/strict";
import { Hono } from "@hono/hono";
import { authorizeEndpoint } from "../../../src/auth/server/authorize.ts";
import { consentEndpoint } from "../../../src/auth/server/consent.ts";
import { registerEndpoint } from "../../../src/auth/server/register.ts";
import { revokeEndpoint } from "../../../src/auth/server/revoke.ts";
import { tokenEndpoint } from "../../../src/auth/server/token.ts";
import { HttpError } from "../../../src/errors.ts";
import { BASE_URL } from "../../kit/server.ts";

/** Options with a limit that is used up; using anything else fails. */
const USED_UP = {
  baseUrl: BASE_URL,
  checkRate: () => Promise.reject(new HttpError(429, "Too many requests")),
};

for (
  const endpoint of [
    authorizeEndpoint,
    consentEndpoint,
    registerEndpoint,
    revokeEndpoint,
    tokenEndpoint,
  ]
) {
  Deno.test(`${endpoint.name}() does nothing for a caller beyond its rate`, async () => {
    const app = new Hono();
    app.post("/", endpoint(USED_UP as never));
    let refusal: unknown;
    app.onError((error, c) => {
      refusal = error;
      return c.body(null, 429);
    });
    await app.request("/", { method: "POST" });
    assert(refusal instanceof HttpError, `${refusal}`);
    assert.equal(refusal.status, 429);
  });
}
