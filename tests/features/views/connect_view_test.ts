import assert from "node:assert/strict";
import { connectView } from "../../../src/view.ts";
import type { Json } from "../../kit/message.ts";
import { until } from "../../kit/wait.ts";
import { FakePage, inReferenceHost } from "./fake_page.ts";

const text = (text: string) => [{ type: "text" as const, text }];

Deno.test("a view is told its input and its result by the reference host", async () => {
  const { bridge, view } = await inReferenceHost<{ city: string }, Json>({
    context: { theme: "dark", locale: "de" },
  });
  const { host, theme, context, input } = view.state;
  assert.deepEqual(host, { name: "Reference", version: "2" });
  assert.deepEqual([theme, context.locale, input], ["dark", "de", undefined]);
  const seen: unknown[] = [];
  const end = view.show(({ status, input, data }) =>
    seen.push([status, input?.city, data?.degrees])
  );
  await bridge.sendToolInputPartial({ arguments: { city: "Be" } });
  await bridge.sendToolInput({ arguments: { city: "Bern" } });
  await bridge.sendToolResult({
    content: text("Cold."),
    structuredContent: { degrees: 2 },
    _meta: { hours: [1, 2] },
  });
  assert.deepEqual(seen, [
    ["running", undefined, undefined],
    ["arriving", "Be", undefined],
    ["running", "Bern", undefined],
    ["done", "Bern", 2],
  ]);
  assert.equal(view.state.text, "Cold.");
  assert.deepEqual(view.state.meta, { hours: [1, 2] });
  end();
  await bridge.sendToolCancelled({ reason: "by the person" });
  assert.equal(seen.length, 4);
  assert.equal(view.state.status, "cancelled");
  assert.equal(view.state.text, "by the person");
});

Deno.test("a view shows that its tool failed, and nothing of the result before", async () => {
  const { bridge, view } = await inReferenceHost();
  const structuredContent = { degrees: 2 };
  await bridge.sendToolResult({ content: text("2"), structuredContent });
  await bridge.sendToolResult({ content: text("No such city"), isError: true });
  const { status, text: words, data } = view.state;
  assert.deepEqual([status, words, data], [
    "failed",
    "No such city",
    undefined,
  ]);
});

Deno.test("a view does through the reference host what that can do", async () => {
  const asked: Json[] = [];
  const note = (result: Json) => (params: Json) => {
    asked.push(params);
    return Promise.resolve(result);
  };
  const { view, page } = await inReferenceHost({
    capabilities: {
      serverTools: {},
      serverResources: {},
      openLinks: {},
      message: { text: {} },
      updateModelContext: { text: {} },
      downloadFile: {},
    },
    context: { availableDisplayModes: ["inline", "fullscreen"] },
    prepare(bridge) {
      bridge.oncalltool = note({
        content: text("Picked."),
        structuredContent: { picked: 1 },
        _meta: { more: true },
      });
      bridge.onreadresource = note({ contents: [{ uri: "a://b", text: "B" }] });
      bridge.onopenlink = note({});
      bridge.onmessage = note({});
      bridge.onupdatemodelcontext = note({});
      bridge.ondownloadfile = note({});
      bridge.onrequestdisplaymode = note({ mode: "fullscreen" });
    },
  });
  assert.deepEqual(view.state.can, {
    call: true,
    read: true,
    say: true,
    tell: true,
    download: true,
    modes: ["inline", "fullscreen"],
  });
  const { data, text: words, meta } = await view.call("pick", { id: 1 });
  assert.deepEqual([data, words, meta], [
    { picked: 1 },
    "Picked.",
    { more: true },
  ]);
  assert.deepEqual(await view.read("a://b"), [{ uri: "a://b", text: "B" }]);
  await view.open("https://example.com/");
  await view.say("And tomorrow?");
  await view.tell("They picked 1.", { id: 1 });
  await view.download("a.csv", "1,2", "text/csv");
  assert.equal(await view.display("fullscreen"), "fullscreen");
  assert.equal(view.state.mode, "fullscreen");
  assert.deepEqual(asked, [
    { name: "pick", arguments: { id: 1 } },
    { uri: "a://b" },
    { url: "https://example.com/" },
    { role: "user", content: text("And tomorrow?") },
    { content: text("They picked 1."), structuredContent: { id: 1 } },
    {
      contents: [{
        type: "resource",
        resource: { uri: "file:///a.csv", mimeType: "text/csv", text: "1,2" },
      }],
    },
    { mode: "fullscreen" },
  ]);
  assert.deepEqual(page.opened, []);
});

