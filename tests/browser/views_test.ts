import axe from "axe-core";
import assert from "node:assert/strict";
import type {
  BrowserContextOptions,
  FrameLocator,
  Page,
} from "playwright-core";
import * as z from "zod";
import type { Tool } from "../../src/authoring/tool.ts";
import type { Environment } from "../../src/core/settings/setting.ts";
import { until } from "../kit/wait.ts";
import { Process, REPOSITORY } from "../kit/process.ts";
import { TestBrowser } from "./browser.ts";
import { approve, signInAs } from "./site.ts";
import { barTools, page as html, ViewSite } from "./view_site.ts";

/** Opens `/views` of a server whose view has a script of its own. */
async function withViews(
  test: (
    parts: { page: Page; frame: FrameLocator; site: ViewSite },
  ) => Promise<void>,
  { script = "", tools = barTools(html(script)), env, ...looks }:
    & { script?: string; tools?: Tool[]; env?: Environment }
    & BrowserContextOptions = {},
): Promise<void> {
  await using site = new ViewSite(tools, env);
  await using opened = await TestBrowser.open();
  const page = await opened.browser.newPage(looks);
  await page.goto(`${site.origin}/views`);
  await test({ page, frame: page.frameLocator("iframe"), site });
}

Deno.test("a view is shown with its input and its result, and calls a tool back", () =>
  withViews(async ({ page, frame }) => {
    await frame.getByText("done sample 1,2 Bars from sample. green").waitFor();
    await page.getByLabel("Arguments").fill('{"from": "me"}');
    await page.getByRole("button", { name: "Call the tool" }).click();
    await frame.getByText("done me 1,2 Bars from me. green").waitFor();
    await frame.getByRole("button", { name: "Pick" }).click();
    await frame.getByText("picked 20").waitFor();
    await page.getByText("The model knows: They picked 20").waitFor();
    await page.getByText("Why 20?", { exact: true }).waitFor();
    const [link] = await Promise.all([
      page.waitForEvent("popup"),
      frame.getByRole("link", { name: "A link" }).click(),
    ]);
    assert.match(link.url(), /^(http:\/\/127\.0\.0\.1:9\/|about:blank|chrome)/);
  }));

Deno.test("a view is shown what a task comes to, and messages say how far it is", () =>
  withViews(async ({ page, frame }) => {
    await frame.getByText("done sample 1,2").waitFor();
    await page.getByText("task completed").waitFor();
    await page.getByLabel("Arguments").fill('{"from": "Grünau"}');
    await page.getByRole("button", { name: "Call the tool" }).click();
    await frame.getByText("done Grünau 1,2 Bars from Grünau.").waitFor();
  }, {
    tools: barTools(html("")).slice(0, 1).map((bars) => ({
      ...bars,
      task: "required",
      input: z.object({ from: z.string().meta({ "x-mcp-header": "From" }) }),
    })),
  }));

Deno.test("a view has every look: theme, phone, moments of its call", () =>
  withViews(async ({ page, frame }) => {
    await frame.getByText("done sample").waitFor();
    const background = () =>
      frame.locator("body").evaluate(
        "document.body && " +
          "getComputedStyle(document.body).backgroundColor",
      );
    assert.equal(await background(), "rgb(255, 255, 255)");
    await page.locator("label", { hasText: "Dark" }).click();
    await until(async () => await background() === "rgb(0, 0, 0)");
    await page.locator("label", { hasText: "Phone" }).click();
    const iframe = page.locator("iframe");
    await until(async () => (await iframe.boundingBox())!.width === 390);
    // As high as its content.
    const height = await frame.locator("html").evaluate(
      "document.documentElement.scrollHeight",
    );
    assert.equal((await iframe.boundingBox())!.height, height);
    for (
      const [moment, words] of [
        ["Arriving", "arriving sample"],
        ["Running", "running sample"],
        ["Failed", "failed sample  Something went wrong"],
        ["Cancelled", "cancelled sample  The person cancelled"],
      ]
    ) {
      await page.getByRole("button", { name: moment }).click();
      await frame.getByText(words.replaceAll("  ", " ")).waitFor();
    }
    await page.getByText("Result", { exact: true }).click();
    await page.getByLabel("Result").fill(
      '{"content": [], "structuredContent": {"bars": [7]}}',
    );
    await page.getByRole("button", { name: "Show this result" }).click();
    await frame.getByText("done sample 7").waitFor();
  }));

