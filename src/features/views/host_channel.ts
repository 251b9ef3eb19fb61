/**
 * The channel between a view and the host around it: JSON-RPC over
 * `postMessage`.
 *
 * @module
 * @see MCP Apps 2026-01-26, Communication Protocol
 */

// deno-lint-ignore no-explicit-any
export type Loose = any;

interface Message {
  jsonrpc: "2.0";
  id?: string | number;
  method?: string;
  params?: Loose;
  result?: Loose;
  error?: { code: number; message: string };
}

/**
 * Opens the channel. The source text of this function is put into a page.
 *
 * @param heard handlers of the host's notifications, keyed by the last part of
 * the method's name
 * @param end finishes the view before the host removes it
 */
export function hostChannel(
  page: PageWindow,
  heard: Record<string, (params: Loose) => unknown>,
  end: () => Promise<unknown>,
) {
  const { parent } = page;
  const waiting = new Map<
    number,
    { resolve(result: Loose): void; reject(error: Error): void }
  >();
  let lastId = 0;

  function post(message: Omit<Message, "jsonrpc">): void {
    // A host's origin cannot be known, so views are identified by their
    // windows.
    parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  function ask(method: string, params: Loose): Promise<Loose> {
    if (parent === page) {
      return Promise.reject(new Error("There is no host around this page"));
    }
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      post({ id, method, params });
    });
  }

  page.addEventListener("message", async ({ source, data }: Loose) => {
    if (source !== parent || data?.jsonrpc !== "2.0") return;
    const { id, method, params = {}, result, error }: Message = data;
    if (method === undefined) {
      const open = waiting.get(id as number);
      waiting.delete(id as number);
      if (error) open?.reject(new Error(error.message));
      else open?.resolve(result);
    } else if (id === undefined) {
      heard[method.replace("ui/notifications/", "")]?.(params);
    } else if (method !== "ping" && method !== "ui/resource-teardown") {
      post({ id, error: { code: -32601, message: `No method ${method}` } });
    } else {
      if (method !== "ping") await end();
      post({ id, result: {} });
    }
  });

  return { post, ask };
}

/** The members of an HTML element that are used. */
export interface PageElement {
  id: string;
  href?: string;
  textContent: string | null;
  dataset: Record<string, string | undefined>;
  style: { height: string; setProperty(name: string, value: string): void };
  append(element: PageElement): void;
  getBoundingClientRect(): { height: number };
}

/** The members of a browser's `EventTarget` that are used. */
interface PageTarget {
  // deno-lint-ignore no-explicit-any
  addEventListener(type: string, listener: (event: any) => unknown): void;
}

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
