/**
 * A host of the reference implementation, around the one frame of its page.
 *
 * @module
 */
import {
  AppBridge,
  PostMessageTransport,
} from "@modelcontextprotocol/ext-apps/app-bridge";

// deno-lint-ignore no-explicit-any
const page = globalThis as any;
const frame = page.document.querySelector("iframe");

const bridge = new AppBridge(
  null,
  { name: "reference", version: "1" },
  { serverTools: {}, message: { text: {} }, updateModelContext: { text: {} } },
  { hostContext: { theme: "light" } },
);

/** Records the view's requests, for the test to read. */
const note = (method: string, params: unknown) => {
  page.asked = [...page.asked ?? [], [method, params]];
};
bridge.oncalltool = (params) => {
  note("tools/call", params);
  return Promise.resolve({ content: [], structuredContent: { height: 20 } });
};
bridge.onmessage = (params) => {
  note("ui/message", params);
  return Promise.resolve({});
};
bridge.onupdatemodelcontext = (params) => {
  note("ui/update-model-context", params);
  return Promise.resolve({});
};
bridge.onsizechange = ({ height }) => frame.style.height = `${height}px`;
bridge.oninitialized = async () => {
  await bridge.sendToolInput({ arguments: { from: "reference" } });
  await bridge.sendToolResult({
    content: [{ type: "text", text: "Bars." }],
    structuredContent: { bars: [1, 2] },
    _meta: { color: "green" },
  });
};
page.setTheme = (theme: "light" | "dark") => bridge.setHostContext({ theme });
await bridge.connect(
  new PostMessageTransport(frame.contentWindow, frame.contentWindow),
);
frame.srcdoc = page.html;
