/**
 * A page without a browser, and the reference host around it.
 *
 * @module
 */
import { AppBridge } from "@modelcontextprotocol/ext-apps/app-bridge";
import { connectView, type View } from "../../../src/view.ts";
import type {
  PageElement,
  PageWindow,
} from "../../../src/features/views/host_channel.ts";
import type { Json } from "../../kit/message.ts";

/** An element that records its changes. */
class FakeElement implements PageElement {
  id = "";
  textContent: string | null = null;
  readonly dataset: Record<string, string | undefined> = {};
  readonly variables = new Map<string, string>();
  readonly children: PageElement[] = [];
  readonly style = {
    height: "",
    setProperty: (name: string, value: string) => {
      this.variables.set(name, value);
    },
  };

  append(element: PageElement): void {
    this.children.push(element);
  }

  constructor(private readonly page?: FakePage) {}

  getBoundingClientRect() {
    const isMeasured = this.style.height === "max-content";
    return { height: isMeasured ? this.page!.height : 9999 };
  }
}

/** Calls its listeners as a browser does. */
class Listeners {
  readonly #listeners = new Map<string, ((event: Json) => unknown)[]>();

  addEventListener(type: string, listener: (event: Json) => unknown): void {
    const known = this.#listeners.get(type) ?? [];
    this.#listeners.set(type, [...known, listener]);
  }

  fire(type: string, event: Json): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }
}

/** The window of a page whose messages go to `toHost`. */
export class FakePage extends Listeners implements PageWindow {
  /** The height of the content, in CSS pixels. */
  height = 123.4;
  readonly root = new FakeElement(this);
  readonly head = new FakeElement();
  readonly dark = Object.assign(new Listeners(), { matches: false });
  readonly opened: string[] = [];
  readonly sent: Json[] = [];
  toHost: (message: Json) => void = () => {};
  resize = () => {};
  innerWidth = 320.2;
  readonly document = Object.assign(new Listeners(), {
    title: "Chart",
    documentElement: this.root,
    head: this.head,
    createElement: () => new FakeElement(),
    getElementById: (id: string) =>
      this.head.children.find((it) => it.id === id) ?? null,
  });
  parent = {
    postMessage: (message: unknown) => {
      this.sent.push(message);
      queueMicrotask(() => this.toHost(structuredClone(message)));
    },
  };
  readonly ResizeObserver = class {
    constructor(private readonly onResize: () => void) {}
    observe = () => FakePage.#last!.resize = this.onResize;
  };
  static #last?: FakePage;

  constructor() {
    super();
    FakePage.#last = this;
  }

  postMessage(): void {}
  matchMedia = () => this.dark;
  requestAnimationFrame = (draw: () => void) => draw();
  open = (url: string) => this.opened.push(url);

  /** Receives a message from a window, the host's unless another is named. */
  hear(data: unknown, source: unknown = this.parent): void {
    this.fire("message", { source, data });
  }

  /** Notifies as a host does. */
  tell(notification: string, params: Json): void {
    const method = `ui/notifications/${notification}`;
    this.hear({ jsonrpc: "2.0", method, params });
  }
}

type BridgeOptions = ConstructorParameters<typeof AppBridge>;

/** Puts a view into the reference implementation's host. */
export async function inReferenceHost<I, O>(
  {
    capabilities = {},
    context = {},
    prepare = () => {},
    page = new FakePage(),
  }: {
    capabilities?: BridgeOptions[2];
    context?: Json;
    prepare?: (bridge: AppBridge) => void;
    page?: FakePage;
  } = {},
): Promise<{ page: FakePage; bridge: AppBridge; view: View<I, O> }> {
  const host = { name: "Reference", version: "2" };
  const bridge = new AppBridge(null, host, capabilities, {
    hostContext: context,
  });
  prepare(bridge);
  const initialized = new Promise<void>((resolve) =>
    bridge.oninitialized = () => resolve()
  );
  await bridge.connect({
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: (message: unknown) => {
      page.hear(structuredClone(message));
      return Promise.resolve();
    },
    set onmessage(listen: (message: Json) => void) {
      page.toHost = listen;
    },
  } as Json);
  const view = connectView<I, O>(page);
  await initialized;
  return { page, bridge, view };
}
