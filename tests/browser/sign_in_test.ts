import assert from "node:assert/strict";
import type { BrowserContextOptions, Page } from "playwright-core";
import {
  approve,
  Client,
  LoopbackReceiver,
  policyComplaints,
  signInAs,
  Site,
} from "./site.ts";

/** Opens a new client's consent page in a browser of its own. */
async function openConsent(
  site: Site,
  redirectUri: string,
  options?: BrowserContextOptions,
) {
  const client = await Client.register(site, redirectUri);
  const context = await site.browser.newContext(options);
  const complaints = policyComplaints(context);
  const page = await context.newPage();
  await page.goto(client.authorizationUrl);
  return { client, context, complaints, page };
}

Deno.test("a person signs in in a window, and the client calls a tool as them", async () => {
  await using site = await Site.start();
  await using receiver = new LoopbackReceiver();
  const { client, page, complaints } = await openConsent(
    site,
    receiver.redirectUri,
  );
  await page.getByRole("heading", { name: "calling itself “Test client”" })
    .waitFor();
  await page.getByText("Unverified").waitFor();
  await page.getByText("Tells who is calling.").waitFor();
  await approve(page);
  await signInAs(page, "Someone");
  await page.getByText("Back at the client").waitFor();

  const answer = await receiver.answer;
  assert.equal(answer.get("state"), client.state);
  assert.equal(answer.get("iss"), site.origin);
  const token = await client.redeem(answer.get("code")!);
  const { status, text } = await client.whoAmI(token);
  assert.equal(status, 200);
  assert.match(text, /Someone/);
  assert.deepEqual(complaints, []);
});

Deno.test("a person signs in without JavaScript", async () => {
  await using site = await Site.start();
  await using receiver = new LoopbackReceiver();
  const { client, page } = await openConsent(site, receiver.redirectUri, {
    javaScriptEnabled: false,
  });
  await approve(page);
  await signInAs(page, "Someone");
  await client.redeem((await receiver.answer).get("code")!);
});

Deno.test("a person denies, and the client is told", async () => {
  await using site = await Site.start();
  await using receiver = new LoopbackReceiver();
  const { client, page } = await openConsent(site, receiver.redirectUri);
  await page.getByRole("button", { name: "Deny" }).click();
  const answer = await receiver.answer;
  assert.equal(answer.get("error"), "access_denied");
  assert.equal(answer.get("state"), client.state);
  assert.equal(answer.has("code"), false);
});

Deno.test("a person cancels at the provider, and the client is told", async () => {
  await using site = await Site.start();
  await using receiver = new LoopbackReceiver();
  const { page } = await openConsent(site, receiver.redirectUri);
  await approve(page);
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal((await receiver.answer).get("error"), "access_denied");
});

Deno.test("two tabs sign in to two clients at once", async () => {
  await using site = await Site.start();
  await using one = new LoopbackReceiver();
  await using two = new LoopbackReceiver();
  const clients = [
    await Client.register(site, one.redirectUri),
    await Client.register(site, two.redirectUri),
  ];
  const context = await site.browser.newContext();
  const [first, second] = [await context.newPage(), await context.newPage()];
  await first.goto(clients[0].authorizationUrl);
  await second.goto(clients[1].authorizationUrl);
  await approve(first);
  await approve(second);
  await signInAs(second, "Second");
  await signInAs(first, "First");
  const names = ["First", "Second"];
  for (const [index, receiver] of [one, two].entries()) {
    const answer = await receiver.answer;
    assert.equal(answer.get("state"), clients[index].state);
    const token = await clients[index].redeem(answer.get("code")!);
    const { text } = await clients[index].whoAmI(token);
    assert.match(text, new RegExp(names[index]));
  }
});

Deno.test("the back button leads back to a consent page that still works", async () => {
  await using site = await Site.start();
  await using receiver = new LoopbackReceiver();
  const { client, page } = await openConsent(site, receiver.redirectUri);
  await approve(page);
  await page.getByRole("heading", { name: "Sign in as anyone" }).waitFor();
  await page.goBack();
  await approve(page);
  await signInAs(page, "Someone");
  await client.redeem((await receiver.answer).get("code")!);
});

Deno.test("a consent page answered a second time says so in words", async () => {
  await using site = await Site.start();
  await using receiver = new LoopbackReceiver();
  const { client, context, page } = await openConsent(
    site,
    receiver.redirectUri,
  );
  // The same rendering in a second tab, as after a restore.
  const html = await page.content();
  await page.getByRole("button", { name: "Deny" }).click();
  await receiver.answer;
  const again = await context.newPage();
  await again.route(
    client.authorizationUrl,
    (route) => route.fulfill({ body: html, contentType: "text/html" }),
  );
  await again.goto(client.authorizationUrl);
  await approve(again);
  await again.getByText("has been answered already").waitFor();
  await again.getByText("What to do").waitFor();
});

