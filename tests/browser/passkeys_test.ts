/** Passkeys in a real browser, with the authenticators that it simulates. */
import assert from "node:assert/strict";
import type { BrowserContext, CDPSession, Page } from "playwright-core";
import { tool } from "../../src/authoring/tool.ts";
import {
  approve,
  Client,
  LoopbackReceiver,
  policyComplaints,
  signInAs,
  Site,
} from "./site.ts";

/** The runs that began. */
const ran: string[] = [];

const TOOLS = (["required", "wanted"] as const).map((passkey) =>
  tool({
    name: `${passkey}_refund`,
    scopes: ["profile:read"],
    approval: {
      passkey,
      show: () => ({ title: "Refund €49.00", facts: { Charge: "c1" } }),
    },
    run() {
      ran.push(passkey);
      return "refunded";
    },
  })
);

/** A person with a client, whose calls wait, and with their browser. */
class Visit implements AsyncDisposable {
  private constructor(
    readonly site: Site,
    readonly context: BrowserContext,
    readonly page: Page,
    readonly complaints: string[],
    readonly devices: CDPSession,
    private readonly client: Client,
    private readonly token: string,
  ) {}

  static async start(host = "localhost"): Promise<Visit> {
    ran.length = 0;
    const site = await Site.start({}, { host, tools: TOOLS });
    await using receiver = new LoopbackReceiver();
    const client = await Client.register(site, receiver.redirectUri);
    const context = await site.browser.newContext();
    const complaints = policyComplaints(context);
    const page = await context.newPage();
    await page.goto(client.authorizationUrl);
    await approve(page);
    await signInAs(page, "Someone");
    const token = await client.redeem((await receiver.answer).get("code")!);
    const devices = await context.newCDPSession(page);
    await devices.send("WebAuthn.enable");
    await page.goto(`${site.origin}/account`);
    await page.getByRole("button", { name: "Sign in with" }).click();
    await signInAs(page, "Someone");
    await page.getByText("Signed in as").waitFor();
    return new Visit(
      site,
      context,
      page,
      complaints,
      devices,
      client,
      token,
    );
  }

  /** Connects an authenticator that finds its person. Returns its ID. */
  async plugIn(): Promise<string> {
    const { authenticatorId } = await this.devices.send(
      "WebAuthn.addVirtualAuthenticator",
      {
        options: {
          protocol: "ctap2",
          transport: "internal",
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
        },
      },
    );
    return authenticatorId;
  }

  async unplug(authenticatorId: string): Promise<void> {
    await this.devices.send("WebAuthn.removeVirtualAuthenticator", {
      authenticatorId,
    });
  }

  /** Calls a tool that waits, and opens the page of its approval. */
  async ask(name: string): Promise<void> {
    const { text } = await this.client.call(this.token, name);
    const [link] = text.match(/http[^\s"\\]*\/approve\/[\w-]{43}/) ?? [];
    assert.ok(link, text);
    await this.page.goto(link);
    await this.page.getByText("Refund €49.00").first().waitFor();
  }

  /** Calls the tool again, and gives the result. */
  async result(name: string): Promise<string> {
    return (await this.client.call(this.token, name)).text;
  }

  /** Makes a passkey on the account page, after another sign-in. */
  async makePasskey(name: string): Promise<void> {
    const { page, site } = this;
    if (!page.url().includes("/account/passkeys")) {
      await page.goto(`${site.origin}/account/passkeys`);
    }
    const again = page.getByRole("button", { name: "Sign in again" });
    if (await again.isVisible()) {
      await again.click();
      await signInAs(page, "Someone");
    }
    await page.getByRole("textbox", { name: "Name" }).fill(name);
    await page.locator('button[data-passkey="create"]').click();
  }

  get approveButton() {
    return this.page.getByRole("button", { name: /^Approve/ });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.site[Symbol.asyncDispose]();
  }
}

Deno.test("a person without a passkey is led to making one, and approves with it what waited", async () => {
  await using visit = await Visit.start();
  const { page, site } = visit;
  await visit.ask("required_refund");
  const link = page.url();
  assert.equal(await visit.approveButton.count(), 0);
  await visit.plugIn();
  await page.getByRole("link", { name: "Your passkeys" }).click();
  await visit.makePasskey("My phone");
  await page.getByText("You can use it now").waitFor();
  await page.getByRole("link", { name: "Back to the call" }).click();
  await page.waitForURL(link);
  await visit.approveButton.click();
  await page.getByText("Approved.").waitFor();
  assert.deepEqual(ran, []);
  assert.match(await visit.result("required_refund"), /refunded/);
  assert.deepEqual(ran, ["required"]);
  await page.goto(`${site.origin}/account/passkeys`);
  await page.getByText("Used last").waitFor();
  assert.deepEqual(visit.complaints, []);
});

Deno.test("a program in the browser presses nothing without its person, and no passkey of its own counts that day", async () => {
  await using visit = await Visit.start();
  const { page, site, devices } = visit;
  const phone = await visit.plugIn();
  await visit.makePasskey("My phone");
  await page.getByText("You can use it now").waitFor();
  await visit.ask("wanted_refund");
  const link = page.url();
  // The person does not show who they are.
  await devices.send("WebAuthn.setUserVerified", {
    authenticatorId: phone,
    isUserVerified: false,
  });
  await visit.approveButton.click();
  await page.getByText("Nothing was sent").waitFor();
  // The form is sent without the passkey.
  await page.evaluate(`{
    const form = document.querySelector("form[data-get]");
    form.append(Object.assign(document.createElement("input"), {
      name: "answer",
      value: "approve",
    }));
    form.submit();
  }`);
  await page.getByText("The passkey was not accepted").first().waitFor();
  // It removes the person's, and makes its own.
  await page.goto(`${site.origin}/account/passkeys`);
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByText("You can use it now").waitFor({ state: "detached" });
  await visit.unplug(phone);
  await visit.plugIn();
  await visit.makePasskey("Its own");
  await page.getByText("Made just now. You can use it from").waitFor();
  await page.goto(link);
  await page.getByText("can use yours from").waitFor();
  assert.equal(await visit.approveButton.count(), 0);
  assert.deepEqual(ran, []);
});

Deno.test("at an IP address the page says that browsers make no passkeys there", async () => {
  await using visit = await Visit.start("127.0.0.1");
  const { page } = visit;
  await visit.plugIn();
  await visit.makePasskey("My phone");
  await page.getByText("Nothing was sent").waitFor();
  await page.getByText("Browsers make and use no passkeys here").waitFor();
});