/** A script that does all that can go wrong. */
const WRONG = `
      fetch("https://example.com/").catch(() => {});
      Promise.reject(new Error("a rejection"));
      console.error("a", "complaint");
      view.call("model_only").catch(() => {});
      nowhere();`;

Deno.test("what goes wrong is shown above the view", () =>
  withViews(async ({ page, frame }) => {
    const problem = page.getByRole("alert");
    // The lines are those of the author's file.
    const lines = html(WRONG).split("\n");
    for (
      const [words, code] of [
        ["nowhere is not defined", "nowhere();"],
        ["a rejection", "Promise.reject("],
      ]
    ) {
      const line = lines.findIndex((line) => line.includes(code)) + 1;
      await problem.getByText(`${words} (line ${line})`).waitFor();
    }
    await problem.getByText("a complaint").waitFor();
    await problem.getByText(/connect-src does not allow https:\/\/example/)
      .waitFor();
    await problem.getByText(/model_only is not for views/).waitFor();
    // A failed call is passed on to the view, as clients do.
    await page.getByLabel("Arguments").fill("{}");
    await page.getByRole("button", { name: "Call the tool" }).click();
    await frame.getByText("failed The arguments do not match").waitFor();
  }, { script: WRONG }));

Deno.test("a view reaches nothing of the page around it", () =>
  withViews(async ({ frame }) => {
    await frame.getByText("kept out: 3").waitFor();
  }, {
    script: `
      let kept = 0;
      for (const reach of [
        () => parent.document.title,
        () => localStorage.length,
        () => document.cookie,
      ]) try { reach(); } catch { kept++; }
      document.querySelector("h1").textContent = "kept out: " + kept;`,
  }));

Deno.test("the page shows a view anew when the server was started again", () =>
  withViews(async ({ page, frame, site }) => {
    await page.getByLabel("Arguments").fill('{"from": "before"}');
    await page.getByRole("button", { name: "Call the tool" }).click();
    await frame.getByText("done before").waitFor();
    await site.restart(barTools(html("", "Other bars")));
    await frame.getByRole("heading", { name: "Other bars" }).waitFor();
    // The old result is shown: calling again may have effects.
    await frame.getByText("done before 1,2 Bars from before.").waitFor();
    const changed = barTools(html("", "Other bars"));
    const annotations = { readOnlyHint: true };
    const run = () => ({ bars: [9] });
    await site.restart([{ ...changed[0], annotations, run }]);
    // A read-only tool is called again, because its source may have changed.
    await frame.getByText("done before 9").waitFor();
  }));

Deno.test("what is no JSON is said at its field, and nothing is called", () =>
  withViews(async ({ page, frame }) => {
    await frame.getByText("done sample").waitFor();
    const field = page.getByLabel("Arguments");
    await field.fill("{");
    await page.getByRole("button", { name: "Call the tool" }).click();
    const message = await page.evaluate(
      "document.getElementById('input').validationMessage",
    );
    assert.match(String(message), /JSON/);
    await frame.getByText("done sample").waitFor();
  }));

Deno.test("the page signs in where the server wants it", () =>
  withViews(async ({ page, frame }) => {
    await page.getByText("This server wants to know who is calling").waitFor();
    await page.getByRole("button", { name: "Sign in" }).click();
    await approve(page);
    await signInAs(page, "Someone");
    await page.getByRole("button", { name: "Call the tool" }).click();
    await frame.getByText("done").waitFor();
    assert.equal(new URL(page.url()).search, "");
  }, { env: { AUTH_STRATEGY: "oauth", OAUTH_PROVIDER: "dev" } }));

Deno.test("the page takes a token where the server has no sign-in", () =>
  withViews(async ({ page, frame }) => {
    await page.getByLabel("Token").fill("0123456789abcdef");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Call the tool" }).click();
    await frame.getByText("done sample").waitFor();
  }, { env: { AUTH_STRATEGY: "bearer", BEARER_TOKEN: "0123456789abcdef" } }));

