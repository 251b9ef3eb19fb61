/**
 * The operator's policy for clients: registration, redirect hosts, and clients
 * that need no consent.
 *
 * @module
 */
import { OAuthError } from "../errors.ts";
import { acceptedAuthMethods, type Client } from "./client.ts";
import { redirectKind } from "./redirect_uri.ts";

/** The operator's decisions about clients. */
export interface ClientPolicy {
  /** True if clients may register themselves. */
  registration: boolean;
  /**
   * The places to which clients that the operator did not set up may have
   * responses sent: host names, `localhost` for every loopback address, and
   * schemes of apps (`cursor:`). If it is empty, any place.
   */
  redirectHosts: readonly string[];
  /** Client IDs, and domains of metadata documents, that need no consent. */
  trusted: readonly string[];
}

function isAllowedRedirect(uri: string, hosts: readonly string[]): boolean {
  // Parsed as a browser does it, because the browser follows it.
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
  const isAllowed = hosts.length === 0 ||
    uris.every((uri) => isAllowedRedirect(uri, hosts));
  if (isAllowed) return;
  throw new OAuthError(
    "invalid_redirect_uri",
    `The operator allows redirect URIs only on ${hosts.join(", ")}`,
  );
}

/**
 * True if the browser may be sent to a redirect URI with an error that its
 * person has not seen: the operator listed the client or the place, or the place
 * is this person's own machine. Anyone can register any other, and would turn
 * this server into an open redirector.
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
    // If the operator listed places, the redirect URI was checked to be in one.
    policy.redirectHosts.length > 0 ||
    skipsConsent(client, redirectUri, policy);
}

/** True if the client alone vouches for its identity. */
export function isSelfRegistered({ domain, isConfigured }: Client): boolean {
  return domain === undefined && isConfigured !== true;
}

/**
 * True if the operator trusts a client in place of the person's consent. The
 * client must be able to prove its identity, at an address that only it
 * receives (RFC 8252 §8.6): a name that a client gave itself proves nothing.
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
      // Without this, anyone with a document on the domain could get codes
      // elsewhere.
      domain !== undefined && trusted.includes(domain) &&
        `.${hostname}`.endsWith(`.${domain}`));
}
