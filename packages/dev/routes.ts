/**
 * The routes that show views while they are written: only in development, only
 * on loopback.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { streamSSE } from "@hono/hono/streaming";
import { randomId } from "../../src/core/crypto/crypto.ts";
import { HttpError } from "../../src/core/errors.ts";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { cspSource } from "../../src/core/pages/respond.ts";
import { STYLE } from "../../src/core/pages/style.ts";
import type { Catalogue } from "../../src/core/catalogue/catalogue.ts";
import type { CompiledTool } from "../../src/core/catalogue/compiled_tool.ts";
import type { PublicSite } from "../../src/core/server/feature.ts";
import { toolViews } from "../../src/features/views/tool_views.ts";
import type {
  CompiledView,
  ViewPolicy,
} from "../../src/features/views/view_resource.ts";
import { HostPage, type ShownTool } from "./host_page.tsx";
import { PARTS, partText } from "./host_parts.ts";
import { HOST_OPTIONS } from "./host_view.ts";
import { HOST_STYLE, PALETTE } from "./host_style.ts";
import { runHostPage } from "./run_host_page.ts";

/** Some bundlers wrap functions in a call of `__name` to keep their names. */
const SCRIPT = `((__name) => (${runHostPage})(globalThis, {
  ${
  Object.entries(PARTS).map(([name, part]) => `${name}: ${partText(part)},`)
    .join("\n")
}
  options: ${JSON.stringify(HOST_OPTIONS)},
  palette: ${JSON.stringify(PALETTE)},
}))((f) => f);`;

/**
 * The script at the very beginning of a view in development. It reports errors
 * in the view to the page around it. It is one line, so that line numbers stay
 * right. It does not report a blocked `eval`: libraries test whether `eval`
 * works, and if that matters, an error follows.
 */
const PROBLEM_SCRIPT = `<script>${
  `
(() => {
  const tell = (words) => parent.postMessage({ viewProblem: String(words) }, "*");
  const tellWhere = (message, line) =>
    tell(line ? message + " (line " + line + ")" : message);
  addEventListener("error", ({ message, lineno }) => {
    if (message) tellWhere(message, lineno);
  });
  addEventListener("unhandledrejection", ({ reason }) => {
    tellWhere(reason?.message ?? reason, /:(\\d+):\\d+/.exec(reason?.stack)?.[1]);
  });
  addEventListener("securitypolicyviolation", (event) => {
    if (event.blockedURI === "eval") return;
    tell(event.effectiveDirective + " does not allow " + event.blockedURI +
      ": see connect, load and frames of the view");
  });
  const { error } = console;
  console.error = (...words) => { tell(words.join(" ")); error.apply(console, words); };
})();`.replaceAll(/\s*\n\s*/g, " ")
}</script>`;

const POLICY = [
  "default-src 'none'",
  `style-src ${cspSource(STYLE)} ${cspSource(HOST_STYLE)} 'unsafe-hashes'`,
  `script-src ${cspSource(SCRIPT)}`,
  "connect-src 'self'",
  "frame-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * Makes the routes of the page, of its views, and of the event that reports a
 * restart.
 */
export function viewHostRoutes(
  { catalogue: shown, config, checkOrigin, stopping }: PublicSite,
): Hono {
  const catalogue = shown.whole ?? shown;
  const { title: serverTitle } = config;
  const boot = randomId(9);
  const app = new Hono();

  app.use("/views/*", (c, next) => {
    checkOrigin(c.req.raw);
    c.header("Cache-Control", "no-store");
    c.header("X-Content-Type-Options", "nosniff");
    c.header("Referrer-Policy", "no-referrer");
    return next();
  });

  app.get("/views", (c) => {
    c.header("Content-Security-Policy", POLICY);
    const tools = shownTools(catalogue);
    const props = { serverTitle, tools, script: SCRIPT, style: HOST_STYLE };
    return c.html(`<!doctype html>${HostPage(props)}`);
  });

  app.get("/views/page/:tool", (c) => {
    const tool = catalogue.tools.get(c.req.param("tool"));
    const view = tool && viewOf(catalogue, tool);
    if (!view) throw new HttpError(404, "This tool has no view");
    c.header("Content-Security-Policy", viewPolicy(view.csp));
    const beginning = /^\s*(<!doctype[^>]*>)?/i;
    return c.html(view.html.replace(beginning, `$&${PROBLEM_SCRIPT}`));
  });

  app.get("/views/boot", (c: Context) =>
    streamSSE(c, async (stream) => {
      await stream.writeSSE({ event: "boot", data: boot, retry: 300 });
      await new Promise<void>((resolve) => {
        stream.onAbort(resolve);
        stopping.addEventListener("abort", () => resolve(), { once: true });
        if (stopping.aborted) resolve();
      });
    }));
  return app;
}

function viewOf(
  catalogue: Catalogue,
  { view }: CompiledTool,
): CompiledView | undefined {
  return catalogue.part(toolViews)?.get(view);
}

/** Lists the tools, with details that only this page gets. */
function shownTools(catalogue: Catalogue): ShownTool[] {
  const { tools } = JSON.parse(catalogue.stateless.tools.page(undefined)) as {
    tools: (JsonObject & { name: string })[];
  };
  return tools.map((listed) => {
    const tool = catalogue.tools.get(listed.name)!;
    const { samples } = tool;
    return {
      ...listed,
      hasView: viewOf(catalogue, tool) !== undefined,
      ...(isObject(samples) && { samples }),
    };
  });
}

/**
 * Makes the Content-Security-Policy that MCP Apps prescribes for a view. Adds a
 * sandbox in case the view is opened by itself.
 *
 * @see MCP Apps 2026-01-26, Content Security Policy Enforcement
 */
function viewPolicy(
  { connectDomains, resourceDomains, frameDomains = [] }: ViewPolicy,
): string {
  const from = resourceDomains.join(" ");
  const orNone = (origins: readonly string[]) => origins.join(" ") || "'none'";
  return [
    "default-src 'none'",
    `script-src 'unsafe-inline' ${from}`,
    `style-src 'unsafe-inline' ${from}`,
    `img-src data: ${from}`,
    `media-src data: ${from}`,
    `font-src data: ${from}`,
    `connect-src ${orNone(connectDomains)}`,
    `frame-src ${orNone(frameDomains)}`,
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
    "sandbox allow-scripts allow-forms",
  ].join("; ");
}
