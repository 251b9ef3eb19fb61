import { type Context, Hono } from "@hono/hono";
import assert from "node:assert/strict";
import { presentedCredentials } from "../../../../src/core/auth/server/presented_credentials.ts";
import type { AuthServices } from "../../../../src/core/auth/services.ts";
import type { SignedInPages } from "../../../../src/core/auth/server/signed_in_pages.ts";
import { fingerprint } from "../../../../src/core/crypto/crypto.ts";
import { cookieName } from "../../../../src/core/http/browser.ts";
import {
  mintCredential,
  mintRefreshToken,
  newGrantId,
  newRefreshKey,
} from "../../../../src/core/oauth/credential.ts";
import { BASE_URL } from "../../../kit/server.ts";

const GRANT_ID = newGrantId();
const REFRESH_KEY = newRefreshKey();
const CURRENT = mintRefreshToken(GRANT_ID, REFRESH_KEY);
const USED = mintRefreshToken(GRANT_ID, REFRESH_KEY);
const CODE = mintCredential("code", GRANT_ID);
const ACCESS = mintCredential("access_token", GRANT_ID);
const SESSION = "s".repeat(43);
const BROWSER = "b".repeat(43);
const HANDLE = "h".repeat(43);
const CLIENT = { client_id: "app", redirect_uri: "https://app.example.com/cb" };

const GRANT = {
  id: GRANT_ID,
  status: "active",
  refreshKey: REFRESH_KEY,
  refreshTokens: { current: fingerprint(CURRENT) },
};

/** Pages at which a person is signed in with {@linkcode SESSION}. */
const pages = {
  find: (c: Context) =>
    Promise.resolve(
      c.req.header("cookie")?.includes(SESSION) ? {} : undefined,
    ),
} as unknown as SignedInPages;

/** The stores of one person, with what is valid in them. */
const services = (changes: { grant?: unknown; isBlocked?: boolean } = {}) => {
  const { grant = GRANT, isBlocked = false } = changes;
  return {
    baseUrl: BASE_URL,
    clock: () => 0,
    requests: {
      find: (handle: string, browser: string) =>
        Promise.resolve(
          handle === HANDLE && browser === BROWSER ? {} : undefined,
        ),
    },
    consents: {
      find: (browser: string, asked: Record<string, string>) =>
        Promise.resolve(
          browser === BROWSER && asked.clientId === CLIENT.client_id &&
            asked.redirectUri === CLIENT.redirect_uri &&
            asked.resource === `${BASE_URL}/mcp`
            ? {}
            : undefined,
        ),
    },
    codes: {
      read: (code: string) =>
        Promise.resolve({ code: { value: code === CODE ? {} : undefined } }),
    },
    accessTokens: {
      find: (token: string) =>
        Promise.resolve(token === ACCESS ? {} : undefined),
    },
    refreshTokens: {
      read: () => Promise.resolve({ grant: { value: grant }, isBlocked }),
    },
  } as unknown as AuthServices;
};

type Kind = keyof ReturnType<typeof presentedCredentials>;

/** Lists the valid credentials of a request, and the number of all. */
async function validIn(
  kind: Kind,
  path: string,
  {
    cookies = {},
    form,
    type = "application/x-www-form-urlencoded",
    ...changes
  }:
    & {
      cookies?: Record<string, string>;
      form?: Record<string, string> | string[][];
      type?: string;
    }
    & Parameters<typeof services>[0] = {},
): Promise<[valid: string[], count: number]> {
  const list = presentedCredentials(services(changes), () => pages)[kind];
  let found: [string[], number] = [[], 0];
  const app = new Hono();
  app.all("*", async (c) => {
    const shown = await list(c);
    const valid = [];
    for (const { value, isValid } of shown) {
      if (await isValid()) valid.push(value);
    }
    found = [valid, shown.length];
    // The endpoint reads the same form.
    assert.equal(await c.req.text(), form ? body.toString() : "");
    return c.body(null);
  });
  const body = new URLSearchParams(form);
  const cookie = Object.entries(cookies).map(([name, value]) =>
    `${cookieName({ name, baseUrl: BASE_URL })}=${value}`
  ).join("; ");
  await app.request(path, {
    method: form ? "POST" : "GET",
    headers: { cookie, ...form && { "content-type": type } },
    ...form && { body: body.toString() },
  });
  return found;
}

Deno.test("presentedCredentials() finds a session", async () => {
  const session = (value: string) =>
    validIn("session", "/account", { cookies: { account: value } });
  assert.deepEqual(await session(SESSION), [[SESSION], 1]);
  assert.deepEqual(await session("x".repeat(43)), [[], 1]);
  assert.deepEqual(await session("short"), [[], 0]);
});

