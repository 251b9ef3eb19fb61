/**
 * The URL of an authorization request to the sign-in provider.
 *
 * @module
 */
import type { UpstreamRequest } from "./provider.ts";

/** The parts that all authorization requests to one provider share. */
export interface AuthorizationRequestOptions {
  endpoint: string;
  clientId: string;
  scopes: readonly string[];
  /** The separator of scopes; a space by default. */
  separator?: string;
  /**
   * Further query parameters. They cannot replace those in {@linkcode OURS}.
   */
  extra: Readonly<Record<string, string>>;
  /** The `prompt` of every request, unless `extra` has one. */
  prompt?: string;
  /** The provider's parameter for `login_hint`; undefined if it has none. */
  hintName?: string;
  /**
   * The `prompt` by which the provider makes the person sign in again.
   * Undefined if it supports none.
   */
  freshPrompt?: "login" | "select_account";
}

/**
 * Parameters that no setting may add, because they decide the response and its
 * receiver. Some are never sent by this server: `request` would replace all
 * others, and `response_mode` would change how the response is sent.
 */
const OURS = [
  "response_type",
  "response_mode",
  "client_id",
  "redirect_uri",
  "scope",
  "state",
  "nonce",
  "code_challenge",
  "code_challenge_method",
  "request",
  "request_uri",
];

/**
 * Builds an authorization request with state, nonce and PKCE.
 *
 * @see RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect §3.1.2.1
 */
export function buildAuthorizationUrl(
  { endpoint, clientId, scopes, extra, prompt, hintName, ...options }:
    AuthorizationRequestOptions,
  { state, nonce, codeChallenge, redirectUri, isFresh, ...request }:
    UpstreamRequest,
): URL {
  const { loginHint, prompts = [] } = request;
  const { separator = " ", freshPrompt } = options;
  const url = new URL(endpoint);
  const query = url.searchParams;
  if (hintName !== undefined && loginHint !== undefined) {
    query.set(hintName, loginHint);
  }
  const asked = [
    ...prompt === undefined ? [] : [prompt],
    ...hintName === undefined ? [] : prompts,
  ];
  // `extra` replaces this `prompt`: not every provider accepts two values.
  if (asked.length > 0) query.set("prompt", asked.join(" "));
  for (const [name, value] of Object.entries(extra)) query.set(name, value);
  if (isFresh && freshPrompt !== undefined) {
    // After `extra`, so that the operator's parameters cannot undo it.
    query.set("prompt", freshPrompt);
    query.set("max_age", "0");
  }
  for (const name of OURS) query.delete(name);
  query.set("response_type", "code");
  query.set("client_id", clientId);
  query.set("redirect_uri", redirectUri);
  if (scopes.length > 0) query.set("scope", scopes.join(separator));
  query.set("state", state);
  if (scopes.includes("openid")) query.set("nonce", nonce);
  query.set("code_challenge", codeChallenge);
  query.set("code_challenge_method", "S256");
  return url;
}
