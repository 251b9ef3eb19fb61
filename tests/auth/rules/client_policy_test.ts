import assert from "node:assert/strict";
import {
  type Client,
  parseClientMetadata,
} from "../../../src/auth/rules/client.ts";
import {
  checkRedirectHosts,
  isSelfRegistered,
  skipsConsent,
} from "../../../src/auth/rules/client_policy.ts";

const HTTPS = "https://app.example.com/cb";
const LOOPBACK = "http://127.0.0.1:33418/";
const SCHEME = "cursor://anysphere.cursor-mcp/oauth/callback";

for (
  const [hosts, uris, isAllowed] of [
    [[], ["https://any.example.com/cb"], true],
    [["app.example.com"], [HTTPS], true],
    [["app.example.com"], ["https://APP.example.com/cb"], true],
    [["example.com"], [HTTPS], false],
    [["app.example.com"], [HTTPS, "https://evil.example.org/cb"], false],
    [["app.example.com"], ["https://evil.example.org/app.example.com"], false],
    [["app.example.com"], [LOOPBACK], false],
    [["app.example.com"], ["https://["], false],
    [["localhost"], [LOOPBACK, "http://localhost/cb", "http://[::1]:1/"], true],
    [["localhost"], [HTTPS], false],
    [["cursor:"], [SCHEME], true],
    [["anysphere.cursor-mcp"], [SCHEME], false],
    [["cursor:"], [HTTPS], false],
  ] as const
) {
  Deno.test(`checkRedirectHosts() ${isAllowed ? "takes" : "refuses"} ${uris} on ${hosts.join() || "anything"}`, () => {
    const check = () => checkRedirectHosts(uris, { redirectHosts: hosts });
    if (isAllowed) check();
    else assert.throws(check, { code: "invalid_redirect_uri" });
  });
}

function client(changes: Partial<Client>, method = "none"): Client {
  const metadata = parseClientMetadata({
    redirect_uris: [HTTPS, LOOPBACK, SCHEME],
    token_endpoint_auth_method: method,
  });
  return { clientId: "app", metadata, issuedAt: 0, ...changes };
}

const SECRET = "client_secret_basic";
const DOCUMENT = {
  clientId: "https://app.example.com/client.json",
  domain: "app.example.com",
};

for (
  const [what, who, redirectUri, trusted, expected] of [
    [
      "one of the operator's with a secret",
      client({ isConfigured: true }, SECRET),
      HTTPS,
      ["app"],
      true,
    ],
    ["one that no one listed", client({ isConfigured: true }, SECRET), HTTPS, [
      "other",
    ], false],
    [
      "one of the operator's that anyone can be",
      client({ isConfigured: true }),
      HTTPS,
      ["app"],
      false,
    ],
    [
      "a document by its address",
      client(DOCUMENT),
      HTTPS,
      [DOCUMENT.clientId],
      true,
    ],
    [
      "a document by its domain",
      client(DOCUMENT),
      HTTPS,
      ["app.example.com"],
      true,
    ],
    [
      "a document by its domain, at an address below it",
      client(DOCUMENT),
      "https://login.app.example.com/cb",
      ["app.example.com"],
      true,
    ],
    [
      "a document by its domain that sends answers elsewhere",
      client(DOCUMENT),
      "https://notapp.example.com/cb",
      ["app.example.com"],
      false,
    ],
    [
      "a document by its address that sends answers elsewhere",
      client(DOCUMENT),
      "https://notapp.example.com/cb",
      [DOCUMENT.clientId],
      true,
    ],
    [
      "a document of another domain",
      client(DOCUMENT),
      HTTPS,
      ["example.com"],
      false,
    ],
    ["a document at a loopback address", client(DOCUMENT), LOOPBACK, [
      "app.example.com",
    ], false],
    ["a document at an app's scheme", client(DOCUMENT), SCHEME, [
      "app.example.com",
    ], false],
    ["one that registered itself with a secret", client({}, SECRET), HTTPS, [
      "app",
    ], false],
    ["no one, where no one is listed", client(DOCUMENT), HTTPS, [], false],
  ] as const
) {
  Deno.test(`skipsConsent() ${expected ? "trusts" : "does not trust"} ${what}`, () => {
    assert.equal(skipsConsent(who, redirectUri, { trusted }), expected);
  });
}

Deno.test("isSelfRegistered() is who neither a document nor the operator vouches for", () => {
  assert(isSelfRegistered(client({})));
  assert(!isSelfRegistered(client(DOCUMENT)));
  assert(!isSelfRegistered(client({ isConfigured: true })));
});
