/** The time for which a provider's word about a person counts. */
import assert from "node:assert/strict";
import { type Grant, identityRecheck } from "../../../src/core/oauth/grant.ts";
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
        ...KNOWN,
        emailVerified: false,
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
      assert.deepEqual(
        { subject: "42", email, emailVerified, groups },
        identity,
      );
      assert.equal(confirmed.confirmedAt, undefined);
    }
  }
});

Deno.test("an address that was once verified stays, as unverified, however often its provider cannot say it", () => {
  const told = { subject: "42", unknown: ["email"] } as const;
  const first = confirm(grant, told, DAY);
  const second = confirm(first, told, 3 * DAY);
  const { email, emailVerified } = second.identity;
  assert.deepEqual([email, emailVerified], ["jo@example.com", false]);
});

Deno.test("reduce() keeps unverified addresses only while a rule names addresses", () => {
  const unverifiedEmails = ["boss@example.com"];
  for (const who of ["boss@example.com", "dev:1"]) {
    const rules = [{ who: parseListEntry(who, known()), scopes: ["read"] }];
    const { reduce } = identityRecheck({
      allowedUsers: [],
      blocked: [],
      admins: [],
      permissions: permissionsOf({ rules, supported: ["read"] }),
    });
    assert.deepEqual(
      reduce({ ...KNOWN, unverifiedEmails }).unverifiedEmails,
      who.includes("@") ? unverifiedEmails : undefined,
    );
  }
});

Deno.test("confirm() takes an answer as whole that says nothing of what was never known", () => {
  const { groups: _, ...identity } = KNOWN;
  const told = { ...identity, unknown: ["groups"] } as const;
  const confirmed = confirm({ ...grant, identity }, told, 5);
  assert.equal(confirmed.confirmedAt, 5);
  assert(!("unknown" in confirmed.identity));
});
