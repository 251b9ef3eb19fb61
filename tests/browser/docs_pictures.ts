/**
 * `deno task pictures`: the few pictures that the README shows.
 *
 * @module
 */
import { startChromium } from "./chromium.ts";
import { gallery } from "./gallery.tsx";

/** Heights in CSS pixels. */
const HEIGHTS = { landing: 560, consent: 905, account: 540 };

await using server = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen() {} },
  gallery.fetch,
);
const browser = await startChromium();
await Deno.mkdir("docs", { recursive: true });
for (const colorScheme of ["light", "dark"] as const) {
  for (const [name, height] of Object.entries(HEIGHTS)) {
    const page = await browser.newPage({
      colorScheme,
      viewport: { width: 860, height },
    });
    await page.goto(`http://127.0.0.1:${server.addr.port}/${name}`);
    await page.screenshot({ path: `docs/${name}-${colorScheme}.png` });
    await page.close();
  }
}
await browser.close();
