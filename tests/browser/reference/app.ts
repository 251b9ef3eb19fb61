/**
 * A view of the reference implementation: it shows its messages, and calls a
 * tool.
 *
 * @module
 */
import { App } from "@modelcontextprotocol/ext-apps";

// deno-lint-ignore no-explicit-any
const { document } = globalThis as any;
const told: string[] = [];

function show(...words: unknown[]): void {
  told.push(words.join(" "));
  document.getElementById("told").textContent = told.join("; ");
}

const app = new App({ name: "reference", version: "1" }, {});
app.ontoolinput = (params) => show("input", params.arguments?.from);
app.ontoolresult = async ({ structuredContent, _meta }) => {
  const { bars } = structuredContent as { bars: number[] };
  show("result", bars, _meta?.color);
  const called = await app.callServerTool({
    name: "pick",
    arguments: { bar: 2 },
  });
  show("picked", (called.structuredContent as { height: number }).height);
  const content = [{ type: "text" as const, text: "Why?" }];
  await app.sendMessage({ role: "user", content });
};
app.onhostcontextchanged = ({ theme }) => show("theme", theme);
await app.connect();
