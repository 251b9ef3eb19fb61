/**
 * A tool's view as a resource that clients read.
 *
 * @module
 * @see MCP Apps 2026-01-26, UI Resource Format and Resource Discovery
 */
import type { Resource } from "../../authoring/resource.ts";
import type { Tool } from "../../authoring/tool.ts";
import type { ToolView } from "../../authoring/tool_view.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import type { JsonObject } from "../../json.ts";
import { checkViewDocument, withViewScript } from "./view_document.ts";

/** The extension, as clients and servers declare it. */
export const VIEWS_EXTENSION = "io.modelcontextprotocol/ui";

/** The media type of every view. */
export const VIEW_TYPE = "text/html;profile=mcp-app";

/**
 * The time for which a client may keep a view, in seconds; its address changes
 * with its content.
 */
const TTL_SECONDS = 3600;

/** A view, and the part of its address that all its versions share. */
export interface CompiledView {
  resource: Resource;
  /** The beginning of its address, which ends with a digest of its content. */
  home: string;
  /** The document that clients get. */
  html: string;
  /** The origins it may reach, as the standard names them. */
  csp: ViewPolicy;
}

/** The origins that a view may reach; none where there are none. */
export interface ViewPolicy {
  connectDomains: readonly string[];
  resourceDomains: readonly string[];
  frameDomains?: readonly string[];
}

/** Gives the beginning of a view's address, which all its versions share. */
export function viewHome(uri: string): string {
  return uri.slice(0, uri.lastIndexOf("/") + 1);
}

/**
 * Compiles the view of a tool. The address has a digest in it, because clients
 * cache by address.
 *
 * @throws {Error} for a page that no client could show
 */
export function compileView(
  { name, title, description, icons }: Tool,
  view: string | ToolView,
): CompiledView {
  const { html: document, ...wishes } = typeof view === "string"
    ? { html: view } as ToolView
    : view;
  checkViewDocument(document, wishes);
  const html = withViewScript(document);
  const csp = policyOf(wishes);
  const _meta = metaOf(wishes, csp);
  const version = fingerprint(html + JSON.stringify(_meta)).slice(0, 16);
  const home = `ui://${name}/`;
  const resource: Resource = {
    kind: "resource",
    uri: `${home}${version}.html`,
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
  return { resource, home, html, csp };
}

/** True if models may call the tool; other tools are parts of a view. */
export function isForModels({ visibility }: Pick<Tool, "visibility">): boolean {
  return visibility?.includes("model") ?? true;
}

/** Makes the metadata of a tool's list entry about its view and its callers. */
export function viewMetaOf(
  tool: Tool,
  uri: string | undefined,
): JsonObject | undefined {
  const { visibility, view } = tool;
  if (view === undefined && visibility === undefined) return undefined;
  const isForViews = visibility?.includes("app") ?? true;
  return {
    ui: {
      ...(uri !== undefined && { resourceUri: uri }),
      ...(visibility && { visibility }),
    },
    // The same for clients from before 2026, and under ChatGPT's name.
    ...(uri !== undefined && {
      "ui/resourceUri": uri,
      "openai/outputTemplate": uri,
    }),
    ...(isForViews && { "openai/widgetAccessible": true }),
    ...(!isForModels(tool) && { "openai/visibility": "private" }),
  };
}

function policyOf(
  { connect = [], load = [], frames = [] }: Omit<ToolView, "html">,
): ViewPolicy {
  return {
    connectDomains: connect,
    resourceDomains: load,
    ...(frames.length > 0 && { frameDomains: frames }),
  };
}

/** Makes a view's metadata, in the standard's names and in ChatGPT's. */
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
