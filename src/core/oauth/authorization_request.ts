/**
 * A client's authorization request, and the response to it with `iss` (RFC
 * 9207).
 * @see RFC 6749 §4.1.1 and §4.1.2, RFC 9207, RFC 7636 §4.3, RFC 8707 §2.1,
 * OpenID Connect Core §3.1.2.1 and §3.1.2.6
 * @module
 */
import type { Scopes } from "../../authoring/scope.ts";
import { OAuthError } from "../errors.ts";
import type { Client } from "./client.ts";
import { invalidRequest, type Parameters } from "./parameters.ts";
import { parseCodeChallenge } from "./pkce.ts";
import { isRegisteredRedirectUri } from "./redirect_uri.ts";
import { checkResources, resourceOf } from "./resource.ts";
import { grantableScopes, parseScope } from "./scope.ts";

/**
 * A client's authorization request, checked against the client's registration.
 */
export interface AuthorizationRequest {
  clientId: string;
  redirectUri: string;
  /** The client's `state`, which the response repeats. */
  state?: string;
  scopes: string[];
  resource: string;
  /** The S256 code challenge (RFC 7636 §4.2). */
  codeChallenge: string;
  providerHints?: ProviderHints;
}

/**
 * A client's hints for the provider's sign-in page. They have no other effect.
 */
export interface ProviderHints {
  /** `login_hint`, the account to suggest: usually an e-mail address. */
  loginHint?: string;
  /**
   * Values of `prompt` that the provider obeys even if the person is signed in
   * there.
   */
  prompts?: readonly (typeof PROVIDER_PROMPTS)[number][];
}

/**
 * The values of `prompt` that are sent to the provider. `consent` is not one:
 * this server asks for it on its own page.
 */
const PROVIDER_PROMPTS = ["login", "select_account"] as const;

const STATE_MAX_LENGTH = 4096;

/**
 * Matches a login hint of at most the length of an e-mail address (RFC 5321
 * §4.5.3.1), without line breaks.
 */
const LOGIN_HINT = /^\P{Cc}{1,320}$/u;

export function parsePrompts(parameters: Parameters): string[] {
  return parameters.get("prompt")?.split(" ") ?? [];
}

function parseProviderHints(parameters: Parameters): ProviderHints | undefined {
  const loginHint = parameters.get("login_hint");
  const asked = parsePrompts(parameters);
  // `max_age=0` accepts no earlier sign-in, so the person must sign in
  // again.
  if (parameters.get("max_age") === "0") asked.push("login");
  const prompts = PROVIDER_PROMPTS.filter((prompt) => asked.includes(prompt));
  const providerHints = {
    ...loginHint !== undefined && LOGIN_HINT.test(loginHint) && { loginHint },
    ...prompts.length > 0 && { prompts },
  };
  return Object.keys(providerHints).length > 0 ? providerHints : undefined;
}

/**
 * Refuses unsupported parameters that change the meaning of a request. Other
 * unknown parameters are ignored (RFC 6749 §3.1).
 *
 * @throws {OAuthError} a code of OpenID Connect Core §3.1.2.6
 */
function checkFeatures(parameters: Parameters): void {
  for (const name of ["request", "request_uri"] as const) {
    if (parameters.get(name) === undefined) continue;
    throw new OAuthError(
      `${name}_not_supported`,
      `${name} is not supported: send each parameter by itself`,
    );
  }
  const prompts = parsePrompts(parameters);
  if (!prompts.includes("none")) return;
  if (prompts.length > 1) {
    throw invalidRequest("prompt=none takes no other value besides");
  }
  throw new OAuthError(
    "interaction_required",
    "prompt=none is not possible: the person is asked at every sign-in",
  );
}

/** Parses the authorization request of a known client. */
export function parseAuthorizationRequest(
  parameters: Parameters,
  { client, baseUrl, scopes }: {
    client: Client;
    baseUrl: string;
    scopes: Scopes;
  },
): AuthorizationRequest {
  const redirectUri = parseRedirectUri(parameters, client);
  checkFeatures(parameters);
  const responseType = parameters.require("response_type");
  if (responseType !== "code") {
    throw new OAuthError(
      "unsupported_response_type",
      "response_type must be code",
    );
  }
  const responseMode = parameters.get("response_mode");
  if (responseMode !== undefined && responseMode !== "query") {
    throw invalidRequest("response_mode must be query");
  }
  const codeChallenge = parseCodeChallenge(parameters);
  const state = parameters.get("state");
  if (state !== undefined && state.length > STATE_MAX_LENGTH) {
    throw invalidRequest(
      `state must have at most ${STATE_MAX_LENGTH} characters`,
    );
  }
  checkResources(parameters.all("resource"), baseUrl);
  const providerHints = parseProviderHints(parameters);
  return {
    clientId: client.clientId,
    redirectUri,
    state,
    scopes: grantableScopes(parseScope(parameters.get("scope")), scopes),
    resource: resourceOf(baseUrl),
    codeChallenge,
    ...providerHints && { providerHints },
  };
}

/**
 * Parses a request's redirect URI and checks it against the client's
 * registration. Until this has succeeded, no error may be sent to the redirect
 * URI.
 */
export function parseRedirectUri(
  parameters: Parameters,
  client: Client,
): string {
  const registered = client.metadata.redirect_uris;
  const requested = parameters.get("redirect_uri");
  if (requested === undefined) {
    // RFC 6749 §3.1.2.3: `redirect_uri` may be absent if only one is
    // registered.
    if (registered.length === 1 && URL.canParse(registered[0])) {
      return registered[0];
    }
    throw invalidRequest("Missing parameter: redirect_uri");
  }
  if (!isRegisteredRedirectUri(requested, registered)) {
    throw invalidRequest(
      "redirect_uri must be one that the client registered",
      "other redirect",
    );
  }
  return requested;
}

/** The response to a client: a code, or an error. */
export type AuthorizationResponse =
  | { code: string }
  | { error: Pick<OAuthError, "code" | "description"> };

/**
 * Makes the URL of an authorization response: the redirect URI with the
 * response and `iss` (RFC 9207) appended to its query. The redirect URI is not
 * normalized (RFC 6749 §3.1.2).
 */
export function authorizationResponseUrl(
  { redirectUri, state }: { redirectUri: string; state?: string },
  response: AuthorizationResponse,
  issuer: string,
): string {
  const query = new URLSearchParams(
    "code" in response ? response : {
      error: response.error.code,
      error_description: response.error.description,
    },
  );
  if (state !== undefined) query.set("state", state);
  query.set("iss", issuer);
  const separator = !redirectUri.includes("?")
    ? "?"
    : /[?&]$/.test(redirectUri)
    ? ""
    : "&";
  return `${redirectUri}${separator}${query}`;
}
