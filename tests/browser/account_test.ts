import assert from "node:assert/strict";
import type { BrowserContext } from "playwright-core";
import { until } from "../kit/wait.ts";
import {
  approve,
  Client,
  LoopbackReceiver,
  policyComplaints,
  signInAs,
  Site,
} from "./site.ts";

/** Signs a person in with a client, on a new page. */
async function connect(
  context: BrowserContext,
  client: Client,
  receiver: LoopbackReceiver,
) {
  const page = await context.newPage();
  await page.goto(client.authorizationUrl);
  await approve(page);
  await signInAs(page, "Someone");
  const token = await client.redeem((await receiver.answer).get("code")!);
  return { page, token };
}

Deno.test("a person ends a connection that a client is using", async () => {
  await using site = await Site.start({ OAUTH_ADMINS: "someone" });
  await using receiver = new LoopbackReceiver();
  const client = await Client.register(site, receiver.redirectUri);
  const context = await site.browser.newContext();
  const { page, token } = await connect(context, client, receiver);
  assert.equal((await client.whoAmI(token)).status, 200);

  await page.goto(site.origin);
  await page.getByRole("link", { name: "See and end your connections" })
    .click();
  await page.getByRole("button", { name: "Sign in with" }).click();
  await signInAs(page, "Someone");
  await page.getByText("Signed in as").waitFor();
  // Listed in OAUTH_ADMINS, so everyone's connections are shown as well.
  await page.getByRole("link", { name: "People" }).click();
  await page.getByRole("heading", { name: "Everyone’s connections" })
    .waitFor();
  await page.getByRole("link", { name: "Connections", exact: true }).click();
  const sure = page.getByRole("button", {
    name: "End Test client",
    exact: true,
  });
  assert.equal(await sure.isVisible(), false);
  await page.locator("summary", { hasText: "End Test client" }).press("Enter");
  await page.getByText("That cannot be undone").waitFor();
  await sure.click();
  await page.getByText("Ended: “Test client”").waitFor();
  await page.getByText("No app is connected in your name").waitFor();

  await until(async () => (await client.whoAmI(token)).status === 401);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in with" }).waitFor();
});

Deno.test("a person pauses a connection on a phone, and takes a permission from it", async () => {
  await using site = await Site.start();
  await using receiver = new LoopbackReceiver();
  const client = await Client.register(site, receiver.redirectUri);
  const context = await site.browser.newContext({
    viewport: { width: 390, height: 780 },
  });
  const complaints = policyComplaints(context);
  const { page, token } = await connect(context, client, receiver);
  const becomes = (status: number) =>
    until(async () => (await client.whoAmI(token)).status === status);
  await becomes(200);

  await page.goto(`${site.origin}/account`);
  await page.getByRole("button", { name: "Sign in with" }).click();
  await signInAs(page, "Someone");
  await page.getByRole("link", { name: "Latest calls of Test client" }).click();
  await page.getByRole("row", { name: "Who am I" })
    .getByText("Done", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Connections", exact: true }).click();

  await page.getByRole("button", { name: "Pause Test client" }).click();
  await page.getByText("It is refused until you resume it").waitFor();
  await becomes(403);
  await page.getByRole("button", { name: "Resume Test client" }).click();
  await page.getByText("It can go on as before").waitFor();
  await becomes(200);

  await page.getByText("Take permissions away").click();
  const box = page.getByRole("checkbox", { name: "Tells who is calling" })
    .first();
  assert.equal(await box.isChecked(), true);
  await box.uncheck();
  await page.getByRole("button", { name: "Keep only these for" }).click();
  await page.getByText("It gets them back only from you").waitFor();
  await becomes(403);
  const width = await page.evaluate("document.documentElement.scrollWidth");
  assert.ok(Number(width) <= 390, `${width}`);
  assert.deepEqual(complaints, []);
});

Deno.test("a person downloads what is kept about them, and erases it", async () => {
  await using site = await Site.start();
  await using receiver = new LoopbackReceiver();
  const client = await Client.register(site, receiver.redirectUri);
  const context = await site.browser.newContext();
  const complaints = policyComplaints(context);
  const { page, token } = await connect(context, client, receiver);
  assert.equal((await client.whoAmI(token)).status, 200);

  await page.goto(`${site.origin}/account/data`);
  await page.getByRole("button", { name: "Sign in with" }).click();
  await signInAs(page, "Someone");
  await page.getByRole("heading", { name: "Your data" }).waitFor();
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download it as JSON" }).click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), "account.json");
  const { connections } = JSON.parse(
    await Deno.readTextFile(await download.path()),
  );
  assert.equal(connections[0].clientName, "Test client");

  await page.getByRole("button", { name: "Sign in again" }).click();
  await signInAs(page, "Someone");
  const erase = page.getByRole("button", { name: "Erase everything" });
  await erase.click();
  // The browser wants the box ticked.
  await page.getByRole("checkbox", { name: "Erase what" }).check();
  await erase.click();
  await page.getByText("Erased. You are signed out").waitFor();
  await until(async () => (await client.whoAmI(token)).status === 401);
  assert.deepEqual(complaints, []);
});
