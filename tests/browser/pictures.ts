/**
 * Pictures of every page into the ignored folder `screenshots/`.
 *
 * @module
 */
import type { Browser } from "playwright-core";

/** The looks in which every page must be right. */
export const LOOKS = [
  { look: "light", colorScheme: "light", width: 1280, height: 800 },
  { look: "dark", colorScheme: "dark", width: 1280, height: 800 },
  { look: "light-phone", colorScheme: "light", width: 390, height: 780 },
  { look: "dark-phone", colorScheme: "dark", width: 390, height: 780 },
] as const;

/** Takes the pictures of pages in all looks. */
export async function takePictures(
  browser: Browser,
  origin: string,
  names: readonly string[],
): Promise<void> {
  for (const { look, colorScheme, width, height } of LOOKS) {
    const page = await browser.newPage({
      colorScheme,
      viewport: { width, height },
    });
    for (const name of names) {
      await page.goto(`${origin}/${name}`);
      await page.screenshot({
        path: `screenshots/${name}-${look}.png`,
        fullPage: true,
      });
    }
    await page.close();
  }
}
