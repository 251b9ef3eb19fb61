/**
 * A tool's view: its HTML document, and the resource by which clients get it.
 *
 * @module
 * @see MCP Apps 2026-01-26, UI Resource Format and Resource Discovery
 */
import type { Resource } from "../../authoring/resource.ts";
import type { Tool } from "../../authoring/tool.ts";
import { isForModels } from "../../core/catalogue/compiled_tool.ts";
import type { ToolView } from "../../authoring/tool_view.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import type { JsonObject } from "../../core/json.ts";
import { hostChannel } from "./host_channel.ts";
import { makeView } from "./make_view.ts";
import { viewResult } from "./view.ts";

/** The name by which clients and servers declare the MCP Apps extension. */
export const VIEWS_EXTENSION = "io.modelcontextprotocol/ui";

/** The media type of every view. */
export const VIEW_TYPE = "text/html;profile=mcp-app";

/**
 * The seconds for which a client may cache a view. The view's URI changes with
 * its content.
 */
const TTL_SECONDS = 3600;

export interface CompiledView {
  resource: Resource;
  /** The part of the view's URI before the digest of its content. */
  prefix: string;
  /** The HTML document that clients get. */
  html: string;
  /**
   * The origins that the view may access, with the member names of MCP Apps.
   */
  csp: ViewPolicy;
}

/** The origins that a view may access. An empty list allows none. */
export interface ViewPolicy {
  connectDomains: readonly string[];
  resourceDomains: readonly string[];
  frameDomains?: readonly string[];
}

/** Returns the part of a view's URI that all its versions share. */
export function viewPrefix(uri: string): string {
  return uri.slice(0, uri.lastIndexOf("/") + 1);
}

/**
 * Compiles the view of a tool. Its URI contains a digest, because clients cache
 * by URI.
 *
 * @throws {Error} for a page that no client could show
 */
export function compileView(
  { name, title, description, icons }: Tool,
  view: string | ToolView,
): CompiledView {
  const { html: document, ...options } = typeof view === "string"
    ? { html: view } as ToolView
    : view;
  checkViewDocument(document, options);
  const html = withViewScript(document);
  const { connect = [], load = [], frames = [] } = options;
  const csp: ViewPolicy = {
    connectDomains: connect,
    resourceDomains: load,
    ...(frames.length > 0 && { frameDomains: frames }),
  };
  const _meta = metaOf(options, csp);
  const version = fingerprint(html + JSON.stringify(_meta)).slice(0, 16);
  const prefix = `ui://${name}/`;
  const resource: Resource = {
    kind: "resource",
    uri: `${prefix}${version}.html`,
    name: `${name}_view`,
    ...(title && { title }),
    ...(description && { description }),
    ...(icons && { icons }),
    mimeType: VIEW_TYPE,
    ttlSeconds: TTL_SECONDS,
    _meta,
    read: ({ uri = resource.uri }) => [
      { uri, mimeType: VIEW_TYPE, text: html, _meta },
    ],
  };
  return { resource, prefix, html, csp };
}

/**
 * Makes the metadata for a tool's list entry: its view, and who may call it
 * (the model, views).
 */
export function viewMetaOf(
  tool: Tool,
  uri: string | undefined,
): JsonObject | undefined {
  const { visibility, view } = tool;
  if (view === undefined && visibility === undefined) return undefined;
  const isForViews = visibility?.includes("app") ?? true;
  return {
    ui: { resourceUri: uri, visibility },
    // The same for clients before MCP Apps 2026-01-26, and under ChatGPT's
    // name.
    "ui/resourceUri": uri,
    "openai/outputTemplate": uri,
    ...(isForViews && { "openai/widgetAccessible": true }),
    ...(!isForModels(tool) && { "openai/visibility": "private" }),
  };
}

