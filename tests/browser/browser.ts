/**
 * The browser of a file's tests, in which each test has its own pages and
 * cookies.
 *
 * @module
 */
import type { Browser } from "playwright-core";
import { startChromium } from "../kit/chromium.ts";

let started: Promise<Browser> | undefined;
Deno.test.afterAll(async () => await (await started)?.close());

/** The browser during one test, at whose end its pages are closed. */
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
