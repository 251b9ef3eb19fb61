/**
 * The script of the development page.
 *
 * @module
 */
import type { PARTS } from "./host_parts.ts";
import type { HOST_OPTIONS, HostedView, Loose } from "./host_view.ts";
import type { Palette } from "./host_style.ts";

/** Runs the page. The source text of this function is put into the page. */
export async function runHostPage(
  page: Loose,
  parts: typeof PARTS & { options: typeof HOST_OPTIONS; palette: Palette },
): Promise<void> {
  const { document } = page;
  const at = (id: string): Loose => document.getElementById(id);
  const tools: Loose[] = JSON.parse(at("tools").textContent);
  const { remembered, remember } = parts.pageMemory(page);
  const { make, note, complain, watchOne } = parts.messageLog(document);
  const { Client, SignIn, firstInput } = parts;
  const client = parts.devClient(page, {
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

  function setMode(mode: string): string {
    const given = mode === "fullscreen" ? mode : "inline";
    at("stage").dataset.mode = given;
    host?.setContext({ displayMode: given });
    return given;
  }

  const { answer, textOf, contextOf } = parts.hostAnswers(page, {
    tools,
    client,
    palette: parts.palette,
    make,
    setMode,
  });

  /** Makes a new frame, because each call in a conversation has its own. */
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
    host = parts.hostView({ own: page, view: frame.contentWindow }, {
      context: contextOf(tool, remembered),
      answer,
      resize({ height }) {
        if (height !== undefined) frame.style.height = `${height}px`;
      },
      watch: watchOne(),
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
    shown.notify("tool-input", { arguments: input });
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
    shown.notify("tool-result", result);
  }

  /** Parses the JSON in a field; marks the field if it is invalid. */
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
    // The tool's source may have changed since, so the call is repeated if the
    // tool only reads.
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
    if (tool) host?.setContext(contextOf(tool, remembered));
  }

  function on(id: string, type: string, act: (event: Loose) => unknown): void {
    at(id).addEventListener(type, act);
  }

  /**
   * The end of the sign-in from which the browser has just returned. Until then
   * nothing is shown.
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
  /** Runs an action when a button is pressed, if the arguments are JSON. */
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
  press(
    "wait",
    (input) => newFrame().notify("tool-input", { arguments: input }),
  );
  press("arrive", (input) => {
    const first = Object.fromEntries(Object.entries(input).slice(0, 1));
    newFrame().notify("tool-input-partial", { arguments: first });
  });
  press("fail", (input) =>
    show(input, {
      isError: true,
      content: [{ type: "text", text: "Something went wrong. Try later." }],
    }));
  press("cancel", (input) => {
    const shown = newFrame();
    shown.notify("tool-input", { arguments: input });
    shown.notify("tool-cancelled", { reason: "The person cancelled." });
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
