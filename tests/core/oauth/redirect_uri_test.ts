import assert from "node:assert/strict";
import {
  checkRedirectUri,
  isRegisteredRedirectUri,
  redirectKind,
} from "../../../src/core/oauth/redirect_uri.ts";

const REGISTRABLE = {
  "https://claude.ai/api/mcp/auth_callback": "https",
  "https://chatgpt.com/connector_platform_oauth_redirect": "https",
  "https://vscode.dev/redirect": "https",
  "https://app.example.com:8443/cb?tenant=1": "https",
  "https://192.168.1.5/cb": "https",
  "https://[2001:db8::1]/cb": "https",
  "https://app1/cb": "https",
  "https://1app/cb": "https",
  "https://app.example.com/http://localhost/cb": "https",
  "https://localhost:8443/cb": "loopback",
  "http://localhost:6274/oauth/callback": "loopback",
  "http://localhost": "loopback",
  "http://127.0.0.1/": "loopback",
  "http://127.0.0.1:33418/": "loopback",
  "http://[::1]:1234/cb": "loopback",
  "cursor://anysphere.cursor-mcp/oauth/callback": "private-use",
  "com.example.app:/oauth2redirect/provider": "private-use",
  "com.example.app:/path//user@host": "private-use",
};

for (const [uri, kind] of Object.entries(REGISTRABLE)) {
  Deno.test(`checkRedirectUri() takes ${uri} as ${kind}`, () => {
    assert.equal(checkRedirectUri(uri), kind);
    assert.equal(redirectKind(uri), kind);
  });
}

const REFUSED = [
  "https://[:::]/cb",
  "https://[::1.2.3.4.5]/cb",
  "https://a:99999/cb",
  "https://xn--a/cb",
  "http://localhost:99999/cb",
  "cursor://[/",
  " https://app.example.com/cb",
  "https://app.example.com:123456/cb",
  "https://1.2.3.4.5/cb",
  "",
  "cb",
  "/callback",
  "//evil.example/cb",
  "https:app.example.com",
  "https://",
  "https:///cb",
  "HTTPS://app.example.com/cb",
  "https://app.example.com/cb#fragment",
  "https://app.example.com/cb#",
  "https://user@app.example.com/cb",
  "https://user:pass@app.example.com/cb",
  "https://app.example.com@evil.example/cb",
  "https://app.example.com\\@evil.example/cb",
  "https://app.example.com /cb",
  "https://app.example.com/c\tb",
  "https://app.example.com/c\nb",
  "https://app.example.com/cb\r\nSet-Cookie: a=b",
  "https://app.example.com/a/../cb",
  "https://app.example.com/a/%2e%2E/cb",
  "https://app.example.com/a/.",
  "https://app.example.com/<script>",
  "https://app.example.com/%zz",
  "https://app.exämple.com/cb",
  "https://%61pp.example.com/cb",
  "https://2130706433/cb",
  "http://2130706433/cb",
  "https://0x7f000001/cb",
  "https://127.1/cb",
  "https://0177.0.0.1/cb",
  "http://app.example.com/cb",
  "http://127.0.0.2/cb",
  "http://localhost.evil.example/cb",
  "http://localhost@evil.example/cb",
  "http://127.0.0.1.evil.example/cb",
  "javascript:alert(1)",
  "javascript://app.example.com/%0aalert(1)",
  "java\tscript:alert(1)",
  "JAVASCRIPT:alert(1)",
  " javascript:alert(1)",
  "data:text/html,hi",
  "vbscript:x",
  "file:///etc/passwd",
  "blob:https://app.example.com/1",
  "about:blank",
  "mailto:a@example.com",
  "ms-msdt:/id",
  "search-ms://x",
  "view-source:https://app.example.com",
  "intent://x/#Intent",
  "ftp://app.example.com/cb",
  "com.example.app:cb",
  "cursor://user@host/cb",
  "cursor://user:pass@host/cb",
  `https://app.example.com/${"a".repeat(2048)}`,
];

for (const uri of REFUSED) {
  Deno.test(`checkRedirectUri() refuses ${JSON.stringify(uri.slice(0, 60))}`, () => {
    assert.throws(() => checkRedirectUri(uri), {
      code: "invalid_redirect_uri",
      status: 400,
    });
  });
}

/** URIs in which only the scheme is wrong. */
const REFUSED_SCHEMES = [
  "about",
  "android-app",
  "blob",
  "chrome",
  "chrome-extension",
  "content",
  "data",
  "edge",
  "facetime",
  "file",
  "filesystem",
  "ftp",
  "intent",
  "jar",
  "javascript",
  "ldap",
  "livescript",
  "mailto",
  "moz-extension",
  "ms-msdt",
  "ms-word",
  "resource",
  "search-ms",
  "sftp",
  "shell",
  "sms",
  "smb",
  "ssh",
  "tel",
  "vbscript",
  "view-source",
  "ws",
  "wss",
  "x-apple.systempreferences",
];

