import assert from "node:assert/strict";
import {
  ANONYMOUS,
  type Bound,
  formerBinding,
  mayAdopt,
  STRANGER,
} from "../src/caller.ts";

const PERSON = '["https://id.example.com","ada"]';

const OAUTH: Bound = {
  door: "oauth",
  binding: PERSON,
  clientId: "app",
  grantId: "a-grant",
};

for (
  const [what, caller, former] of [
    ["the grant", OAUTH, "a-grant"],
    [
      "a JWT's person with its client",
      { door: "jwt", binding: PERSON, clientId: 'a "client"' },
      '["https://id.example.com","ada","a \\"client\\""]',
    ],
    [
      "a JWT's person without a client",
      { door: "jwt", binding: PERSON },
      '["https://id.example.com","ada",null]',
    ],
    [
      "nothing else of an access token that a person made",
      { ...OAUTH, door: "token" },
      undefined,
    ],
    ["nothing else of those who are not asked", ANONYMOUS, undefined],
  ] as const
) {
  Deno.test(`formerBinding() is ${what}`, () => {
    assert.equal(formerBinding(caller), former);
  });
}

Deno.test("mayAdopt() lets no one take what another person began", () => {
  assert(mayAdopt(OAUTH, STRANGER));
  assert(mayAdopt(OAUTH, { binding: "a-grant" }));
  for (const binding of ["another-grant", ANONYMOUS.binding, '["x","ada"]']) {
    assert(!mayAdopt(OAUTH, { binding }), binding);
    assert(!mayAdopt(ANONYMOUS, { binding }), binding);
  }
});