for (const colorScheme of ["light", "dark"] as const) {
  Deno.test(`axe finds nothing in the page of views in ${colorScheme}`, () =>
    withViews(async ({ page, frame }) => {
      await frame.getByText("done sample").waitFor();
      await page.addScriptTag({ content: axe.source });
      const { passes, violations } = await page.evaluate(() =>
        // deno-lint-ignore no-explicit-any
        (globalThis as any).axe.run({ exclude: ["iframe"] })
      );
      assert.ok(passes.length > 5);
      const found = violations.map((
        { id, nodes }: { id: string; nodes: { html: string }[] },
      ) => [id, nodes[0].html]);
      assert.deepEqual(found, []);
    }, { colorScheme, bypassCSP: true }));
}

Deno.test("the page of views is no wider than a phone", () =>
  withViews(async ({ page, frame }) => {
    await frame.getByText("done sample").waitFor();
    const width = await page.evaluate("document.documentElement.scrollWidth");
    assert.ok(Number(width) <= 320, `${width}`);
  }, { viewport: { width: 320, height: 640 } }));

/** Opens the view of `examples/view.ts`. */
async function withExample(
  test: (page: Page, frame: FrameLocator) => Promise<void>,
  looks: BrowserContextOptions,
): Promise<void> {
  await using server = new Process(
    ["run", "--quiet", "-A", "view.ts", "--views"],
    { cwd: new URL("examples/", REPOSITORY), env: { KV_PATH: ":memory:" } },
  );
  const [, views] = await server.prints(/"views":"([^"]+)"/);
  await using opened = await TestBrowser.open();
  const page = await opened.browser.newPage({ locale: "en-GB", ...looks });
  await page.goto(views);
  await test(page, page.frameLocator("iframe"));
  assert.equal(await page.getByRole("alert").isVisible(), false);
}

Deno.test("in the example a person picks a day, and asks about it", () =>
  withExample(async (page, frame) => {
    await frame.getByRole("heading", { name: "Bern" }).waitFor();
    await frame.getByRole("slider").fill("171");
    await frame.getByText("15 h 53 min").waitFor();
    // First the page's own data, then the server's answer.
    await frame.getByText("21:28").waitFor();
    await page.getByText("The model knows: The person is looking at 2026-06-21")
      .waitFor();
    await frame.getByRole("slider").press("ArrowRight");
    await frame.getByText("22 June").waitFor();
    await frame.getByRole("button", { name: "Shortest day" }).click();
    await frame.getByRole("button", { name: "Ask about this day" }).click();
    await page.getByText(/^What is 2\d December like in Bern\?$/).waitFor();
    await page.getByRole("button", { name: "Failed" }).click();
    await frame.getByText("Something went wrong. Try later.").waitFor();
  }, {}));

for (const colorScheme of ["light", "dark"] as const) {
  Deno.test(`axe finds nothing in the example's view in ${colorScheme}, on a phone`, () =>
    withExample(async (page, frame) => {
      await page.locator("label", { hasText: "Phone" }).click();
      await frame.getByRole("heading", { name: "Bern" }).waitFor();
      await frame.getByText("°").waitFor();
      const root = frame.locator("html");
      await root.evaluate(axe.source + "; 0");
      // Axe cannot see the background that the client has painted behind the
      // frame.
      await root.evaluate(
        "document.body.style.background = 'var(--color-background-primary)'",
      );
      const { passes, violations } = await root.evaluate(() =>
        // deno-lint-ignore no-explicit-any
        (globalThis as any).axe.run()
      );
      assert.ok(passes.length > 5);
      const found = violations.map((
        { id, nodes }: { id: string; nodes: { html: string }[] },
      ) => [id, nodes[0].html]);
      assert.deepEqual(found, []);
      const [width, inner] = await root.evaluate(
        "[document.documentElement.scrollWidth, innerWidth]",
      ) as number[];
      assert.ok(width <= inner && inner <= 390, `${width} ${inner}`);
    }, { colorScheme }));
}
