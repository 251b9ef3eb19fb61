import assert from "node:assert/strict";
import { App } from "@modelcontextprotocol/ext-apps";
import {
  HOST_OPTIONS,
  type HostedView,
  type HostSide,
  hostView,
} from "../host_view.ts";
import type { Json } from "../../../tests/kit/message.ts";
import { until } from "../../../tests/kit/wait.ts";

/** A frame without a browser: its messages go to `toView`. */
class Frame {
  #listeners = new Set<(event: Json) => void>();
  toView: (message: Json) => void = () => {};
  readonly view = {
    postMessage: (message: unknown) => {
      queueMicrotask(() => this.toView(structuredClone(message)));
    },
  };
  readonly own = {
    addEventListener: (_: "message", listen: (event: Json) => void) =>
      void this.#listeners.add(listen),
    removeEventListener: (_: "message", listen: (event: Json) => void) =>
      void this.#listeners.delete(listen),
  };

  post(data: unknown, source: unknown = this.view): void {
    for (const listen of this.#listeners) listen({ source, data });
  }

  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }
}

/** Makes our host, with a view of the reference implementation in its frame. */
async function withReferenceApp(
  duties: Partial<HostSide> = {},
  prepare: (app: App) => void = () => {},
): Promise<{ frame: Frame; host: HostedView; app: App }> {
  const frame = new Frame();
  const host = hostView(frame, {
    context: { theme: "light", locale: "de" },
    answer: () => ({}),
    resize() {},
    watch() {},
    ...duties,
  });
  const app = new App({ name: "chart", version: "1" }, {}, {
    autoResize: false,
  });
  prepare(app);
  await app.connect({
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: (message: unknown) => {
      queueMicrotask(() => frame.post(structuredClone(message)));
      return Promise.resolve();
    },
    set onmessage(listen: (message: Json) => void) {
      frame.toView = listen;
    },
  } as Json);
  return { frame, host, app };
}

Deno.test("the host introduces itself to a view of the reference implementation", async () => {
  const { app } = await withReferenceApp();
  assert.deepEqual(app.getHostCapabilities(), HOST_OPTIONS.capabilities);
  assert.equal(app.getHostVersion()?.name, "tool-server-views");
  assert.deepEqual(app.getHostContext(), { theme: "light", locale: "de" });
});

Deno.test("the host tells input, result, cancellation and context, once the view listens", async () => {
  const heard: Json[] = [];
  const frame = new Frame();
  const early: string[] = [];
  const host = hostView(frame, {
    context: {},
    answer: () => ({}),
    resize() {},
    watch: (from, { method }) => void (from === "host" && early.push(method)),
  });
  host.notify("tool-input", { arguments: { city: "Bern" } });
  assert.deepEqual(early, []);
  frame.post({ jsonrpc: "2.0", method: "ui/notifications/initialized" });
  assert.deepEqual(early, ["ui/notifications/tool-input"]);

  const { host: other } = await withReferenceApp({}, (app) => {
    app.ontoolinput = (params) => void heard.push(params);
    app.ontoolinputpartial = (params) => void heard.push(params);
    app.ontoolresult = (params) => void heard.push(params);
    app.ontoolcancelled = (params) => void heard.push(params);
    app.onhostcontextchanged = (params) => void heard.push(params);
  });
  const result = { content: [], structuredContent: { degrees: 2 } };
  other.notify("tool-input-partial", { arguments: { city: "Be" } });
  other.notify("tool-input", { arguments: { city: "Bern" } });
  other.notify("tool-result", result);
  other.notify("tool-cancelled", { reason: "no" });
  other.setContext({ theme: "dark" });
  await until(() => heard.length === 5);
  assert.deepEqual(heard, [
    { arguments: { city: "Be" } },
    { arguments: { city: "Bern" } },
    result,
    { reason: "no" },
    { theme: "dark" },
  ]);
});

Deno.test("the host does what a view of the reference implementation asks", async () => {
  const asked: Json[] = [];
  const { app } = await withReferenceApp({
    answer(method, { _meta, ...params }) {
      asked.push([method, params]);
      if (method === "tools/call") return { content: [] };
      if (method === "ui/request-display-mode") return { mode: "inline" };
      return {};
    },
    resize: (size) => void asked.push(["resize", size]),
  });
  await app.callServerTool({ name: "pick", arguments: { id: 1 } });
  await app.openLink({ url: "https://example.com/" });
  const content = [{ type: "text" as const, text: "And tomorrow?" }];
  await app.sendMessage({ role: "user", content });
  await app.updateModelContext({ content });
  assert.deepEqual(await app.requestDisplayMode({ mode: "fullscreen" }), {
    mode: "inline",
  });
  await app.sendSizeChanged({ width: 300, height: 200 });
  await until(() => asked.length === 6);
  assert.deepEqual(asked, [
    ["tools/call", { name: "pick", arguments: { id: 1 } }],
    ["ui/open-link", { url: "https://example.com/" }],
    ["ui/message", { role: "user", content }],
    ["ui/update-model-context", { content }],
    ["ui/request-display-mode", { mode: "fullscreen" }],
    ["resize", { width: 300, height: 200 }],
  ]);
});

Deno.test("what the host refuses is an error with its code", async () => {
  const { app } = await withReferenceApp({
    answer() {
      throw Object.assign(new Error("No such tool"), { code: -32602 });
    },
  });
  await assert.rejects(
    app.callServerTool({ name: "none" }),
    { code: -32602, message: /No such tool/ },
  );
});

Deno.test("the host opens no link but https, http and mailto", async () => {
  const opened: string[] = [];
  const { app } = await withReferenceApp({
    answer: (_, { url }) => {
      opened.push(url);
      return {};
    },
  });
  const good = [
    "https://a.example/",
    "http://a.example/",
    "mailto:a@b.example",
  ];
  for (const url of good) await app.openLink({ url });
  for (
    const url of [
      "javascript:alert(1)",
      " javascript:alert(1)",
      "data:text/html,x",
      "file:///etc/passwd",
      "blob:https://a.example/1",
      "vscode://open",
      "https:a.example",
      "",
    ]
  ) {
    await assert.rejects(app.openLink({ url }), { code: -32602 }, url);
  }
  assert.deepEqual(opened, good);
});

Deno.test("the host lets a view finish, and waits for none that does not", async () => {
  let finished = 0;
  const { host, frame } = await withReferenceApp({}, (app) => {
    app.onteardown = () => {
      finished++;
      return {};
    };
  });
  await host.end();
  assert.equal(finished, 1);
  assert.equal(frame.isHeard, false);

  const silent = new Frame();
  const other = hostView(silent, {
    context: {},
    answer: () => ({}),
    resize() {},
    watch() {},
  }, { ...HOST_OPTIONS, finishMilliseconds: 1 });
  silent.post({ jsonrpc: "2.0", method: "ui/notifications/initialized" });
  await other.end();
  assert.equal(silent.isHeard, false);
});

Deno.test("the host hears its own frame and no other", () => {
  const frame = new Frame();
  const seen: Json[] = [];
  hostView(frame, {
    context: {},
    answer: () => ({}),
    resize: (size) => void seen.push(size),
    watch: (_, message) => void seen.push(message),
  });
  const method = "ui/notifications/size-changed";
  frame.post({ jsonrpc: "2.0", method, params: { height: 1 } }, {});
  frame.post({ method, params: { height: 2 } });
  frame.post("text");
  assert.deepEqual(seen, []);
});