Deno.test("presentedCredentials() finds at GET /authorize a session, and a browser that has approved the client", async () => {
  const ask = (query: Record<string, string>, cookies = {}) =>
    validIn("authorizing", `/authorize?${new URLSearchParams(query)}`, {
      cookies,
    });
  assert.deepEqual(await ask(CLIENT), [[], 0]);
  const browser = { browser: BROWSER };
  assert.deepEqual(await ask(CLIENT, browser), [[BROWSER], 1]);
  const both = { ...browser, account: SESSION };
  assert.deepEqual(await ask(CLIENT, both), [[SESSION, BROWSER], 2]);
  for (const changes of [{ client_id: "other" }, { redirect_uri: "" }]) {
    assert.deepEqual(await ask({ ...CLIENT, ...changes }, browser), [[], 1]);
  }
  assert.deepEqual(await ask({ client_id: "app" }, browser), [[], 1]);
  const { redirect_uri } = CLIENT;
  assert.deepEqual(await ask({ redirect_uri }, browser), [[], 1]);
});

Deno.test("presentedCredentials() finds a request that began in this browser", async () => {
  const cookies = { browser: BROWSER };
  const form = [["request", HANDLE], ["scope", "a"], ["scope", "b"]];
  const own = [[HANDLE], 1];
  assert.deepEqual(
    await validIn("authorizing", "/authorize", { form, cookies }),
    own,
  );
  const path = `/oauth/provider-callback?state=${HANDLE}`;
  assert.deepEqual(await validIn("returning", path, { cookies }), own);
  const none = [[], 1];
  for (
    const cookies of [{}, { browser: "x".repeat(43) }] as Record<
      string,
      string
    >[]
  ) {
    assert.deepEqual(await validIn("returning", path, { cookies }), none);
    assert.deepEqual(
      await validIn("authorizing", "/authorize", { form, cookies }),
      none,
    );
  }
  // A session does not stand for the request of a form.
  assert.deepEqual(
    await validIn("authorizing", "/authorize", {
      form: {},
      cookies: { ...cookies, account: SESSION },
    }),
    [[], 0],
  );
});

Deno.test("presentedCredentials() finds a live code, refresh token or access token", async () => {
  const token = (
    form: Record<string, string> | string[][],
    changes: Parameters<typeof validIn>[2] = {},
  ) => validIn("token", "/token", { form, ...changes });
  assert.deepEqual(await token({ code: CODE }), [[CODE], 1]);
  assert.deepEqual(await token({ refresh_token: CURRENT }), [[CURRENT], 1]);
  assert.deepEqual(await token({ token: ACCESS }), [[ACCESS], 1]);
  assert.deepEqual(await token({ other: ACCESS }), [[], 0]);
  const made: Record<string, string>[] = [
    { code: mintCredential("code", GRANT_ID) },
    { refresh_token: USED },
    { refresh_token: mintCredential("refresh_token", GRANT_ID) },
    { token: mintCredential("access_token", GRANT_ID) },
    { token: "junk" },
  ];
  for (const form of made) assert.deepEqual(await token(form), [[], 1]);
  const refresh = { refresh_token: CURRENT };
  for (
    const changes of [
      { isBlocked: true },
      { grant: { ...GRANT, status: "closed" } },
      { grant: null },
    ]
  ) assert.deepEqual(await token(refresh, changes), [[], 1]);
  const resources = [["resource", "a"], ["resource", "b"], ["code", CODE]];
  assert.deepEqual(await token(resources), [[CODE], 1]);
  // A form that its endpoint refuses shows nothing.
  assert.deepEqual(await token([["code", CODE], ["code", CODE]]), [[], 0]);
  assert.deepEqual(await token({ code: CODE }, { type: "text/plain" }), [
    [],
    0,
  ]);
});

Deno.test("no more than a hundred forms that do not end are waited for", async () => {
  const { token } = presentedCredentials(services(), () => pages);
  const app = new Hono();
  app.post("/", async (c) => c.json((await token(c)).length));
  const ends: (() => void)[] = [];
  const endless = () =>
    new ReadableStream<Uint8Array>({
      start: (controller) => void ends.push(() => controller.close()),
    });
  const post = (body: BodyInit) =>
    app.request("/", {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body,
    });
  const waiting = Array.from({ length: 100 }, () => post(endless()));
  const form = `grant_type=refresh_token&refresh_token=${CURRENT}`;
  assert.equal(await (await post(form)).json(), 0);
  for (const end of ends) end();
  await Promise.all(waiting);
  assert.equal(await (await post(form)).json(), 1);
});
