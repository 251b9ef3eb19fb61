/**
 * Finds an MCP server's protected resource metadata, which names its
 * authorization server.
 *
 * @see RFC 9728, RFC 6750 §3
 * @module
 */
import type { OAuthAccount } from "../../authoring/account.ts";
import { parseServerUrl } from "../../core/net/server_url.ts";
import { misbehaved, UpstreamError } from "../../core/provider/provider.ts";
import {
  readObject,
  type UpstreamFetch,
} from "../../core/provider/upstream_fetch.ts";
import { type Challenge, challengeIn, scopesIn } from "./challenge.ts";

export interface McpResource {
  /** The resource indicator of the server (RFC 8707). */
  resource: string;
  issuer: string;
  /** The scopes that the server asks for. */
  scopes: string[];
  /** True if the server names no issuer, so that its origin may be one. */
  isGuess?: boolean;
}

/**
 * True if two issuers are the same URL, such as `https://a.example` and
 * `https://a.example/`.
 */
export function isSameIssuer(one: string, other: string): boolean {
  const url = URL.parse(one);
  return url !== null && url.href === URL.parse(other)?.href;
}

/**
 * Finds a server's authorization server.
 *
 * @throws {UpstreamError} if there is none, or if the server does not name the
 * author's `issuer`
 */
export async function findMcpResource(
  fetchUpstream: UpstreamFetch,
  { api: url, issuer }: Pick<OAuthAccount, "api" | "issuer">,
): Promise<McpResource> {
  const challenge = await challengeOf(fetchUpstream, url);
  const { origin, pathname } = new URL(url);
  const name = `${origin}/.well-known/oauth-protected-resource`;
  const urls = challenge.metadata
    ? [challenge.metadata]
    : [`${name}${pathname.replace(/\/$/, "")}`, name];
  for (const metadataUrl of new Set(urls)) {
    const response = await fetchUpstream(metadataUrl);
    const { host } = new URL(metadataUrl);
    const { ok, status } = response;
    if (ok) {
      const document = await readObject(response, host);
      return parse(document, { url, issuer }, challenge.scopes);
    }
    // Anything but 404 without a word of such metadata may be a moment's fault.
    const isAbsent = status === 404 && challenge.metadata === undefined;
    if (isAbsent || issuer !== undefined) continue;
    throw misbehaved(
      `${host} answered ${status} when asked where people sign in: if that ` +
        "is right, name the issuer in mcpServer()",
    );
  }
  // Servers of revision 2025-03-26 have no such metadata; their origin is the
  // issuer.
  const { scopes } = challenge;
  return issuer === undefined
    ? { resource: url, issuer: origin, scopes, isGuess: true }
    : { resource: url, issuer, scopes };
}

/**
 * Sends a request without a token, and returns the `WWW-Authenticate` of its
 * refusal, which names the metadata URL and scopes.
 */
async function challengeOf(
  fetchUpstream: UpstreamFetch,
  url: string,
): Promise<Challenge> {
  const response = await fetchUpstream(url, {
    method: "POST",
    headers: {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  }).catch((error) => {
    // After a redirect, or too long a response, the well-known URLs are tried.
    if (error instanceof UpstreamError && error.kind === "misbehaved") {
      return undefined;
    }
    throw error;
  });
  return challengeIn(response?.headers);
}

function parse(
  document: Readonly<Record<string, unknown>>,
  { url, issuer: wanted }: { url: string; issuer?: string },
  asked: string[],
): McpResource {
  const { resource, authorization_servers: servers } = document;
  const issuer = Array.isArray(servers)
    ? servers.find((it) =>
      wanted === undefined || isSameIssuer(wanted, `${it}`)
    )
    : undefined;
  if (typeof resource !== "string" || !isAbove(resource, url)) {
    throw misbehaved(`${url} says that it is another resource`);
  }
  if (!parseServerUrl(issuer, new URL(url))) {
    const named = wanted ?? "an authorization server by an https URL";
    throw misbehaved(`${url} does not name ${named}`);
  }
  const scopes = asked.length > 0 ? asked : scopesIn(document.scopes_supported);
  return { resource, issuer: `${issuer}`, scopes };
}

/**
 * True if a resource is the server's URL or a parent path at the same origin,
 * so that its tokens are sent to no other host (RFC 9728 §3.3).
 */
function isAbove(resource: string, url: string): boolean {
  const above = /\s/.test(resource)
    ? null
    : parseServerUrl(resource, new URL(url));
  const { origin, pathname } = new URL(url);
  const path = (it: string) => it.replace(/\/?$/, "/");
  return above !== null && above.origin === origin && above.search === "" &&
    path(pathname).startsWith(path(above.pathname));
}
