/**
 * The URL of the authorization request to the provider, to which a person is
 * sent.
 *
 * @module
 */
import type { UpstreamRequest } from "./provider.ts";

/** The options that all authorization requests to one provider share. */
export interface AuthorizationRequestOptions {
  endpoint: string;
  clientId: string;
  scopes: readonly string[];
  /** The separator of scopes; by default a space. */
  separator?: string;
  /** Further query parameters, which cannot replace ours. */
  extra: Readonly<Record<string, string>>;
  /** The `prompt` of every request; the one in `extra` takes precedence. */
  prompt?: string;
  /** The provider's parameter for `login_hint`; undefined if it has none. */
  hintName?: string;
  /** The `prompt` of a request with `isFresh`, if the provider supports one. */
  freshPrompt?: "login" | "select_account";
}

/**
 * Parameters that decide the response and its receiver. No setting may add one,
 * even if we do not send it: `request` would replace all others, and
 * `response_mode` would change how the response is sent.
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
  // `extra` replaces our `prompt`: not every provider accepts two values.
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
