import assert from "node:assert/strict";
import {
  type Client,
  parseClientMetadata,
} from "../../../src/core/oauth/client.ts";
import {
  checkRedirectHosts,
  isSelfRegistered,
  skipsConsent,
} from "../../../src/core/oauth/client_policy.ts";

const HTTPS = "https://app.example.com/cb";
const LOOPBACK = "http://127.0.0.1:33418/";
const SCHEME = "cursor://anysphere.cursor-mcp/oauth/callback";

/** Schemes that an operating system, a browser or a shop of apps opens. */
const ODD_SCHEMES =
  ("ldaps nfs afp vnc x-man-page itms-services search help feed steam " +
    "microsoft-edge google-chrome firefox chrome-untrusted devtools wyciwyg " +
    "market x-web-search rdp skype myapp").split(" ");

for (
  const [hosts, uris, isAllowed] of [
    [[], ["https://any.example.com/cb", LOOPBACK, SCHEME], true],
    [[], ["com.example.app:/cb", "vscode://pub.ext/did-authenticate"], true],
    ...ODD_SCHEMES.map((scheme) =>
      [[], [HTTPS, `${scheme}://host/cb`], false] as const
    ),
    [["myapp:"], ["myapp://host/cb"], true],
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

const OWN = { isConfigured: true };
const AT_DOMAIN = "app.example.com";

for (
  const [what, who, trusted, redirectUri = HTTPS] of [
    ["one of the operator's with a secret", client(OWN, SECRET), "app"],
    ["a document by its address", client(DOCUMENT), DOCUMENT.clientId],
    [
      "a document by its address that sends answers elsewhere",
      client(DOCUMENT),
      DOCUMENT.clientId,
      "https://notapp.example.com/cb",
    ],
    ["a document by its domain", client(DOCUMENT), AT_DOMAIN],
    [
      "a document by its domain, at an address below it",
      client(DOCUMENT),
      AT_DOMAIN,
      "https://login.app.example.com/cb",
    ],
  ] as const
) {
  Deno.test(`skipsConsent() trusts ${what}`, () => {
    assert(skipsConsent(who, redirectUri, { trusted: [trusted] }));
  });
}

for (
  const [what, who, trusted, redirectUri = HTTPS] of [
    ["one that no one listed", client(OWN, SECRET), ["other"]],
    ["one of the operator's that anyone can be", client(OWN), ["app"]],
    [
      "a document by its domain that sends answers elsewhere",
      client(DOCUMENT),
      [AT_DOMAIN],
      "https://notapp.example.com/cb",
    ],
    ["a document of another domain", client(DOCUMENT), ["example.com"]],
    ["a document on loopback", client(DOCUMENT), [AT_DOMAIN], LOOPBACK],
    ["a document at an app's scheme", client(DOCUMENT), [AT_DOMAIN], SCHEME],
    ["one that registered itself", client({}, SECRET), ["app"]],
    ["no one, where no one is listed", client(DOCUMENT), []],
  ] as const
) {
  Deno.test(`skipsConsent() does not trust ${what}`, () => {
    assert(!skipsConsent(who, redirectUri, { trusted }));
  });
}

Deno.test("isSelfRegistered() is who neither a document nor the operator vouches for", () => {
  assert(isSelfRegistered(client({})));
  assert(!isSelfRegistered(client(DOCUMENT)));
  assert(!isSelfRegistered(client({ isConfigured: true })));
});
