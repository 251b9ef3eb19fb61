import assert from "node:assert/strict";
import * as lifetimes from "../../../src/auth/rules/lifetimes.ts";

Deno.test("everything lives as long as it is said to", () => {
  const hour = 3600;
  const day = 24 * hour;
  assert.deepEqual({ ...lifetimes }, {
    AUTHORIZATION_REQUEST_TTL_SECONDS: 600,
    SIGN_IN_LEASE_SECONDS: 100,
    CODE_TTL_SECONDS: 60,
    USED_CODE_TTL_SECONDS: day,
    GRANT_TTL_SECONDS: 90 * day,
    SUCCESSOR_MARGIN_SECONDS: 60,
    SUCCESSOR_TTL_SECONDS: 30,
    CONFIRMATION_TTL_SECONDS: day,
    APPROVAL_TTL_SECONDS: 90 * day,
    DOCUMENT_FRESH_SECONDS: { min: 300, max: day },
    DOCUMENT_COOLDOWN_SECONDS: 60,
    DOCUMENT_TTL_SECONDS: 30 * day,
    CLOCK_TOLERANCE_SECONDS: 60,
    ASSERTION_MAX_TTL_SECONDS: hour,
    REFRESH_LEASE_SECONDS: 60,
    REFRESH_WAIT_SECONDS: 15,
    REFRESH_STORE_SECONDS: 600,
    UPSTREAM_MARGIN_SECONDS: 60,
    DEFAULT_LIFETIMES: {
      accessTokenSeconds: hour,
      idleSeconds: 30 * day,
      grantSeconds: 90 * day,
      personalTokenSeconds: 365 * day,
    },
  });
});
