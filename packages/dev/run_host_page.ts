/**
 * The script of the page for development.
 *
 * @module
 */
import type { Client, SignIn } from "../client/mod.ts";
import type { DevClient, devClient } from "./dev_client.ts";
import type { HOST_OPTIONS, HostedView, hostView } from "./host_view.ts";

// deno-lint-ignore no-explicit-any
type Loose = any;

/** State that survives a reload while the tab is open. */
interface Remembered {
  tool?: string;
  theme: "light" | "dark";
  width: string;
  /** The arguments as written, by tool. */
  inputs: Record<string, string>;
  /** The result shown last, by tool. */
  shown: Record<string, { input: Loose; result: Loose; isCalled: boolean }>;
}

/**
 * Runs the page. The source text of this function is put into it, so everything
 * it uses comes as an argument.
 */
export async function runHostPage(
  page: Loose,
  parts: {
    hostView: typeof hostView;
    devClient: typeof devClient;
    Client: typeof Client;
    SignIn: typeof SignIn;
    options: typeof HOST_OPTIONS;
    palette: Record<"light" | "dark", Record<string, string>>;
  },
): Promise<void> {
  const { document, sessionStorage: kept } = page;
  const at = (id: string): Loose => document.getElementById(id);
  const tools: Loose[] = JSON.parse(at("tools").textContent);
  const remembered: Remembered = {
    theme: page.matchMedia("(prefers-color-scheme: dark)").matches
      ? "dark"
      : "light",
    width: "720",
    inputs: {},
    shown: {},
    ...JSON.parse(kept.getItem("views") ?? "{}"),
  };
  const { Client, SignIn } = parts;
  const client: DevClient = parts.devClient(page, {
    Client,
    SignIn,
    tools,
    onRefused(kind) {
      at("sign-in").hidden = false;
      at("token-field").hidden = kind !== "token";
    },
    onTask({ status, statusMessage = "", ...task }) {
      note("host", `task ${status} ${statusMessage}`, task);
    },
  });
  let host: HostedView | undefined;
  let tool: Loose;

  function remember(more: Partial<Remembered> = {}): void {
    Object.assign(remembered, more);
    try {
      kept.setItem("views", JSON.stringify(remembered));
    } catch {
      // A result of megabytes does not fit and is lost with a reload.
    }
  }

  function make(name: string, text = "", className = ""): Loose {
    const element = document.createElement(name);
    element.textContent = text;
    element.className = className;
    return element;
  }

  function note(who: string, what: string, detail?: unknown): void {
    const item = make("li", "", who);
    const head = make(detail === undefined ? "p" : "summary", what);
    head.prepend(make("b", who));
    if (detail === undefined) item.append(head);
    else {
      const details = make("details");
      details.append(head, make("pre", JSON.stringify(detail, null, 2)));
      item.append(details);
    }
    at("log").prepend(item);
    at("log").children[300]?.remove();
  }

  /** Shows a problem of the view above it, until another view is shown. */
  function complain(words: string): void {
    note("error", words);
    at("problem").hidden = false;
    at("problem").append(make("p", words));
  }

  function contextOf(): Record<string, unknown> {
    const { theme, width } = remembered;
    const { samples: _, html: __, ...definition } = tool;
    return {
      theme,
      toolInfo: { tool: definition },
      styles: { variables: parts.palette[theme] },
      displayMode: "inline",
      availableDisplayModes: ["inline", "fullscreen"],
      containerDimensions: width === "full" ? {} : { maxWidth: Number(width) },
      locale: page.navigator.language,
      timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      platform: width === "390" ? "mobile" : "web",
      userAgent: "tool-server-views",
    };
  }

  function setMode(mode: string): string {
    const given = mode === "fullscreen" ? mode : "inline";
    at("stage").dataset.mode = given;
    host?.setContext({ displayMode: given });
    return given;
  }

  function say(who: string, words: string): void {
    at("said").append(make("li", words, who));
  }

  async function answer(method: string, params: Loose): Promise<unknown> {
    switch (method) {
      case "tools/call": {
        const called = tools.find(({ name }) => name === params.name);
        const { visibility } = called?._meta?.ui ?? {};
        if (visibility && !visibility.includes("app")) {
          throw new Error(`${params.name} is not for views: see visibility`);
        }
        return await client.request(method, params);
      }
      case "resources/read":
      case "resources/list":
      case "resources/templates/list":
      case "tools/list":
        return await client.request(method, params);
      case "ui/open-link":
        page.open(params.url, "_blank", "noopener");
        return {};
      case "ui/message":
        say("person", textOf(params));
        return {};
      case "ui/update-model-context":
        // Replaces the context the model had before.
        document.querySelector("#said .known")?.remove();
        say("known", `The model knows: ${textOf(params)}`);
        return {};
      case "ui/request-display-mode":
        return { mode: setMode(params.mode) };
      case "ui/download-file": {
        const [{ resource }] = params.contents;
        const link = make("a");
        link.href = page.URL.createObjectURL(
          new Blob([resource.text ?? ""], { type: resource.mimeType }),
        );
        link.download = resource.uri.split("/").at(-1);
        link.click();
        return {};
      }
      default:
        throw Object.assign(new Error(`No method ${method}`), { code: -32601 });
    }
  }

  function textOf({ content = [], structuredContent }: Loose): string {
    return content.map(({ text }: Loose) => text).join("\n") ||
      JSON.stringify(structuredContent);
  }

  /** Makes a new frame: each call in a conversation has its own. */
  function newFrame(): HostedView {
    host?.end();
    at("problem").replaceChildren();
    at("problem").hidden = true;
    at("said").replaceChildren();
    setMode("inline");
    const frame = make("iframe");
    frame.title = tool.title ?? tool.name;
    frame.setAttribute("sandbox", "allow-scripts allow-forms");
    frame.src = `views/page/${tool.name}`;
    at("frame").replaceChildren(frame);
    const asked = new Map<string, string>();
    host = parts.hostView({ own: page, view: frame.contentWindow }, {
      context: contextOf(),
      answer,
      resize({ height }) {
        if (height !== undefined) frame.style.height = `${height}px`;
      },
      watch(from, { id, method, params, result, error }) {
        if (method !== undefined) {
          const name = params?.name ?? params?.uri;
          const what = name === undefined ? method : `${method} ${name}`;
          if (id !== undefined) asked.set(`${from} ${id}`, what);
          return note(from, what, params);
        }
        const what = asked.get(`${from === "view" ? "host" : "view"} ${id}`);
        note(from, `${error ? "refuses" : "answers"} ${what}`, error ?? result);
        if (error) complain(`${what}: ${error.message}`);
      },
    }, parts.options);
    return host;
  }

  /** Shows a given result; without one, calls the tool and shows its result. */
  async function show(
    input: Loose,
    given?: Loose,
    isCalled = given === undefined,
  ): Promise<void> {
    const shown = newFrame();
    shown.tell("tool-input", { arguments: input });
    let result = given;
    if (result === undefined) {
      const params = { name: tool.name, arguments: input };
      result = await client.request("tools/call", params).catch((error) => ({
        isError: true,
        content: [{ type: "text", text: error.message }],
      }));
      if (result.isError) note("error", textOf(result));
    }
    if (shown !== host) return;
    at("result").value = JSON.stringify(result, null, 2);
    remember({
      shown: { ...remembered.shown, [tool.name]: { input, result, isCalled } },
    });
    shown.tell("tool-result", result);
  }

  /**
   * Parses the JSON in a field; if it is invalid, marks the field and returns
   * undefined.
   */
  function jsonIn(field: Loose): Loose {
    try {
      field.setCustomValidity("");
      return JSON.parse(field.value || "{}");
    } catch (error) {
      field.setCustomValidity((error as Error).message);
      field.reportValidity();
    }
  }

  function showSample({ input, data, meta }: Loose): Promise<void> {
    at("input").value = JSON.stringify(input, null, 2);
    if (data === undefined) return show(input);
    return show(input, {
      content: [{ type: "text", text: JSON.stringify(data) }],
      structuredContent: data,
      ...(meta && { _meta: meta }),
    });
  }

  /** Arguments to start with: defaults and examples, if there are any. */
  function firstInput({ inputSchema: { properties = {} } }: Loose): Loose {
    return Object.fromEntries(
      Object.entries(properties).map(([name, schema]: Loose) => [
        name,
        schema.default ?? schema.examples?.[0] ?? schema.enum?.[0] ?? "",
      ]),
    );
  }

  async function pick(name: string | undefined): Promise<void> {
    tool = tools.find((it) => it.name === name && it.hasView) ??
      tools.find(({ hasView }) => hasView);
    if (!tool) return;
    at("tool").value = tool.name;
    at("about").textContent = tool.description ?? "";
    remember({ tool: tool.name });
    const samples = Object.entries(tool.samples ?? {});
    at("samples").replaceChildren(
      ...samples.map(([name, sample]) => {
        const button = make("button", name, "quiet");
        button.type = "button";
        button.addEventListener("click", () => showSample(sample));
        return button;
      }),
    );
    at("samples-field").hidden = samples.length === 0;
    const last = remembered.shown[tool.name];
    at("input").value = remembered.inputs[tool.name] ??
      JSON.stringify(last?.input ?? firstInput(tool), null, 2);
    // The tool's source may have changed since, so a read-only call is
    // repeated.
    const isStale = last?.isCalled && tool.annotations?.readOnlyHint;
    if (last) {
      const result = isStale ? undefined : last.result;
      await show(last.input, result, last.isCalled);
    } else if (samples.length > 0) await showSample(samples[0][1]);
    else newFrame();
  }

  function dress(): void {
    const { theme, width } = remembered;
    at("stage").dataset.theme = theme;
    at("stage").dataset.width = width;
    for (const input of document.querySelectorAll("[name=theme]")) {
      input.checked = input.value === theme;
    }
    for (const input of document.querySelectorAll("[name=width]")) {
      input.checked = input.value === width;
    }
    if (tool) host?.setContext(contextOf());
  }

  function on(id: string, type: string, act: (event: Loose) => unknown): void {
    at(id).addEventListener(type, act);
  }

  /**
   * The return from a sign-in, if there was one; nothing is shown before it.
   */
  const back = client.comeBack().catch((error) => complain(error.message));

  on("tool", "change", () => pick(at("tool").value));
  on("looks", "change", ({ target }) => {
    remember({ [target.name]: target.value });
    dress();
  });
  on("input", "input", async () => {
    await back;
    const { inputs } = remembered;
    remember({ inputs: { ...inputs, [tool.name]: at("input").value } });
  });
  /**
   * Runs an action when a button is pressed, if the arguments are valid JSON.
   */
  function press(id: string, act: (input: Loose) => unknown): void {
    on(id, "click", async () => {
      await back;
      const input = jsonIn(at("input"));
      if (input !== undefined) return act(input);
    });
  }

  press("call", (input) => show(input));
  press("send", (input) => {
    const result = jsonIn(at("result"));
    if (result !== undefined) return show(input, result);
  });
  press("wait", (input) => newFrame().tell("tool-input", { arguments: input }));
  press("arrive", (input) => {
    const first = Object.fromEntries(Object.entries(input).slice(0, 1));
    newFrame().tell("tool-input-partial", { arguments: first });
  });
  press("fail", (input) =>
    show(input, {
      isError: true,
      content: [{ type: "text", text: "Something went wrong. Try later." }],
    }));
  press("cancel", (input) => {
    const shown = newFrame();
    shown.tell("tool-input", { arguments: input });
    shown.tell("tool-cancelled", { reason: "The person cancelled." });
  });
  on("leave", "click", () => setMode("inline"));
  on("sign-in", "submit", async (event) => {
    event.preventDefault();
    const isToken = !at("token-field").hidden;
    await client.signIn(isToken ? at("token").value : undefined)
      .catch((error) => complain(error.message));
    if (isToken) page.location.reload();
  });
  page.addEventListener("message", ({ source, data }: Loose) => {
    const frame = at("frame").firstElementChild;
    if (source === frame?.contentWindow && data?.viewProblem) {
      complain(data.viewProblem);
    }
  });

  // A restarted server has another boot id.
  let boot: string | undefined;
  new page.EventSource("views/boot").addEventListener(
    "boot",
    ({ data }: Loose) => {
      if (boot !== undefined && boot !== data) page.location.reload();
      boot = data;
    },
  );

  await back;
  dress();
  await pick(remembered.tool);
}
