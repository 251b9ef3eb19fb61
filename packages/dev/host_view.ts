/**
 * The host's end of the channel to a view. The development page is a host like
 * ChatGPT or Claude.
 *
 * @module
 * @see MCP Apps 2026-01-26, Communication Protocol
 */

/** An unchecked value of a page or of a message. */
// deno-lint-ignore no-explicit-any
export type Loose = any;

interface Windows {
  /** The window that receives the messages of all frames. */
  own: {
    addEventListener(type: "message", listen: (event: Loose) => void): void;
    removeEventListener(type: "message", listen: (event: Loose) => void): void;
  };
  /** The window of the view's frame. */
  view: { postMessage(message: unknown, origin: string): void };
}

/** The host's callbacks for its view. */
export interface HostSide {
  /** The host's initial context; `setContext` reports changes. */
  context: Record<string, unknown>;
  /** Handles any other request: returns the result, or throws. */
  answer(method: string, params: Loose): unknown;
  /** Called with the size in CSS pixels that the view requests. */
  resize(size: { width?: number; height?: number }): void;
  /** Called with every message. */
  watch(from: "host" | "view", message: Loose): void;
}

/** A view that is shown. */
export interface HostedView {
  /**
   * Sends a notification such as `tool-input` or `tool-result`, once the view
   * listens.
   */
  notify(what: string, params: unknown): void;
  setContext(change: Record<string, unknown>): void;
  /** Gives the view time to finish, then stops listening. */
  end(): Promise<void>;
}

/** The options to write into a page next to the function's source text. */
export const HOST_OPTIONS = {
  capabilities: {
    openLinks: {},
    downloadFile: {},
    serverTools: {},
    serverResources: {},
    logging: {},
    message: { text: {} },
    updateModelContext: { text: {}, structuredContent: {} },
  },
  /** The time a view has to finish. */
  finishMilliseconds: 1000,
};

/** Talks to a view. The source text of this function runs in the page. */
export function hostView(
  { own, view }: Windows,
  { context, answer, resize, watch }: HostSide,
  { capabilities, finishMilliseconds } = HOST_OPTIONS,
): HostedView {
  const waiting: unknown[] = [];
  let isListening = false;
  let finished = () => {};

  function post(message: Record<string, unknown>): void {
    const whole = { jsonrpc: "2.0", ...message };
    watch("host", whole);
    // The frame has no origin that could be named here.
    view.postMessage(whole, "*");
  }

  function notify(what: string, params: unknown): void {
    const message = { method: `ui/notifications/${what}`, params };
    if (isListening) post(message);
    else waiting.push(message);
  }

  function answerTo(method: string, params: Loose): unknown {
    if (method === "ping") return {};
    const isLink = method === "ui/open-link";
    if (isLink && !/^(https?:\/\/|mailto:)/i.test(params.url)) {
      throw Object.assign(
        new Error("url must begin with https://, http:// or mailto:"),
        { code: -32602 },
      );
    }
    if (method !== "ui/initialize") return answer(method, params);
    return {
      protocolVersion: "2026-01-26",
      hostInfo: { name: "tool-server-views", version: "1" },
      hostCapabilities: capabilities,
      hostContext: context,
    };
  }

  async function listen({ source, data }: Loose): Promise<void> {
    if (source !== view || data?.jsonrpc !== "2.0") return;
    watch("view", data);
    const { id, method, params = {} } = data;
    if (method === undefined) {
      finished();
    } else if (id !== undefined) {
      try {
        post({ id, result: await answerTo(method, params) });
      } catch (error) {
        const { code = -32603, message } = error as Loose;
        post({ id, error: { code, message } });
      }
    } else if (method === "ui/notifications/initialized") {
      isListening = true;
      for (const message of waiting.splice(0)) post(message as Loose);
    } else if (method === "ui/notifications/size-changed") {
      resize(params);
    }
  }

  own.addEventListener("message", listen);
  return {
    notify,
    setContext(change) {
      Object.assign(context, change);
      if (isListening) notify("host-context-changed", change);
    },
    async end() {
      if (isListening) {
        const asked = new Promise<void>((resolve) => finished = resolve);
        post({ id: "end", method: "ui/resource-teardown", params: {} });
        let timer;
        const late = new Promise((resolve) =>
          timer = setTimeout(resolve, finishMilliseconds)
        );
        await Promise.race([asked, late]);
        clearTimeout(timer);
      }
      own.removeEventListener("message", listen);
    },
  };
}
