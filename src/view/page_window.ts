/**
 * The members of a browser's window that a view's script uses: the server is
 * type-checked without the types of a browser.
 *
 * @module
 */

/** An element of the page. */
export interface PageElement {
  id: string;
  href?: string;
  textContent: string | null;
  dataset: Record<string, string | undefined>;
  style: { height: string; setProperty(name: string, value: string): void };
  append(element: PageElement): void;
  getBoundingClientRect(): { height: number };
}

/** Listens, as everything in a browser does. */
interface PageTarget {
  // deno-lint-ignore no-explicit-any
  addEventListener(type: string, listener: (event: any) => unknown): void;
}

/** The window of a page. */
export interface PageWindow extends PageTarget {
  parent: { postMessage(message: unknown, origin: string): void };
  postMessage(message: unknown, origin: string): void;
  document: PageTarget & {
    title: string;
    documentElement: PageElement;
    head: PageElement;
    createElement(name: string): PageElement;
    getElementById(id: string): PageElement | null;
  };
  innerWidth: number;
  matchMedia(query: string): PageTarget & { matches: boolean };
  requestAnimationFrame(draw: () => void): unknown;
  ResizeObserver: new (
    onResize: () => void,
  ) => { observe(element: PageElement): void };
  open(url: string, target: string, features: string): unknown;
}
