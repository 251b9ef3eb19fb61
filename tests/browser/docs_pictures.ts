/**
 * `deno task pictures`: the few pictures that the README and `docs/` show.
 *
 * @module
 */
import { answerHelp } from "../kit/help.ts";
import type { Browser, Page } from "playwright-core";
import { Process, REPOSITORY } from "../kit/process.ts";
import { startChromium } from "../kit/chromium.ts";
import { gallery } from "./gallery.tsx";

const PAGES = [
  "landing",
  "consent",
  "account",
  "connect",
  "accounts",
  "approval",
];

const THEMES = ["light", "dark"] as const;

/** The pixels of a page: twice as many as the README shows. */
const PAGE_SCALE = 1.3;

/** Takes pictures of the server's own pages. */
async function takePages(browser: Browser): Promise<void> {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    gallery.fetch,
  );
  for (const colorScheme of THEMES) {
    for (const name of PAGES) {
      const page = await browser.newPage({
        colorScheme,
        viewport: { width: 860, height: 500 },
        deviceScaleFactor: PAGE_SCALE,
      });
      await page.goto(`http://127.0.0.1:${server.addr.port}/${name}`);
      // As high as its content, so that sticky parts are in their place.
      const height = await page.evaluate(
        "document.documentElement.scrollHeight",
      );
      await page.setViewportSize({ width: 860, height: Number(height) });
      await page.screenshot({ path: `docs/${name}-${colorScheme}.png` });
      await page.close();
    }
  }
}

/**
 * Takes pictures of the example's view: in a conversation, on a phone, and in
 * development.
 */
async function takeViews(browser: Browser): Promise<void> {
  await using server = new Process(
    ["run", "--quiet", "-A", "view.ts", "--views"],
    { cwd: new URL("examples/", REPOSITORY), env: { KV_PATH: ":memory:" } },
  );
  const [, views] = await server.prints(/"views":"([^"]+)"/);
  for (const colorScheme of THEMES) {
    const page = await browser.newPage({
      colorScheme,
      viewport: { width: 1180, height: 860 },
      deviceScaleFactor: 2,
      locale: "en-GB",
    });
    await page.goto(views);
    const pathOf = (name: string) => `docs/${name}-${colorScheme}.png`;
    await pickDay(page, 171);
    await page.screenshot({ path: pathOf("views-page") });
    const frame = page.frameLocator("iframe");
    await frame.getByRole("button", { name: "Ask" }).click();
    await page.locator("#said .person").waitFor();
    await page.locator(".stage").screenshot({ path: pathOf("view") });
    await page.locator("label", { hasText: "Phone" }).click();
    await page.getByRole("button", { name: "Tromsø" }).click();
    await pickDay(page, 60);
    const box = (await page.locator("iframe").boundingBox())!;
    const margin = 16;
    await page.screenshot({
      path: pathOf("view-phone"),
      clip: {
        x: box.x - margin,
        y: box.y - margin,
        width: box.width + 2 * margin,
        height: box.height + 2 * margin,
      },
    });
    await page.close();
  }
}

/** Moves to a day of the year, and waits for the server's answer about it. */
async function pickDay(page: Page, day: number): Promise<void> {
  const frame = page.frameLocator("iframe");
  const slider = frame.getByRole("slider");
  await slider.waitFor();
  const answered = page.waitForResponse((response) =>
    response.url().endsWith("/mcp") &&
    (response.request().postData() ?? "").includes(
      new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10),
    )
  );
  await slider.fill(`${day}`);
  await answered;
  await frame.getByText("°").waitFor();
  await slider.blur();
}

answerHelp();
// A frame in a process of its own would be drawn with half the pixels.
const browser = await startChromium([
  "--disable-features=IsolateSandboxedIframes",
]);
try {
  await takePages(browser);
  await takeViews(browser);
} finally {
  await browser.close();
}
