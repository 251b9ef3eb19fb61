/**
 * The server card, which directories read without connecting, and the AI
 * catalogue of a host, which lists the cards of its servers. Both are off with
 * `SERVER_CARD=false`.
 *
 * @module
 * @see SEP-2127
 * @see Agent-Card/ai-catalog, version 1.0
 */
import type { Icon, Implementation } from "@modelcontextprotocol/server";
import type { OperatorInfo } from "../../authoring/about.ts";
import { REVISIONS } from "../../core/protocol/revisions.ts";
import { resourceOf } from "../../core/oauth/resource.ts";

export const CARD_TYPE = "application/mcp-server-card+json";

/** A server's description for clients that do not know it yet. */
export interface ServerCard {
  $schema: string;
  /** In reverse DNS, with one slash: `com.example.tools/mail`. */
  name: string;
  version: string;
  /** A description of at most 100 characters. */
  description: string;
  title?: string;
  websiteUrl?: string;
  icons?: readonly Icon[];
  remotes: readonly [{
    type: "streamable-http";
    url: string;
    supportedProtocolVersions: readonly string[];
  }];
}

/** Makes the card of a server at a public address. */
export function serverCard(
  { serverInfo, about, baseUrl }: {
    serverInfo: Implementation;
    about: OperatorInfo;
    /** Without a trailing slash. */
    baseUrl: string;
  },
): ServerCard {
  const { name, version, title = name, websiteUrl, icons } = serverInfo;
  return {
    $schema:
      "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
    name: about.registryName ?? `${namespaceOf(baseUrl)}/${suffixOf(name)}`,
    version,
    description: about.description ??
      truncate(`${title}: tools for assistants`),
    title: truncate(title),
    ...(websiteUrl !== undefined && { websiteUrl }),
    ...(icons !== undefined && { icons }),
    remotes: [{
      type: "streamable-http",
      url: resourceOf(baseUrl),
      supportedProtocolVersions: REVISIONS,
    }],
  };
}

/** Reverses a host name: `tools.example.com` gives `com.example.tools`. */
function namespaceOf(baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  return /^[\d.]+$|:/.test(hostname)
    ? "localhost"
    : hostname.split(".").reverse().join(".");
}

/** Replaces characters that the name may not have after its slash. */
function suffixOf(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]+/g, "-");
}

function truncate(text: string): string {
  return text.length > 100 ? `${text.slice(0, 99)}…` : text;
}

export const CATALOG_TYPE = "application/ai-catalog+json";

export function aiCatalog(
  { card, baseUrl, operator }: {
    card: ServerCard;
    /** Without a trailing slash. */
    baseUrl: string;
    operator?: string;
  },
) {
  const displayName = card.title ?? card.name;
  const suffix = card.name.slice(card.name.indexOf("/") + 1);
  return {
    specVersion: "1.0",
    host: { displayName: operator ?? displayName },
    entries: [{
      identifier: `urn:air:${new URL(baseUrl).hostname}:mcp:${suffix}`,
      displayName,
      type: CARD_TYPE,
      url: `${card.remotes[0].url}/server-card`,
    }],
  };
}
