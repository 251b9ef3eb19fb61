/** The page of an approval in a real browser, before hostile words. */
import assert from "node:assert/strict";
import type { BrowserContext, Page } from "playwright-core";
import { type Tool, tool, z } from "../../src/mod.ts";
import { findClipped } from "./clipped.ts";
import {
  approve,
  Client,
  LoopbackReceiver,
  policyComplaints,
  signInAs,
  Site,
} from "./site.ts";

type Input = { text: string; more?: unknown };

/** The arguments of the runs that began. */
let ran: Input[] = [];

const SEND: Tool = tool({
  name: "send",
  input: z.object({ text: z.string(), more: z.json().optional() }),
  scopes: ["profile:read"],
  approval: {
    // An author who shows a stranger's words everywhere.
    show: ({ text }) => ({
      title: `Send ${text}`,
      facts: { Text: text, [`Fact ${text}`]: "1" },
    }),
    remember: ({ text }) =>
      text.startsWith("often")
        ? { key: "", label: text, seconds: 60 }
        : undefined,
  },
  run(input) {
    ran.push(input);
    return "sent";
  },
});

const REQUIRED: Tool = tool({
  name: "required",
  scopes: ["profile:read"],
  approval: { passkey: "required" },
  run() {
    ran.push({ text: "required" });
    return "sent";
  },
});

/** A person with a client, whose calls wait, and with their browser. */
class Visit implements AsyncDisposable {
  private constructor(
    readonly site: Site,
    readonly page: Page,
    readonly complaints: string[],
    private readonly client: Client,
    private readonly token: string,
  ) {}

