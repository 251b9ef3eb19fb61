import assert from "node:assert/strict";
import { AccountVisitor, formOf } from "../../kit/account_visitor.ts";
import { createProvider } from "../../../src/core/provider/create_provider.ts";
import { checkReauthenticated } from "../../../src/features/account_page/signed_in.ts";
import { Browser } from "../../kit/browser.ts";
import { signInAt, startOpenIdProvider } from "../../kit/open_id_provider.ts";
import { BASE_URL, startServer } from "../../kit/server.ts";

Deno.test("a fresh sign-in does not count if someone took the request for it out of the provider's address", async () => {
  await using idp = await startOpenIdProvider(BASE_URL);
  await using server = await startServer({
    env: { BASE_URL, ...idp.environment },
  });
  let taken: readonly string[] = [];
  const browser = new Browser((url) => {
    if (url.origin === BASE_URL) return async (r) => await server.app.fetch(r);
    if (url.origin !== idp.issuer) return undefined;
    return async ({ url, method, headers, body }) => {
      const address = new URL(url);
      if (address.pathname === "/auth") {
        for (const name of taken) address.searchParams.delete(name);
      }
      return await fetch(address, {
        method,
        headers,
        body: body ? await new Response(body).text() : undefined,
        redirect: "manual",
      });
    };
  });
  let page = await browser.open(`${BASE_URL}/account`);
  page = await browser.press(formOf(page, "/account/sign-in"), "", "");
  page = await signInAt(idp.issuer, browser, page);
  const visitor = new AccountVisitor(browser, page);
  const mayErase = async () => {
    await visitor.look("/data");
    return visitor.page.text.includes('action="/account/erase"');
  };
  assert.equal(await mayErase(), false);

  taken = ["prompt", "max_age"];
  const stripped = await visitor.press("/account/sign-in");
  assert.equal(stripped.status, 403, stripped.url);
  assert.match(stripped.text, /did not say when it asked you/);
  assert.match(stripped.text, /Sign out there/);
  assert.equal(await mayErase(), false);

  taken = [];
  const asked = await visitor.press("/account/sign-in");
  assert.match(asked.text, /name="login"/);
  await signInAt(idp.issuer, browser, asked);
  assert.equal(await mayErase(), true);
});

Deno.test("checkReauthenticated() takes no silence from a provider that must say when it asked", () => {
  const application = {
    clientId: "c",
    clientSecret: "s",
    extraAuthParams: {},
  };
  const takesSilence = {
    google: true,
    github: true,
    microsoft: false,
    gitlab: false,
  };
  for (const [provider, expected] of Object.entries(takesSilence)) {
    const made = createProvider({ ...application, provider } as never);
    const check = (at?: number) => () => checkReauthenticated(made, at, 10_000);
    if (expected) assert.doesNotThrow(check(), provider);
    else assert.throws(check(), /did not say when it asked you/, provider);
    assert.throws(check(9_000), /did not ask you again/, provider);
    assert.doesNotThrow(check(9_990), provider);
  }
});
