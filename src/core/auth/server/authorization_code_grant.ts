/**
 * Redeems an authorization code: once, within 60 seconds, and only for the
 * client that requested it. A reused code ends the grant.
 *
 * @see RFC 6749 §4.1.3, RFC 9700 §2.1.1
 * @module
 */
import { now } from "../../clock.ts";
import type { OAuthError } from "../../errors.ts";
import type { Client } from "../../oauth/client.ts";
import { extendGrant } from "../../oauth/grant.ts";
import { checkCodeVerifier } from "../../oauth/pkce.ts";
import { invalidGrant, type Parameters } from "../../oauth/parameters.ts";
import type { IssuedTokens } from "../../oauth/refresh_token.ts";
import type { FoundCode } from "../../store/codes.ts";
import type { AuthServices } from "../services.ts";

/**
 * Makes the function that redeems a code for an authenticated client. `reading`
 * is the read of the code, if already started.
 */
export function authorizationCodeGrant(
  { codes, grants, effectiveScopes, lifetimes, clock }: Pick<
    AuthServices,
    "codes" | "grants" | "effectiveScopes" | "lifetimes" | "clock"
  >,
) {
  return async function redeem(
    parameters: Parameters,
    { clientId, metadata }: Client,
    reading?: Promise<FoundCode | undefined>,
  ): Promise<IssuedTokens> {
    const code = parameters.require("code");
    const codeVerifier = parameters.require("code_verifier");
    // `redirect_uri` must exactly match the one in the authorization
    // request. It may be absent, because PKCE protects the code then.
    const redirectUri = parameters.get("redirect_uri");
    for (;; reading = undefined) {
      // The code must be this client's. A try by another client changes
      // nothing.
      const read = await (reading ?? codes.read(code));
      const record = read?.code.value;
      if (!read || !record || record.clientId !== clientId) throw unknown();
      if (redirectUri !== undefined && redirectUri !== record.redirectUri) {
        throw invalidGrant(
          "redirect_uri is not that of the authorization request",
        );
      }
      checkCodeVerifier(codeVerifier, record.codeChallenge);

      // A used code ends the grant, unless the response to its first use was a
      // 503.
      if (record.usedAt !== undefined) {
        const tokens = await codes.replayResponse(code, read);
        if (tokens) return tokens;
        await grants.revoke(read.grantId);
        throw invalidGrant("The code was used before");
      }

      // The present settings must still allow the grant.
      const { grant: { value: pending }, upstream: { value: upstream } } = read;
      if (pending?.status !== "pending" || !upstream) throw unknown();
      const grant = extendGrant(pending, {
        refreshable: metadata.grant_types.includes("refresh_token"),
        now: now(clock),
        lifetimes,
      });
      const effective = effectiveScopes(grant);
      if (!effective) throw unknown();

      const { scopes } = effective;
      const used = { grant, scopes, record, upstream, read };
      const tokens = await codes.use(code, used);
      if (tokens) return tokens;
      // Another request redeemed the code first: read it again.
    }
  };
}

function unknown(): OAuthError {
  return invalidGrant("The code is unknown or has expired");
}
