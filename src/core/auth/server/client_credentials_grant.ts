/**
 * Issues access tokens to machines: clients that act for themselves.
 *
 * @see RFC 6749 §4.4
 * @module
 */
import { now } from "../../clock.ts";
import { OAuthError } from "../../errors.ts";
import { type Client, clientName } from "../../oauth/client.ts";
import { isMachine } from "../../oauth/configured_client.ts";
import { makeMachineGrant } from "../../oauth/new_grant.ts";
import { refusedByBlock } from "../../oauth/allowed_users.ts";
import { resourceOf } from "../../oauth/resource.ts";
import { narrowScopes, parseScope } from "../../oauth/scope.ts";
import type { Parameters } from "../../oauth/parameters.ts";
import type { IssuedTokens } from "../../oauth/refresh_token.ts";
import type { AuthServices } from "../services.ts";

/**
 * Makes the function that issues a token to a machine. The machine gets no
 * refresh token, because it can request another access token at any time.
 */
export function clientCredentialsGrant(
  { baseUrl, accessTokens, lifetimes, effectiveScopes, clock }: AuthServices,
) {
  return async function issueToMachine(
    parameters: Parameters,
    client: Client,
  ): Promise<IssuedTokens> {
    if (!isMachine(client)) {
      throw new OAuthError(
        "unauthorized_client",
        "client_credentials is for clients that the operator set up for it",
      );
    }
    const { clientId, metadata } = client;
    const asked = parseScope(parameters.get("scope"));
    const grant = makeMachineGrant({
      clientId,
      clientName: clientName(client),
      scopes: narrowScopes(asked, parseScope(metadata.scope)),
      issuer: baseUrl,
      resource: resourceOf(baseUrl),
      now: now(clock),
    }, lifetimes);
    if (!effectiveScopes(grant)) throw refusedByBlock("unauthorized_client");
    // The commit fails only if an operator has blocked the machine: `issue`
    // then throws, unless the block was lifted in the meantime. In that case
    // the next try succeeds.
    for (;;) {
      const tokens = await accessTokens.issue(grant);
      if (tokens) return tokens;
    }
  };
}
