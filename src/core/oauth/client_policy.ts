/**
 * The operator's rules for clients: dynamic registration, redirect hosts, and
 * trusted clients that skip consent.
 *
 * @module
 */
import { OAuthError } from "../errors.ts";
import { seenText } from "../log/log_line.ts";
import { acceptedAuthMethods, type Client } from "./client.ts";
import { redirectKind } from "./redirect_uri.ts";

export interface ClientPolicy {
  /** True if clients may register themselves (RFC 7591). */
  registration: boolean;
  /**
   * Allowed redirect URIs of clients that are not in `OAUTH_CLIENTS`. An entry
   * is a host, `localhost` for every loopback address, or an app's scheme
   * (`cursor:`). If empty, everything is allowed except schemes of unknown
   * apps.
   */
  redirectHosts: readonly string[];
  /**
   * Clients that skip consent: client IDs, and domains of metadata documents.
   */
  trusted: readonly string[];
}

/**
 * Schemes of well-known apps that are not domain names, although RFC 8252 §7.1
 * requires domain names. Others are refused: they may belong to the operating
 * system or the browser, and a client could open any URL with them.
 */
const KNOWN_APPS = new Set(
  ("antigravity chatgpt cherrystudio claude code-oss cursor cursor-dev goose " +
    "insomnia jan jetbrains kiro lmstudio msty positron postman raycast trae " +
    "trae-cn vscode vscode-insiders vscodium warp windsurf windsurf-next " +
    "workbuddy zed").split(" "),
);

/** True if a URI's scheme is a domain name or belongs to a well-known app. */
function isOfApp(uri: string): boolean {
  const scheme = uri.slice(0, uri.indexOf(":"));
  return scheme.includes(".") || KNOWN_APPS.has(scheme);
}

function isAllowedRedirect(uri: string, hosts: readonly string[]): boolean {
  // Parsed like the browser that will follow the URI.
  const url = URL.parse(uri);
  switch (redirectKind(uri)) {
    case "https":
      return url !== null && hosts.includes(url.hostname);
    case "loopback":
      return hosts.includes("localhost");
    default:
      return url !== null && hosts.includes(url.protocol);
  }
}

/** Checks the redirect URIs of a client that is not in `OAUTH_CLIENTS`. */
export function checkRedirectHosts(
  uris: readonly string[],
  { redirectHosts: hosts }: Pick<ClientPolicy, "redirectHosts">,
): void {
  if (hosts.length === 0) {
    const unknown = uris.find((uri) =>
      redirectKind(uri) === "private-use" && !isOfApp(uri)
    );
    if (unknown === undefined) return;
    throw new OAuthError(
      "invalid_redirect_uri",
      `The scheme ${seenText(unknown.slice(0, unknown.indexOf(":")))} is ` +
        "neither a reversed domain name (com.example.app, RFC 8252 section " +
        "7.1) nor that of an app known here: use a loopback address, or have " +
        "the operator list it in OAUTH_REDIRECT_HOSTS",
    );
  }
  if (uris.every((uri) => isAllowedRedirect(uri, hosts))) return;
  throw new OAuthError(
    "invalid_redirect_uri",
    `The operator allows redirect URIs only on ${hosts.join(", ")}`,
  );
}

/**
 * True if errors may be sent to a redirect URI before the person has seen a
 * page. That needs an operator's setting for the client or the redirect URI, or
 * a loopback address. With any other redirect URI, this server would be an open
 * redirector.
 *
 * @see RFC 9700 §4.11.2
 */
export function isTrustedWithErrors(
  client: Client,
  redirectUri: string,
  policy: Pick<ClientPolicy, "redirectHosts" | "trusted">,
): boolean {
  return client.isConfigured === true ||
    redirectKind(redirectUri) === "loopback" ||
    // If this list is not empty, an earlier check found the redirect URI in
    // it.
    policy.redirectHosts.length > 0 ||
    skipsConsent(client, redirectUri, policy);
}

/** True if only the client itself says who it is. */
export function isSelfRegistered({ domain, isConfigured }: Client): boolean {
  return domain === undefined && isConfigured !== true;
}

/**
 * True if the operator's trust in a client replaces consent. The client must be
 * able to authenticate or have a metadata document, because a self-chosen name
 * proves nothing. Its redirect URI must be https, so that no other program gets
 * the response (RFC 8252 §8.6).
 */
export function skipsConsent(
  client: Client,
  redirectUri: string,
  { trusted }: Pick<ClientPolicy, "trusted">,
): boolean {
  if (isSelfRegistered(client) || redirectKind(redirectUri) !== "https") {
    return false;
  }
  const { clientId, domain, metadata } = client;
  const hostname = URL.parse(redirectUri)?.hostname ?? "";
  const isProven = domain !== undefined ||
    !acceptedAuthMethods(metadata).includes("none");
  return isProven &&
    (trusted.includes(clientId) ||
      // Otherwise anyone with a metadata document on the domain could have
      // codes sent to another host.
      domain !== undefined && trusted.includes(domain) &&
        `.${hostname}`.endsWith(`.${domain}`));
}
