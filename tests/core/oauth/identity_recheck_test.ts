/** The time for which a provider's word about a person counts. */
import assert from "node:assert/strict";
import { identityRecheck } from "../../../src/core/oauth/identity_recheck.ts";
import type { Grant } from "../../../src/core/oauth/grant.ts";
import { permissionsOf } from "../../../src/core/oauth/permissions.ts";
import { parseListEntry } from "../../../src/core/oauth/list_entry.ts";
import { known } from "../../kit/known.ts";

const DAY = 24 * 60 * 60;
const KNOWN = {
  subject: "42",
  email: "jo@example.com",
  emailVerified: true,
  groups: ["staff"],
};
const grant = { createdAt: 0, identity: KNOWN } as unknown as Grant;
const { confirm } = identityRecheck({
  allowedUsers: [parseListEntry("@example.com", known())],
  blocked: [],
  admins: [],
  permissions: permissionsOf({
    rules: [{
      who: { kind: "groups", name: "staff" },
      scopes: ["read"],
    }],
    supported: ["read"],
  }),
});

Deno.test("confirm() keeps a part of which an answer says nothing for a day, takes the others as they are, and asks again", () => {
  const unverified = { ...KNOWN, emailVerified: false };
  for (
    const [told, fresh, later] of [
      [{ ...KNOWN, unknown: ["groups"], groups: undefined }, KNOWN, {
        ...KNOWN,
        groups: undefined,
      }],
      [{ subject: "42", groups: ["staff"], unknown: ["email"] }, KNOWN, {
        subject: "42",
        groups: ["staff"],
      }],
      [{ ...unverified, groups: undefined, unknown: ["groups"] }, unverified, {
        ...unverified,
        groups: undefined,
      }],
    ] as const
  ) {
    for (const [now, identity] of [[DAY - 1, fresh], [DAY, later]] as const) {
      const confirmed = confirm(grant, told, now);
      const { email, emailVerified, groups } = confirmed.identity;
      assert.deepEqual({ subject: "42", email, emailVerified, groups }, {
        email: undefined,
        emailVerified: undefined,
        ...identity,
      });
      assert.equal(confirmed.confirmedAt, undefined);
    }
  }
});

Deno.test("confirm() takes an answer as whole that says nothing of what was never known", () => {
  const { groups: _, ...identity } = KNOWN;
  const told = { ...identity, unknown: ["groups"] } as const;
  const confirmed = confirm({ ...grant, identity }, told, 5);
  assert.equal(confirmed.confirmedAt, 5);
  assert(!("unknown" in confirmed.identity));
});
