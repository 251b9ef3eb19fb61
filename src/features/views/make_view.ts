/**
 * The script of a view. It talks to the host around the page by JSON-RPC over
 * `postMessage`.
 *
 * @module
 * @see MCP Apps 2026-01-26, Communication Protocol
 */
import type {
  hostChannel,
  Loose,
  PageElement,
  PageWindow,
} from "./host_channel.ts";
import type {
  DisplayMode,
  View,
  ViewAbilities,
  ViewResult,
  viewResult,
  ViewState,
  ViewStatus,
} from "./view.ts";

/**
 * Makes the view of a page. The source text of this function is put into the
 * page, so it uses only its arguments.
 */
export function makeView<I, O>(
  window: object,
  openChannel: typeof hostChannel,
  resultOf: typeof viewResult,
): View<I, O> {
  const page = window as PageWindow;
  const { document, parent } = page;
  const root = document.documentElement;
  const dark = page.matchMedia("(prefers-color-scheme: dark)");
  const renders = new Set<(state: ViewState<I, O>) => void>();
  const endings: (() => void | Promise<void>)[] = [];
  const nothing: ViewResult<O> = { text: "", content: [], meta: {} };
  let opensLinks = false;
  let isConnected = false;
  let size = "";
  let state: ViewState<I, O> = {
    ...nothing,
    status: parent === page ? "alone" : "connecting",
    theme: dark.matches ? "dark" : "light",
    mode: "inline",
    can: abilities({}),
    context: {},
  };

  function abilities(has: Loose): ViewAbilities {
    return {
      call: !!has.serverTools,
      read: !!has.serverResources,
      say: !!has.message,
      tell: !!has.updateModelContext,
      download: !!has.downloadFile,
      modes: [],
    };
  }

  function change(more: Partial<ViewState<I, O>>): void {
    state = { ...state, ...more };
    root.dataset.theme = state.theme;
    for (const render of [...renders]) render(state);
    measure();
  }

  /** Reports the height of the content to the host. */
  function measure(): void {
    if (!isConnected) return;
    const { height: before } = root.style;
    root.style.height = "max-content";
    const height = Math.ceil(root.getBoundingClientRect().height);
    root.style.height = before;
    const width = Math.ceil(page.innerWidth);
    if (size === (size = `${width} ${height}`)) return;
    const params = { width, height };
    post({ method: "ui/notifications/size-changed", params });
  }

  /**
   * Sends a request after the host has answered `ui/initialize`. Throws if the
   * result has `isError`, because some hosts refuse that way.
   */
  async function request(method: string, params: Loose): Promise<Loose> {
    await ready;
    const result = await ask(method, params);
    if (result?.isError) {
      throw new Error(resultOf(result).text || `The host refused ${method}`);
    }
    return result ?? {};
  }

  function begin(status: ViewStatus, { arguments: input }: Loose): void {
    change({ ...nothing, data: undefined, input, status });
  }

  async function showResult(params: Loose): Promise<void> {
    const result = resultOf(params);
    const { tool } = (state.context.toolInfo ?? {}) as Loose;
    // If the host dropped the data, a tool that only reads is called again.
    const again = !params.isError && result.data === undefined &&
      tool?.outputSchema && tool.annotations?.readOnlyHint && state.can.call &&
      await call(tool.name, { ...state.input }).catch(() => undefined);
    change({
      data: undefined,
      ...(again || result),
      status: params.isError ? "failed" : "done",
    });
  }

  async function call(name: string, input: Loose = {}): Promise<Loose> {
    return resultOf(await request("tools/call", { name, arguments: input }));
  }

  function take(context: Loose): void {
    const { theme, displayMode, styles, availableDisplayModes } = context;
    for (const [name, value] of Object.entries(styles?.variables ?? {})) {
      if (name.startsWith("--") && value) {
        root.style.setProperty(name, `${value}`);
      }
    }
    if (styles?.css?.fonts) {
      let fonts = document.getElementById("host-fonts");
      if (!fonts) {
        fonts = document.createElement("style");
        fonts.id = "host-fonts";
        document.head.append(fonts);
      }
      fonts.textContent = styles.css.fonts;
    }
    change({
      context: { ...state.context, ...context },
      ...(theme && { theme }),
      ...(displayMode && { mode: displayMode }),
      ...(availableDisplayModes &&
        { can: { ...state.can, modes: availableDisplayModes } }),
    });
  }

  /**
   * Handlers of the host's notifications, keyed by the last part of the
   * method's name.
   */
  const heard: Record<string, (params: Loose) => unknown> = {
    "tool-input-partial": (params) => begin("arriving", params),
    "tool-input": (params) => begin("running", params),
    "tool-result": showResult,
    "tool-cancelled": ({ reason = "" }) =>
      change({ status: "cancelled", text: reason }),
    "host-context-changed": take,
  };

  const { post, ask } = openChannel(
    page,
    heard,
    () => Promise.allSettled(endings.map((finish) => finish())),
  );

  dark.addEventListener("change", () => {
    if (state.context.theme === undefined) {
      change({ theme: dark.matches ? "dark" : "light" });
    }
  });

  document.addEventListener("click", (event: Loose) => {
    const link: PageElement | null = event.target?.closest?.("a[href]");
    if (event.defaultPrevented || !/^https?:/.test(link?.href ?? "")) return;
    event.preventDefault();
    // A host that refuses has already told the person why.
    open(link!.href!).catch(() => {});
  });

  async function open(url: string): Promise<void> {
    await ready;
    if (opensLinks) await request("ui/open-link", { url });
    else page.open(url, "_blank", "noopener");
  }

  async function connect(): Promise<void> {
    if (parent === page) return;
    const { hostInfo, hostCapabilities: has = {}, hostContext = {} } =
      await ask("ui/initialize", {
        appInfo: { name: document.title || "view", version: "1" },
        appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
        protocolVersion: "2026-01-26",
      });
    opensLinks = !!has.openLinks;
    state = {
      ...state,
      host: hostInfo,
      can: abilities(has),
      // A state that arrived before this response is not overwritten.
      status: state.status === "connecting" ? "running" : state.status,
    };
    take(hostContext);
    post({ method: "ui/notifications/initialized", params: {} });
    isConnected = true;
    measure();
    // Browsers call `requestAnimationFrame` only for frames in sight.
    new page.ResizeObserver(() => page.requestAnimationFrame(measure))
      .observe(root);
  }

  change({});
  const ready = connect();
  ready.catch((error) => change({ status: "failed", text: error.message }));

  return {
    get state() {
      return state;
    },
    show(render) {
      renders.add(render);
      render(state);
      return () => renders.delete(render);
    },
    call,
    read: async (uri) =>
      (await request("resources/read", { uri })).contents ?? [],
    open,
    async say(text) {
      const content = [{ type: "text", text }];
      await request("ui/message", { role: "user", content });
    },
    async tell(text, data) {
      const content = [{ type: "text", text }];
      const more = data && { structuredContent: data };
      await request("ui/update-model-context", { content, ...more });
    },
    async display(mode) {
      const given = await request("ui/request-display-mode", { mode });
      const now: DisplayMode = given.mode ?? mode;
      change({ mode: now });
      return now;
    },
    async download(name, text, mimeType = "text/plain") {
      const resource = { uri: `file:///${name}`, mimeType, text };
      const contents = [{ type: "resource", resource }];
      await request("ui/download-file", { contents });
    },
    beforeEnd: (finish) => void endings.push(finish),
  };
}
