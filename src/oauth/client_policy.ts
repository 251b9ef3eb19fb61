/**
 * Which clients the operator wants: who may register, where answers may go,
 * and whom people need not be asked about.
 *
 * @module
 */
import { OAuthError } from "../errors.ts";
import type { Client } from "./client.ts";
import { acceptedAuthMethods } from "./client_metadata.ts";
import { redirectKind } from "./redirect_uri.ts";

/** What the operator decided about clients. */
export interface ClientPolicy {
  /** Whether clients may register themselves. */
  registration: boolean;
  /**
   * Where clients that register themselves may send answers: host names,
   * `localhost` for every loopback address, and schemes of apps (`cursor:`).
   * Empty: anywhere.
   */
  redirectHosts: readonly string[];
  /** Client IDs, and domains of metadata documents, that need no consent. */
  trusted: readonly string[];
}

function isAllowedRedirect(uri: string, hosts: readonly string[]): boolean {
  // As a browser reads it: that is where the answer goes.
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

/**
 * Checks where a client that registers, or registered, itself sends answers.
 *
 * @throws {OAuthError} `invalid_redirect_uri`
 */
export function checkRedirectHosts(
  uris: readonly string[],
  { redirectHosts: hosts }: Pick<ClientPolicy, "redirectHosts">,
): void {
  if (
    hosts.length === 0 || uris.every((uri) => isAllowedRedirect(uri, hosts))
  ) {
    return;
  }
  throw new OAuthError(
    "invalid_redirect_uri",
    `The operator allows redirect URIs only on ${hosts.join(", ")}`,
  );
}

/** Whether no one but the client itself says who it is. */
export function isSelfRegistered({ domain, isConfigured }: Client): boolean {
  return domain === undefined && isConfigured !== true;
}

/**
 * Whether the operator trusts a client in place of the person. Only one that
 * can prove who it is, at an address that only it receives (RFC 8252 §8.6):
 * a name that a client gave itself proves nothing.
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
  const isProven = domain !== undefined ||
    !acceptedAuthMethods(metadata).includes("none");
  return isProven &&
    (trusted.includes(clientId) ||
      domain !== undefined && trusted.includes(domain));
}
