import assert from "node:assert/strict";
import { parseConfig } from "../../../src/core/settings/config.ts";
import { idJagFeature } from "../../../src/features/id_jag/feature.ts";
import { GITHUB } from "../../kit/settings.ts";

const features = [idJagFeature];

for (
  const [what, OAUTH_ASSERTION_ISSUERS] of [
    ["without TLS", "http://id.example.com"],
    [
      "with two organizations",
      "https://id.example.com#a,https://id.example.com#b",
    ],
  ]
) {
  Deno.test(`OAUTH_ASSERTION_ISSUERS refuses an issuer ${what}`, () => {
    assert.throws(
      () => parseConfig({ ...GITHUB, OAUTH_ASSERTION_ISSUERS }, { features }),
      /OAUTH_ASSERTION_ISSUERS: got .*, wants issuers of identity providers/,
    );
  });
}

Deno.test("OAUTH_ASSERTION_ISSUERS names issuers, with the tenant of one that serves several", () => {
  const env = {
    ...GITHUB,
    OAUTH_ASSERTION_ISSUERS: "https://a.example, https://b.example#acme",
  };
  assert.deepEqual(
    parseConfig(env, { features }).auth.oauth?.assertionIssuers,
    [
      { issuer: "https://a.example" },
      { issuer: "https://b.example", tenant: "acme" },
    ],
  );
});