  static async start(name?: string): Promise<Visit> {
    ran = [];
    const site = await Site.start({}, { tools: [SEND, REQUIRED] });
    await using receiver = new LoopbackReceiver();
    const client = await Client.register(site, receiver.redirectUri, name);
    const context: BrowserContext = await site.browser.newContext({
      viewport: { width: 390, height: 780 },
    });
    const complaints = policyComplaints(context);
    const page = await context.newPage();
    page.on("dialog", (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`);
      return dialog.dismiss();
    });
    await page.goto(client.authorizationUrl);
    await approve(page);
    await signInAs(page, "Someone");
    const token = await client.redeem((await receiver.answer).get("code")!);
    await page.goto(`${site.origin}/account`);
    await page.getByRole("button", { name: "Sign in with" }).click();
    await signInAs(page, "Someone");
    await page.getByText("Signed in as").waitFor();
    return new Visit(site, page, complaints, client, token);
  }

  async call(name: string, input?: Input): Promise<string> {
    const { text } = await this.client.call(this.token, name, { ...input });
    const { result } = JSON.parse(text.replace(/^[^{]*/, ""));
    return result.content[0].text;
  }

  /** Calls a tool that waits, and opens the page of its approval. */
  async ask(name: string, input?: Input): Promise<string> {
    const text = await this.call(name, input);
    const [link] = text.match(/http\S*\/approve\/[\w-]{43}/) ?? [];
    assert.ok(link, text.slice(0, 1000));
    await this.page.goto(link);
    await this.page.getByText("Nothing has been done yet").waitFor();
    return link;
  }

  /** Presses a button of the page. */
  async press(name: "Approve"): Promise<void> {
    await this.page.getByRole("button", { name, exact: true }).click();
    await this.page.getByRole("link", { name: "Your account" }).waitFor();
  }

  /** The arguments that the page shows, as the person reads them. */
  async shownArguments(): Promise<{ text: string; input: unknown }> {
    const { page } = this;
    const fold = page.locator("summary", { hasText: "The arguments" });
    if (!await page.locator("pre").isVisible()) await fold.click();
    // The page isolates words from right to left.
    const text = (await page.locator("pre").innerText())
      .replaceAll(/[\u2068\u2069]/g, "");
    return { text, input: JSON.parse(text) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.site[Symbol.asyncDispose]();
  }
}

const HTML = [
  `<script>globalThis.pwned = 1</script>`,
  `<img src=x onerror="globalThis.pwned = 1">`,
  `</pre></details><form action="https://evil.example"><button>Approve</button></form>`,
  `"><svg onload=alert(1)>`,
  `</title></bdi></h1><a href="https://evil.example">Approve</a>`,
  `&lt;b&gt; javascript:alert(1) [Approve](https://evil.example)`,
].join(" ");

/** Letters that hide, reorder or pile up. */
const TWISTED =
  "pay \u202e0001\u202c to \u2066ann\u2069\u200b\u200f\u3164 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 z\u0335\u0336\u0337\u0338\u0321\u0322\u0327\u0328 \u{e0041} \ud800 \r\n\t end";

/** Every character that a page may not show as itself. */
const HIDDEN =
  /[\u200b-\u200f\u202a-\u202e\u2066\u2067\u3164\ud800-\udfff]|[\u{e0000}-\u{e007f}]/u;

Deno.test("a person approves on the page, and the run begins with exactly what it shows", async () => {
  await using visit = await Visit.start();
  const { page } = visit;
  const input = { text: "1 apple", more: { b: [1, 2.5], a: null } };
  const link = await visit.ask("send", input);
  assert.match(await page.innerText("h1"), /Test client.*Send 1 apple/s);
  const shown = await visit.shownArguments();
  assert.deepEqual(shown.input, input);
  assert.deepEqual(ran, []);
  await visit.press("Approve");
  await page.getByText("Approved. It begins when the app goes on").waitFor();
  assert.equal(await visit.call("send", input), "sent");
  assert.deepEqual(ran, [shown.input]);
  await page.goto(link);
  await page.getByText("It was done.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
  assert.deepEqual(visit.complaints, []);
});

Deno.test("a person refuses with a reason, which the model reads, and nothing runs", async () => {
  await using visit = await Visit.start();
  const { page } = visit;
  await visit.ask("send", { text: "a" });
  const reason = `Too much <img src=x onerror="globalThis.pwned = 1">`;
  await page.getByRole("textbox", { name: "Why not" }).fill(reason);
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.getByText("Refused. The app is told so.").waitFor();
  assert.equal(await page.locator(".said").innerText(), reason);
  const text = await visit.call("send", { text: "a" });
  assert.ok(text.includes(`and said: ${JSON.stringify(reason)}`), text);
  assert.equal(await page.evaluate("globalThis.pwned"), undefined);
  assert.deepEqual(ran, []);
  assert.deepEqual(visit.complaints, []);
});

Deno.test("a press just after another window has gone from above the page does nothing", async () => {
  await using visit = await Visit.start();
  const { page } = visit;
  await page.clock.install();
  await visit.ask("send", { text: "a" });
  const { origin } = visit.site;
  for (const path of ["", "/account"]) {
    if (path) await page.goto(origin + path);
    await page.clock.pauseAt(Date.now() + 60_000);
    // A headless browser has no windows that come to the front.
    await page.evaluate(`dispatchEvent(new Event("focus"))`);
    const url = page.url();
    const buttons = page.locator("main button[type=submit]");
    const names = await buttons.allInnerTexts();
    assert.ok(names.length > 0);
    for (let nth = 0; nth < names.length; nth++) {
      if (await buttons.nth(nth).isVisible()) await buttons.nth(nth).click();
    }
    assert.equal(page.url(), url);
    assert.deepEqual(await buttons.allInnerTexts(), names);
  }
  await visit.ask("send", { text: "a" });
  await page.clock.pauseAt(Date.now() + 120_000);
  await page.evaluate(`dispatchEvent(new Event("focus"))`);
  await page.clock.runFor(701);
  await visit.press("Approve");
  assert.equal(await visit.call("send", { text: "a" }), "sent");
});

Deno.test("Enter in a field of the page refuses, also on the box that would let further calls run", async () => {
  await using visit = await Visit.start();
  const { page } = visit;
  const box = page.getByRole("checkbox", { name: "without asking me" });
  const said = page.getByText("Refused. The app is told so.");
  await visit.ask("send", { text: "often 1" });
  await box.check();
  const why = page.getByRole("textbox", { name: "Why not" });
  await why.fill("Too much");
  await why.press("Enter");
  await said.waitFor();
  assert.match(await visit.call("send", { text: "often 1" }), /"Too much"/);
  await visit.ask("send", { text: "often 2" });
  await box.check();
  await box.press("Enter");
  await said.waitFor();
  // A call that was refused cannot be remembered when it is approved after all.
  assert.equal(await box.count(), 0);
  await page.goto(`${visit.site.origin}/account`);
  await page.getByText("You refused").first().waitFor();
  assert.equal(await page.getByText("Without asking you").count(), 0);
  assert.deepEqual(ran, []);
});

for (
  const [what, text] of [
    ["HTML", HTML],
    ["letters that hide and reorder", TWISTED],
    ["words of 9,000 characters without a blank", "W".repeat(9_000)],
    ["3,000 lines", "a\n".repeat(3_000)],
  ] as const
) {
  Deno.test(`${what} as name and argument: the page runs none of it, stays whole on a phone, and shows what binds`, async () => {
    // A registration has no control characters.
    const name = text.replaceAll(/\p{Cc}/gu, "").slice(0, 200);
    await using visit = await Visit.start(name);
    const { page } = visit;
    const input = {
      text,
      more: { [text.slice(0, 200)]: [text.slice(0, 200)] },
    };
    const link = await visit.ask("send", input);
    const address = page.url();
    const shown = await visit.shownArguments();
    assert.doesNotMatch(await page.innerText("body"), HIDDEN);
    assert.doesNotMatch(shown.text, /[^\n\x20-\x7e\p{L}\p{N}]/u);
    assert.deepEqual(await findClipped(page), []);
    // Nothing of it has become a part of the page.
    assert.equal(await page.evaluate("globalThis.pwned"), undefined);
    assert.equal(
      await page.locator("main :is(img, svg, script), script + script").count(),
      0,
    );
    assert.equal(await page.locator("a[href*=evil]").count(), 0);
    assert.equal(await page.locator("form[action^=http]").count(), 0);
    assert.equal(
      await page.getByRole("button", { name: "Approve" }).count(),
      1,
    );
    assert.equal(page.url(), address);
    await page.goto(`${visit.site.origin}/account`);
    await page.getByText("Wants your approval").first().waitFor();
    assert.doesNotMatch(await page.innerText("body"), HIDDEN);
    assert.deepEqual(await findClipped(page), []);
    await page.goto(link);
    await visit.press("Approve");
    assert.doesNotMatch(await page.innerText("body"), HIDDEN);
    assert.equal(await visit.call("send", input), "sent");
    assert.deepEqual(ran, [shown.input]);
    assert.deepEqual(visit.complaints, []);
  });
}

Deno.test("arguments of 1 MiB are refused in words, wait nowhere, and run nothing", async () => {
  await using visit = await Visit.start();
  const { page } = visit;
  const text = await visit.call("send", { text: "a".repeat(2 ** 20 - 2000) });
  assert.match(text, /too long to be approved.*It was not run/);
  await page.goto(`${visit.site.origin}/account`);
  await page.getByText("Signed in as").waitFor();
  assert.equal(await page.getByText("Wants your approval").count(), 0);
  assert.deepEqual(ran, []);
});

Deno.test("a headless browser of a person without a passkey approves nothing that requires one", async () => {
  await using visit = await Visit.start();
  const { page } = visit;
  const link = await visit.ask("required");
  assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
  await page.evaluate(`{
    const form = document.querySelector('form[action*="/approve/"]');
    for (const [name, value] of [["answer", "approve"], ["get", "{}"]]) {
      form.append(Object.assign(document.createElement("input"), {
        name,
        value,
      }));
    }
    form.submit();
  }`);
  await page.getByText("passkey").first().waitFor();
  await page.goto(link);
  await page.getByText("Nothing has been done yet").waitFor();
  assert.match(await visit.call("required"), /\/approve\//);
  assert.deepEqual(ran, []);
});
