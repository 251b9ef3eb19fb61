/** Redirect URIs, and addresses that only look like a registered one. */
import assert from "node:assert/strict";
import { attacks, each, oauthRefusal } from "../kit/target.ts";
import { BASE_URL } from "../kit/server.ts";
import { REDIRECT_URI } from "../kit/client.ts";

const UNREGISTERABLE = [
  "javascript:alert(1)",
  "javascript://app.example.com/%0aalert(1)",
  "JaVaScRiPt:alert(1)",
  "java\tscript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "vbscript:msgbox(1)",
  "file:///etc/passwd",
  "blob:https://app.example.com/x",
  "about:blank",
  "view-source:https://app.example.com/cb",
  "intent://x#Intent;end",
  "ftp://app.example.com/cb",
  "ws://app.example.com/cb",
  "mailto:a@example.com",
  "ms-msdt:/id",
  "smb://evil.example/share",
  "http://app.example.com/cb",
  "http://127.0.0.1.evil.example/cb",
  "http://localhost.evil.example/cb",
  "http://localhost@evil.example/cb",
  "http://2130706433/cb",
  "https://2130706433/cb",
  "https://0x7f000001/cb",
  "https://app.example.com@evil.example/cb",
  "https://user:pass@app.example.com/cb",
  "cursor://user:pass@app/cb",
  "https://app.example.com/cb#fragment",
  "https://app.example.com/a/../cb",
  "https://app.example.com/a/%2e%2e/cb",
  "https://app.example.com\\@evil.example/cb",
  "https:///cb",
  "https:app.example.com/cb",
  "//evil.example/cb",
  "/cb",
  "cb",
  "",
  " https://app.example.com/cb",
  "https://app.example.com/cb\r\nSet-Cookie: a=b",
  "https://app.example.com/ü",
  "https://app.example.com/cb?code=stolen",
  "https://app.example.com/cb?state=fixed",
  "https://app.example.com/cb?iss=https://evil.example",
  "https://app.example.com/cb?x=1&error=none",
  `https://app.example.com/${"a".repeat(2048)}`,
];

attacks(
  "a redirect URI that runs, reads or deceives cannot be registered",
  each(UNREGISTERABLE, async (target, uri) => {
    const answer = await target.json("/register", { redirect_uris: [uri] });
    assert.equal(oauthRefusal(answer), "400 invalid_redirect_uri");
  }),
);

attacks("a redirect URI cannot be registered in bad company", {
  "behind a good one": async (target) => {
    const redirect_uris = [REDIRECT_URI, "javascript:alert(1)"];
    const answer = await target.json("/register", { redirect_uris });
    assert.equal(oauthRefusal(answer), "400 invalid_redirect_uri");
  },
  "or be none at all": async (target) => {
    for (const redirect_uris of [[], undefined, REDIRECT_URI, {}, [1]]) {
      const answer = await target.json("/register", { redirect_uris });
      assert.equal(oauthRefusal(answer), "400 invalid_redirect_uri");
    }
  },
  "or be one of thousands": async (target) => {
    const redirect_uris = Array(21).fill(REDIRECT_URI);
    const answer = await target.json("/register", { redirect_uris });
    assert.equal(oauthRefusal(answer), "400 invalid_redirect_uri");
  },
});

/** Addresses similar to `https://app.example.com/cb`, which is registered. */
const SIMILAR = [
  "https://app.example.com/cb/",
  "https://app.example.com/cb/../evil",
  "https://app.example.com/cb?x=1",
  "https://app.example.com/cb?",
  "https://app.example.com/cb#",
  "https://app.example.com/CB",
  "https://app.example.com/c%62",
  "https://APP.example.com/cb",
  "HTTPS://app.example.com/cb",
  "http://app.example.com/cb",
  "https://app.example.com:443/cb",
  "https://app.example.com:8443/cb",
  "https://app.example.com.evil.example/cb",
  "https://evil.example/https://app.example.com/cb",
  "https://app.example.com@evil.example/cb",
  "https://evil@app.example.com/cb",
  "https://app.example.com/cb\n",
  " https://app.example.com/cb",
  "https://app.example.com/cb,https://evil.example",
  "https://app.example.com\u2044cb",
];

attacks(
  "an answer goes to no address that is not registered",
  each(SIMILAR, async (target, redirect_uri) => {
    const client = await target.register();
    const page = await target.ask(
      client.authorizationUrl({ redirect_uri }).slice(BASE_URL.length),
    );
    assert.equal(oauthRefusal(page), "400 invalid_request");
    assert.equal(page.headers.get("location"), null);
  }),
);

/**
 * Addresses similar to `http://127.0.0.1/cb`, of which only the port may
 * differ.
 */
const SIMILAR_LOOPBACK = [
  "http://localhost:7777/cb",
  "http://[::1]:7777/cb",
  "http://127.0.0.2:7777/cb",
  "https://127.0.0.1:7777/cb",
  "http://127.0.0.1:7777/other",
  "http://127.0.0.1:7777@evil.example/cb",
  "http://127.0.0.1:777777/cb",
  "http://127.0.0.1:/cb",
  "http://127.0.0.1:7777/cb?x",
];

attacks("a loopback address may differ in its port only", {
  ...each(SIMILAR_LOOPBACK, async (target, redirect_uri) => {
    const client = await target.register({
      redirect_uris: ["http://127.0.0.1/cb"],
    });
    const page = await target.ask(
      client.authorizationUrl({ redirect_uri }).slice(BASE_URL.length),
    );
    assert.equal(oauthRefusal(page), "400 invalid_request");
  }),
  "while its port may": async (target) => {
    const client = await target.register({
      redirect_uris: ["http://127.0.0.1/cb"],
    });
    const page = await target.ask(
      client.authorizationUrl({ redirect_uri: "http://127.0.0.1:7777/cb" })
        .slice(BASE_URL.length),
    );
    assert.equal(page.status, 200);
  },
});

attacks("/authorize sends no one to an address that they never approved", {
  ...each([
    "response_type=token",
    "response_mode=fragment",
    "code_challenge_method=plain",
    "code_challenge=short",
    "scope=unheard:of",
    "resource=https://evil.example/mcp",
  ], async (target, change) => {
    const client = await target.register();
    const [name, value] = change.split("=");
    const url = client.authorizationUrl({ [name]: value });
    const page = await target.ask(url.slice(BASE_URL.length));
    assert.equal(page.status, 400);
    assert.equal(page.headers.get("location"), null);
  }),
  "with a redirect URI of its own and no client": async (target) => {
    const query = "?response_type=code&redirect_uri=https://evil.example";
    const page = await target.ask(`/authorize${query}`);
    assert.equal(page.status, 400);
    assert.equal(page.headers.get("location"), null);
  },
  "with a client that no one registered": async (target) => {
    const query = `?client_id=no one&redirect_uri=${REDIRECT_URI}`;
    const page = await target.ask(`/authorize${query}`);
    assert.equal(oauthRefusal(page), "400 invalid_client");
  },
  "with a parameter that is there twice": async (target) => {
    const client = await target.register();
    for (const name of ["redirect_uri", "client_id", "state", "scope"]) {
      const url = `${
        client.authorizationUrl({ scope: "mail:read" })
      }&${name}=x`;
      const page = await target.ask(url.slice(BASE_URL.length));
      assert.equal(oauthRefusal(page), "400 invalid_request", name);
    }
  },
  "and the account page leads nowhere else": async (target) => {
    for (
      const path of ["/account?next=https://evil.example", "//evil.example"]
    ) {
      const { headers } = await target.ask(path);
      assert.equal(headers.get("location"), null);
    }
  },
});
