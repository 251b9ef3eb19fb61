import assert from "node:assert/strict";
import { isMicrosoftIssuer } from "../../../src/auth/provider/microsoft.ts";

const HOST = "https://login.microsoftonline.com";
const TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47";
const OTHER_TENANT = "9188040d-6c67-4c5b-b112-36a304b66dad";

const NAMED: [configured: string, named: string, boolean][] = [
  [`${HOST}/common/v2.0`, `${HOST}/{tenantid}/v2.0`, true],
  [`${HOST}/organizations/v2.0`, `${HOST}/{tenantid}/v2.0`, true],
  [`${HOST}/consumers/v2.0`, `${HOST}/${OTHER_TENANT}/v2.0`, true],
  [`${HOST}/contoso.example/v2.0`, `${HOST}/${TENANT}/v2.0`, true],
  [`${HOST}/${TENANT}/v2.0`, `${HOST}/${TENANT}/v2.0`, true],
  [`${HOST}/${TENANT}/v2.0`, `${HOST}/${OTHER_TENANT}/v2.0`, false],
  [`${HOST}/${TENANT}/v2.0`, `${HOST}/{tenantid}/v2.0`, false],
  [`${HOST}/common/v2.0`, `https://evil.example/{tenantid}/v2.0`, false],
  [
    `${HOST}/common/v2.0`,
    "https://login.microsoftonline.net/{tenantid}/v2.0",
    false,
  ],
  [`${HOST}/common/v2.0`, `${HOST}/evil/v2.0`, false],
  [`${HOST}/common/v2.0`, `${HOST}/{tenantid}/v1.0`, false],
  [`${HOST}/common/v2.0`, `${HOST}/v2.0`, false],
];

for (const [configured, named, expected] of NAMED) {
  Deno.test(`isMicrosoftIssuer() ${expected ? "takes" : "refuses"} ${named} for ${configured}`, () => {
    assert.equal(isMicrosoftIssuer(configured, named), expected);
  });
}
