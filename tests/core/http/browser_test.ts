import { Hono } from "@hono/hono";
import assert from "node:assert/strict";
import {
  type Cookie,
  dropCookie,
  isCsrf,
  keepCookie,
  mintCsrf,
  readCookie,
  redirect,
} from "../../../src/core/http/browser.ts";

const VALUE = "v".repeat(43);

function appOf(cookie: Cookie) {
  return new Hono()
    .get("/keep", (c) => {
      keepCookie(c, cookie, VALUE, 60);
      return c.text("");
    })
    .get("/drop", (c) => {
      dropCookie(c, cookie);
      return c.text("");
    })
    .get("/read", (c) => c.text(readCookie(c, cookie) ?? "none"));
}

async function read(app: Hono, cookie: string): Promise<string> {
  return await (await app.request("/read", { headers: { cookie } })).text();
}

Deno.test("keepCookie() sets a __Host- cookie on https", async () => {
  const app = appOf({ name: "account", baseUrl: "https://tools.example" });
  const set = (await app.request("/keep")).headers.get("set-cookie")!;
  assert.match(set, new RegExp(`^__Host-account=${VALUE}; `));
  for (const attribute of ["Max-Age=60", "Path=/", "HttpOnly", "Secure"]) {
    assert.ok(set.includes(attribute), attribute);
  }
  assert.match(set, /SameSite=Lax/);
  assert.doesNotMatch(set, /Domain/);
  assert.equal(await read(app, `__Host-account=${VALUE}`), VALUE);
  // A page on a sibling domain could have set this one.
  assert.equal(await read(app, `account=${VALUE}`), "none");
});

Deno.test("keepCookie() does without the prefix on loopback http", async () => {
  const app = appOf({ name: "account", baseUrl: "http://localhost:3000" });
  const set = (await app.request("/keep")).headers.get("set-cookie")!;
  assert.match(set, /^account-[\w-]{8}=/);
  assert.doesNotMatch(set, /Secure/);
  assert.equal(await read(app, set.split(";")[0]), VALUE);
});

Deno.test("readCookie() knows only what could have been set here", async () => {
  const app = appOf({ name: "account", baseUrl: "http://localhost" });
  for (const value of ["", "short", `${VALUE}x`, "<".repeat(43)]) {
    assert.equal(await read(app, `account=${value}`), "none", value);
  }
});

Deno.test("dropCookie() removes what keepCookie() set", async () => {
  const app = appOf({ name: "account", baseUrl: "https://tools.example" });
  const set = (await app.request("/drop")).headers.get("set-cookie")!;
  assert.match(set, /^__Host-account=; Max-Age=0/);
});

Deno.test("keepCookie() keeps servers apart that share a host", async () => {
  // Browsers send cookies to every port.
  const [root, one, ...others] = await Promise.all(
    ["", "/one", "/other", ":8443", ":9443", ":8443/one"].map(async (place) => {
      const baseUrl = `https://tools.example${place}`;
      const app = appOf({ name: "account", baseUrl });
      const set = (await app.request("/keep")).headers.get("set-cookie")!;
      return { app, sent: set.split(";")[0] };
    }),
  );
  const { app, sent } = one;
  assert.match(sent, /^__Host-account-/);
  assert.equal(await read(app, sent), VALUE);
  assert.equal(new Set(others.map(({ sent }) => sent)).size, others.length);
  for (const another of [root, ...others]) {
    assert.equal(await read(app, another.sent), "none");
    assert.equal(await read(another.app, sent), "none");
  }
});

Deno.test("mintCsrf() gives each rendering its own token, all good for the session", () => {
  const [one, two] = [mintCsrf("session"), mintCsrf("session")];
  assert.notEqual(one, two);
  assert.ok(isCsrf(one, "session"));
  assert.ok(isCsrf(two, "session"));
});

Deno.test("isCsrf() refuses what was not minted for this session", () => {
  const token = mintCsrf("session");
  const [nonce, bound] = token.split(".");
  for (const other of ["", ".", nonce, `${nonce}.`, `.${bound}`, `x${token}`]) {
    assert.equal(isCsrf(other, "session"), false, other);
  }
  assert.equal(isCsrf(token, "another session"), false);
});

Deno.test("redirect() sends a browser on, and nothing remembers it", async () => {
  const location = "https://app.example.com/cb?code=a b";
  const app = new Hono().all("/", (c) => redirect(c, location));
  for (const [method, status] of [["GET", 302], ["POST", 303]] as const) {
    const response = await app.request("/", { method });
    assert.equal(response.status, status);
    assert.deepEqual(Object.fromEntries(response.headers), {
      "cache-control": "no-store",
      location,
      "referrer-policy": "no-referrer",
    });
  }
});
