/**
 * The operator's policy for clients: dynamic registration, redirect hosts, and
 * clients that need no consent.
 *
 * @module
 */
import { OAuthError } from "../errors.ts";
import { seenText } from "../log/log_line.ts";
import { acceptedAuthMethods, type Client } from "./client.ts";
import { redirectKind } from "./redirect_uri.ts";

/** The operator's decisions about clients. */
export interface ClientPolicy {
  /** True if clients may register themselves (RFC 7591). */
  registration: boolean;
  /**
   * The places that clients may use as redirect URIs unless the operator set up
   * the client: host names, `localhost` for every loopback address, and schemes
   * of apps (`cursor:`). An empty list allows any place except the scheme of an
   * unknown app.
   */
  redirectHosts: readonly string[];
  /** Client IDs, and domains of metadata documents, that need no consent. */
  trusted: readonly string[];
}

/**
 * Schemes of well-known apps that are not domain names, though RFC 8252 §7.1
 * demands one. Any other such scheme may belong to the operating system or the
 * browser: a stranger could make it open a URL of their choice.
 */
const KNOWN_APPS = new Set(
  ("antigravity chatgpt cherrystudio claude code-oss cursor cursor-dev goose " +
    "insomnia jan jetbrains kiro lmstudio msty positron postman raycast trae " +
    "trae-cn vscode vscode-insiders vscodium warp windsurf windsurf-next " +
    "workbuddy zed").split(" "),
);

/** True if the scheme of a URI is a domain name or that of a well-known app. */
function isOfApp(uri: string): boolean {
  const scheme = uri.slice(0, uri.indexOf(":"));
  return scheme.includes(".") || KNOWN_APPS.has(scheme);
}

function isAllowedRedirect(uri: string, hosts: readonly string[]): boolean {
  // Parsed as the browser does, because the browser follows the URI.
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

/** Checks the redirect URIs of a client that the operator did not set up. */
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
 * True if the browser may be sent to a redirect URI with an error before the
 * person has seen a page: the operator listed the client or the place, or the
 * place is the person's own machine. Any other redirect URI may be anyone's,
 * and would make this server an open redirector.
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
    // If the operator listed places, an earlier check found the URI in one of
    // them.
    policy.redirectHosts.length > 0 ||
    skipsConsent(client, redirectUri, policy);
}

/** True if no one but the client itself vouches for its identity. */
export function isSelfRegistered({ domain, isConfigured }: Client): boolean {
  return domain === undefined && isConfigured !== true;
}

/**
 * True if the operator trusts a client in place of the person's consent. The
 * client must be able to prove its identity, and its redirect URI must be one
 * where only that client gets responses (RFC 8252 §8.6): the name that a client
 * gave itself proves nothing.
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
      // Without this check, anyone with a metadata document on the domain could
      // have codes sent to another host.
      domain !== undefined && trusted.includes(domain) &&
        `.${hostname}`.endsWith(`.${domain}`));
}
