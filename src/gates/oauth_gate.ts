/**
 * The gate of `AUTH_STRATEGY=oauth`: access tokens that we issued.
 *
 * @module
 */
import type { Authenticated } from "../caller.ts";
import { ChallengeError } from "../errors.ts";
import { parseBearer, printChallenge } from "../oauth/challenge.ts";
import { callerOf, type Grant } from "../oauth/grant.ts";
import type { AccessTokenStore } from "../store/access_tokens.ts";
import type { GrantStore } from "../store/grants.ts";
import { type Clock, now } from "../clock.ts";
import { recent } from "../store/recent.ts";
import type { ProviderTokens } from "../upstream/provider_tokens.ts";
import { resourceMetadataUrl, serverMetadataUrl } from "../oauth/resource.ts";
import type { Gate } from "./gate.ts";

/** What is remembered of a token for up to a second. */
interface Admitted {
  authenticated: Authenticated;
  expiresAt: number;
}

/** Lets in whoever holds a live access token of a grant that is good here. */
export function oauthGate(
  {
    baseUrl,
    scopesSupported,
    mayStay,
    accessTokens,
    grants,
    providerTokens,
    clock,
  }: {
    baseUrl: string;
    /** Named in a challenge that needs no particular ones. */
    scopesSupported: readonly string[];
    /** Whether a grant is still good here. */
    mayStay(grant: Grant): boolean;
    accessTokens: AccessTokenStore;
    grants: Pick<GrantStore, "find">;
    providerTokens: ProviderTokens;
    clock: Clock;
  },
): Gate {
  const admitted = recent(read, { clock });
  const live = recent(readGrant, { clock });

  async function readGrant(grantId: string): Promise<Grant | undefined> {
    const grant = (await grants.find(grantId))?.value;
    return grant && mayStay(grant) ? grant : undefined;
  }

  async function read(token: string): Promise<Admitted | undefined> {
    const access = await accessTokens.find(token);
    if (!access || !mayStay(access.grant)) return undefined;
    const { grant, scopes, expiresAt, dataKey } = access;
    return {
      authenticated: {
        caller: callerOf(grant, scopes),
        upstream: providerTokens.upstream({ grantId: grant.id, dataKey }),
        isLive: async () => await live.find(grant.id) !== undefined,
      },
      expiresAt,
    };
  }

  function admit(found: Admitted | undefined): Authenticated {
    if (found && found.expiresAt > now(clock)) return found.authenticated;
    throw new ChallengeError(
      "The access token is unknown, expired or revoked",
      "invalid_token",
    );
  }

  return {
    authenticate(headers) {
      const token = parseBearer(headers.get("authorization"));
      if (token === undefined) throw new ChallengeError("Sign in first");
      const found = admitted.find(token);
      return found instanceof Promise ? found.then(admit) : admit(found);
    },

    challenge: (refusal, sid) =>
      // The first is what RFC 9728 clients follow, the second what others seek.
      printChallenge(refusal, {
        resource_metadata: resourceMetadataUrl(baseUrl, sid),
        authorization_uri: serverMetadataUrl(baseUrl),
      }, scopesSupported),
  };
}