Deno.test("what a tool or a host refuses is an error in its words", async () => {
  const { view } = await inReferenceHost({
    capabilities: { serverTools: {}, message: {} },
    prepare(bridge) {
      bridge.oncalltool = () =>
        Promise.resolve({ content: text("It is sold out"), isError: true });
      bridge.onmessage = () => Promise.resolve({ isError: true });
      bridge.onopenlink = () => Promise.reject(new Error("Not there"));
    },
  });
  await assert.rejects(view.call("buy"), /^Error: It is sold out$/);
  await assert.rejects(view.say("Hi"), /The host refused ui\/message/);
  await assert.rejects(view.read("a://b"), /Method not found/);
});

Deno.test("a view takes on the host's theme, variables and fonts, as they change", async () => {
  const { bridge, view, page } = await inReferenceHost({
    context: {
      theme: "light",
      styles: {
        variables: { "--color-text-primary": "#111" },
        css: { fonts: "@font-face {}" },
      },
    },
  });
  assert.equal(page.root.dataset.theme, "light");
  assert.equal(page.root.variables.get("--color-text-primary"), "#111");
  assert.equal(page.head.children[0].textContent, "@font-face {}");
  await bridge.sendHostContextChange({
    theme: "dark",
    styles: {
      variables: { "--color-text-primary": "#eee" } as Json,
      css: { fonts: "@import" },
    },
  });
  assert.equal(page.root.dataset.theme, "dark");
  assert.equal(view.state.theme, "dark");
  assert.equal(page.root.variables.get("--color-text-primary"), "#eee");
  assert.deepEqual(page.head.children.map((it) => it.textContent), ["@import"]);
});

Deno.test("without a word of the host the theme is the browser's, as it changes", async () => {
  const page = new FakePage();
  page.dark.matches = true;
  const { view, bridge } = await inReferenceHost({ page });
  assert.equal(view.state.theme, "dark");
  page.dark.matches = false;
  page.dark.fire("change", {});
  assert.equal(view.state.theme, "light");
  await bridge.sendHostContextChange({ theme: "light" });
  page.dark.matches = true;
  page.dark.fire("change", {});
  assert.equal(view.state.theme, "light");
});

Deno.test("a view tells how high its content is, once for each height", async () => {
  const heights: unknown[] = [];
  const { page, bridge } = await inReferenceHost({
    prepare(bridge) {
      bridge.onsizechange = ({ height }) => void heights.push(height);
    },
  });
  await until(() => heights.length === 1);
  // Something was drawn, then something that took a while.
  page.height = 200.5;
  await bridge.sendToolInput({ arguments: {} });
  await until(() => heights.length === 2);
  page.height = 300;
  page.resize();
  page.resize();
  await until(() => heights.length === 3);
  assert.deepEqual(heights, [124, 201, 300]);
  assert.equal(page.root.style.height, "");
});

Deno.test("links in the page are opened by the host, or by the browser where it cannot", async () => {
  const asked: Json[] = [];
  const { page } = await inReferenceHost({
    capabilities: { openLinks: {} },
    prepare: (bridge) =>
      bridge.onopenlink = (params) => {
        asked.push(params);
        return Promise.resolve({});
      },
  });
  let prevented = 0;
  const click = (href: string, defaultPrevented = false) => ({
    target: { closest: () => ({ href }) },
    defaultPrevented,
    preventDefault: () => prevented++,
  });
  page.document.fire("click", click("https://example.com/a"));
  page.document.fire("click", click("https://example.com/b", true));
  page.document.fire("click", click("#part"));
  page.document.fire("click", { target: { closest: () => null } });
  await until(() => asked.length > 0);
  assert.deepEqual([asked, prevented], [[{ url: "https://example.com/a" }], 1]);

  const other = await inReferenceHost();
  await other.view.open("https://example.com/c");
  assert.deepEqual(other.page.opened, ["https://example.com/c"]);
});

