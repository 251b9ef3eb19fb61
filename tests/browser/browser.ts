/**
 * The browser of a file's tests: each has its own pages and cookies in it.
 *
 * @module
 */
import type { Browser } from "playwright-core";
import { startChromium } from "../kit/chromium.ts";

let started: Promise<Browser> | undefined;
Deno.test.afterAll(async () => await (await started)?.close());

/** The browser for the time of a test, whose pages are closed with it. */
export class TestBrowser implements AsyncDisposable {
  private constructor(readonly browser: Browser) {}

  static async open(): Promise<TestBrowser> {
    started ??= startChromium();
    return new TestBrowser(await started);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.browser.contexts().map((it) => it.close()));
  }
}
