import assert from "node:assert/strict";
import {
  isAddressEntry,
  isAllowed,
} from "../../../src/core/oauth/allowed_users.ts";
import type { Identity } from "../../../src/core/caller.ts";
import { parseListEntry } from "../../../src/core/oauth/list_entry.ts";
import { known } from "../../kit/known.ts";

const JO = { subject: "Ab42", email: "Jo@Example.com", emailVerified: true };

function allows(identity: Identity, allowed: string[]): boolean {
  return isAllowed(
    { subject: `dev:${identity.subject}`, identity },
    allowed.map((entry) => parseListEntry(entry, known())),
  );
}

const IN: [string, Identity, string[]][] = [
  ["everyone when there is no list", { ...JO, emailVerified: false }, []],
  ["a subject", JO, ["x", "Ab42"]],
  ["a subject as pages and the log print it", JO, ["x", "dev:Ab42"]],
  ["a subject without a verified address", { ...JO, emailVerified: false }, [
    "Ab42",
  ]],
  ["a verified address in any case of letters", JO, ["jO@exAmple.com"]],
  ["a domain in any case of letters", JO, ["x", "@EXAMPLE.com"]],
  ["someone who has only other addresses", {
    subject: "Ab42",
    emailVerified: true,
    otherEmails: ["jo@example.com"],
  }, ["@example.com"]],
];

for (const [what, identity, allowed] of IN) {
  Deno.test(`isAllowed() lets in ${what}`, () => {
    assert.equal(allows(identity, allowed), true);
  });
}

const OUT: [string, Identity, string[]][] = [
  ["a subject in another case of letters", JO, ["ab42"]],
  ["a subject of another provider", JO, [
    "https://id.example.com#Ab42",
    "dev:ab42",
  ]],
  ["a part of a subject", JO, ["Ab4", "Ab420"]],
  ["an address that is not verified", { ...JO, emailVerified: false }, [
    "jo@example.com",
    "@example.com",
  ]],
  ["another address of the domain", JO, ["o@example.com", "joo@example.com"]],
  ["a part of a domain", JO, ["@ample.com", "@com"]],
  ["a subdomain", { ...JO, email: "jo@mail.example.com" }, ["@example.com"]],
  ["a domain around", { ...JO, email: "jo@example.com.evil.org" }, [
    "@example.com",
  ]],
  ["a domain that another one follows", {
    ...JO,
    email: "jo@example.com@evil.example",
  }, ["@example.com"]],
  ["a subject that looks like an address", {
    ...JO,
    subject: "al@example.com",
  }, ["al@example.com"]],
  ["a subject that looks like a domain", { ...JO, subject: "@example.org" }, [
    "@example.org",
  ]],
  ["an address with a second @ as one of the domain", {
    ...JO,
    email: "jo@evil.org@example.com",
  }, ["@example.com"]],
  ["a domain without a person", { ...JO, email: "@example.com" }, [
    "@example.com",
  ]],
  ["a Kelvin sign as a k of a domain", {
    ...JO,
    email: "jo@\u212Aey.example",
  }, ["@key.example"]],
  ["a Kelvin sign as a k of an address", {
    ...JO,
    email: "\u212Aim@example.com",
  }, ["kim@example.com"]],
  ["someone without an address", { ...JO, email: "" }, ["@example.com"]],
];

for (const [what, identity, allowed] of OUT) {
  Deno.test(`isAllowed() keeps out ${what}`, () => {
    assert.equal(allows(identity, allowed), false);
  });
}

for (
  const [entry, is] of [
    ["jo@example.com", true],
    ["@example.com", true],
    ["dev:42", false],
  ] as const
) {
  Deno.test(`isAddressEntry() gives ${is} for ${entry}`, () => {
    assert.equal(isAddressEntry(parseListEntry(entry, known())), is);
  });
}