for (const scheme of REFUSED_SCHEMES) {
  Deno.test(`checkRedirectUri() refuses the scheme ${scheme}`, () => {
    for (const uri of [`${scheme}:/cb`, `${scheme}://app.example.com/cb`]) {
      assert.throws(() => checkRedirectUri(uri), {
        code: "invalid_redirect_uri",
        description: `A redirect URI must not use the scheme ${scheme}`,
      });
    }
  });
}

for (
  const name of [
    "code",
    "state",
    "iss",
    "error",
    "error_description",
    "error_uri",
  ]
) {
  Deno.test(`checkRedirectUri() refuses ${name} in the query, which the answer adds`, () => {
    const encoded = name.replace("e", "%65");
    for (const query of [`${name}=x`, `a=1&${name}`, `a=?&${encoded}=x`]) {
      assert.throws(
        () => checkRedirectUri(`https://app.example.com/cb?${query}`),
        { code: "invalid_redirect_uri" },
      );
      assert.throws(() => checkRedirectUri(`com.example.app:/cb?${query}`), {
        code: "invalid_redirect_uri",
      });
    }
    checkRedirectUri(`https://app.example.com/cb?my_${name}=x`);
  });
}

Deno.test("isRegisteredRedirectUri() compares strings, not URLs", () => {
  const registered = ["https://app.example.com/cb"];
  assert(isRegisteredRedirectUri("https://app.example.com/cb", registered));
  for (
    const requested of [
      "https://app.example.com/cb/",
      "https://app.example.com/cb?",
      "https://app.example.com/cb?x=1",
      "https://APP.example.com/cb",
      "https://app.example.com:443/cb",
      "https://app.example.com/x/../cb",
      "https://app.example.com/%63b",
      "http://app.example.com/cb",
      "https://app.example.com/cb#",
      "https://app.example.com/cb/../evil",
      "https://app.example.com/CB",
      "HTTPS://app.example.com/cb",
      "https://app.example.com.evil.example/cb",
      "https://evil.example/https://app.example.com/cb",
      "https://app.example.com@evil.example/cb",
      "https://evil@app.example.com/cb",
      "https://app.example.com/cb\n",
      " https://app.example.com/cb",
      "https://app.example.com/cb,https://evil.example",
      "https://app.example.com\u2044cb",
    ]
  ) assert(!isRegisteredRedirectUri(requested, registered), requested);
});

Deno.test("isRegisteredRedirectUri() lets only the port of a loopback address vary", () => {
  const registered = [
    "http://localhost/callback",
    "http://127.0.0.1:33418/",
    "http://[::1]:1/cb?a=1",
  ];
  for (
    const requested of [
      "http://localhost:49152/callback",
      "http://127.0.0.1:5000/",
      "http://127.0.0.1/",
      "http://[::1]:9/cb?a=1",
    ]
  ) assert(isRegisteredRedirectUri(requested, registered), requested);
  for (
    const requested of [
      "http://localhost:49152/callback/x",
      "http://localhost:49152@evil.example/callback",
      "http://localhost:x/callback",
      "https://localhost:49152/callback",
      "http://127.0.0.1:49152/callback",
      "http://[::1]:9/cb?a=2",
      "http://localhost:123456/callback",
      "http://localhost:/callback",
      "http://localhost:7777/callback?x",
      "http://127.0.0.2:5000/",
      "http://[::1]:5000/",
    ]
  ) assert(!isRegisteredRedirectUri(requested, registered), requested);
});

Deno.test("isRegisteredRedirectUri() fixes the port of any other address", () => {
  assert(
    !isRegisteredRedirectUri("https://localhost:2/cb", [
      "https://localhost:1/cb",
    ]),
  );
  assert(
    !isRegisteredRedirectUri("https://app.example.com:2/cb", [
      "https://app.example.com/cb",
    ]),
  );
});

Deno.test("isRegisteredRedirectUri() takes none that no URL parser reads, whatever is registered", () => {
  assert(
    !isRegisteredRedirectUri("http://localhost:99999/cb", [
      "http://localhost/cb",
    ]),
  );
  assert(!isRegisteredRedirectUri("https://[:::]/cb", ["https://[:::]/cb"]));
});

Deno.test("checkRedirectUri() repeats a hundred characters of what it refuses", () => {
  assert.throws(
    () => checkRedirectUri(`ms-${"a".repeat(1900)}://x`),
    ({ message }: Error) => message.includes("ms-aaa") && message.length < 200,
  );
});