/** Makes a view's metadata, with the names of MCP Apps and of ChatGPT. */
function metaOf(
  { border, permissions = [], domain }: Omit<ToolView, "html">,
  csp: ViewPolicy,
): JsonObject {
  return {
    ui: {
      csp,
      ...(permissions.length > 0 && {
        permissions: Object.fromEntries(
          permissions.map((name) => [
            name === "clipboard-write" ? "clipboardWrite" : name,
            {},
          ]),
        ),
      }),
      // Claude refuses to show a view whose domain is not one of its own, so
      // ui.domain is never sent.
      ...(border !== undefined && { prefersBorder: border }),
    },
    "openai/widgetCSP": {
      connect_domains: csp.connectDomains,
      resource_domains: csp.resourceDomains,
      ...(csp.frameDomains && { frame_domains: csp.frameDomains }),
    },
    ...(border !== undefined && { "openai/widgetPrefersBorder": border }),
    ...(domain !== undefined && { "openai/widgetDomain": domain }),
  };
}

const SCRIPT_PLACE = /<script\s+src="tool-server\/view"\s*>\s*<\/script>/gi;

export function withViewScript(html: string): string {
  return html.replace(SCRIPT_PLACE, () => `<script>${viewScript()}</script>`);
}

/**
 * Returns the script as one line, so that errors name the author's line
 * numbers.
 */
function viewScript(): string {
  const source = `(${makeView})(globalThis,${hostChannel},${viewResult})`
    .replaceAll(/^\s*\/\*\*[\s\S]*?\*\/\s*/gm, "")
    .replaceAll(/^\s*\/\/.*\n/gm, "")
    .replaceAll(/(?<=[{;,])\s*\n\s*/g, "")
    .replaceAll(/\s*\n\s*/g, " ");
  // Some bundlers wrap functions in a call of __name to keep their names, so
  // the script defines __name.
  return `globalThis.view=((__name)=>${source})((f)=>f);`;
}

/** Matches the URLs that the elements of a document load. */
const LOADED =
  /<(script|img|link|iframe|video|audio|source|embed)\b[^>]*?\s(?:src|href)\s*=\s*["']?([^"'\s>]+)/gi;

/**
 * Checks that clients can show a document.
 *
 * @throws {Error} if it is a path, if it refers to another file, or if it uses
 * an origin that the view does not list
 */
export function checkViewDocument(
  html: string,
  { connect = [], load = [], frames = [], domain }: Omit<ToolView, "html">,
): void {
  if (!/<!doctype html|<html/i.test(html)) {
    throw new Error(
      "view must be an HTML document that begins with <!doctype html>, not " +
        "the path of one: import html from './chart.html' with { type: 'text' }",
    );
  }
  for (const origin of [...connect, ...load, ...frames]) checkOrigin(origin);
  if (domain !== undefined) checkOrigin(domain);
  const page = html.replaceAll(SCRIPT_PLACE, "")
    .replaceAll(/<!--[\s\S]*?-->/g, "")
    .replaceAll(/(<script\b[^>]*>)[\s\S]*?<\/script>/gi, "$1");
  for (const [, element, address] of page.matchAll(LOADED)) {
    if (/^(data|blob):|^#/i.test(address)) continue;
    const where = element.toLowerCase() === "iframe" ? "frames" : "load";
    if (!/^https?:\/\//i.test(address)) {
      throw new Error(
        `view loads ${address}, which no client has: put it into the document`,
      );
    }
    const allowed = where === "frames" ? frames : load;
    if (!allowed.some((origin) => isFrom(address, origin))) {
      throw new Error(
        `view loads ${address}: put it into the document, or its origin into ` +
          `${where} of the view`,
      );
    }
  }
}

/** Checks an origin by CSP3 §2.3.1: the first label of its host may be `*`. */
function checkOrigin(origin: string): void {
  if (/^(https?|wss?):\/\/(\*\.)?[^/*\s;,'"]+$/.test(origin)) return;
  throw new Error(
    `view: ${origin} must be an origin such as https://api.example.com`,
  );
}

function isFrom(address: string, origin: string): boolean {
  const [scheme, host] = origin.split("://");
  const url = new URL(address);
  if (url.protocol !== `${scheme}:`) return false;
  return host.startsWith("*.")
    ? url.host.endsWith(host.slice(1))
    : url.host === host;
}
