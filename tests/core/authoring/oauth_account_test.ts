/** `account()`. */
import assert from "node:assert/strict";
import type { OAuthAccountOptions } from "../../../src/authoring/account.ts";
import { faultsIn } from "../../../src/authoring/options.ts";
import {
  account,
  accountSetting,
  NEEDS,
} from "../../../src/authoring/oauth_account.ts";

const api = "https://api.example";
const issuer = "https://id.example";

Deno.test("account() fills in what is known of a service, and its author may replace all of it", () => {
  const google = account("google", { scopes: ["calendar"], api });
  assert.deepEqual(google.scopes, ["openid", "email", "calendar"]);
  assert.equal(google.api, api);
  assert.equal(google.params?.access_type, "offline");
  assert.equal(accountSetting(google, "CLIENT_ID"), "ACCOUNT_GOOGLE_CLIENT_ID");
  const own = account("my-crm", { api, issuer });
  assert.equal(
    accountSetting(own, "CLIENT_SECRET"),
    "ACCOUNT_MY_CRM_CLIENT_SECRET",
  );
});

Deno.test("account() refuses a wrong name, an address without TLS, and a service without a server", () => {
  const server = { authorize: `${issuer}/authorize`, token: `${issuer}/token` };
  for (
    const [name, options] of [
      ["Crm", { api, issuer }],
      ["my_crm", { api, issuer }],
      ["", { api, issuer }],
      ["crm", { api: "http://api.example", issuer }],
      ["crm", { api: "https://me:pass@api.example", issuer }],
      ["crm", { api, issuer: "http://id.example" }],
      ["crm", { api, ...server, token: "http://id.example/token" }],
      ["crm", { api, ...server, revoke: "javascript:alert(1)" }],
      ["crm", { api, authorize: server.authorize }],
      ["crm", { api }],
      ["crm", { api, issuer, scopes: ["two words"] }],
    ] as const
  ) {
    const service = account(name, options as OAuthAccountOptions);
    const [fault, ...more] = faultsIn({ needs: NEEDS }, { needs: { service } });
    assert.match(
      fault,
      /must have a name|: scopes\[0\] must be a scope/,
      JSON.stringify(options),
    );
    assert.deepEqual(more, []);
  }
  const service = account("crm", { api, ...server });
  assert.equal(service.kind, "account");
  assert.deepEqual(faultsIn({ needs: NEEDS }, { needs: { service } }), []);
});