Deno.test("a view finishes before the host removes it", async () => {
  const { bridge, view } = await inReferenceHost();
  const finished: string[] = [];
  view.beforeEnd(() => void finished.push("one"));
  view.beforeEnd(() => Promise.reject(new Error("two")));
  view.beforeEnd(() => void finished.push("three"));
  await bridge.teardownResource({});
  assert.deepEqual(finished, ["one", "three"]);
});

Deno.test("a view answers a ping, and says what it does not know", async () => {
  const { page } = await inReferenceHost();
  page.toHost = () => {};
  page.hear({ jsonrpc: "2.0", id: "p", method: "ping" });
  page.hear({ jsonrpc: "2.0", id: "q", method: "ui/unheard-of" });
  page.tell("unheard-of", {});
  const answerTo = (asked: string) =>
    page.sent.find(({ id, method }) => id === asked && method === undefined);
  await until(() => answerTo("p") && answerTo("q"));
  assert.deepEqual(answerTo("p").result, {});
  assert.deepEqual(answerTo("q").error, {
    code: -32601,
    message: "No method ui/unheard-of",
  });
});

Deno.test("a view listens to the window around it and to no other", async () => {
  const { page, view } = await inReferenceHost();
  const method = "ui/notifications/tool-input";
  const params = { arguments: { a: 1 } };
  page.hear({ jsonrpc: "2.0", method, params }, {});
  page.hear({ method, params });
  page.hear("text");
  page.hear(null);
  assert.equal(view.state.input, undefined);
});

Deno.test("what a host drops is read from the text, or had again where that does no harm", async () => {
  const calls: Json[] = [];
  const outputSchema = { type: "object" };
  const tool = (readOnlyHint: boolean) => ({
    name: "chart",
    inputSchema: { type: "object" },
    outputSchema,
    annotations: { readOnlyHint },
  });
  const inHost = (readOnlyHint: boolean) =>
    inReferenceHost<Json, Json>({
      capabilities: { serverTools: {} },
      context: { toolInfo: { tool: tool(readOnlyHint) } },
      prepare(bridge) {
        bridge.oncalltool = (params) => {
          calls.push(params);
          return Promise.resolve({
            content: text("Two bars."),
            structuredContent: { bars: [1, 2] },
            _meta: { colors: ["red"] },
          });
        };
      },
    });
  const { bridge, view } = await inHost(true);
  await bridge.sendToolResult({ content: text('{"bars":[3]}') });
  assert.deepEqual(view.state.data, { bars: [3] });
  assert.deepEqual(calls, []);

  await bridge.sendToolInput({ arguments: { year: 2026 } });
  await bridge.sendToolResult({ content: text("Two bars.") });
  await until(() => view.state.status === "done");
  assert.deepEqual(view.state.data, { bars: [1, 2] });
  assert.deepEqual(view.state.meta, { colors: ["red"] });
  assert.deepEqual(calls, [{ name: "chart", arguments: { year: 2026 } }]);

  const writing = await inHost(false);
  await writing.bridge.sendToolResult({ content: text("Two bars.") });
  assert.equal(writing.view.state.status, "done");
  assert.equal(writing.view.state.data, undefined);
  assert.equal(calls.length, 1);
});

Deno.test("a host that refuses the view is shown as a failure", async () => {
  const page = new FakePage();
  page.toHost = ({ id }) =>
    page.hear({ jsonrpc: "2.0", id, error: { code: -1, message: "Too old" } });
  const view = connectView(page);
  await until(() => view.state.status === "failed");
  assert.equal(view.state.text, "Too old");
  await assert.rejects(view.call("pick"), /Too old/);
});

Deno.test("a page without a host is alone, and says so when it is asked for more", async () => {
  const page = new FakePage();
  page.parent = page;
  const view = connectView(page);
  assert.equal(view.state.status, "alone");
  await assert.rejects(view.call("pick"), /There is no host around this page/);
  await view.open("https://example.com/");
  assert.deepEqual(page.opened, ["https://example.com/"]);
  assert.deepEqual(page.sent, []);
});
