import assert from "node:assert/strict";
import { isListed } from "../../src/oauth/allowed_users.ts";

const JO = { subject: "42", email: "Jo@Example.com", emailVerified: true };

Deno.test("isListed() knows subjects, addresses and domains", () => {
  assert(isListed(JO, ["42"]));
  assert(isListed(JO, ["x", "jo@example.com"]));
  assert(isListed(JO, ["@EXAMPLE.com"]));
});

Deno.test("isListed() knows nobody else", () => {
  for (const entry of ["4", "420", "@ample.com", "o@example.com", "@com"]) {
    assert(!isListed(JO, [entry]), entry);
  }
  assert(!isListed(JO, []));
});

Deno.test("isListed() does not believe an address that the provider did not check", () => {
  const unverified = { ...JO, emailVerified: false };
  assert(!isListed(unverified, ["jo@example.com"]));
  assert(!isListed(unverified, ["@example.com"]));
});

Deno.test("isListed() takes no address with a second @ for one of the domain", () => {
  const odd = { ...JO, email: "evil@other.com@example.com" };
  assert(!isListed(odd, ["@example.com"]));
});
