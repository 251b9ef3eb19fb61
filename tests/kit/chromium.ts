/**
 * One real browser for the tests: Debian's chromium, never downloaded here.
 *
 * @module
 */
import { type Browser, chromium } from "playwright-core";

/**
 * Starts the browser.
 *
 * @throws {Error} with the command that installs it, when it is missing
 */
export async function startChromium(
  more: readonly string[] = [],
): Promise<Browser> {
  const executablePath = Deno.env.get("CHROMIUM") ?? "/usr/bin/chromium";
  try {
    await Deno.stat(executablePath);
  } catch {
    throw new Error(
      `No browser at ${executablePath}: run "apt-get install chromium", or ` +
        "set CHROMIUM to the path of one.",
    );
  }
  return await chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
}
