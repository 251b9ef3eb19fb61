/**
 * Our view in the reference implementation's host, and its view in ours.
 *
 * @module
 */
import assert from "node:assert/strict";
import { withViewScript } from "../../src/features/views/view_resource.ts";
import { until } from "../kit/wait.ts";
import { TestBrowser } from "./browser.ts";
import { barTools, page as html, ViewSite } from "./view_site.ts";

/** Bundles a program of this folder into one script for a browser. */
async function bundle(name: string): Promise<string> {
  const path = new URL(`reference/${name}.ts`, import.meta.url).pathname;
  const config = new URL("../deno.json", import.meta.url).pathname;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform=browser", "--config", config, path],
  }).output();
  const decoder = new TextDecoder();
  assert.ok(success, decoder.decode(stderr));
  return decoder.decode(stdout);
}

Deno.test("our view is shown by the reference implementation's host", async () => {
  const script = await bundle("host");
  await using opened = await TestBrowser.open();
  const page = await opened.browser.newPage();
  await page.setContent(`<!doctype html><iframe sandbox="allow-scripts">`);
  await page.evaluate(
    `globalThis.html = ${JSON.stringify(withViewScript(html("")))}`,
  );
  await page.addScriptTag({ content: script, type: "module" });
  const frame = page.frameLocator("iframe");
  await frame.getByText("done reference 1,2 Bars. green").waitFor();
  const root = frame.locator("html");
  assert.equal(await root.getAttribute("data-theme"), "light");
  await page.evaluate("setTheme('dark')");
  await until(async () => await root.getAttribute("data-theme") === "dark");
  await frame.getByRole("button", { name: "Pick" }).click();
  await frame.getByText("picked 20").waitFor();
  await until(async () => await page.evaluate("asked.length") === 3);
  assert.deepEqual(await page.evaluate("asked"), [
    ["tools/call", { name: "pick", arguments: { bar: 2 } }],
    ["ui/update-model-context", {
      content: [{ type: "text", text: "They picked 20" }],
    }],
    ["ui/message", {
      role: "user",
      content: [{ type: "text", text: "Why 20?" }],
    }],
  ]);
  // The frame is as high as its content.
  const height = await root.evaluate("document.documentElement.scrollHeight");
  const style = await page.locator("iframe").getAttribute("style");
  assert.equal(style, `height: ${height}px;`);
});

Deno.test("the reference implementation's view is shown by our host", async () => {
  const script = (await bundle("app")).replaceAll("</script", "<\\/script");
  const view = `<!doctype html><title>Reference</title><p id="told"></p>
<script type="module">${script}</script>`;
  await using site = new ViewSite(barTools(view));
  await using opened = await TestBrowser.open();
  const page = await opened.browser.newPage();
  await page.goto(`${site.origin}/views`);
  const frame = page.frameLocator("iframe");
  await frame.getByText("input sample; result 1,2 green; picked 20")
    .waitFor();
  await page.getByText("Why?", { exact: true }).waitFor();
  await page.locator("label", { hasText: "Dark" }).click();
  await frame.getByText("theme dark").waitFor();
  assert.equal(await page.getByRole("alert").isVisible(), false);
});
