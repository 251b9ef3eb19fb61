/**
 * Pictures of every page into the ignored folder `screenshots/`.
 *
 * @module
 */
import type { Browser } from "playwright-core";

/** The looks in which every page must be right. */
export const LOOKS = {
  light: { colorScheme: "light", width: 1100, height: 800 },
  dark: { colorScheme: "dark", width: 1100, height: 800 },
  phone: { colorScheme: "light", width: 390, height: 780 },
} as const;

/** Takes the pictures of a page in all looks. */
export async function takePictures(
  browser: Browser,
  url: string,
  name: string,
): Promise<void> {
  for (const [look, { colorScheme, width, height }] of Object.entries(LOOKS)) {
    const page = await browser.newPage({
      colorScheme,
      viewport: { width, height },
    });
    await page.goto(url);
    await page.screenshot({
      path: `screenshots/${name}-${look}.png`,
      fullPage: true,
    });
    await page.close();
  }
}
