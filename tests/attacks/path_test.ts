/** Misleading paths, methods and headers. */
import assert from "node:assert/strict";
import { attacks, each } from "../kit/target.ts";

const PATHS = [
  "/../etc/passwd",
  "/..%2f..%2fetc/passwd",
  "/%2e%2e/%2e%2e/etc/passwd",
  "/.env",
  "/.git/config",
  "/data/kv.sqlite3",
  "/main.ts",
  "/src/app.ts",
  "/static/../main.ts",
  "/account/../.env",
  "/%00",
  "/health%00.html",
  "/health;x",
  "//health//",
  "/HEALTH",
  "/dev/sign-in",
  "/debug",
  "/metrics",
  "/admin",
];

attacks(
  "a path leads to no file and no page that is not a route",
  each(PATHS, async (target, path) => {
    const { status, text } = await target.raw([
      `GET ${path} HTTP/1.1`,
      "Host: 127.0.0.1",
      "Connection: close",
    ]);
    assert([400, 404].includes(status), String(status));
    assert.doesNotMatch(text, /root:|import |BASE_URL/);
  }),
);

/** Routes, each with a method that it does not have. */
const WRONG_METHODS = [
  "GET /token",
  "PUT /token",
  "DELETE /token",
  "GET /register",
  "PUT /register",
  "GET /revoke",
  "PUT /authorize",
  "POST /oauth/provider-callback",
  "POST /.well-known/oauth-authorization-server",
  "PUT /account",
  "PUT /mcp",
  "PATCH /mcp",
  "TRACE /mcp",
  "TRACE /mcp/",
  "track /mcp/",
  "CONNECT 127.0.0.1:80",
];

attacks(
  "a route has its own methods and says which",
  each(WRONG_METHODS, async (target, line) => {
    const { status, headers } = await target.raw([
      `${line} HTTP/1.1`,
      "Host: 127.0.0.1",
      "Content-Length: 0",
      "Connection: close",
    ]);
    assert.equal(status, 405);
    assert(headers.has("allow"));
  }),
);

attacks("a method is what it is", {
  "whatever a header would have it be": async (target) => {
    for (const name of ["x-http-method-override", "x-method-override"]) {
      const headers = { [name]: "POST" };
      const { status } = await target.ask("/token", { headers });
      assert.equal(status, 405, name);
    }
  },
  "whatever the query would have it be": async (target) => {
    assert.equal((await target.ask("/token?_method=POST")).status, 405);
  },
});

const FORM_TYPES = [
  "text/plain",
  "multipart/form-data; boundary=x",
  "application/xml",
  "application/x-www-form-urlencoded-x",
  "",
];

for (const path of ["/token", "/revoke", "/authorize"]) {
  attacks(
    `${path} reads forms only`,
    each(FORM_TYPES, async (target, type) => {
      const { status } = await target.ask(path, {
        method: "POST",
        headers: { "content-type": type },
        // It would be readable, if the type were ignored.
        body: new TextEncoder().encode('{"token":"x","grants":"x"}'),
      });
      assert.equal(status, 400);
    }),
  );
  attacks(`${path} reads little`, {
    "not a form of a megabyte": async (target) => {
      const answer = await target.form(path, { token: "x".repeat(1e6) });
      assert.equal(answer.status, 413);
    },
    "not a parameter twice": async (target) => {
      const answer = await target.form(path, [["token", "a"], ["token", "b"]]);
      assert.equal(answer.status, 400);
    },
    "not JSON that is not flat": async (target) => {
      for (const body of ['{"token":{"x":1}}', '["token"]', "null", "1", "{"]) {
        assert.equal((await target.json(path, body)).status, 400, body);
      }
    },
  });
}

attacks(
  "no form of the account page is read for who is not signed in",
  each(["/account/end", "/account/narrow"], async (target, path) => {
    const answer = await target.form(path, { token: "x".repeat(1e6) });
    assert.equal(answer.status, 403);
  }),
);

attacks("nothing that was sent becomes a header", {
  "by a line break in a redirect": async (target) => {
    const client = await target.register();
    const browser = target.browser();
    const state = "x\r\nSet-Cookie: stolen=1\r\n\r\n<script>";
    const page = await browser.open(client.authorizationUrl({ state }));
    const { url } = await browser.press(page, "decision", "deny");
    assert.equal(new URL(url).searchParams.get("state"), state);
    assert(![...browser.cookies.keys()].some((key) => key.includes("stolen")));
  },
  "by a line folded over two": async (target) => {
    const { status } = await target.raw([
      "POST /mcp HTTP/1.1",
      "Host: 127.0.0.1",
      "Authorization: Bearer",
      " x",
      "Content-Length: 0",
      "Connection: close",
    ]);
    assert([400, 401].includes(status));
  },
  "by 100 KB of header": async (target) => {
    const { status } = await target.raw([
      "GET /health HTTP/1.1",
      "Host: 127.0.0.1",
      `X: ${"x".repeat(1_000_000)}`,
      "Connection: close",
    ]);
    assert([0, 400, 431].includes(status), String(status));
    assert.equal((await target.ask("/health")).status, 200);
  },
});

const NO_HOSTS = [
  "",
  "a b",
  "[",
  "a:99999",
  "a:b",
  "tools.example.com/account?",
  "tools.example.com/ready#",
  "tools.example.com?",
  "me@tools.example.com",
  "tools.example.com\\ready",
];

attacks(
  "a Host that is no name changes no path, and is refused",
  each(NO_HOSTS, async (target, host) => {
    for (const line of ["GET /health?code=SECRET", "POST /mcp"]) {
      const { status, headers, text } = await target.raw([
        `${line} HTTP/1.1`,
        `Host: ${host}`,
        "Content-Length: 0",
        "Connection: close",
      ]);
      assert.equal(status, 400, line);
      assert.equal(headers.get("access-control-allow-origin"), "*");
      assert.match(text, /Host must be a name/);
      assert.doesNotMatch(text, /SECRET/);
    }
  }),
);

attacks("a code is kept by no cache", {
  "of the page that it arrives at": async (target) => {
    const { headers } = await target.ask("/oauth/callback?code=x&state=y");
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("referrer-policy"), "no-referrer");
  },
});