/**
 * Opens a page that opens the sign-in in a popup and keeps the messages it
 * receives.
 */
async function openPopup(page: Page, url: string): Promise<Page> {
  const popup = page.waitForEvent("popup");
  await page.evaluate((url) => {
    const opener = globalThis as unknown as {
      told: unknown[];
      open(url: string, name: string, features: string): void;
    };
    opener.told = [];
    addEventListener("message", (event) => {
      const { origin, data } = event as MessageEvent;
      opener.told.push({ origin, data });
    });
    opener.open(url, "sign-in", "width=480,height=720");
  }, url);
  return await popup;
}

interface Told {
  origin: string;
  data: Record<string, string>;
}

function told(page: Page): Promise<Told[]> {
  return page.evaluate("told");
}

Deno.test("a popup tells its opener the code and offers to close", async () => {
  await using site = await Site.start();
  const client = await Client.register(site, `${site.origin}/oauth/callback`);
  const page = await site.browser.newPage();
  await page.goto(site.origin);
  const popup = await openPopup(page, client.authorizationUrl);
  await approve(popup);
  await signInAs(popup, "Someone");
  await popup.getByRole("heading", { name: "Almost done" }).waitFor();
  await page.waitForFunction("told.length > 0");
  const [{ origin, data }] = await told(page);
  assert.equal(origin, site.origin);
  assert.deepEqual(Object.keys(data), ["type", "code", "state"]);
  assert.equal(data.type, "oauth_callback");
  assert.equal(data.state, client.state);
  await client.redeem(data.code);

  const closed = popup.waitForEvent("close");
  const button = popup.getByRole("button", { name: "Close this window" });
  // The window may be gone before the click is reported.
  await Promise.all([closed, button.click().catch(() => {})]);
});

Deno.test("a popup tells its opener that the person denied", async () => {
  await using site = await Site.start();
  const client = await Client.register(site, `${site.origin}/oauth/callback`);
  const page = await site.browser.newPage();
  await page.goto(site.origin);
  const popup = await openPopup(page, client.authorizationUrl);
  await popup.getByRole("button", { name: "Deny" }).click();
  await popup.getByText("Access was denied").waitFor();
  await page.waitForFunction("told.length > 0");
  const [{ data }] = await told(page);
  assert.equal(data.error, "access_denied");
  assert.equal(data.state, client.state);
});

Deno.test("a popup tells an opener on a listed origin, and no other", async () => {
  await using opener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("Opener", { headers: { "content-type": "text/html" } }),
  );
  const listed = `http://127.0.0.1:${opener.addr.port}`;
  // The same server by another name has another origin.
  const other = `http://localhost:${opener.addr.port}`;
  await using site = await Site.start({ ALLOWED_ORIGINS: listed });
  const callback = `${site.origin}/oauth/callback?code=c&state=s`;
  for (const [origin, count] of [[listed, 1], [other, 0]] as const) {
    const page = await site.browser.newPage();
    await page.goto(origin);
    const popup = await openPopup(page, callback);
    // The button is shown after the messages were posted.
    await popup.getByRole("button", { name: "Close this window" }).waitFor();
    // This message takes the same way, so it arrives after them.
    await popup.evaluate("opener.postMessage('last', '*')");
    await page.waitForFunction("told.some(({ data }) => data === 'last')");
    assert.equal((await told(page)).length - 1, count, origin);
    await page.close();
  }
});

Deno.test("a private-use redirect is reached through the whole chain", async () => {
  await using site = await Site.start();
  const redirectUri = "cursor://anysphere.cursor-mcp/oauth/callback";
  const { client, page, complaints } = await openConsent(site, redirectUri);
  await page.getByText("that opens cursor: links").waitFor();
  const answered = page.waitForResponse((response) =>
    response.url().startsWith(`${site.origin}/oauth/provider-callback`)
  );
  await approve(page);
  await signInAs(page, "Someone");
  const location = (await answered).headers().location;
  assert.ok(location.startsWith(`${redirectUri}?`), location);
  await client.redeem(new URL(location).searchParams.get("code")!);
  assert.deepEqual(complaints, []);
});

Deno.test("a policy with form-action would break that chain", async () => {
  await using site = await Site.start();
  const client = await Client.register(
    site,
    "cursor://anysphere.cursor-mcp/oauth/callback",
  );
  const context = await site.browser.newContext();
  const complaints = policyComplaints(context);
  const page = await context.newPage();
  await page.route(client.authorizationUrl, async (route) => {
    const response = await route.fetch();
    const headers = response.headers();
    headers["content-security-policy"] += "; form-action 'self'";
    await route.fulfill({ response, headers });
  });
  await page.goto(client.authorizationUrl);
  const complained = context.waitForEvent("console");
  await page.getByRole("button", { name: "Deny" }).click({ noWaitAfter: true });
  await complained;
  assert.match(complaints.join(), /form-action/);
});
