import assert from "node:assert/strict";
import { until } from "../kit.ts";
import { approve, Client, LoopbackReceiver, signInAs, Site } from "./site.ts";

Deno.test("a person ends a connection that a client is using", async () => {
  await using site = await Site.start({ OAUTH_ADMINS: "somebody" });
  await using receiver = new LoopbackReceiver();
  const client = await Client.register(site, receiver.redirectUri);
  const context = await site.browser.newContext();
  const page = await context.newPage();
  await page.goto(client.authorizationUrl);
  await approve(page);
  await signInAs(page, "Somebody");
  const token = await client.redeem((await receiver.answer).get("code")!);
  assert.equal((await client.whoAmI(token)).status, 200);

  await page.goto(site.origin);
  await page.getByRole("link", { name: "See and end your connections" })
    .click();
  await page.getByRole("button", { name: "Sign in with" }).click();
  await signInAs(page, "Somebody");
  await page.getByText("Signed in as").waitFor();
  // Listed in OAUTH_ADMINS: everybody's are shown as well.
  await page.getByRole("heading", { name: "Everybody's connections" })
    .waitFor();
  await page.getByRole("button", { name: "End Test client", exact: true })
    .first().click();
  await page.getByText("No app is connected in your name").waitFor();

  await until(async () => (await client.whoAmI(token)).status === 401);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in with" }).waitFor();
});
