import assert from "node:assert/strict";
import { Hono } from "@hono/hono";
import { signInGuard } from "../../../src/features/account_page/signed_in.ts";
import {
  cookieName,
  keepCookie,
  mintCsrf,
} from "../../../src/core/http/browser.ts";
import { BASE_URL } from "../../kit/server.ts";

Deno.test("signInGuard() reads nothing for who sends no session's cookie", async () => {
  const read: string[] = [];
  const people = signInGuard({
    baseUrl: BASE_URL,
    providers: { of: () => undefined },
    admins: [],
    allowedUsers: [],
    blocked: [],
    accountSessions: {
      find(id: string) {
        read.push(id);
        return Promise.resolve(undefined);
      },
    } as never,
  });
  const app = new Hono();
  app.get("/", async (c) => c.json(await people.find(c) ?? null));
  const id = "s".repeat(43);
  const name = cookieName({ name: "account", baseUrl: BASE_URL });
  for (const cookie of ["", `${name}=short`, `${name}=${id}`]) {
    const response = await app.request("/", { headers: { cookie } });
    assert.equal(await response.json(), null);
  }
  assert.deepEqual(read, [id]);
});

Deno.test("findForm() reads no form of a sender who is not signed in", async () => {
  const baseUrl = BASE_URL;
  const { findForm } = signInGuard({
    baseUrl,
    providers: { of: () => undefined },
    admins: [],
    allowedUsers: [],
    blocked: [],
    accountSessions: { find: () => Promise.resolve(undefined) } as never,
  });
  const app = new Hono();
  app.post("/", async (c) => c.text((await findForm(c, 1024)).id));
  app.onError((error, c) => c.text(error.message, 403));
  const body = new ReadableStream({
    pull: () => assert.fail("the form was read"),
  }, { highWaterMark: 0 });
  const response = await app.request("/", { method: "POST", body });
  assert.match(await response.text(), /^You are no longer signed in/);
});

type HeadersOf = Record<string, string>;

Deno.test("findForm() takes no form of another site's page, though its token is right", async () => {
  const id = "s".repeat(43);
  const baseUrl = `${BASE_URL}/tools`;
  const session = { subject: "dev:42", identity: { subject: "42" } };
  const { findForm } = signInGuard({
    baseUrl,
    providers: { of: () => ({}) as never },
    admins: [],
    allowedUsers: [],
    blocked: [],
    accountSessions: { find: () => Promise.resolve(session) } as never,
  });
  const app = new Hono();
  app.get("/", (c) => {
    keepCookie(c, { name: "account", baseUrl }, id, 60);
    return c.body(null);
  });
  app.post("/", async (c) => c.text((await findForm(c)).form.get("a")!));
  app.onError((error, c) => c.text(error.message, 403));
  const kept = await app.request("/");
  const cookie = kept.headers.get("set-cookie")!.split(";")[0];
  const send = async (headers: HeadersOf) => {
    const body = new URLSearchParams({ a: "taken", csrf: mintCsrf(id) });
    const init = { method: "POST", headers: { cookie, ...headers }, body };
    return await (await app.request("/", init)).text();
  };
  for (
    const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: `${BASE_URL}.evil.example` },
      { "sec-fetch-site": "cross-site", origin: "null" },
      { "sec-fetch-site": "same-site" },
    ] as HeadersOf[]
  ) {
    const words = "A page of another site sent this form";
    assert.equal(await send(headers), words, JSON.stringify(headers));
  }
  for (
    const headers of [
      {},
      { origin: BASE_URL },
      { "sec-fetch-site": "same-origin", origin: "null" },
      // Behind a proxy that people know by another address.
      { "sec-fetch-site": "same-origin", origin: "https://proxy.example" },
      { "sec-fetch-site": "none" },
    ] as HeadersOf[]
  ) assert.equal(await send(headers), "taken", JSON.stringify(headers));
});
