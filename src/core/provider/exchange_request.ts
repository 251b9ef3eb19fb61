/**
 * The request for an access token of another service, in exchange for that of a
 * person's sign-in: as RFC 8693 has it, or as Microsoft, which is older.
 *
 * @see RFC 8693 §2.1
 * @see https://learn.microsoft.com/entra/identity-platform/v2-oauth2-on-behalf-of-flow
 * @module
 */
import type { ExchangeKind } from "../settings/token_exchange.ts";
import type { ExchangeTarget } from "../token_exchange.ts";

const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/** An exchange at one provider. */
export interface ExchangeRequest {
  kind: ExchangeKind;
  /** The access token of the sign-in. */
  accessToken: string;
  target: ExchangeTarget;
}

/** Makes the grant type and the parameters, without our authentication. */
export function exchangeParameters(
  { kind, accessToken, target: { scopes = [], audience, resource } }:
    ExchangeRequest,
): [grantType: string, parameters: Record<string, string>] {
  const scope: Record<string, string> = scopes.length > 0
    ? { scope: scopes.join(" ") }
    : {};
  return kind === "on-behalf-of"
    ? ["urn:ietf:params:oauth:grant-type:jwt-bearer", {
      assertion: accessToken,
      requested_token_use: "on_behalf_of",
      ...scope,
    }]
    : ["urn:ietf:params:oauth:grant-type:token-exchange", {
      subject_token: accessToken,
      subject_token_type: ACCESS_TOKEN,
      requested_token_type: ACCESS_TOKEN,
      ...audience !== undefined && { audience },
      ...resource !== undefined && { resource },
      ...scope,
    }];
}
